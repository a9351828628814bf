"""Importers of Resize and of operators that sample regions of images."""

import math

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import FileError
from ....ir.ops.nn.resample import resample
from .registry import ing, ints, onnx_op, to_tensor, whole_axis
from .run_budget import allow_numbers

_PLACES = {
    "half_pixel": lambda i, n, m, s, roi: (i + 0.5) / s - 0.5,
    "half_pixel_symmetric": lambda i, n, m, s, roi: n / 2 * (1 - m / (s * n)) + (i + 0.5) / s - 0.5,
    "pytorch_half_pixel": lambda i, n, m, s, roi: (i + 0.5) / s - 0.5 if m > 1 else i * 0.0 - 0.5,
    "align_corners": lambda i, n, m, s, roi: i * ((n - 1) / (s * n - 1)) if m > 1 else i * 0.0,
    "asymmetric": lambda i, n, m, s, roi: i / s,
    "tf_crop_and_resize": lambda i, n, m, s, roi: (roi[0] * (n - 1) + i * (roi[1] - roi[0]) * (n - 1) / (m - 1) if m > 1
                                                   else i * 0.0 + 0.5 * (roi[0] + roi[1]) * (n - 1)),
    "tf_half_pixel_for_nn": lambda i, n, m, s, roi: (i + 0.5) / s,
}
_ROUND = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _cubic(a):
    def kernel(d):
        d = np.abs(d)
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        return np.where(d <= 1, near, np.where(d < 2, far, 0.0))

    return kernel


def _matrix(call, n, m, scale, roi):
    """Return the (m, n) matrix that maps elements along one dimension to results, and the mask of results outside."""
    how = call.get("coordinate_transformation_mode", "half_pixel")
    if how not in _PLACES:
        raise FileError(f"operator Resize has the unknown coordinate_transformation_mode {how!r}")
    allow_numbers(m * n, "a matrix of Resize")
    coordinates = _PLACES[how](np.arange(m, dtype=np.float64), n, m, scale, roi)
    outside = (coordinates < 0) | (coordinates > n - 1)
    mode = call.get("mode", "nearest")
    rows = np.zeros((m, n))
    if mode == "nearest":
        at = _ROUND[call.get("nearest_mode", "round_prefer_floor")](coordinates)
        rows[np.arange(m), np.clip(at, 0, n - 1).astype(np.int64)] = 1
        return rows, outside
    smooth = min(scale, 1.0) if call.get("antialias", 0) else 1.0
    reach = (1 if mode == "linear" else 2) / smooth
    kernel = (lambda d: np.maximum(1 - np.abs(d), 0)) if mode == "linear" else _cubic(call.get("cubic_coeff_a", -0.75))
    low = np.floor(coordinates - reach).astype(np.int64)
    for k in range(math.ceil(2 * reach) + 2):
        at = low + k
        weight = kernel((at - coordinates) * smooth)
        if call.get("exclude_outside", 0):
            weight = np.where((at < 0) | (at >= n), 0, weight)
        np.add.at(rows, (np.arange(m), np.clip(at, 0, n - 1)), weight)
    return rows / rows.sum(axis=1, keepdims=True), outside


def _like_resample(call, x, axes, scales, sizes):
    """Return the mode of ingot's own resampling if it does the same, else None."""
    how, mode = call.get("coordinate_transformation_mode", "half_pixel"), call.get("mode", "nearest")
    spatial = x.ndim > 2 and all(n == m for n, m in zip(x.shape[:2], sizes[:2])) and x.dtype.is_inexact
    plain = not (call.get("antialias", 0) or call.get("exclude_outside", 0)) and sizes[2:] and min(sizes[2:]) > 1
    if not (spatial and plain and all(abs(s * n - m) < 1e-6 for s, n, m in zip(scales, x.shape, sizes))):
        return None
    if mode == "nearest":
        return "nearest" if how == "asymmetric" and call.get("nearest_mode") == "floor" else None
    if how not in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        return None
    return mode if mode == "linear" or call.get("cubic_coeff_a", -0.75) == -0.75 else None


