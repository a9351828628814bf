"""CPU passes bound to this machine's kernels, caches and threads, and the pass lists that contain them."""

from ....ir.graph.graph import Graph
from ....ir.lazy import lazy
from ....passes import pipelines
from ....passes.layout.layout import layout
from ....passes.networks.chain_convs import chain_convs
from ....passes.networks.image_slices import slice_images
from ....passes.networks.pack_recurrent import pack_recurrent
from ....passes.simplify.decompose import decompose
from .families import whole_composites_of

blocked = lazy(__package__, "..conv.blocked")
cache_sizes = lazy(__package__, "..memory.cache_sizes")
pool = lazy(__package__, "..calls.pool")
recurrent = lazy(__package__, "..nn.recurrent")


def decompose_bodies(graph: Graph) -> Graph:
    """Decompose composites, except those that have a kernel of their own."""
    return decompose(graph, whole_composites_of(graph))


def blocked_layout(graph: Graph) -> Graph:
    """Put convolutions and their neighbours into the channel blocks that this machine's kernels read."""
    return layout(graph, blocked.choose)


def packed_recurrence(graph: Graph) -> Graph:
    """Pack the weights of recurrent layers in the order that this machine's kernels read."""
    return pack_recurrent(graph, recurrent.packing)


def chained_convs(graph: Graph) -> Graph:
    """Chain consecutive convolutions over a few image rows at a time where this machine profits."""
    return chain_convs(graph, blocked.chain_pieces)


def sliced_batches(graph: Graph) -> Graph:
    """Cut large batches into as many images at a time as this machine's last cache holds."""
    return slice_images(graph, cache_sizes.cached_between_steps(pool.get_num_threads()))


EAGER = pipelines.cpu_eager(decompose_bodies)
PORTABLE = pipelines.cpu_portable(decompose_bodies)
PASSES = pipelines.cpu_trace(decompose_bodies, blocked_layout, packed_recurrence, chained_convs, sliced_batches)
