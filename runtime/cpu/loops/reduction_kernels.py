"""Reductions in eager mode: floats and complex numbers by generated kernels, whose tree of sums is fixed.

Integers and bools give the same result in every order, so small arrays of these go to NumPy.
"""

from ....ir import dtype as dt
from ....ir.lazy import lazy
from ....ir.opdef.op import Op
from ....ir.ops.core import reduce
from ..calls.kernel_steps import check_no_zero, copy_of, over_first
from ..calls.operator_kernel import OperatorKernel
from ..calls.step_list import At, NativeCall
from .scalars import COMPLEX_KINDS, FLOAT_KINDS, LARGE

kernels = lazy(__package__, ".kernels")

_LONG_ROW = 64      # elements from which numpy finds the index of a row's extreme by comparing whole vectors


def of_any(op: Op):
    """Return the eager reduction over dims."""
    kind, of_others, by_dtype = op.lower.kind, of_integers(op.lower.kind, op.ref), {}
    kinds = FLOAT_KINDS if kind.endswith(("max", "min")) else FLOAT_KINDS | COMPLEX_KINDS     # (which have no order)

    def run(x, *, dim, keepdim):
        made = by_dtype.get(x.dtype)
        if made is None or not x.size:
            if x.dtype not in kinds or not x.size:
                return of_others(x, dim=dim, keepdim=keepdim)
            made = by_dtype[x.dtype] = kernels.reduction(kind, dt.BY_NP[x.dtype]).__call__      # a method: quicker to call
        return made(x, dim, keepdim)

    return run


def of_integers(kind: str, ref):
    """Return the eager reduction of integers and bools; `ref` is for small arrays and any other dtype."""
    by_dtype: dict = {}

    def run(x, *, dim, keepdim):
        if x.size < LARGE or x.dtype.kind not in "biu" or (kind.startswith("arg") and _is_along_rows(x, dim)):
            return ref(x, dim=dim, keepdim=keepdim)
        made = by_dtype.get(x.dtype)
        if made is None:
            made = by_dtype[x.dtype] = kernels.reduction(kind, dt.BY_NP[x.dtype]).__call__
        return made(x, dim, keepdim)

    return run


def _is_along_rows(x, dim) -> bool:
    return dim == (x.ndim - 1,) and x.shape[-1] >= _LONG_ROW and x.flags.c_contiguous


def _require_step(node, operands, results):
    (holds,), (out,) = operands, results
    return NativeCall((check_no_zero(At(0), 1, dt.uint8), copy_of(holds, 0, out, 1)), over=over_first(holds, out, 1))


OPERATORS = {
    reduce.int_sum: OperatorKernel(of_integers("sum", reduce.int_sum.ref)),
    reduce.require: OperatorKernel(step=_require_step),
}