def _resized(call, x, scales, sizes, roi):
    mode = _like_resample(call, x, None, scales, sizes)
    if mode is not None:
        corners = call.get("coordinate_transformation_mode") == "align_corners"
        return resample(x, size=tuple(sizes[2:]), mode=mode, align_corners=corners, scales=(None,) * (x.ndim - 2))
    kind, crop = x.dtype, call.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    out = x if kind.is_inexact else x.to(dt.float64)
    missing = None
    for axis, (n, m, scale) in enumerate(zip(x.shape, sizes, scales)):
        if n == m and scale == 1 and not crop:
            continue
        rows, outside = _matrix(call, n, m, scale, (roi[axis], roi[axis + x.ndim]))
        out = _along(out, axis, rows, call.get("mode", "nearest"))
        if crop and outside.any():
            mask = to_tensor(outside.reshape([-1 if i == axis else 1 for i in range(x.ndim)]))
            missing = mask if missing is None else ing.logical_or(missing, mask)
    if missing is not None:
        out = ing.where(missing, ing.full((), call.get("extrapolation_value", 0.0), dtype=out.dtype), out)
    return out if kind.is_inexact else ing.round(out).to(kind) if call.get("mode", "nearest") != "nearest" else out.to(kind)


def _along(x, axis, rows, mode):
    if mode == "nearest":
        return x.index_select(axis, to_tensor(rows.argmax(axis=1)))
    product = ing.matmul(x.transpose(axis, x.ndim - 1), to_tensor(np.ascontiguousarray(rows.T).astype(x.dtype.np)))
    return product.transpose(axis, x.ndim - 1)


def _factor(scale) -> float:
    """Return a scale as it was before its rounding to float32: 13 elements are 1.3 times 10."""
    return float(str(np.float32(scale)))


@onnx_op("Upsample", host=(1,))
def _upsample(call, x, scales):
    """Resize as before version 10: positions are multiples of the scale, from the start."""
    call.attributes["coordinate_transformation_mode"] = "asymmetric"
    call.attributes["nearest_mode"] = "floor"
    factors = [_factor(s) for s in scales]
    return _resized(call, x, factors, [math.floor(n * s) for n, s in zip(x.shape, factors)], [0.0] * 2 * x.ndim)


@onnx_op("Resize", since=11, host=(1, 2, 3))
def resize(call, x, roi=None, scales=None, sizes=None):
    """Resize the dimensions of some axes."""
    axes = [whole_axis(a, x.ndim) for a in call.get("axes", range(x.ndim))]
    factors, goals = [1.0] * x.ndim, list(x.shape)
    if sizes is not None and len(sizes):
        wanted = ints(sizes)
        ratios = [m / x.shape[a] if x.shape[a] else 1.0 for a, m in zip(axes, wanted)]
        policy = call.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            one = min(ratios) if policy == "not_larger" else max(ratios)
            ratios = [one] * len(axes)
            wanted = [math.floor(one * x.shape[a] + 0.5) for a in axes]
        for a, m, r in zip(axes, wanted, ratios):
            goals[a], factors[a] = m, r
    else:
        for a, s in zip(axes, scales):
            factors[a], goals[a] = _factor(s), math.floor(_factor(s) * x.shape[a])
    region = [0.0] * x.ndim + [1.0] * x.ndim
    if roi is not None and len(roi):
        for i, a in enumerate(axes):
            region[a], region[a + x.ndim] = float(roi[i]), float(roi[i + len(axes)])
    return _resized(call, x, factors, goals, region)


# Regions.


@onnx_op("RoiAlign", since=16)
def roi_align(call, x, regions, batch):
    """Return regions as grids of bins, each the mean or maximum of sampled points."""
    return _roi_align(call, x, regions, batch, call.get("coordinate_transformation_mode", "half_pixel"))


def _points(start, size, count, samples, n):
    """Return the sample positions of each region's bins along one dimension: (regions, count * samples)."""
    allow_numbers(count * samples, "points of RoiAlign")
    steps = (np.arange(count * samples) + 0.5) / samples / count
    return start.reshape(-1, 1) + size.reshape(-1, 1) * to_tensor(steps.astype(start.dtype.np))


