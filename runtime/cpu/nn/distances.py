"""Distances of all pairs of rows."""

from ....ir.ops.nn import distance
from ..calls.operator_kernel import OperatorKernel
from ..memory import alloc

_MANY = 1 << 20         # elements of the differences of all pairs that take too much memory to run operator by operator


def compiled_after(*args) -> int | None:
    """Return 0 (compile at the first call) if the differences of all pairs would take much memory."""
    *_, x, y = args
    return 0 if x.size * y.shape[-1] >= _MANY else None


def _on_dense(op, general):
    return lambda *arrays, ord: general(*map(alloc.dense, arrays), ord=ord)


OPERATORS = dict.fromkeys((distance.distances, distance.distances_grad),
                          OperatorKernel(body=_on_dense, compiled=compiled_after))
