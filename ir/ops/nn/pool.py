"""Pools over any number of spatial dims of (N, C, *spatial), and the scatter that carries their gradients back.

Maximum pools return the flat index of each maximum in its plane; all of them share one gradient.
"""

import itertools
from math import prod
from typing import Any

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.batch_rules import IMAGES
from ...opdef.op import Composite, Template, op
from ...opdef.param_checks import check_flag, check_int, check_ints, check_sizes
from ...reference import scalar_functions
from ...symbols.symbolic import hint
from ..core.elementwise_rules import wide
from .windows import batches, check_windows, kernel_offsets, pad_spatial, window_count, window_counts, windows

# Taking from and putting into planes: the common ground of maximum pools, unpooling and grid sampling.


def _planes(x, indices, name):
    if not indices.dtype.is_integer:
        raise DTypeError(f"{name}: indices must be integers, got {indices}")
    if x.ndim < 2 or x.shape[:2] != indices.shape[:2]:
        raise ShapeError(f"{name}: values {x} and indices {indices} must have the same batch and channels")


def _infer_take(x, indices):
    _planes(x, indices, "plane_take")
    return x.with_shape(indices.shape)


def out_of_plane(name, indices, size) -> ShapeError:
    """Return the error for indices of which some lie outside of a plane."""
    error = ShapeError(f"{name}: indices reach from {indices.min()} to {indices.max()}, outside of a plane of {prod(size)} "
                       f"elements {list(size)}")
    error.is_of_values = True
    return error


def _require_within(name, indices, size):
    if indices.size and not (indices.min() >= 0 and indices.max() < prod(size)):
        raise out_of_plane(name, indices, size)


def _take(x, indices):
    _require_within("plane_take", indices, x.shape[2:])
    n, c = x.shape[:2]
    return np.take_along_axis(x.reshape(n, c, prod(x.shape[2:])), indices.reshape(n, c, prod(indices.shape[2:])),
                              2).reshape(indices.shape)


def _infer_put(x, indices, *, size, accumulate):
    _planes(x, indices, "plane_put")
    check_flag(accumulate, "plane_put: accumulate")
    check_sizes(size, "plane_put: size")
    if x.shape != indices.shape:
        raise ShapeError(f"plane_put takes one index for each value, got values {x} and indices {indices}")
    check_sizes((*x.shape[:2], *size), "plane_put: result")
    return x.with_shape((*x.shape[:2], *size))


def _put(x, indices, *, size, accumulate):
    (n, c), plane = x.shape[:2], prod(size)
    _require_within("plane_put", indices, size)
    if not accumulate:
        out = np.zeros((n, c, plane), x.dtype)
        np.put_along_axis(out, indices.reshape(n, c, -1 if x.size else 0), x.reshape(n, c, -1 if x.size else 0), 2)
        return out.reshape(n, c, *size)
    flat = np.zeros(n * c * plane, wide(x).dtype)
    starts = (np.arange(n * c) * plane).reshape((n, c) + (1,) * (x.ndim - 2))
    np.add.at(flat, (indices + starts).reshape(-1), wide(x).reshape(-1))
    return flat.reshape(n, c, *size).astype(x.dtype, copy=False)


plane_take = op(
    "plane_take", infer=_infer_take, ref=_take,
    vjp=(lambda g, out, x, indices: plane_put(g, indices, size=x.shape[2:], accumulate=True), None),
    lower=Template("gather"), batch=IMAGES, bounds=lambda x, indices: [(1, 0, prod(x.shape[2:]))],
    traits=("exact", "refuses"), doc="The elements at flat indices into each (n, c) plane.")
plane_put = op(
    "plane_put", infer=_infer_put, ref=_put,
    vjp=(lambda g, out, x, indices, *, size, accumulate: plane_take(g, indices), None),
    lower=Template("scatter"), batch=IMAGES, bounds=lambda x, indices, *, size, accumulate: [(1, 0, prod(size))],
    traits=("refuses",),
    doc="Zeros of spatial `size` with each value at its flat index in its plane; values that meet are added if `accumulate`, "
        "else the last one stays.")

# Maxima.

_IN_CACHE = 1 << 17   # elements of a batch part that stay in a core's cache with what is computed from them
_MANY = 64            # above this many places in a window, one argmax over copied windows beats a pass for each place


