"""All pass lists: simplification, then eager code and traces on the CPU, then on CUDA.

A pass maps a graph to a graph and returns the same object if it changed nothing. Passes that depend on a backend's choices are
parameters of the lists: the CPU binds them in `runtime/cpu/graph/machine_passes.py`, CUDA in `runtime/cuda/backend.py`.
`rewrite/pass_manager.py` runs a list.
"""

from collections.abc import Callable

from ..ir.graph.graph import Graph
from .fusion.pads_to_concat import concat_pads, expand_pads
from .fusion.sink_concat import sink_concats
from .layout.assign_layouts import assign_layouts
from .layout.pad_columns import pad_columns
from .networks.batch_norm import fold_batch_norm, fuse_batch_norm
from .networks.fuse_conv_epilogue import fuse_conv_epilogue
from .simplify.canonicalize import canonicalize
from .simplify.class_losses import expand_class_losses
from .simplify.composite_kernels import expand_mean_pools, expand_row_composites, share_gelu_parts, widen_attention
from .simplify.cse import cse
from .simplify.dce import dce
from .simplify.decompose import decompose
from .simplify.fold_constants import fold_constants
from .simplify.simplify import cancel_conjugates, simplify
from .simplify.zero_signs import drop_zero_signs

Pass = Callable[[Graph], Graph]

SIMPLER: tuple[Pass, ...] = (canonicalize, fold_constants, simplify, cancel_conjugates, cse, dce)

PIPELINE = (
    *SIMPLER,        # on composites, so that patterns meet clean graphs
    decompose,
    *SIMPLER,        # on decomposed bodies
)


def cpu_eager(decompose_bodies: Pass) -> tuple[Pass, ...]:
    """Return the passes of eager composites and gradient rules on the CPU."""
    return (*SIMPLER, expand_row_composites, expand_class_losses, decompose_bodies, *SIMPLER)


def cpu_portable(decompose_bodies: Pass) -> tuple[Pass, ...]:
    """Return the passes of CPU graphs that hold on every machine: exported graphs have been through them."""
    return (
        *SIMPLER, expand_row_composites, expand_class_losses, decompose_bodies, share_gelu_parts, widen_attention,
        *SIMPLER, concat_pads, fold_batch_norm, fuse_batch_norm,
    )


def cpu_trace(decompose_bodies: Pass, blocked_layout: Pass, packed_recurrence: Pass, chained_convs: Pass,
              sliced_batches: Pass) -> tuple[Pass, ...]:
    """Return the passes of traces and loaded models on this CPU."""
    return (
        *cpu_portable(decompose_bodies), blocked_layout, expand_mean_pools, packed_recurrence,
        *SIMPLER, fuse_conv_epilogue, chained_convs, sliced_batches,
    )


def cuda_eager(decompose_bodies: Pass) -> tuple[Pass, ...]:
    """Return the passes of single operators and gradient rules on a GPU."""
    return (*SIMPLER, expand_class_losses, decompose_bodies, *SIMPLER)


def cuda_trace(decompose_bodies: Pass, ordered_images: Pass) -> tuple[Pass, ...]:
    """Return the passes of traces and loaded models on a GPU."""
    return (
        *cuda_eager(decompose_bodies), concat_pads, drop_zero_signs,
        *SIMPLER,
        assign_layouts, sink_concats,
        assign_layouts, sink_concats,        # again: a transpose that sank below a concat may now apply to its parts
        ordered_images, pad_columns,
        *SIMPLER, expand_pads,
    )
