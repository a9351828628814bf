"""Order statistics: medians, modes, runs of equal elements and quantiles along a dim."""

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.derived_gradients import derived_vjp
from ...opdef.op import NO_GRAD, Composite, op
from ...opdef.param_checks import check_choice, check_dim, check_flag
from ...symbols.substitute import as_float
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.scan import cummax
from ..core.shape import cat, expand, full, iota, permute, slice_
from .indexing import gather
from .sort import argsort, order_keys

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _infer_place(name):

    def infer(x, *, dim):
        if x.ndim == 0 or not x.shape[check_dim(dim, x.ndim)]:
            raise ShapeError(f"{name} along dim {dim} of {x}: there is no element")
        if x.dtype.is_complex:
            raise DTypeError(f"{name} takes real types, got {x}: complex numbers have no order")
        return x.with_shape(tuple(1 if i == dim else n for i, n in enumerate(x.shape))).with_dtype(dt.int64)

    return infer


_infer_median_of = _infer_place("median")


def _infer_median(x, *, dim, skip_nan):
    check_flag(skip_nan, "skip_nan")
    return _infer_median_of(x, dim=dim)


def _cut(x, dim, start, stop):
    return slice_(x, dim=dim, start=start, step=1, stop=stop)


def _order(x, dim):
    """Return the sorting order along a dim, with that dim moved last, where kernels sort."""
    last = x.ndim - 1
    if dim == last:
        return argsort(x, dim=last, descending=False)
    dims = _last(x.ndim, dim)
    order = argsort(permute(x, dims=dims), dim=last, descending=False)
    return permute(order, dims=tuple(dims.index(i) for i in range(x.ndim)))


def _last(ndim, dim):
    return (*(i for i in range(ndim) if i != dim), dim)


def _nans(x, dim):
    return rd.sum_(ew.cast(ew.isnan(x), dtype=dt.int64), dim=(dim,), keepdim=True)


def _median_body(x, *, dim, skip_nan):
    n, order = x.shape[dim], _order(x, dim)
    middle = (n - 1) // 2
    if not dt.of(x).is_inexact:
        return _cut(order, dim, middle, middle + 1)
    nans = _nans(x, dim)
    if skip_nan:
        middle = ew.bitwise_right_shift(ew.sub(n - 1, nans), 1)
        return gather(order, ew.where(ew.lt(middle, 0), 0, middle), dim=dim)
    return ew.where(ew.gt(nans, 0), rd.argmax(x, dim=(dim,), keepdim=True), _cut(order, dim, middle, middle + 1))


def _median(x, *, dim, skip_nan):
    order = np.argsort(order_keys(x), axis=dim, kind="stable")
    nan = np.isnan(x) if x.dtype.kind not in "biu" else np.zeros(x.shape, bool)
    count = nan.sum(dim, keepdims=True)
    middle = (x.shape[dim] - 1 - (count if skip_nan else 0 * count)) // 2
    found = np.take_along_axis(order, np.maximum(middle, 0), dim)
    return found if skip_nan else np.where(count > 0, nan.argmax(dim, keepdims=True), found)


median_place = op("median_place", infer=_infer_median, ref=_median, vjp=NO_GRAD, lower=Composite(_median_body),
                  traits=("exact",), doc="Where the lower median along a dim is: at the first nan, or of what is not nan.")


def _shared_vjp(g, out, x, value):
    """Elements equal to the selected value share the gradient equally."""
    hit = ew.eq(x, expand(value, shape=x.shape))
    hit = ew.logical_or(hit, ew.logical_and(ew.isnan(x), ew.isnan(value)))
    part = ew.div(g, rd.sum_(ew.cast(hit, dtype=dt.of(x)), dim=(0,), keepdim=False))
    return ew.where(hit, expand(part, shape=x.shape), 0.0)


def _infer_found_in(x, value):
    if value.ndim or value.dtype is not x.dtype or x.ndim != 1:
        raise ShapeError(f"found_in takes a vector and a number of its dtype, got {x} and {value}")
    return value


found_in = op("found_in", infer=_infer_found_in, ref=lambda x, value: value.copy(), vjp=(_shared_vjp, None),
              lower=Composite(lambda x, value: value), traits=("exact",),
              doc="The value, a number without dims, which some elements of a vector are: its gradient goes to these.")


def _mode_body(x, *, dim):
    n, order = x.shape[dim], _order(x, dim)
    ranked = gather(x, order, dim=dim)
    place = iota(x, shape=tuple(x.shape), dim=dim, dtype=dt.int64)
    changed = ew.ne(_cut(ranked, dim, 1, n), _cut(ranked, dim, 0, n - 1))
    first = full(x, shape=tuple(1 if i == dim else s for i, s in enumerate(x.shape)), value=True, dtype=dt.bool_)
    starts = ew.where(cat(first, changed, dim=dim), place, 0)
    length = ew.sub(place, cummax(starts, dim=dim)[0])
    return gather(order, rd.argmax(length, dim=(dim,), keepdim=True), dim=dim)


def _mode(x, *, dim):

    def of_row(row):
        order = np.argsort(order_keys(row), kind="stable")
        ranked = row[order]
        starts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
        lengths = np.diff(np.append(starts, row.size))
        best = lengths.argmax()
        return order[starts[best] + lengths[best] - 1:][:1]

    if not x.size:
        return np.zeros((*x.shape[:dim], 1, *x.shape[dim + 1:]), np.int64)
    return np.apply_along_axis(of_row, dim, x).astype(np.int64)