def _infer_max_pool(x, *, kernel, stride, padding, dilation):
    counts = check_windows("max_pool", x, kernel, stride, padding, dilation)
    out = x.with_shape((*x.shape[:2], *counts))
    return out, out.with_dtype(dt.int64)


def _lowest(kind):
    if kind.kind == "b":
        return False
    return np.iinfo(kind).min if kind.kind in "iu" else -np.inf


def _steps(sizes):
    """Return the flat distance of one step along each spatial dim."""
    return tuple(prod(sizes[i + 1:]) for i in range(len(sizes)))


def _first_positions(sizes, counts, stride, padding):
    """Return the flat position of each window's first place (which may lie in the padding)."""
    total = np.zeros(counts, np.int64)
    for axis, (count, s, (lo, _), step) in enumerate(zip(counts, stride, padding, _steps(sizes))):
        total += ((np.arange(count) * s - lo) * step).reshape((-1,) + (1,) * (len(counts) - axis - 1))
    return total


def _tap_offsets(sizes, kernel, dilation):
    """Return each window place's flat distance from the first place."""
    steps = [d * step for d, step in zip(dilation, _steps(sizes))]
    return np.array([sum(t * s for t, s in zip(tap, steps)) for tap in itertools.product(*map(range, kernel))], np.int64)


def _maximum_by_offsets(x, kernel, counts, stride, dilation, offsets, check_nan):
    positions = kernel_offsets(kernel, counts, stride, dilation)
    best = x[(..., *next(positions)[1])].copy()
    which = np.zeros(best.shape, np.uint8)
    for place, (_, where) in enumerate(positions, 1):
        value = x[(..., *where)]
        better = value > best
        if check_nan:
            better |= (value != value) & (best == best)
        np.copyto(best, value, where=better)
        np.copyto(which, place, where=better)
    return best, offsets[which]


def _maximum_by_window(x, kernel, stride, dilation, offsets):
    rank = len(kernel)
    view = windows(x, kernel, stride, dilation)
    lines = np.moveaxis(view, range(2, 2 + rank), range(-rank, 0)).reshape(view.shape[:2] + view.shape[2 + rank:] + (-1,))
    chosen = lines.argmax(axis=-1)
    return np.take_along_axis(lines, chosen[..., None], -1)[..., 0], offsets[chosen]


