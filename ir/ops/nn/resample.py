"""Resampling by fixed maps along each dim: interpolation, even bins, mirrored borders; and sampling at given points."""

import itertools
import math
from collections.abc import Callable
from typing import Any

from ... import dtype as dt
from ...errors import ArgumentError, DTypeError, ShapeError
from ...opdef.batch_rules import IMAGES
from ...opdef.derived_gradients import derived_vjp
from ...opdef.op import Composite, Template, op
from ...opdef.param_checks import MOST, check_choice, check_flag, check_ints, check_number, check_sizes
from ...symbols.substitute import as_float
from ...symbols.symbolic import hint
from ..core import elementwise as ew
from ..core.pointwise import wants_real_float
from ..core.shape import cat, reshape, select
from .linear_maps import (
    A_CUBIC,
    MODES,
    apply_table,
    apply_tables,
    border_table,
    resample_table,
    transposed_border,
    transposed_resample,
)
from .sampled_points import taps_take

# Interpolation.


def _infer_resample(x, *, size, mode, align_corners, scales):
    return _resized("resample", x, size, mode, align_corners, scales)


def _resized(name, x, size, mode, align_corners, scales, back=False):
    """Return the type of `x` at another spatial size, or the transpose (`back`), whose scales are those of `size` to `x`."""
    check_choice(mode, tuple(MODES), f"{name}: mode")
    check_flag(align_corners, f"{name}: align_corners")
    if not (isinstance(size, tuple) and isinstance(scales, tuple)) or not x.ndim - 2 == len(size) == len(scales):
        raise ShapeError(f"{name} of {x}: a size and a scale are needed for each spatial dimension, got {size} and {scales}")
    check_ints(size, f"{name}: size")
    if any(n < 1 for n in size) or 0 in x.shape[2:]:
        raise ShapeError(f"{name} of {x} to {size}: spatial sizes must be positive")
    shape = (*x.shape[:2], *size)
    check_sizes(shape, f"{name} of {x}: shape")
    for n, count, scale in zip(*((size, x.shape[2:]) if back else (x.shape[2:], size)), scales):
        if scale is not None and not -1.001 < hint(count) - hint(n) * hint(check_number(scale, f"{name}: scale")) < 0.5:
            raise ArgumentError(f"{name} of {x} to {size}: scale {scale} does not lead from {n} elements to {count}")
    return x.with_shape(shape)


def _tables(make, sizes, size, mode, align_corners, scales):
    each = zip(sizes, size, scales)
    return {axis: make(mode, n, count, align_corners, scale) for axis, (n, count, scale) in enumerate(each, 2)}


def resample_tables(x, *, size, mode, align_corners, scales):
    """Return the table of each spatial dim."""
    return _tables(resample_table, x.shape[2:], size, mode, align_corners, scales)


def _resample(x, along=apply_table, **how):
    return apply_tables(x, resample_tables(x, **how), along)


def _infer_resample_grad(g, *, size, mode, align_corners, scales):
    return _resized("resample_grad", g, size, mode, align_corners, scales, back=True)


def resample_grad_tables(g, *, size, mode, align_corners, scales):
    """Return the transposed tables, for gradients."""
    return _tables(transposed_resample, size, g.shape[2:], mode, align_corners, scales)


def _resample_grad(g, along=apply_table, **how):
    return apply_tables(g, resample_grad_tables(g, **how), along)


resample = op(
    "resample", infer=_infer_resample, ref=_resample,
    vjp=(lambda g, out, x, *, size, **how: resample_grad(g, size=x.shape[2:], **how),),
    lower=Template("resample"), batch=IMAGES,
    doc="The spatial dims at another `size`, by a fixed map along each: nearest, linear, cubic, area (means of even bins).")
resample_grad = op(
    "resample_grad", infer=_infer_resample_grad, ref=_resample_grad,
    vjp=(lambda g, out, x, *, size, **how: resample(g, size=x.shape[2:], **how),),
    lower=Template("resample"), batch=IMAGES, doc="The transpose of resample, back to spatial `size`.")

# Borders.


def _check_border(name, x, low, high, mode):
    check_choice(mode, ("reflect", "replicate", "circular"), f"{name}: mode")
    for what, numbers in (("low", low), ("high", high)):
        check_ints(numbers, f"{name} of {x}: {what}", x.ndim, -MOST, MOST)