def _sides(coordinates, n):
    """Return neighbours and weights of positions along one dimension; positions more than 1 outside have weight 0."""
    inside = ((coordinates >= -1) & (coordinates <= n)).to(coordinates.dtype)
    at = ing.clamp(coordinates, 0.0, n - 1.0)
    low = ing.floor(at)
    part = at - low
    return ((low.to(dt.int64), (1 - part) * inside), (ing.clamp(low + 1, max=n - 1.0).to(dt.int64), part * inside))


def _roi_align(call, x, regions, batch, how):
    rows, columns = call.get("output_height", 1), call.get("output_width", 1)
    scale, ratio = call.get("spatial_scale", 1.0), call.get("sampling_ratio", 0)
    shift = 0.5 if how == "half_pixel" else 0.0
    found = []
    for r in range(regions.shape[0]):
        left, top, right, bottom = [regions[r, i] * scale - shift for i in range(4)]
        height, width = bottom - top, right - left
        if how != "half_pixel":
            height, width = ing.clamp(height, min=1.0), ing.clamp(width, min=1.0)
        each = [ratio if ratio > 0 else max(1, math.ceil(float(s) / n)) for s, n in ((height, rows), (width, columns))]
        ys = _points(top, height, rows, each[0], x.shape[2]).reshape(-1)
        xs = _points(left, width, columns, each[1], x.shape[3]).reshape(-1)
        found.append(_bins(x[batch[r]], ys, xs, (rows, each[0], columns, each[1]), call.get("mode", "avg")))
    return ing.stack(found)


def _bins(plane, ys, xs, shape, mode):
    terms = []
    for y, wy in _sides(ys, plane.shape[1]):
        for at, wx in _sides(xs, plane.shape[2]):
            value = plane.index_select(1, y).index_select(2, at)
            terms.append(value * (wy.reshape(-1, 1) * wx.reshape(1, -1)))
    split = [t.reshape(plane.shape[0], *shape) for t in terms]
    if mode == "avg":
        return ing.mean(split[0] + split[1] + split[2] + split[3], (2, 4))
    best = split[0]
    for t in split[1:]:
        best = ing.maximum(best, t)
    return ing.amax(best, (2, 4))


@onnx_op("NonMaxSuppression", host=(0, 1, 2, 3, 4))
def _suppress(call, boxes, scores, most=None, overlap=None, least=None):
    """Return (batch, class, box) of the boxes that no better one overlaps."""
    most = 0 if most is None else int(most.reshape(-1)[0])
    overlap = 0.0 if overlap is None else float(overlap.reshape(-1)[0])
    chosen = []
    for b in range(scores.shape[0]):
        corners = _corners(boxes[b], call.get("center_point_box", 0))
        for c in range(scores.shape[1]):
            order = np.argsort(-scores[b, c], kind="stable")
            if least is not None:
                order = order[scores[b, c][order] > float(least.reshape(-1)[0])]
            chosen += [(b, c, i) for i in _best(corners, order, most, overlap)]
    return np.array(chosen, np.int64).reshape(-1, 3)


def _corners(boxes, centred):
    if centred:
        middle, half = boxes[:, :2][:, ::-1], boxes[:, 2:][:, ::-1] / 2
        return np.concatenate([middle - half, middle + half], 1)
    return np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1)


def _best(corners, order, most, overlap):
    chosen: list = []
    for i in order:
        if len(chosen) >= most:
            break
        if all(_shared(corners[i], corners[j]) <= overlap for j in chosen):
            chosen.append(int(i))
    return chosen


def _shared(a, b):
    """Return the common area of two boxes over their union."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    common = float(np.prod(np.maximum(sides, 0)))
    whole = float(np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2])) - common
    return common / whole if whole > 0 else 0.0


onnx_op("RoiAlign", since=10)(lambda call, x, regions, batch: _roi_align(call, x, regions, batch, "output_half_pixel"))