def _first_inside(x, counts, stride, padding, dilation):
    """Return the flat position of each window's first place inside the input."""
    total = np.zeros(counts, np.int64)
    for axis, (count, s, (lo, _), d, step) in enumerate(zip(counts, stride, padding, dilation, _steps(x.shape[2:]))):
        start = np.arange(count) * s - lo
        inside = start + -(np.minimum(start, 0) // d) * d
        total += (inside * step).reshape((-1,) + (1,) * (len(counts) - axis - 1))
    return total


def _max_pool(x, *, kernel, stride, padding, dilation):
    kind, values = x.dtype, wide(x)
    lowest, sizes = _lowest(values.dtype), x.shape[2:]
    counts = window_counts(sizes, kernel, stride, padding, dilation)
    offsets = _tap_offsets(sizes, kernel, dilation)
    planes = values.reshape(x.shape[0] * x.shape[1], 1, *sizes)
    best, which = np.empty((len(planes), 1, *counts), values.dtype), np.empty((len(planes), 1, *counts), np.int64)
    check_nan = values.dtype.kind == "f" and values.size > 0 and bool(np.isnan(values.max()))
    for part in batches(len(planes), prod(sizes), _IN_CACHE):
        full = pad_spatial(planes[part], padding, lowest)
        if len(offsets) > _MANY:
            best[part], which[part] = _maximum_by_window(full, kernel, stride, dilation, offsets)
        else:
            best[part], which[part] = _maximum_by_offsets(full, kernel, counts, stride, dilation, offsets, check_nan)
    which += _first_positions(sizes, counts, stride, padding)
    if any(lo > 0 for lo, _ in padding):
        empty = best == lowest
        if empty.any():
            which = np.where(empty, _first_inside(x, counts, stride, padding, dilation), which)
    shape = (*x.shape[:2], *counts)
    return best.reshape(shape).astype(kind, copy=False), which.reshape(shape)


def _infer_max_pool_grad(g, indices, *, size, kernel, stride, padding, dilation):
    if indices.dtype is not dt.int64:
        raise DTypeError(f"max_pool_grad takes the indices of max_pool, which are int64, got {indices}")
    out = _infer_put(g, indices, size=size, accumulate=True)
    counts = check_windows("max_pool_grad", out, kernel, stride, padding, dilation)
    if counts != g.shape[2:]:
        raise ShapeError(f"max_pool_grad: a pool of {out} gives {counts}, not the {list(g.shape[2:])} of {g}")
    return out


max_pool_grad = op(
    "max_pool_grad", infer=_infer_max_pool_grad,
    ref=lambda g, indices, *, size, **window: _put(g, indices, size=size, accumulate=True),
    vjp=(lambda g, out, x, indices, **window: plane_take(g, indices), None),
    lower=Composite(lambda g, indices, *, size, **window: plane_put(g, indices, size=size, accumulate=True)), batch=IMAGES,
    bounds=lambda g, indices, *, size, **window: [(1, 0, prod(size))], traits=("renamed",),
    doc="The gradient of max_pool: each value at the index that its window took. Where windows are known, whoever makes an "
        "element need look at those alone that hold it.")


max_pool = op("max_pool", infer=_infer_max_pool, ref=_max_pool, lower=Template("pool"), batch=IMAGES,
              vjp=(lambda g, out, x, **window: max_pool_grad(g, out[1], size=x.shape[2:], **window),),
              traits=("exact", "straight"),
              doc="The largest element of each window (nan wins, else the first of equals) and its flat index in the plane.")


def bins(n: int, count: int):
    """Return starts and ends of `count` bins that cover `n` elements as evenly as possible; neighbours may overlap."""
    i = np.arange(count)
    return i * n // count, -(-(i + 1) * n // count)


def bin_positions(n, count):
    """Return the positions in each bin (count, widest); short bins repeat their last one."""
    starts, ends = bins(n, count)
    widest = int((ends - starts).max(initial=1))
    return np.minimum(starts[:, None] + np.arange(widest), ends[:, None] - 1)


def _joint_positions(positions, sizes):
    """Return flat positions (..., *counts, places in the window) from one (..., count, places) table for each dim."""
    rank = len(sizes)
    total: Any = 0
    for axis, (table, step) in enumerate(zip(positions, _steps(sizes))):
        lead = table.shape[:-2]
        spread = [1] * (2 * rank)
        spread[axis], spread[rank + axis] = table.shape[-2:]
        total = total + table.reshape(*lead, *spread) * step
    whole = total.shape[total.ndim - rank:]
    return total.reshape(*total.shape[:total.ndim - rank], prod(whole))


def _maximum_at(x, positions):
    """Return the largest of the elements at `positions` (*counts, k) or (N, C, *counts, k), and its flat index."""
    n, c = x.shape[:2]
    positions = np.broadcast_to(positions, (n, c, *positions.shape[-1 - (x.ndim - 2):]))
    values = _take(wide(x), positions)
    chosen = values.argmax(axis=-1)[..., None]
    best = np.take_along_axis(values, chosen, -1)[..., 0]
    return best.astype(x.dtype, copy=False), np.take_along_axis(positions, chosen, -1)[..., 0]


def _check_size(name, x, size):
    check_sizes(size, f"{name} of {x}: size")
    if x.ndim != len(size) + 2:
        raise ShapeError(f"{name} of {x}: an output size is needed for each spatial dimension, got {size}")
    if 0 in x.shape[2:]:
        raise ShapeError(f"{name} of {x}: the spatial sizes must not be 0")
    check_sizes((*x.shape[:2], *size), f"{name} of {x}: result")


def _infer_adaptive_max(x, *, size):
    _check_size("adaptive_max_pool", x, size)
    out = x.with_shape((*x.shape[:2], *size))
    return out, out.with_dtype(dt.int64)


def _adaptive_max(x, *, size):
    tables = [bin_positions(n, count) for n, count in zip(x.shape[2:], size)]
    return _maximum_at(x, _joint_positions(tables, x.shape[2:]))


def _at_maxima(g, out, x, *samples, size, kernel=None):
    """Return the gradient of the input: each value at the index that its window or bin took."""
    return plane_put(g, out[1], size=x.shape[2:], accumulate=True)


adaptive_max_pool = op("adaptive_max_pool", infer=_infer_adaptive_max, ref=_adaptive_max, vjp=(_at_maxima,),
                       lower=Template("pool"), batch=IMAGES, traits=("exact", "straight"),
                       doc="The largest element of each of `size` even bins, and its flat index in the plane.")


def _infer_fractional(x, samples, *, kernel, size):
    _check_size("fractional_max_pool", x, size)
    check_ints(kernel, f"fractional_max_pool of {x}: kernel", len(size), 1)
    if not samples.dtype.is_floating_point:
        raise DTypeError(f"fractional_max_pool takes samples of a floating point dtype, got {samples}")
    if samples.shape != (*x.shape[:2], len(size)):
        raise ShapeError(f"fractional_max_pool of {x} takes samples of shape {(*x.shape[:2], len(size))}, got {samples}")
    if any(o + k - 1 > n for o, k, n in zip(size, kernel, x.shape[2:])):
        raise ShapeError(f"fractional_max_pool of {x}: an output of {size} with kernel {kernel} needs a larger input")
    out = x.with_shape((*x.shape[:2], *size))
    return out, out.with_dtype(dt.int64)


def _fractional_positions(sample, n, count, kernel):
    """Return positions (N, C, count, kernel): windows a non-integer step apart, the last one at the end."""
    starts = np.full((*sample.shape, count), n - kernel)
    if count > 1:
        step = (n - kernel) / (count - 1)
        u = sample.astype(np.float64)[..., None]
        starts[..., :-1] = ((np.arange(count - 1) + u) * step).astype(np.int64) - (u * step).astype(np.int64)
    return starts[..., None] + np.arange(kernel)


def _fractional(x, samples, *, kernel, size):
    if not x.size:
        return tuple(np.zeros((*x.shape[:2], *size), d) for d in (x.dtype, np.int64))
    tables = [_fractional_positions(samples[:, :, i], *each) for i, each in enumerate(zip(x.shape[2:], size, kernel))]
    return _maximum_at(x, _joint_positions(tables, x.shape[2:]))


fractional_max_pool = op("fractional_max_pool", infer=_infer_fractional, ref=_fractional, vjp=(_at_maxima, None),
                         lower=Template("pool"), batch=IMAGES, traits=("exact",),
                         doc="Maxima over windows whose places are drawn by `samples`, uniform numbers for each plane and dim.")

# Averages. `counted` says how much of the padding belongs to a window's size; a `divisor` replaces that size.


_MOST_PLACES = (1 << 31) - 1
MANY_TAPS = 16     # of a window beside others, from which sums along one dim after the other are quicker


def is_whole(sizes, kernel, padding) -> bool:
    """Return whether one window is the whole plane."""
    return tuple(kernel) == tuple(sizes) and not any(lo or hi for lo, hi in padding)


def are_bins(sizes, kernel, stride, padding) -> bool:
    """Return whether windows of many elements lie beside each other and cover all."""
    return (tuple(kernel) == tuple(stride) and prod(kernel) >= MANY_TAPS and not any(lo or hi for lo, hi in padding)
            and not any(n % k for n, k in zip(sizes, kernel)))


def _check_means(name, x, kernel, stride, padding, counted, divisor) -> tuple:
    """Return the window counts of `x`, after checking that no window is divided by nothing."""
    counts = check_windows(name, x, kernel, stride, padding, (1,) * (x.ndim - 2))
    if divisor is not None and not check_int(divisor, f"{name}: divisor", -_MOST_PLACES, _MOST_PLACES):
        raise ShapeError(f"{name}: the divisor must not be 0")
    if not isinstance(counted, tuple) or len(counted) != len(kernel):
        raise ShapeError(f"{name} of {x}: `counted` needs a pair for each spatial dimension, got {counted}")
    for n, count, k, s, (lo, _), pair in zip(x.shape[2:], counts, kernel, stride, padding, counted):
        low, high = check_ints(pair, f"{name}: counted", 2, -_MOST_PLACES, _MOST_PLACES)
        ends = -hint(lo), (hint(count) - 1) * hint(s) - hint(lo)
        if divisor is None and any(min(start + hint(k), hint(n) + high) <= max(start, -low) for start in ends):
            raise ShapeError(f"{name} of {x}: with padding {padding}, of which {counted} counts, a window has no elements")
    return counts


def _infer_avg_pool(x, *, kernel, stride, padding, counted, divisor):
    counts = _check_means("avg_pool", x, kernel, stride, padding, counted, divisor)
    return x.with_shape((*x.shape[:2], *counts))


def _window_sizes(sizes, counts, kernel, stride, padding, counted, divisor):
    """Return the divisor of each window's sum, broadcastable over (*counts)."""
    if divisor is not None:
        return np.full((1,) * len(counts), divisor, np.int64)
    total = np.ones((1,) * len(counts), np.int64)
    for axis, (n, c, k, s, (lo, _), (low, high)) in enumerate(zip(sizes, counts, kernel, stride, padding, counted)):
        start = np.arange(c) * s - lo
        size = np.minimum(start + k, n + high) - np.maximum(start, -low)
        total = total * size.reshape((-1,) + (1,) * (len(counts) - axis - 1))
    return total


def _along(ndim, axis, what):
    return (slice(None),) * axis + (what,) + (slice(None),) * (ndim - axis - 1)


def _sum_windows(x, axis, kernel, stride, padding):
    one_dim = [(0, 0)] * (x.ndim - 2)
    one_dim[axis - 2] = padding
    count = window_count(x.shape[axis], kernel, stride, padding, 1)
    x = pad_spatial(x, one_dim)
    if count == 1:
        return x[_along(x.ndim, axis, slice(0, kernel))].sum(axis=axis, keepdims=True, dtype=x.dtype)
    total = x[_along(x.ndim, axis, slice(0, (count - 1) * stride + 1, stride))].copy()
    for t in range(1, kernel):
        total += x[_along(x.ndim, axis, slice(t, t + (count - 1) * stride + 1, stride))]
    return total


def _divide(x, sizes):
    return scalar_functions.trunc_divide(x, sizes.astype(x.dtype)) if x.dtype.kind in "iu" else x / sizes.astype(x.dtype)


def _avg_pool(x, *, kernel, stride, padding, counted, divisor):
    counts = window_counts(x.shape[2:], kernel, stride, padding, (1,) * len(kernel))
    total = wide(x)
    for i in range(len(kernel)):
        total = _sum_windows(total, i + 2, kernel[i], stride[i], padding[i])
    sizes = _window_sizes(x.shape[2:], counts, kernel, stride, padding, counted, divisor)
    return _divide(total, sizes).astype(x.dtype, copy=False)


def _infer_avg_pool_grad(g, *, size, kernel, stride, padding, counted, divisor):
    check_sizes(size, "avg_pool_grad: size")
    out = g.with_shape((*g.shape[:2], *size))
    counts = _check_means("avg_pool_grad", out, kernel, stride, padding, counted, divisor)
    if counts != g.shape[2:]:
        raise ShapeError(f"avg_pool_grad: an average pool of {out} gives {counts}, not the {list(g.shape[2:])} of {g}")
    return out


def _spread_windows(g, axis, size, kernel, stride, padding):
    count = g.shape[axis]
    shape = list(g.shape)
    shape[axis] = size + sum(padding)
    full = np.zeros(shape, g.dtype)
    for t in range(kernel):
        full[_along(g.ndim, axis, slice(t, t + (count - 1) * stride + 1, stride))] += g
    one_dim = [(0, 0)] * (g.ndim - 2)
    one_dim[axis - 2] = (-padding[0], -padding[1])
    return pad_spatial(full, one_dim)


def _avg_pool_grad(g, *, size, kernel, stride, padding, counted, divisor):
    sizes = _window_sizes(size, g.shape[2:], kernel, stride, padding, counted, divisor)
    spread = _divide(wide(g), sizes)
    for i in range(len(kernel)):
        spread = _spread_windows(spread, i + 2, size[i], kernel[i], stride[i], padding[i])
    return np.ascontiguousarray(spread).astype(g.dtype, copy=False)


avg_pool = op(
    "avg_pool", infer=_infer_avg_pool, ref=_avg_pool,
    vjp=(lambda g, out, x, **window: avg_pool_grad(g, size=x.shape[2:], **window),),
    lower=Template("pool"), batch=IMAGES,
    doc="The mean of each window: its sum over its size (padding is a part of it as far as `counted` says) or over `divisor`.")
avg_pool_grad = op(
    "avg_pool_grad", infer=_infer_avg_pool_grad, ref=_avg_pool_grad,
    vjp=(lambda g, out, x, *, size, **window: avg_pool(g, **window),),
    lower=Template("pool"), batch=IMAGES, doc="The gradient of avg_pool for its input of spatial `size`.")
