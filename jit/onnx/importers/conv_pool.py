"""Importers of ONNX operators over windows: convolutions and pools of any rank."""

import math

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import FileError
from ....ir.ops.core.shape import pad as pad_op
from ....ir.ops.nn.conv import conv as conv_op
from ....ir.ops.nn.conv import conv_input_grad
from ....ir.ops.nn.pool import avg_pool, max_pool, plane_put
from ....ir.ops.nn.windows import window_counts
from .registry import ing, ints, onnx_op, onnx_ops, to_tensor


class Geometry:
    """Kernel, stride, dilation and padding (pairs) of a node over an input."""

    def __init__(self, call, sizes, kernel):
        rank = len(kernel)
        self.kernel = tuple(kernel)
        self.stride = tuple(call.get("strides") or [1] * rank)
        self.dilation = tuple(call.get("dilations") or [1] * rank)
        pads = call.get("pads") or [0] * 2 * rank
        self.padding = tuple(zip(pads[:rank], pads[rank:]))
        auto = call.get("auto_pad", "NOTSET")
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            self.padding = tuple([self._same(n, i, auto) for i, n in enumerate(sizes)])
        elif auto == "VALID":
            self.padding = ((0, 0),) * rank
        elif auto not in ("NOTSET", ""):
            raise FileError(f"operator {call.kind} has the unknown auto_pad {auto!r}")

    def span(self, i):
        """Return the extent of a window along a dimension."""
        return self.dilation[i] * (self.kernel[i] - 1) + 1

    def _same(self, n, i, auto):
        """Return the padding with one window for each stride."""
        total = max(0, (-(-n // self.stride[i]) - 1) * self.stride[i] + self.span(i) - n)
        return (total // 2, total - total // 2) if auto == "SAME_UPPER" else (total - total // 2, total // 2)

    def grown(self, sizes):
        """Return the padding extended for a last, partial window (ceil_mode)."""
        out = []
        for i, (n, (low, high)) in enumerate(zip(sizes, self.padding)):
            s = self.stride[i]
            count = -(-(n + low + high - self.span(i)) // s) + 1
            if (count - 1) * s >= n + low:
                count -= 1
            out.append((low, max(high, (count - 1) * s + self.span(i) - n - low)))
        return tuple(out)


@onnx_op("Conv")
def conv(call, x, w, b=None):
    """Return a convolution of any rank."""
    g = Geometry(call, x.shape[2:], w.shape[2:])
    return conv_op(x, w, b, stride=g.stride, padding=g.padding, dilation=g.dilation, groups=call.get("group", 1))


@onnx_op("ConvTranspose")
def _conv_transpose(call, x, w, b=None):
    """Compute the transpose of a convolution whole, then cut or pad it to the requested size."""
    rank = x.ndim - 2
    g = Geometry(call, x.shape[2:], w.shape[2:])
    whole = [s * (n - 1) + g.span(i) for i, (n, s) in enumerate(zip(x.shape[2:], g.stride))]
    extra = call.get("output_padding") or [0] * rank
    padding = g.padding
    if call.get("output_shape"):
        padding = tuple([_shared(call, n + e - want) for n, e, want in zip(whole, extra, call.get("output_shape")[-rank:])])
    elif call.get("auto_pad", "NOTSET").startswith("SAME"):
        padding = tuple([_shared(call, n + e - m * s) for n, e, m, s in zip(whole, extra, x.shape[2:], g.stride)])
    out = conv_input_grad(x, w, size=tuple(whole), stride=g.stride, padding=((0, 0),) * rank, dilation=g.dilation,
                          groups=call.get("group", 1))
    if any(low or high - e for (low, high), e in zip(padding, extra)):
        low = (0, 0, *[-lo for lo, _ in padding])
        high = (0, 0, *[e - hi for (_, hi), e in zip(padding, extra)])
        out = pad_op(out, low=low, high=high, interior=(0,) * x.ndim, value=0)
    return out if b is None else out + b.reshape([-1] + [1] * rank)


def _shared(call, total):
    half = total // 2
    return (half, total - half) if call.get("auto_pad", "NOTSET") == "SAME_UPPER" else (total - half, half)


@onnx_op("MaxPool")
def _maximum_pool(call, x):
    """Return maxima of windows, and their positions in the whole input."""
    g = Geometry(call, x.shape[2:], call.need("kernel_shape"))
    padding = g.grown(x.shape[2:]) if call.get("ceil_mode", 0) else g.padding
    best, place = max_pool(x, kernel=g.kernel, stride=g.stride, padding=padding, dilation=g.dilation)
    if not call.wants(1):
        return best
    return best, _in_whole(place, x.shape, call.get("storage_order", 0))


def _in_whole(place, shape, column_major):
    """Convert flat positions in planes to positions in the whole input."""
    if column_major:
        rest, column = place, None
        for n in reversed(shape[2:]):
            here, rest = ing.remainder(rest, n), ing.div(rest, n, rounding_mode="floor")
            column = here if column is None else column * n + here
        place = column
    plane = math.prod(shape[2:])
    starts = np.arange(shape[0] * shape[1]).reshape(shape[0], shape[1], *[1] * (len(shape) - 2)) * plane
    return place + to_tensor(starts)


def window_sums(x, g, padding):
    """Sums over windows, zeros around."""
    n, c = x.shape[:2]
    ones = ing.ones((1, 1, *g.kernel), dtype=x.dtype)
    planes = x.reshape(n * c, 1, *x.shape[2:])
    out = conv_op(planes, ones, None, stride=g.stride, padding=padding, dilation=g.dilation, groups=1)
    return out.reshape(n, c, *out.shape[2:])


@onnx_op("AveragePool")
def _average_pool(call, x):
    """Return means of windows; count_include_pad decides whether padding counts."""
    g = Geometry(call, x.shape[2:], call.need("kernel_shape"))
    padding = g.grown(x.shape[2:]) if call.get("ceil_mode", 0) else g.padding
    counted = g.padding if call.get("count_include_pad", 0) else ((0, 0),) * len(g.kernel)
    if all(d == 1 for d in g.dilation):
        return avg_pool(x, kernel=g.kernel, stride=g.stride, padding=padding, counted=counted, divisor=None)
    sizes = [n + lo + hi for n, (lo, hi) in zip(x.shape[2:], counted)]
    rest = tuple([(lo - a, hi - b) for (lo, hi), (a, b) in zip(padding, counted)])
    count = window_sums(ing.ones((1, 1, *sizes), dtype=x.dtype), g, rest)
    return window_sums(x, g, padding) / count


@onnx_op("LpPool")
def _power_pool(call, x):
    p = call.get("p", 2)
    g = Geometry(call, x.shape[2:], call.need("kernel_shape"))
    padding = g.grown(x.shape[2:]) if call.get("ceil_mode", 0) else g.padding
    return ing.pow(window_sums(ing.pow(ing.abs(x), p), g, padding), 1 / p)


def _spatial(x):
    return tuple(range(2, x.ndim))


@onnx_op("MaxUnpool", host=(2,))
def _unpool(call, x, positions, shape=None):
    rank = x.ndim - 2
    g = Geometry(call, x.shape[2:], call.need("kernel_shape"))
    plain = [s * (n - 1) + k - lo - hi for n, s, k, (lo, hi) in zip(x.shape[2:], g.stride, g.kernel, g.padding)]
    size = plain if shape is None else ints(shape)[-rank:]
    inside = ing.remainder(positions, math.prod(plain))
    flat = plane_put(x, inside, size=tuple(plain), accumulate=False)
    if list(size) == plain:
        return flat
    return pad_op(flat, low=(0,) * x.ndim, high=(0, 0, *[n - m for n, m in zip(size, plain)]), interior=(0,) * x.ndim, value=0)


@onnx_op("ConvInteger")
def conv_integer(call, x, w, x_zero=None, w_zero=None):
    """Convolve integers minus their zero points, exactly."""
    zero = 0 if x_zero is None else x_zero.to(dt.float64)
    w = w.to(dt.float64)
    if w_zero is not None:
        w = w - (w_zero.to(dt.float64).reshape([-1] + [1] * (w.ndim - 1)) if w_zero.ndim else w_zero.to(dt.float64))
    return conv(call, x.to(dt.float64) - zero, w).to(dt.int32)


@onnx_op("DeformConv")
def _deformable_conv(call, x, w, offset, b=None, mask=None):
    """Convolve sample points moved by offsets, with a weight for each."""
    g = Geometry(call, x.shape[2:], w.shape[2:])
    n, c, o = x.shape[0], x.shape[1], w.shape[0]
    parts, groups = call.get("offset_group", 1), call.get("group", 1)
    counts = window_counts(x.shape[2:], g.kernel, g.stride, g.padding, g.dilation)
    points, windows = math.prod(g.kernel), math.prod(counts)
    coordinates = _sample_points(offset.reshape(n, parts, points, 2, windows), g, counts, x.dtype)
    planes = x.reshape(n * parts, c // parts, *x.shape[2:])
    found = _bilinear(planes, *[p.reshape(n * parts, points * windows) for p in coordinates])
    found = found.reshape(n, parts, c // parts, points, windows)
    if mask is not None:
        found = found * mask.reshape(n, parts, 1, points, windows)
    columns = found.reshape(n, groups, c // groups * points, windows)
    out = ing.matmul(w.reshape(groups, o // groups, -1), columns).reshape(n, o, *counts)
    return out if b is None else out + b.reshape(-1, 1, 1)


def _sample_points(offset, g, counts, dtype):
    """Return rows and columns (N, parts, points, windows) of the sample points of every window."""
    kh, kw = g.kernel
    grids = []
    for axis, (shape, count) in enumerate(zip(((kh, 1), (1, kw)), counts)):
        offset_in_window = np.arange(g.kernel[axis]).reshape(shape) * g.dilation[axis]
        start = np.arange(count).reshape((-1, 1) if axis == 0 else (1, -1)) * g.stride[axis] - g.padding[axis][0]
        base = np.broadcast_to(offset_in_window, (kh, kw)).reshape(-1, 1) + np.broadcast_to(start, counts).reshape(1, -1)
        grids.append(offset.select(3, axis) + to_tensor(base.astype(dtype.np)))
    return grids


def _bilinear(x, rows, columns):
    """Return bilinear samples of planes (N, C, H, W) at points (N, points); 0 outside."""
    n, c, h, w = x.shape
    flat, total = x.reshape(n, c, h * w), None
    top, left = ing.floor(rows), ing.floor(columns)
    for r, row_weight in ((top, 1 - (rows - top)), (top + 1, rows - top)):
        for s, column_weight in ((left, 1 - (columns - left)), (left + 1, columns - left)):
            inside = (r >= 0) & (r < h) & (s >= 0) & (s < w)
            place = ing.where(inside, r * w + s, ing.zeros_like(r)).to(dt.int64)
            value = flat.gather(2, place.unsqueeze(1).expand(n, c, place.shape[1]))
            weight = ing.where(inside, row_weight * column_weight, ing.zeros_like(r)).unsqueeze(1)
            total = value * weight if total is None else total + value * weight
    return total


onnx_ops({
    "GlobalAveragePool": lambda call, x: ing.mean(x, _spatial(x), True),
    "GlobalLpPool":
        lambda call, x: ing.pow(ing.sum(ing.pow(ing.abs(x), call.get("p", 2)), _spatial(x), True), 1 / call.get("p", 2)),
    "GlobalMaxPool": lambda call, x: ing.amax(x, _spatial(x), True),
})
