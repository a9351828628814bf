"""Writers of operators over windows: convolutions, pools and resampling."""

import math

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.nn import conv as cv
from ....ir.ops.nn import pool
from ....ir.ops.nn import resample as rs
from ....ir.ops.nn.linear_maps import resample_table
from ....ir.ops.nn.windows import window_count
from ....ir.symbols.symbolic import is_symbol
from .graph_writer import emits
from .shape import padded
from .size_formulas import is_fixed


def _pads(padding):
    return [lo for lo, _ in padding] + [hi for _, hi in padding]


def _around(w, name, padding, dtype, value=0):
    """Apply padding that a node itself cannot: negative numbers."""
    return padded(w, name, [0, 0, *[lo for lo, _ in padding]], [0, 0, *[hi for _, hi in padding]], value, dtype)


def _convolved(w, x, weight, b, dtype, *, stride, padding, dilation, groups):
    if any(n < 0 for pair in padding for n in pair):
        x, padding = _around(w, x, padding, dtype), ((0, 0),) * len(padding)
    return w.node("Conv", x, weight, b, strides=list(stride), pads=_pads(padding), dilations=list(dilation), group=groups)


def _floats(node, opset):
    return node.inputs[0].dtype.is_inexact


@emits(cv.conv, when=_floats)
def _conv(w, item, x, weight, b, *, stride, padding, dilation, groups):
    return _convolved(w, w.name(x), w.name(weight), None if b is None else w.name(b), x.dtype, stride=stride, padding=padding,
                      dilation=dilation, groups=groups)


@emits(cv.conv_input_grad, when=_floats)
def _conv_transposed(w, item, g, weight, *, size, stride, padding, dilation, groups):
    """Compute a transposed convolution whole, then cut it to the requested size."""
    kernel = weight.shape[2:]
    extra = [n - (s * (m - 1) + d * (k - 1) + 1 - lo - hi)
             for n, s, m, d, k, (lo, hi) in zip(size, stride, g.shape[2:], dilation, kernel, padding)]
    plain = is_fixed(extra) and all(0 <= e < s for e, s in zip(extra, stride)) and all(n >= 0 for p in padding for n in p)
    if plain:
        return w.node("ConvTranspose", w.name(g), w.name(weight), strides=list(stride), pads=_pads(padding),
                      dilations=list(dilation), group=groups, output_padding=list(extra))
    whole = w.node("ConvTranspose", w.name(g), w.name(weight), strides=list(stride), dilations=list(dilation), group=groups)
    return _around(w, whole, [(-lo, e - hi) for (lo, hi), e in zip(padding, extra)], g.dtype)


@emits(cv.conv_weight_grad, when=_floats)
def _conv_weight_grad(w, item, x, g, *, size, stride, padding, dilation, groups):
    """Convolve the input with the gradient, with batch and channels swapped."""
    rank, parts = len(size), []
    swap = [1, 0, *range(2, x.ndim)]
    inputs, outputs = x.shape[1] // groups, g.shape[1] // groups
    for i in range(groups):
        a = w.name(x) if groups == 1 else w.slice(w.name(x), [i * inputs], [(i + 1) * inputs], [1])
        b = w.name(g) if groups == 1 else w.slice(w.name(g), [i * outputs], [(i + 1) * outputs], [1])
        found = _convolved(w, w.transpose(a, swap), w.transpose(b, swap), None, x.dtype, stride=dilation, padding=padding,
                           dilation=stride, groups=1)
        found = w.slice(found, [0] * rank, list(size), range(2, x.ndim))
        parts.append(w.transpose(found, swap))
    return parts[0] if groups == 1 else w.node("Concat", *parts, axis=0)


@emits(cv.im2col)
def _im2col(w, item, x, *, kernel, stride, padding, dilation):
    """Gather along each dimension, so that positions in windows stand beside windows."""
    name, shape = _around(w, w.name(x), padding, x.dtype), list(x.shape[:2])
    counts = []
    for i, (k, s, (lo, hi), d) in enumerate(zip(kernel, stride, padding, dilation)):
        count = window_count(x.shape[2 + i], k, s, (lo, hi), d)
        starts = w.node("Mul", w.reshape(w.range(count), [1, -1]), w.const(np.array(s, np.int64), "number"))
        at = w.node("Add", w.const((np.arange(k) * d).reshape(-1, 1), "within"), starts)
        name = w.node("Gather", name, at, axis=2 + 2 * i)
        counts.append(count)
    rank = len(kernel)
    order = [0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2)]
    return w.reshape(w.transpose(name, order), [shape[0], shape[1] * math.prod(kernel), math.prod(counts)])


@emits(cv.col2im, when=lambda node, opset: opset >= 18 and node.inputs[0].dtype is dt.float32)
def _col2im(w, item, columns, *, size, kernel, stride, padding, dilation):
    return w.node("Col2Im", w.name(columns), w.ints(size), w.ints(kernel), strides=list(stride), pads=_pads(padding),
                  dilations=list(dilation))


