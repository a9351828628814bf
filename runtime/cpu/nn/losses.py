"""Which compiled kernel runs losses over classes in eager mode; see `eager.py`.

A loss of a small batch takes less time than Python between its kernels does. Where calls of a kind come often, all of one is a
compiled graph, one native call, as a traced function would have it: the same bits, errors included.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import IngotError
from ....ir.graph.graph import Builder
from ....ir.lazy import lazy
from ....ir.opdef.aval import Aval
from ....ir.opdef.op import Op
from ....ir.ops.nn import ctc as ctc_ops
from ....ir.ops.nn import loss
from ..calls.kernel_table import KernelTable
from ..loops import kernels
from ..memory import alloc
from . import ctc
from .eager_sequence import widened

composites = lazy(__package__, "..graph.composites")
TABLE = KernelTable()
_INT64, _UINT64 = np.dtype(np.int64), np.dtype(np.uint64)
_COUNTED = {np.dtype(np.float32): 1 << 24, np.dtype(np.float64): 1 << 53}       # numbers of rows that are exact
_SMALL = 1 << 15        # elements up to which Python's time counts
_OFTEN = 64             # calls of a kind after which it is compiled: that takes as long as Python saves in thousands
_MOST = 512             # kinds of calls that are remembered


class Often:
    """Calls of an operator on arrays, compiled when they have come often."""

    def __init__(self, op: Op, extra: Callable):
        self.op, self.extra = op, extra         # `extra` makes the operator's arguments of those that are arrays
        self._made: dict = {}
        self._lock = threading.Lock()

    def find(self, key: tuple, arrays: tuple, params: dict):
        """What runs such a call on a list of its arrays, giving a list; None where kernels are called one by one. The key tells
        kinds of calls apart."""
        found = self._made.get(key, 0)
        return found if found.__class__ is not int else self._count(key, found + 1, arrays, params)

    def _count(self, key, count, arrays, params):
        with self._lock:
            if len(self._made) >= _MOST:
                self._made.clear()
            small = all(0 < a.size <= _SMALL for a in arrays)
            self._made[key] = count if count < _OFTEN and small else self._compiled(arrays, params) if small else None
            return None if self._made[key].__class__ is int else self._made[key]

    def _compiled(self, arrays, params) -> Any:
        b = Builder(f"eager_{self.op.name}")
        inputs = [b.input(f"x{i}", Aval(a.shape, dt.BY_NP[a.dtype])) for i, a in enumerate(arrays)]
        try:
            out = b.append(self.op, self.extra(*inputs), params)
            made = composites.Whole(b.finish(out if type(out) is tuple else (out,)))
        except IngotError:          # the kernels say what is wrong
            return None
        return made.run if made.is_native else None


def _kept_rows(target, ignore_index, classes):
    """How many rows count; raises for a class that there is not."""
    if not target.size:
        return 0
    plain = target.dtype is _INT64 and not 0 <= ignore_index < classes
    if plain and np.maximum.reduce(target.view(_UINT64), None) < classes:       # read as unsigned, what is negative is large
        return target.size
    low, high = int(target.min()), int(target.max())
    if low >= 0 and high < classes and not low <= ignore_index <= high:
        return target.size
    return int(loss.class_weight.ref(target, None, ignore_index=ignore_index, classes=classes, dtype=dt.float64).sum())


@TABLE.makes(loss.cross_entropy)
def cross_entropy(op: Op):
    """Two sweeps over each row, then the reduction of the rows' losses; with class weights, step by step."""

    made: dict = {}         # by dtype and ignored index: the sweep over rows, the sum of them
    often = Often(op, lambda x, target: (x, target, None))

    def run(x, target, weight, *, ignore_index, label_smoothing, reduction):
        params = {"ignore_index": ignore_index, "label_smoothing": label_smoothing, "reduction": reduction}
        if not x.size:
            return op.ref(x, target, weight, **params)
        if weight is not None:
            loss, lse = op.lower.body(x, target, weight, **params)
            return np.asarray(loss), lse
        key = x.shape, target.shape, x.dtype.char, target.dtype.char, ignore_index, label_smoothing, reduction
        whole = often.find(key, (x, target), params)
        if whole is not None:
            return tuple(whole([x, target]))
        kept = _kept_rows(target, ignore_index, x.shape[1])
        found = made.get((x.dtype, ignore_index))
        if found is None:
            kind = dt.BY_NP[x.dtype]
            found = made[x.dtype, ignore_index] = (kernels.rowop(op.name, kind, ignore_index=ignore_index),
                                                   kernels.reduction("sum", kind))
        rows, lse = found[0](x, _as_long(target), dim=1)
        if label_smoothing:
            rows = _smoothed(x, rows, lse, target, ignore_index, label_smoothing)
        if reduction == "none":
            return rows, lse
        total = found[1](rows)
        return total if reduction == "sum" else total / x.dtype.type(kept), lse

    return widened(run)


