"""Expands average pools over large bins of a plane into sums along one dim after the other.

    %1 = avg_pool(%0, kernel=(8, 8), stride=(8, 8))       %1 = sum(reshape(%0, (n, c, 4, 8, w)), dim=3)
                                                          %2 = sum(reshape(%1, (n, c, 4, 4, 8)), dim=4)
                                                          %3 = div(%2, 64)

A window that is the whole plane is one sum. Eager kernels (`runtime/cpu/conv/pooling.py`) give the same bits.
"""

from math import prod

from ...ir import dtype as dt
from ...ir.graph.graph import Builder, Graph, Node
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.reduce import sum_
from ...ir.ops.core.shape import reshape
from ...ir.ops.nn.pool import are_bins, avg_pool, is_whole
from ...ir.symbols.substitute import as_float
from ..rewrite.rewrite import rebuild


def expand_mean_pools(graph: Graph) -> Graph:
    """Replace each such pool."""
    return rebuild(graph, _summed, lambda n: n.op is avg_pool and _kind(n) is not None)


def _kind(node) -> str | None:
    """Return "whole" or "bins" for windows of that kind; None for others, and where sizes are not known."""
    sizes, params = node.inputs[0].shape[2:], node.params
    if not all(type(n) is int for n in sizes) or not node.output.dtype.is_floating_point or 0 in node.inputs[0].shape:
        return None
    if is_whole(sizes, params["kernel"], params["padding"]):
        return "whole"
    return "bins" if are_bins(sizes, params["kernel"], params["stride"], params["padding"]) else None


def _summed(b: Builder, node: Node, operands):
    x, = operands
    kernel, divisor, kind = node.params["kernel"], node.params["divisor"], node.output.dtype
    work = dt.accumulator(kind)
    x = x if work is kind else b.call(ew.cast, x, dtype=work)
    if _kind(node) == "whole":
        total = b.call(sum_, x, dim=tuple(range(2, len(x.shape))), keepdim=True)
    else:
        total = x
        for axis, k in enumerate(kernel, 2):
            if k > 1:
                shape = total.shape
                split = b.call(reshape, total, shape=(*shape[:axis], shape[axis] // k, k, *shape[axis + 1:]))
                total = b.call(sum_, split, dim=(axis + 1,), keepdim=False)
    mean = b.call(ew.div, total, as_float(prod(kernel) if divisor is None else divisor))
    return mean if work is kind else b.call(ew.cast, mean, dtype=kind)
