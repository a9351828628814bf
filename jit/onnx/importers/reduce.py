"""Importers of ONNX reductions and of functions along an axis."""

import math

import numpy as np

from ....ir import dtype as dt
from ....runtime.nn import functional as F
from .registry import as_rows, ing, ints, onnx_op, whole_axis


def _sum(x, dims, keep):
    return ing.sum(x, dims, keep, dtype=x.dtype)


def _prod(x, dims, keep):
    for d in sorted(dims, reverse=True):
        x = ing.prod(x, d, keep, dtype=x.dtype)
    return x


def _mean(x, dims, keep):
    if x.dtype.is_inexact:
        return ing.mean(x, dims, keep)
    return ing.div(_sum(x, dims, keep), math.prod(x.shape[d] for d in dims), rounding_mode="trunc")


def _extreme(name, lowest):
    def run(x, dims, keep):
        if x.dtype is dt.bool_:
            return run(x.to(dt.uint8), dims, keep).to(dt.bool_)
        if any(x.shape[d] == 0 for d in dims):
            shape = [1 if i in dims else n for i, n in enumerate(x.shape) if keep or i not in dims]
            return ing.full(shape, _limit(x.dtype, lowest), dtype=x.dtype)
        return getattr(ing, name)(x, dims, keep)

    return run


def _limit(dtype, lowest):
    if dtype.is_inexact:
        return -math.inf if lowest else math.inf
    info = np.iinfo(dtype.np)
    return int(info.min if lowest else info.max)


def _through_floats(fn):
    """Return a reduction that computes integers in float64."""

    def run(x, dims, keep):
        return fn(x, dims, keep) if x.dtype.is_inexact else fn(x.to(dt.float64), dims, keep).to(x.dtype)

    return run


_REDUCTIONS = {
    "ReduceSum": _sum,
    "ReduceMean": _mean,
    "ReduceProd": _prod,
    "ReduceMax": _extreme("amax", True),
    "ReduceMin": _extreme("amin", False),
    "ReduceL1": lambda x, dims, keep: _sum(ing.abs(x), dims, keep),
    "ReduceL2": _through_floats(lambda x, dims, keep: ing.sqrt(_sum(x * x, dims, keep))),
    "ReduceSumSquare": lambda x, dims, keep: _sum(x * x, dims, keep),
    "ReduceLogSum": _through_floats(lambda x, dims, keep: ing.log(_sum(x, dims, keep))),
    "ReduceLogSumExp": _through_floats(lambda x, dims, keep: ing.logsumexp(x, dims, keep)),
}


def _reduced(call, x, axes):
    if not axes:
        if axes is not None and not call.attributes.get("noop_with_empty_axes", 0) and x.ndim == 0:
            return _over(call, x, ())
        axes = () if call.get("noop_with_empty_axes", 0) else range(x.ndim)
    return _over(call, x, tuple(sorted({whole_axis(a, x.ndim) for a in axes})))


def _over(call, x, dims):
    """Reduce over exactly these dims, or each element by itself if there are none."""
    keep = bool(call.get("keepdims", 1))
    if dims:
        return _REDUCTIONS[call.kind](x, dims, keep)
    return _REDUCTIONS[call.kind](x.unsqueeze(0), (0,), False)


onnx_op(*_REDUCTIONS)(lambda call, x: _reduced(call, x, call.get("axes")))


@onnx_op(*[n for n in _REDUCTIONS if n != "ReduceSum"], since=18, host=(1,))
@onnx_op("ReduceSum", since=13, host=(1,))
def _reduce_by_input(call, x, axes=None):
    return _reduced(call, x, ints(axes))


@onnx_op("ArgMax", "ArgMin")
def _position(call, x):
    """Return positions of the largest or smallest elements: the first of equals, or the last."""
    axis = whole_axis(call.get("axis", 0), x.ndim)
    find = ing.argmax if call.kind == "ArgMax" else ing.argmin
    if not call.get("select_last_index", 0):
        return find(x, axis, bool(call.get("keepdims", 1)))
    return x.shape[axis] - 1 - find(x.flip(axis), axis, bool(call.get("keepdims", 1)))


# The softmax family. Until version 12 everything from the axis on counts as one row.


def _rows(call, fn, x):
    return fn(as_rows(x, call.get("axis", 1)), 1).reshape(x.shape)


def _hardmax(x, dim):
    at = ing.argmax(x, dim, True)
    numbers = ing.arange(x.shape[dim]).reshape([-1 if i == dim else 1 for i in range(x.ndim)])
    return ing.eq(at, numbers).to(x.dtype)


for _name, _fn in {"Softmax": F.softmax, "LogSoftmax": F.log_softmax, "Hardmax": _hardmax}.items():
    onnx_op(_name)(lambda call, x, fn=_fn: _rows(call, fn, x))
    onnx_op(_name, since=13)(lambda call, x, fn=_fn: fn(x, whole_axis(call.get("axis", -1), x.ndim)))


@onnx_op("LpNormalization")
def _unit_norm(call, x):
    axis = whole_axis(call.get("axis", -1), x.ndim)
    size = ing.sum(ing.abs(x), axis, True) if call.get("p", 2) == 1 else ing.sqrt(ing.sum(x * x, axis, True))
    return ing.where(ing.eq(size, 0), ing.zeros_like(x), x / ing.where(ing.eq(size, 0), ing.ones_like(size), size))


@onnx_op("MeanVarianceNormalization")
def _standardise(call, x):
    axes = tuple(whole_axis(a, x.ndim) for a in call.get("axes", [0, 2, 3]))
    centred = x - ing.mean(x, axes, True)
    return centred / (ing.sqrt(ing.mean(centred * centred, axes, True)) + 1e-9)