# Pools.


def _poolable(w, x):
    """Return the name of an input in a type that runtimes pool, and that type."""
    if x.dtype in (dt.float32, dt.float64, dt.float16):
        return w.name(x), x.dtype
    wide = dt.float32 if x.dtype.itemsize < 4 else dt.float64
    return w.cast(w.name(x), wide), wide


@emits(pool.max_pool)
def _max_pool(w, item, x, *, kernel, stride, padding, dilation):
    name, kind = _poolable(w, x)
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    attributes = {"kernel_shape": list(kernel), "strides": list(stride), "dilations": list(dilation)}
    padding = _fixed_ends(x.shape[2:], kernel, stride, padding, dilation)
    inside = all(0 <= n < s for pair, s in zip(padding, spans) for n in pair)
    if not w.is_used(item.outputs[1]):
        if not inside:
            name, padding = _around(w, name, padding, kind, -math.inf), ((0, 0),) * len(kernel)
        best = w.node("MaxPool", name, pads=_pads(padding), **attributes)
        return (best if kind is x.dtype else w.cast(best, x.dtype)), None
    best, place = w.node("MaxPool", name, outputs=2, pads=_pads(padding), **attributes)
    place = w.node("Mod", place, w.scalar(math.prod(x.shape[2:]), dt.int64))
    return (best if kind is x.dtype else w.cast(best, x.dtype)), place


def _largest_at(w, x, positions, shape):
    """Return the largest elements at tables of flat positions (windows, positions in each), and their positions."""
    flat = w.reshape(w.name(x), [*x.shape[:2], math.prod(x.shape[2:])])
    table = w.const(positions, "places")
    values = w.node("Gather", flat, table, axis=2)
    chosen = w.node("ArgMax", values, axis=3, keepdims=1)
    best = w.node("GatherElements", values, chosen, axis=3)
    whole = w.node("Expand", w.reshape(table, [1, 1, *positions.shape]), w.node("Shape", values))
    return [w.reshape(v, shape) for v in (best, w.node("GatherElements", whole, chosen, axis=3))]


@emits(pool.adaptive_max_pool)
def _adaptive_max_pool(w, item, x, *, size):
    if all(n == 1 for n in size) and not w.is_used(item.outputs[1]):
        return w.reduce("ReduceMax", w.name(x), range(2, x.ndim), True), None
    sizes = [int(n) for n in x.shape[2:]]
    return _largest_at(w, x, _bin_positions(sizes, size), item.outputs[0].shape)


def _bin_positions(sizes, counts):
    """Return the flat positions (bins, positions in each) of even bins; short bins repeat their last position."""
    rank, total = len(sizes), np.zeros((1,) * 2 * len(sizes), np.int64)
    for i, (n, count) in enumerate(zip(sizes, counts)):
        starts, ends = pool.bins(n, count)
        table = np.minimum(starts[:, None] + np.arange(int((ends - starts).max())), ends[:, None] - 1)
        shape = [1] * 2 * rank
        shape[i], shape[rank + i] = table.shape
        total = total + table.reshape(shape) * math.prod(sizes[i + 1:])
    return total.reshape(math.prod(counts), -1)


@emits(pool.avg_pool, when=_floats)
def _avg_pool(w, item, x, *, kernel, stride, padding, counted, divisor):
    if divisor is None and tuple(kernel) == tuple(x.shape[2:]) and all(n == 0 for p in padding for n in p):
        return w.reduce("ReduceMean", w.name(x), range(2, x.ndim), True)
    padding = _fixed_ends(x.shape[2:], kernel, stride, padding, (1,) * len(kernel))
    counted = tuple([(low, min(end, high)) for (low, high), (_, end) in zip(counted, padding)])
    pads, none = tuple(padding), all(n == 0 for p in counted for n in p)
    inside = all(0 <= n < k for p, k in zip(padding, kernel) for n in p)
    if x.dtype is dt.float32 and divisor is None and inside and (none or tuple(counted) == pads):
        return w.node("AveragePool", w.name(x), kernel_shape=list(kernel), strides=list(stride), pads=_pads(padding),
                      count_include_pad=int(not none))
    return _mapped(w, w.name(x), x, _averages(x.shape[2:], kernel, stride, padding, counted, divisor), False)


def _fixed_ends(sizes, kernel, stride, padding, dilation):
    """Return padding with a fixed, non-negative high end for all sizes, if windows reach no differing elements."""
    pads = []
    for n, k, s, (lo, hi), d in zip(sizes, kernel, stride, padding, dilation):
        count = window_count(n, k, s, (lo, hi), d)
        same = (end for end in range(d * (k - 1) + 1) if window_count(n, k, s, (lo, end), d) == count)
        pads.append((lo, hi if is_fixed((hi,)) and hi >= 0 else next(same, hi)))
    return tuple(pads)


