"""Sorting and top-k by index: values and gradients follow through gather.

The order is total and stable, so results do not depend on the algorithm: nan comes after every number, -0.0 equals 0.0.
"""

import math
from typing import Any

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.batch_rules import ALONG
from ...opdef.op import NO_GRAD, Composite, Template, op
from ...opdef.param_checks import check_dim, check_flag, check_int, check_number, check_sizes
from ..core import elementwise as ew
from ..core.batching import all_repeated
from ..core.shape import full, reshape
from .indexing import scatter

_SIGNED: dict[int, Any] = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
_LOWEST: dict[Any, Any] = {t: t(np.iinfo(t).min) for t in _SIGNED.values()}
_HIGHEST: dict[Any, Any] = {t: t(np.iinfo(t).max) for t in _SIGNED.values()}


def order_keys(a, descending=False):
    """Return integers that sort as the elements of `a` do, or in the opposite order."""
    if a.dtype.kind == "b":
        keys = a.view(np.int8)
    elif a.dtype.kind == "u":
        signed = _SIGNED[a.dtype.itemsize]
        keys = np.ascontiguousarray(a).view(signed) ^ _LOWEST[signed]
    elif a.dtype.kind == "i":
        keys = a
    else:
        signed = _SIGNED[a.dtype.itemsize]
        bits = np.ascontiguousarray(a + a.dtype.type(0)).view(signed)
        keys = np.where(bits < 0, bits ^ _HIGHEST[signed], bits)
        keys = np.where(np.isnan(a), _HIGHEST[signed], keys)
    return ~keys if descending else keys


def _infer_argsort(x, *, dim, descending):
    if x.ndim == 0:
        raise ShapeError(f"argsort runs along a dimension, {x} has none")
    check_dim(dim, x.ndim)
    check_flag(descending, "descending")
    if x.dtype.is_complex:
        raise DTypeError(f"argsort takes real types, got {x}: complex numbers have no order")
    return x.with_dtype(dt.int64)


def _argsort(x, *, dim, descending):
    return np.argsort(order_keys(x, descending), axis=dim, kind="stable")


argsort = op("argsort", infer=_infer_argsort, ref=_argsort, vjp=NO_GRAD, lower=Template("sort"), batch=ALONG, traits=("exact",),
             doc="The indices that sort along a dimension, stable, nan last (first when descending).")


def _infer_topk(x, *, k, dim, largest):
    check_int(k, "k")
    if x.ndim == 0 or not 0 <= k <= x.shape[check_dim(dim, x.ndim)]:
        raise ShapeError(f"topk of {x} along dim {dim}: k={k} must be within 0..{x.shape[dim] if x.ndim else 0}")
    _infer_argsort(x, dim=dim, descending=largest)
    return x.with_shape(x.shape[:dim] + (k,) + x.shape[dim + 1:]).with_dtype(dt.int64)


def _arg_topk(x, *, k, dim, largest):
    """Find the k-th key of each row, keep what is before it and the first of its equals, and sort those."""
    keys = np.moveaxis(order_keys(x, largest), dim, -1)
    n, lead = keys.shape[-1], keys.shape[:-1]
    if k == 0 or 0 in lead:
        return np.zeros(x.shape[:dim] + (k,) + x.shape[dim + 1:], np.int64)
    if 4 * k >= n:
        found = np.argsort(keys, axis=-1, kind="stable")[..., :k]
        return np.ascontiguousarray(np.moveaxis(found, -1, dim))
    last = np.partition(keys, k - 1, axis=-1)[..., k - 1:k]
    before, tie = keys < last, keys == last
    room = k - np.count_nonzero(before, axis=-1, keepdims=True)
    chosen = before | (tie & (np.cumsum(tie, axis=-1) <= room))
    at = np.nonzero(chosen)[-1].reshape(*lead, k)
    order = np.argsort(np.take_along_axis(keys, at, -1), axis=-1, kind="stable")
    return np.ascontiguousarray(np.moveaxis(np.take_along_axis(at, order, -1), -1, dim))


arg_topk = op("arg_topk", infer=_infer_topk, ref=_arg_topk, vjp=NO_GRAD, lower=Template("sort"), batch=ALONG, traits=("exact",),
              doc="The indices of the k largest or smallest along a dimension, in order; of equals the first.")


def _infer_searchsorted(sorted_, values, *, right):
    check_flag(right, "right")
    if sorted_.dtype is not values.dtype:
        raise DTypeError(f"searchsorted takes two arguments of one dtype, got {sorted_} and {values}; cast one with .to()")
    if sorted_.ndim == 0 or (sorted_.ndim > 1 and sorted_.shape[:-1] != values.shape[:-1]):
        raise ShapeError(f"searchsorted takes one sorted row, or one for each row of the values, got {sorted_} and {values}")
    return values.with_dtype(dt.int64)


def _searchsorted(sorted_, values, *, right):
    side: Any = "right" if right else "left"
    rows, wanted = order_keys(sorted_), order_keys(values)
    if sorted_.ndim == 1:
        return np.asarray(np.searchsorted(rows, wanted, side), np.int64).reshape(values.shape)
    count = math.prod(rows.shape[:-1])
    flat, each = rows.reshape(count, rows.shape[-1]), wanted.reshape(count, wanted.shape[-1])
    found = [row.searchsorted(v, side) for row, v in zip(flat, each)]
    return np.array(found, np.int64).reshape(values.shape)


def _batch_searchsorted(size, op, args, held, params):
    if not held[0] and len(args[0].shape) == 1:
        return op(*args, **params)
    rows, values = all_repeated(size, args, held)
    if len(rows.shape) > 2:
        return op(rows, values, **params)
    shape = values.shape
    return reshape(op(rows, reshape(values, shape=(size, math.prod(shape[1:]))), **params), shape=shape)


searchsorted = op("searchsorted", infer=_infer_searchsorted, ref=_searchsorted, vjp=NO_GRAD, lower=Template("search"),
                  traits=("exact",), batch=_batch_searchsorted,
                  doc="Where each value would be put in a sorted row: before (or after) its equals.")


# Equal bins.


def _infer_bins(x, *, bins, low, high):
    if x.ndim != 1 or x.dtype not in (dt.float32, dt.float64):
        raise DTypeError(f"bin_counts takes one row of float32 or float64, got {x}")
    check_int(bins, "bins", 1)
    check_sizes((bins,), "bins")
    check_number(low, "low")
    check_number(high, "high")
    return x.with_shape((bins,)).with_dtype(dt.int64)


def _bins_body(x, *, bins, low, high):
    inside = ew.logical_and(ew.ge(x, low), ew.le(x, high))
    place = ew.mul(ew.div(ew.sub(x, low), high - low), float(bins))
    place = ew.cast(ew.where(inside, place, 0.0), dtype=dt.int64)
    none = full(x, shape=(bins,), value=0, dtype=dt.int64)
    return scatter(none, ew.where(ew.ge(place, bins), bins - 1, place), ew.cast(inside, dtype=dt.int64), dim=0, mode="add")


def _bins(x, *, bins, low, high):
    inside, kind = x[(x >= low) & (x <= high)], x.dtype.type
    bin_of = ((inside - kind(low)) / kind(high - low) * kind(bins)).astype(np.int64)
    return np.bincount(np.minimum(bin_of, bins - 1), minlength=bins)


bin_counts = op("bin_counts", infer=_infer_bins, ref=_bins, vjp=NO_GRAD, lower=Composite(_bins_body), numbers=("low", "high"),
                traits=("exact", "ref_first"),
                doc="How many elements of a row fall into each of equal bins from low to high, which belongs to the last one.")