def _bordered(name, x, sizes, low, high, mode):
    """Return sizes with borders. They repeat what cuts leave of a dim, but for replicate, which repeats its last elements."""
    grown = tuple(n + lo + hi for n, lo, hi in zip(sizes, low, high))
    for n, m, lo, hi in zip(sizes, grown, low, high):
        left = hint(n) if mode == "replicate" else hint(n) + min(hint(lo), 0) + min(hint(hi), 0)
        if hint(m) < 0 or left < 0:
            raise ShapeError(f"{name} of {x} by {low} and {high} leaves a negative size: {grown}")
        if not left and hint(m):
            raise ShapeError(f"{name} of {x} by {low} and {high}: an empty dimension has nothing to repeat")
    check_sizes(grown, f"{name} of {x}: shape")
    return grown


def _infer_border_pad(x, *, low, high, mode):
    _check_border("border_pad", x, low, high, mode)
    return x.with_shape(_bordered("border_pad", x, x.shape, low, high, mode))


def _border_tables(make, sizes, low, high, mode):
    return {axis: make(mode, n, lo, hi) for axis, (n, lo, hi) in enumerate(zip(sizes, low, high)) if lo or hi}


def border_pad_tables(x, *, low, high, mode):
    """Return the table of each dim with a border."""
    return _border_tables(border_table, x.shape, low, high, mode)


def _border_pad(x, along=apply_table, **how):
    return apply_tables(x, border_pad_tables(x, **how), along)


def _infer_border_grad(g, *, low, high, mode):
    _check_border("border_pad_grad", g, low, high, mode)
    sizes = tuple(n - lo - hi for n, lo, hi in zip(g.shape, low, high))
    check_sizes(sizes, f"border_pad_grad of {g}: shape")
    _bordered("border_pad_grad", g, sizes, low, high, mode)
    return g.with_shape(sizes)


def border_grad_tables(g, *, low, high, mode):
    """Return the transposed tables, for gradients."""
    sizes = tuple(n - lo - hi for n, lo, hi in zip(g.shape, low, high))
    return _border_tables(transposed_border, sizes, low, high, mode)


def _border_grad(g, along=apply_table, **how):
    return apply_tables(g, border_grad_tables(g, **how), along)


border_pad = op(
    "border_pad", infer=_infer_border_pad, ref=_border_pad,
    vjp=(lambda g, out, x, *, low, high, mode: border_pad_grad(g, low=low, high=high, mode=mode),),
    lower=Template("resample"), batch=IMAGES, traits=("exact",),
    doc="Elements around each dim taken from inside: mode reflect (without the edge), replicate or circular.")
border_pad_grad = op(
    "border_pad_grad", infer=_infer_border_grad, ref=_border_grad,
    vjp=(lambda g, out, x, *, low, high, mode: border_pad(g, low=low, high=high, mode=mode),),
    lower=Template("resample"), batch=IMAGES, doc="The transpose of border_pad.")

# {axis: table} of each, of an array and the operator's parameters.
TABLES: dict[Any, Callable] = {resample: resample_tables, resample_grad: resample_grad_tables, border_pad: border_pad_tables,
                               border_pad_grad: border_grad_tables}

# Sampling at given points. Coordinates are -1 to 1 over each dim, the last coordinate of a point for the last dim.


def _infer_grid_sample(x, grid, *, mode, padding_mode, align_corners):
    if x.dtype is not grid.dtype:
        raise DTypeError(f"grid_sample takes input and grid of one dtype, got {x} and {grid}; cast one with .to()")
    wants_real_float("grid_sample", x)
    check_choice(mode, ("nearest", "linear", "cubic"), "grid_sample: mode")
    check_choice(padding_mode, ("zeros", "border", "reflection"), "grid_sample: padding_mode")
    check_flag(align_corners, "grid_sample: align_corners")
    rank = x.ndim - 2
    if rank < 1 or grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or grid.shape[-1] != rank:
        raise ShapeError(f"grid_sample of {x} takes a grid ({x.shape[0]}, *sizes, {rank}) of {x.ndim} dimensions, got {grid}")
    if 0 in x.shape[2:]:
        raise ShapeError(f"grid_sample of {x}: the spatial sizes must not be 0")
    return x.with_shape((*x.shape[:2], *grid.shape[1:-1]))


def _fold(position, low, high):
    """Reflect positions at two borders, as often as it takes."""
    if low == high:
        return ew.mul(position, 0.0)
    span = high - low
    distance = ew.abs_(ew.sub(position, low))
    turns = ew.floor(ew.div(distance, span))
    extra = ew.sub(distance, ew.mul(turns, span))
    even = ew.eq(ew.remainder(turns, 2.0), 0.0)
    return ew.where(even, ew.add(extra, low), ew.sub(high, extra))


def _clip(position, n):
    """Clip positions to [0, n - 1]; outside the gradient is 0, nan goes to 0."""
    inside = ew.logical_and(ew.gt(position, 0.0), ew.lt(position, n - 1.0))
    edge = ew.where(ew.ge(position, n - 1.0), n - 1.0, ew.mul(ew.cast(inside, dtype=dt.of(position)), 0.0))
    return ew.where(inside, position, edge)