mode_place = op("mode_place", infer=_infer_place("mode"), ref=_mode, vjp=NO_GRAD, lower=Composite(_mode_body),
                traits=("exact",), doc="Where the most frequent value along a dim (of equals the smallest) is last.")


def _infer_starts(x):
    if x.ndim == 0:
        raise ShapeError(f"run_starts goes along the first dimension, {x} has none")
    return x.with_shape(x.shape[:1]).with_dtype(dt.bool_)


def _starts_body(x):
    n = x.shape[0]
    first = full(x, shape=(min(n, 1),), value=True, dtype=dt.bool_)
    if n < 2:
        return first
    changed = ew.ne(_cut(x, 0, 1, n), _cut(x, 0, 0, n - 1))
    if x.ndim > 1:
        changed = rd.any_(changed, dim=tuple(range(1, x.ndim)), keepdim=False)
    return cat(first, changed, dim=0)


def _starts(x):
    out = np.ones(x.shape[0], bool)
    changed = x[1:] != x[:-1]
    out[1:] = changed.any(axis=tuple(range(1, x.ndim))) if x.ndim > 1 else changed
    return out


run_starts = op("run_starts", infer=_infer_starts, ref=_starts, vjp=NO_GRAD, lower=Composite(_starts_body),
                traits=("exact", "ref_first"),
                doc="Which entries of the first dimension differ from the one before; the first does.")


_infer_quantile_of = _infer_place("quantile")


def _infer_quantile(x, q, *, dim, interpolation, skip_nan):
    if x.dtype not in (dt.float32, dt.float64) or q.dtype is not x.dtype or q.ndim != 1:
        raise DTypeError(f"quantile takes float32 or float64 and a row of levels of the same dtype, got {x} and {q}")
    check_choice(interpolation, INTERPOLATIONS, "interpolation")
    check_flag(skip_nan, "skip_nan")
    _infer_quantile_of(x, dim=dim)
    return x.with_shape((q.shape[0], *x.shape[:dim], *x.shape[dim + 1:]))


def _quantile_body(x, q, *, dim, interpolation, skip_nan):
    """The levels become the first dim of the result; `dim` is removed."""
    last = x.ndim - 1
    x = permute(x, dims=_last(x.ndim, dim))
    n, shape = x.shape[-1], (*x.shape[:-1], q.shape[0])
    ranked, nans, kind = gather(x, argsort(x, dim=last, descending=False), dim=last), _nans(x, last), dt.of(x)
    q = expand(q, shape=shape)
    if skip_nan:
        top = ew.cast(ew.sub(ew.sub(n, nans), 1), dtype=kind)
        rank = ew.mul(q, expand(ew.where(ew.lt(top, 0.0), 0.0, top), shape=shape))
    else:
        rank = ew.where(expand(ew.gt(nans, 0), shape=shape), as_float(n - 1), ew.mul(q, as_float(n - 1)))
    return permute(_between(ranked, rank, last, interpolation), dims=(last, *range(last)))


_ROUNDED = {"nearest": ew.round_, "lower": ew.floor, "higher": ew.ceil}


def _between(ranked, rank, last, interpolation):
    if interpolation in _ROUNDED:
        return gather(ranked, ew.cast(_ROUNDED[interpolation](rank), dtype=dt.int64), dim=last)
    below = ew.floor(rank)
    low = gather(ranked, ew.cast(below, dtype=dt.int64), dim=last)
    high = gather(ranked, ew.cast(ew.ceil(rank), dtype=dt.int64), dim=last)
    if interpolation == "midpoint":
        return ew.add(low, ew.mul(_span(low, high), 0.5))
    return _towards(low, high, ew.sub(rank, below))


def _span(low, high):
    """Return the distance of the ends; equal ends, infinite ones too, give 0, and both still get a gradient."""
    alike = ew.logical_and(ew.eq(low, high), ew.logical_not(ew.isfinite(low)))
    return ew.where(alike, 0.0, ew.sub(high, low))


def _towards(low, high, weight):
    """Interpolate low + weight * (high - low), from the nearer end."""
    span = ew.where(ew.eq(weight, 0.0), 0.0, _span(low, high))
    near = ew.add(low, ew.mul(span, weight))
    far = ew.sub(high, ew.mul(span, ew.sub(1.0, weight)))
    return ew.where(ew.lt(weight, 0.5), near, far)


def _quantile(x, q, *, dim, interpolation, skip_nan):
    if not x.size:          # numpy forgets dims
        return np.zeros((q.size, *x.shape[:dim], *x.shape[dim + 1:]), x.dtype)
    method = np.nanquantile if skip_nan else np.quantile
    return np.asarray(method(x, np.clip(q, 0, 1), axis=dim, method=interpolation), x.dtype)


quantile = op("quantile", infer=_infer_quantile, ref=_quantile, vjp=derived_vjp(_quantile_body), saves=(1, 2),
              lower=Composite(_quantile_body),
              doc="Elements at the levels (a row) of what is sorted along a dim, or between them; the levels come first.")
