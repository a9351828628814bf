"""Losses over classes: sweeps over rows, and reductions of their losses.

A loss of a small batch takes less time than Python between its kernels. Frequent calls of a kind are compiled as a graph: one
native call with the same bits and errors, like the call of a traced function.
"""

import functools

import numpy as np

from ....ir import dtype as dt
from ....ir.kernel.kernel_builder import KernelBuilder
from ....ir.ops.nn import loss
from ..calls.kernel_steps import check_range, convert, step
from ..calls.operator_kernel import OperatorKernel
from ..calls.step_list import At, NativeCall, Table
from ..loops import kernels
from ..loops.kernels import widened
from ..memory import alloc

_INT64, _UINT64 = np.dtype(np.int64), np.dtype(np.uint64)
_COUNTED = {np.dtype(np.float32): 1 << 24, np.dtype(np.float64): 1 << 53}       # row counts that floats represent exactly


def _counted_rows(target, ignore_index, classes):
    """Return the number of rows that count; raise for a class that does not exist."""
    if not target.size:
        return 0
    plain = target.dtype is _INT64 and not 0 <= ignore_index < classes
    if plain and np.maximum.reduce(target.view(_UINT64), None) < classes:       # as unsigned integers, negative ones are large
        return target.size
    low, high = int(target.min()), int(target.max())
    if low >= 0 and high < classes and not low <= ignore_index <= high:
        return target.size
    return int(loss.class_weight.ref(target, None, ignore_index=ignore_index, classes=classes, dtype=dt.float64).sum())


def _smoothed(x, rows, lse, target, ignore_index, share):
    """Mix losses of rows with a share of the mean loss of all classes."""
    kind = x.dtype.type
    every = loss.smooth_part(x, lse, target, None, ignore_index)
    return rows * kind(1 - share) + every * kind(share / x.shape[1])


def _as_long(target):
    return target if target.dtype is _INT64 else target.astype(np.int64, copy=False)


_SMALL = 1 << 15        # elements up to which Python's time counts
_CALLS = 64             # calls of a kind before it is compiled, which takes as long as thousands of calls save


def compiled_after(*arrays) -> int | None:
    """Return after how many calls of one kind a loss is compiled as a graph: one native call, with the same bits and errors."""
    for a in arrays:
        if not 0 < a.size <= _SMALL:
            return None
    return _CALLS


def _unless_weighted(x, target, weight) -> int | None:
    return _CALLS if weight is None and 0 < x.size <= _SMALL and 0 < target.size <= _SMALL else None


def cross_entropy(x, target, weight, *, ignore_index, label_smoothing, reduction):
    """Run two sweeps over each row, then reduce the losses of the rows; class weights go step by step."""
    op = loss.cross_entropy
    params = {"ignore_index": ignore_index, "label_smoothing": label_smoothing, "reduction": reduction}
    if not x.size:
        return op.ref(x, target, weight, **params)
    if weight is not None:
        total, lse = op.lower.body(x, target, weight, **params)
        return np.asarray(total), lse
    rest = _counted_rows(target, ignore_index, x.shape[1])
    sweep, total = _row_kernels(dt.BY_NP[x.dtype], ignore_index)
    rows, lse = sweep(x, _as_long(target), dim=1)
    if label_smoothing:
        rows = _smoothed(x, rows, lse, target, ignore_index, label_smoothing)
    if reduction == "none":
        return rows, lse
    summed = total(rows)
    return summed if reduction == "sum" else summed / x.dtype.type(rest), lse


@functools.lru_cache(256)
def _row_kernels(kind, ignore_index):
    """Return (the sweep over rows, the sum of their losses)."""
    return kernels.rowop("cross_entropy", kind, ignore_index=ignore_index), kernels.reduction("sum", kind)


def nll_loss(x, target, weight, *, ignore_index, reduction):
    """Take each row's number from memory; class weights, ignored rows and other layouts go by the reference."""
    counted = target.size if weight is None and x.flags.c_contiguous and 0 < target.size < _COUNTED.get(x.dtype, 0) else 0
    if not counted or _counted_rows(target, ignore_index, x.shape[1]) != counted:
        return loss.nll_loss.ref(x, target, weight, ignore_index=ignore_index, reduction=reduction)
    rows, classes, inner = len(x), x.shape[1], counted // len(x)
    first = np.arange(0, x.size, classes * inner)
    if inner == 1:
        positions = _as_long(target).reshape(rows) + first
    else:
        positions = _as_long(target).reshape(rows, inner) * inner + (first[:, None] + np.arange(inner))
    losses = np.negative(x.reshape(-1).take(positions)).reshape(target.shape)
    if reduction == "none":
        return losses
    total = kernels.reduction("sum", dt.BY_NP[x.dtype])(losses)
    return total if reduction == "sum" else total / x.dtype.type(counted)


def class_share(g, target, *, ignore_index, classes, reduction):
    """Return one number for all rows if none is ignored."""
    most = _COUNTED.get(g.dtype, 0)
    counted = _counted_rows(target, ignore_index, classes) if reduction != "none" and target.size < most else 0
    if not counted or counted != target.size:
        return loss.class_share.lower.body(g, target, ignore_index=ignore_index, classes=classes, reduction=reduction)
    out = alloc.empty(target.shape, g.dtype)
    out.fill(g / g.dtype.type(counted) if reduction == "mean" else g)
    return out


def softmax_minus_onehot(x, lse, a, b, target):
    """Run one sweep over each row."""
    if not x.size:
        return loss.softmax_minus_onehot.ref(x, lse, a, b, target)
    return kernels.rowop("softmax_minus_onehot", dt.BY_NP[x.dtype])(x, lse, a, b, _as_long(target), dim=1)


def _class_index_step(node, operands, results):
    """Check the targets, copy them and count those that are not ignored."""
    (target,), (out, _) = operands, results
    kind = dt.BY_NP[target.dtype]
    if kind is dt.uint64:
        return None
    check = check_range(At(0), target.size, kind, 0, node.params["classes"], node.params["ignore_index"])
    copy = convert(At(0), kind, At(1), dt.int64, out.size)
    count = step(_count_kernel(), (At(1), Table([node.params["ignore_index"]]), At(2)), n=out.size)
    return NativeCall((check, copy, count))


@functools.lru_cache(None)
def _count_kernel():
    k = KernelBuilder("count_kept")
    k.reduce("r", "n")
    k.input("x", dt.int64, (1,))
    k.input("ignored", dt.int64, (0,))
    k.output("y", dt.int64, (0,))
    with k.sweep():
        total = k.fold("sum", k.fn.ne(k.load("x"), k.load("ignored")).to(dt.int64))
    with k.point():
        k.store(total, "y")
    return k.build()


OPERATORS = {
    loss.cross_entropy: OperatorKernel(widened(cross_entropy), compiled=_unless_weighted),
    loss.cross_entropy_grad: OperatorKernel(widened(loss.cross_entropy_grad.lower.body), compiled=compiled_after),
    loss.nll_loss: OperatorKernel(nll_loss),
    loss.class_share: OperatorKernel(class_share),
    loss.softmax_minus_onehot: OperatorKernel(widened(softmax_minus_onehot)),
    loss.class_index: OperatorKernel(step=_class_index_step),
}
