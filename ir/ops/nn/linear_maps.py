"""Tables of fixed linear maps along a dim: each result is a weighted sum of a few elements.

A table is (positions, weights), both (taps, results); weights None means one tap of weight 1. Resampling, even bins and
mirrored borders are such maps; the transpose of a map is a table again.
"""

import numpy as np

from ...sized_cache import sized_cache
from ..core.elementwise_rules import wide

A_CUBIC, A_CUBIC_SMOOTH = -0.75, -0.5   # the cubic's free parameter, without and with antialiasing


def step(n: int, count: int, align_corners: bool, scale) -> float:
    """Return the distance of results in the source; `scale` (results per source element) replaces the sizes' ratio if given."""
    if align_corners:
        return (n - 1) / (count - 1) if count > 1 else 0.0
    return 1.0 / scale if scale else n / count


def _sources(n, count, align_corners, scale):
    at = step(n, count, align_corners, scale)
    i = np.arange(count)
    return i * at if align_corners else (i + 0.5) * at - 0.5


def _nearest(n, count, align_corners, scale, shift=0.0):
    at = np.float32(step(n, count, False, scale))
    positions = np.floor((np.arange(count, dtype=np.float32) + np.float32(shift)) * at).astype(np.int64)
    return np.minimum(positions, n - 1)[None], None


def _nearest_exact(n, count, align_corners, scale):
    return _nearest(n, count, align_corners, scale, 0.5)


def _linear(n, count, align_corners, scale):
    source = np.maximum(_sources(n, count, align_corners, scale), 0)
    low = np.minimum(source.astype(np.int64), n - 1)
    part = np.clip(source - low, 0, 1)
    return np.stack([low, np.minimum(low + 1, n - 1)]), np.stack([1 - part, part])