def _bounded(position, n, padding_mode, align_corners):
    if padding_mode == "reflection":
        position = _fold(position, 0.0, n - 1.0) if align_corners else _fold(position, -0.5, n - 0.5)
    return position if padding_mode == "zeros" else _clip(position, n)


def _position(coordinate, n, align_corners):
    if align_corners:
        return ew.mul(ew.add(coordinate, 1.0), (n - 1) / 2)
    return ew.div(ew.sub(ew.mul(ew.add(coordinate, 1.0), as_float(n)), 1.0), 2.0)


def _flat(coordinates, x):
    """Return flat indices (N, 1, *points) in a plane of whole coordinates (a float array (N, *points) per dim); -1 outside."""
    flat: Any = None
    inside: Any = None
    kind = dt.int32 if math.prod(x.shape[2:]) < 1 << 31 else dt.int64
    for coordinate, n in zip(coordinates, x.shape[2:]):
        ok = ew.logical_and(ew.ge(coordinate, 0.0), ew.le(coordinate, n - 1.0))
        index = ew.cast(ew.where(ok, coordinate, 0.0), dtype=kind)
        inside = ok if inside is None else ew.logical_and(inside, ok)
        flat = index if flat is None else ew.add(ew.mul(flat, n), index)
    return _with_channel_dim(ew.where(inside, flat, -1))


def _with_channel_dim(a):
    return reshape(a, shape=(a.shape[0], 1, *a.shape[1:]))


def _sampled(x, corners):
    """Return the sum of the elements at corners; a corner is (coordinate, weight) for each dim."""
    indices = [_flat([coordinate for coordinate, _ in corner], x) for corner in corners]
    weights = [_with_channel_dim(_product([weight for _, weight in corner])) for corner in corners]
    return taps_take(x, cat(*indices, dim=1), cat(*weights, dim=1))


def _product(factors):
    total = None
    for f in factors:
        total = f if total is None else ew.mul(total, f)
    return total


def _sample_linear(x, positions):
    sides = []
    for p in positions:
        low = ew.floor(p)
        part = ew.sub(p, low)
        sides.append(((low, ew.sub(1.0, part)), (ew.add(low, 1.0), part)))
    return _sampled(x, list(itertools.product(*sides)))


def _cubic_weights(part):
    """Return the four neighbours' weights at a point `part` of the way from the second to the third."""
    a = A_CUBIC

    def far(d):
        return ew.sub(ew.mul(ew.add(ew.mul(ew.sub(ew.mul(d, a), 5 * a), d), 8 * a), d), 4 * a)

    def near(d):
        return ew.add(ew.mul(ew.mul(ew.sub(ew.mul(d, a + 2), a + 3), d), d), 1.0)

    rest = ew.sub(1.0, part)
    return far(ew.add(part, 1.0)), near(part), near(rest), far(ew.add(rest, 1.0))


def _sample_cubic(x, positions, padding_mode, align_corners):
    sides = []
    for p, n in zip(positions, x.shape[2:]):
        low = ew.floor(p)
        coordinates = [_bounded(ew.add(low, k - 1.0), n, padding_mode, align_corners) for k in range(4)]
        sides.append(tuple(zip(coordinates, _cubic_weights(ew.sub(p, low)))))
    return _sampled(x, list(itertools.product(*sides)))


def _grid_sample_body(x, grid, *, mode, padding_mode, align_corners):
    kind, work = dt.of(x), dt.accumulator(dt.of(x))
    rank = x.ndim - 2
    x, grid = ew.in_dtype(x, work), ew.in_dtype(grid, work)
    coordinates = [select(grid, dim=rank + 1, index=rank - 1 - axis) for axis in range(rank)]
    positions = [_position(c, n, align_corners) for c, n in zip(coordinates, x.shape[2:])]
    if mode == "cubic":
        return ew.in_dtype(_sample_cubic(x, positions, padding_mode, align_corners), kind)
    positions = [_bounded(p, n, padding_mode, align_corners) for p, n in zip(positions, x.shape[2:])]
    if mode == "nearest":
        return ew.in_dtype(taps_take(x, _flat([ew.round_(p) for p in positions], x), None), kind)
    return ew.in_dtype(_sample_linear(x, positions), kind)


grid_sample = op(
    "grid_sample", infer=_infer_grid_sample, ref=_grid_sample_body, vjp=derived_vjp(_grid_sample_body), saves=(1, 2),
    lower=Composite(_grid_sample_body), batch=IMAGES, traits=("autocast_wide", "rule_as_one"),
    doc="The input at the points of a grid (N, *sizes, rank): mode nearest, linear, cubic; padding zeros, border, reflection.")