def _smoothed(x, rows, lse, target, ignore_index, share):
    """Losses of rows with a share of what all classes would cost."""
    kind = x.dtype.type
    every = loss.smooth_part(x, lse, target, None, ignore_index)
    return rows * kind(1 - share) + every * kind(share / x.shape[1])


@TABLE.makes(loss.nll_loss)
def nll_loss(op: Op):
    """Each row's number is taken where it lies; class weights, ignored rows and other layouts go by the body."""

    def run(x, target, weight, *, ignore_index, reduction):
        kept = target.size if weight is None and x.flags.c_contiguous and 0 < target.size < _COUNTED.get(x.dtype, 0) else 0
        if not kept or _kept_rows(target, ignore_index, x.shape[1]) != kept:
            return body(x, target, weight, ignore_index=ignore_index, reduction=reduction)
        rows, classes, beside = len(x), x.shape[1], kept // len(x)
        first = np.arange(0, x.size, classes * beside)
        if beside == 1:
            places = _as_long(target).reshape(rows) + first
        else:
            places = _as_long(target).reshape(rows, beside) * beside + (first[:, None] + np.arange(beside))
        losses = np.negative(x.reshape(-1).take(places)).reshape(target.shape)
        if reduction == "none":
            return losses
        total = kernels.reduction("sum", dt.BY_NP[x.dtype])(losses)
        return total if reduction == "sum" else total / x.dtype.type(kept)

    body = op.ref
    return run


@TABLE.makes(loss.class_share)
def class_share(op: Op):
    """One number for all rows where none is ignored."""

    def run(g, target, *, ignore_index, classes, reduction):
        most = _COUNTED.get(g.dtype, 0)
        kept = _kept_rows(target, ignore_index, classes) if reduction != "none" and target.size < most else 0
        if not kept or kept != target.size:
            return op.lower.body(g, target, ignore_index=ignore_index, classes=classes, reduction=reduction)
        out = alloc.empty(target.shape, g.dtype)
        out.fill(g / g.dtype.type(kept) if reduction == "mean" else g)
        return out

    return run


@TABLE.makes(loss.softmax_minus_onehot)
def softmax_minus_onehot(op: Op):
    """One sweep over each row."""

    by_dtype: dict = {}

    def run(x, lse, a, b, target):
        if not x.size:
            return op.ref(x, lse, a, b, target)
        made = by_dtype.get(x.dtype)
        if made is None:
            made = by_dtype[x.dtype] = kernels.rowop(op.name, dt.BY_NP[x.dtype])
        return made(x, lse, a, b, _as_long(target), dim=1)

    return widened(run)


def _as_long(target):
    return target if target.dtype is _INT64 else target.astype(np.int64, copy=False)


@TABLE.makes(ctc_ops.ctc_loss, ctc_ops.ctc_loss_grad)
def alignments(op: Op):
    """All sequences in one native call."""
    made = ctc.losses if op is ctc_ops.ctc_loss else ctc.gradients

    def run(*arrays, blank):
        log_probs = arrays[-4]
        op.infer(*[Aval(a.shape, dt.BY_NP[a.dtype]) for a in arrays], blank=blank)
        return (made if log_probs.size else op.ref)(*arrays, blank=blank)

    return widened(run)


@TABLE.makes(loss.cross_entropy_grad)
def cross_entropy_grad(op: Op):
    """What arrives at the rows' losses, then one sweep over each row."""
    often = Often(op, lambda *arrays: arrays)

    def run(g, x, lse, target, *, ignore_index, reduction):
        params = {"ignore_index": ignore_index, "reduction": reduction}
        key = g.shape, x.shape, lse.shape, target.shape, x.dtype.char, target.dtype.char, ignore_index, reduction
        whole = often.find(key, (g, x, lse, target), params)
        return op.lower.body(g, x, lse, target, **params) if whole is None else whole([g, x, lse, target])[0]

    return widened(run)