def cubic_weight(distance, a):
    """Return the cubic convolution kernel at a distance."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _cubic(n, count, align_corners, scale):
    source = _sources(n, count, align_corners, scale)
    low = np.floor(source).astype(np.int64)
    positions = low + np.arange(-1, 3)[:, None]
    return np.clip(positions, 0, n - 1), cubic_weight(source - positions, A_CUBIC)


def _area(n, count, align_corners, scale):
    """Return means of even bins. A shorter bin has its first place twice at half weight: weight 0 would make nan of inf."""
    i = np.arange(count)
    starts, ends = i * n // count, -(-(i + 1) * n // count)
    offsets = np.arange(int((ends - starts).max(initial=1)))[:, None]
    inside = offsets < ends - starts
    halved = ~inside | ((offsets == 0) & ~inside[-1])
    return np.where(inside, starts + offsets, starts), np.where(halved, 0.5, 1.0) / (ends - starts)


def _smoothed(kernel, reach):
    """Widen a table's kernel to each result's source span when shrinking."""

    def table(n, count, align_corners, scale):
        at = step(n, count, align_corners, scale)
        widen = max(at, 1.0)
        centre = at * (np.arange(count) + 0.5)
        starts = np.maximum((centre - reach * widen + 0.5).astype(np.int64), 0)
        ends = np.minimum((centre + reach * widen + 0.5).astype(np.int64), n)
        offsets = np.arange(int((ends - starts).max(initial=1)))[:, None]
        inside = offsets < ends - starts
        weights = np.where(inside, kernel((offsets + starts - centre + 0.5) / widen), 0.0)
        return np.where(inside, starts + offsets, starts), weights / weights.sum(axis=0)

    return table


MODES = {
    "nearest": _nearest,
    "nearest-exact": _nearest_exact,
    "linear": _linear,
    "cubic": _cubic,
    "area": _area,
    "linear-smooth": _smoothed(lambda d: np.maximum(1 - np.abs(d), 0), 1),
    "cubic-smooth": _smoothed(lambda d: cubic_weight(d, A_CUBIC_SMOOTH), 2),
}


@sized_cache()
def resample_table(mode: str, n: int, count: int, align_corners: bool, scale) -> tuple:
    """Return the map from `n` elements to `count` results."""
    return MODES[mode](n, count, align_corners, scale)


@sized_cache()
def border_table(mode: str, n: int, low: int, high: int) -> tuple:
    """Return the map that adds `low` and `high` elements around `n` (negative ones cut; a circular border wraps the rest)."""
    i = np.arange(-low, n + high)
    if mode == "replicate":
        positions = np.clip(i, 0, n - 1)
    elif mode == "circular":
        cut = max(-low, 0)
        positions = cut + (i - cut) % max(1, n - cut - max(-high, 0))
    else:
        period = max(1, 2 * (n - 1))
        folded = i % period
        positions = np.minimum(folded, period - folded)
    return positions[None], None


@sized_cache()
def transposed_resample(mode: str, n: int, count: int, align_corners: bool, scale) -> tuple:
    """Return the transpose of `resample_table`: from `count` results back to `n` elements."""
    return _transposed(resample_table(mode, n, count, align_corners, scale), n)


@sized_cache()
def transposed_border(mode: str, n: int, low: int, high: int) -> tuple:
    """Return the transpose of `border_table`: back to `n` elements."""
    return _transposed(border_table(mode, n, low, high), n)


@sized_cache()
def window_table(n: int, size: int, stride: int, dilation: int) -> tuple:
    """Return the map from `n` elements to all windows of `size` places: each place of all windows, then the next place."""
    starts = np.arange(max(0, (n - dilation * (size - 1) - 1) // stride + 1)) * stride
    return ((np.arange(size) * dilation)[:, None] + starts).reshape(1, -1), None


@sized_cache()
def transposed_window(n: int, size: int, stride: int, dilation: int) -> tuple:
    """Return the transpose of `window_table`, which adds windows up."""
    return _transposed(window_table(n, size, stride, dilation), n)


def _transposed(table: tuple, n: int) -> tuple:
    positions, weights = table
    count = positions.shape[1]
    weights = np.ones(positions.shape) if weights is None else weights
    used = weights.ravel() != 0
    results = np.tile(np.arange(count), len(positions))[used]
    pairs, tap = np.unique(positions.ravel()[used] * count + results, return_inverse=True)
    source, result = np.divmod(pairs, max(1, count))
    weight = np.bincount(tap, weights.ravel()[used], len(pairs))
    fan = np.bincount(source, minlength=n)
    rank = np.arange(len(source)) - np.repeat(np.cumsum(fan) - fan, fan)
    back = np.zeros((max(1, int(fan.max(initial=0))), n), np.int64)
    back_weights = np.zeros(back.shape)
    back[rank, source], back_weights[rank, source] = result, weight
    first = np.where(fan > 0, back[0], 0)
    return np.where(np.arange(len(back))[:, None] < fan, back, first), back_weights


def apply_table(x, axis: int, table: tuple):
    """Map an array along one axis."""
    positions, weights = table
    if weights is None:
        return np.take(x, positions[0], axis=axis)
    if not x.shape[axis]:       # the transpose of a map that takes no elements
        return np.zeros((*x.shape[:axis], positions.shape[1], *x.shape[axis + 1:]), x.dtype)
    along_axis = (-1,) + (1,) * (x.ndim - axis - 1)
    total = None
    for position, weight in zip(positions, weights.astype(x.dtype)):
        term = np.take(x, position, axis=axis)
        term *= weight.reshape(along_axis)
        total = term if total is None else np.add(total, term, out=total)
    return total


def is_identity(table: tuple, n: int) -> bool:
    """Return whether a table takes every place as it is."""
    positions, weights = table
    return weights is None and positions.shape[1] == n and bool((positions[0] == np.arange(n)).all())


def in_order(tables: dict, shape) -> list:
    """Return the axes of tables that are no identities, those that shrink an array of a shape most first."""
    axes = sorted(tables, key=lambda a: (tables[a][0].shape[1] / max(1, shape[a]), a))
    return [a for a in axes if not is_identity(tables[a], shape[a])]


def apply_tables(x, tables: dict, along=apply_table):
    """Map an array along several axes, those that shrink it most first; low precision and integers in a wide float.

    `along` maps one axis, called like `apply_table`.
    """
    kind = x.dtype
    weighted = any(w is not None for _, w in tables.values())
    out = wide(x)
    if weighted and kind.kind in "iub":
        out = out.astype(np.float64 if kind.itemsize > 2 else np.float32)
    for axis in in_order(tables, x.shape):
        out = along(out, axis, tables[axis])
    if kind.kind in "iub" and out.dtype.kind == "f":
        info = np.iinfo(kind)
        out = np.clip(np.floor(out + 0.5), info.min, info.max)
    return np.array(out, kind, order="C", copy=out is x or None)