@emits(pool.avg_pool_grad, when=_floats)
def _avg_pool_grad(w, item, g, *, size, kernel, stride, padding, counted, divisor):
    return _mapped(w, w.name(g), g, _averages(size, kernel, stride, padding, counted, divisor), True)


def _averages(sizes, kernel, stride, padding, counted, divisor):
    """Return one matrix (windows, elements) for each dimension; the divisor is in the first."""
    made = []
    for i, (n, k, s, p, c) in enumerate(zip(sizes, kernel, stride, padding, counted)):
        eye = np.eye(int(n)).reshape(1, int(n), int(n))
        given = {"kernel": (k,), "stride": (s,), "padding": (p,), "counted": (c,)}
        matrix = pool.avg_pool.ref(eye, **given, divisor=None if divisor is None else divisor if i == 0 else 1)
        made.append(matrix[0].T)
    return made


def _mapped(w, name, x, matrices, transposed):
    """Multiply each spatial dimension by its matrix (results, elements); None keeps it."""
    kind = x.dtype if x.dtype in (dt.float32, dt.float64) else dt.float32
    name = name if kind is x.dtype else w.cast(name, kind)
    for i, m in enumerate(matrices):
        if m is None:
            continue
        last = x.ndim - 1
        order = [d for d in range(x.ndim) if d != 2 + i] + [2 + i]
        table = w.const((m if transposed else m.T).astype(kind.np), "weights")
        back = [*range(2 + i), last, *range(2 + i, last)]
        name = w.transpose(w.node("MatMul", w.transpose(name, order), table), back)
    return name if kind is x.dtype else w.cast(name, x.dtype)


# Resampling.


def _matrix(mode, n, count, align_corners, scale):
    """Return the matrix (results, elements) of a resampling along a dimension."""
    positions, weights = resample_table(mode, int(n), int(count), align_corners, scale)
    out = np.zeros((int(count), int(n)))
    np.add.at(out, (np.arange(int(count)), positions), np.ones(positions.shape) if weights is None else weights)
    return out


def _coordinates(mode, align_corners):
    """Return ONNX's name of the coordinate transformation, or None if it has no such mode."""
    if mode == "nearest":
        return {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    if mode == "nearest-exact":
        return {"mode": "nearest", "coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_ceil"}
    if mode in ("linear", "cubic"):
        how = "align_corners" if align_corners else "half_pixel"
        extra = {"cubic_coeff_a": -0.75} if mode == "cubic" else {}
        return {"mode": mode, "coordinate_transformation_mode": how, **extra}
    return None


def _by_ratio(sizes, goals, scales) -> bool:
    """Return whether positions depend on the ratio of the sizes alone."""
    fixed = is_fixed((*sizes, *goals))
    return (fixed and all(s is None or abs(s * n - m) < 1e-9 for n, m, s in zip(sizes, goals, scales))) or all(
        s is None for s in scales)


def _whole_steps(sizes, goals) -> bool:
    return not is_fixed((*sizes, *goals)) or all(m % n == 0 for n, m in zip(sizes, goals))


@emits(rs.resample, when=lambda node, opset: node.inputs[0].dtype.is_inexact)
def _resample(w, item, x, *, size, mode, align_corners, scales):
    sizes, how = x.shape[2:], _coordinates(mode, align_corners)
    if mode == "area" and all(n == 1 for n in size):
        return w.node("GlobalAveragePool", w.name(x)) if x.dtype is dt.float32 else w.reduce(
            "ReduceMean", w.name(x), range(2, x.ndim), True)
    ratio = _by_ratio(sizes, size, scales) and (mode not in ("nearest", "nearest-exact") or _whole_steps(sizes, size))
    if how is not None and ratio and x.dtype is dt.float32 and not (mode == "cubic" and x.ndim != 4):
        return w.node("Resize", w.name(x), None, None, w.ints([*x.shape[:2], *size]), **how)
    if how is not None and not is_fixed((*sizes, *size)) and all(s is not None for s in scales):
        factors = w.const(np.array([1, 1, *scales], np.float32), "scales")
        return w.node("Resize", w.name(x), None, factors, **how)
    if mode in ("nearest", "nearest-exact"):
        name = w.name(x)
        for i, (n, m, s) in enumerate(zip(sizes, size, scales)):
            positions = resample_table(mode, int(n), int(m), align_corners, s)[0][0]
            name = w.node("Gather", name, w.const(positions, "places"), axis=2 + i)
        return name
    return _mapped(w, w.name(x), x, _matrices(sizes, size, mode, align_corners, scales), False)


def _matrices(sizes, goals, mode, align_corners, scales):
    return [_matrix(mode, n, m, align_corners, s) if is_symbol(n) or n != m or s not in (None, 1.0) else None
            for n, m, s in zip(sizes, goals, scales)]


@emits(rs.resample_grad)
def _resample_grad(w, item, g, *, size, mode, align_corners, scales):
    return _mapped(w, w.name(g), g, _matrices(size, g.shape[2:], mode, align_corners, scales), True)
