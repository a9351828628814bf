"""Convolutions and pools on a device."""

from math import prod

import numpy as np

from .....ir import dtype as dt
from .....ir.ops.core.elementwise import cast
from .....ir.ops.core.reduce import sum_
from .....ir.ops.nn import conv as cv
from .....ir.ops.nn import pool
from .....ir.ops.packed import conv_channels_last as last
from .....passes.codegen.triton.conv import conv as text
from .....passes.codegen.triton.conv import conv_depthwise as alone
from .....passes.codegen.triton.conv import pooling as pool_text
from ....core.device_array import DeviceArray
from ...compiler import precision
from ...compiler.copies import write
from ...compiler.kernels import launch
from ...driver import context as contexts
from ...graph.eager import composed, contiguous, run
from ...memory.arrays import empty
from ..conv import conv_channels_last, conv_nhwc, conv_packed
from ..conv.implicit_gemm import (
    RANK,
    convolve,
    fits,
    gathered,
    geometry,
    is_point,
    spaces,
    three,
    transpose,
    window,
    without_padding,
)

_MOST_PARTS = 256
_LEAST_DEPTH = 512     # least elements of a part of a weight gradient's sum


def conv(inputs, params, device):
    """Return the convolution, with its bias."""
    x, w, _ = inputs
    if not fits(*inputs):
        return NotImplemented
    counts = cv.window_counts(x.shape[2:], w.shape[2:], params["stride"], params["padding"], params["dilation"])
    out = empty(device, (x.shape[0], w.shape[0], *counts), x.dtype)
    if out.size:
        convolve(inputs, params, out, device)
    return out


def conv_input_grad(inputs, params, device):
    """Return the transposed convolution."""
    g, w = inputs
    if not fits(*inputs):
        return NotImplemented
    out = empty(device, (g.shape[0], w.shape[1] * params["groups"], *params["size"]), g.dtype)
    if out.size and not _to_few_channels(inputs, params, out, device):
        transpose(inputs, params, out, device)
    return out


def _to_few_channels(inputs, params, out, device) -> bool:
    """Write a strided transposed convolution to few channels, with channels-last images; return whether it is one."""
    g, w = inputs
    stride, channels, kind = params["stride"], w.shape[1], dt.from_numpy(g.dtype)
    pixels = out.size // (out.shape[1] * prod(stride))
    if all(s == 1 for s in stride) or not conv_channels_last.takes_few(kind, w.shape, params["groups"], pixels, True):
        return False
    if any(low < 0 or (step != 1 and far != 1) for step, (low, _), far in zip(stride, params["padding"], params["dilation"])):
        return False
    made = empty(device, (out.shape[0], *out.shape[2:], channels), out.dtype)
    conv_nhwc.transpose((conv_channels_last.channels_last(g), w.transpose(0, *range(2, w.ndim), 1)), params, made, device)
    write(out, _channels_first(made))
    return True


def conv_weight_grad(inputs, params, device):
    """Return the gradient of the weight; long sums are cut in parts, which are added in order."""
    x, g = inputs
    if not fits(*inputs):
        return NotImplemented
    kernel, groups = params["size"], params["groups"]
    kind = dt.from_numpy(x.dtype)
    shape = (g.shape[1], x.shape[1] // groups, *kernel)
    sizes = {"N": x.shape[0], "C": shape[1], "O": g.shape[1] // groups} | spaces(x.shape[2:], g.shape[2:])
    if conv_channels_last.takes(kind, shape, groups, x.shape[0] * prod(g.shape[2:])):
        out, parts = conv_channels_last.weight_grad(device, x, g, shape, sizes, geometry(params, kernel))
    elif conv_channels_last.takes_points(kind, shape, groups) and is_point(kernel, params, x.shape[2:], g.shape[2:]):
        out, parts = conv_channels_last.point_weight_grad(device, x, g, shape)
    elif conv_packed.takes(kind, shape, groups, x.shape[0] * prod(g.shape[2:]), params["padding"]):
        image = conv_packed.packed(x, params["padding"], conv_packed.text.pack_of(shape[1]))
        sizes |= spaces(image.shape[1:-1], g.shape[2:])
        out, parts = conv_packed.weight_sums(device, contiguous(g), image, shape, sizes,
                                             geometry(without_padding(params), kernel), False)
    else:
        out, parts = _gathered_weight_grad(x, g, params, shape, sizes, device)
    return _added(out, parts, shape, x, device)


def _added(out, parts, shape, x, device):
    if parts > 1:
        out, = composed(_rounded_sum, (out.reshape(parts, prod(shape)),), {"dtype": dt.from_numpy(x.dtype)}, device)
    elif out.dtype != x.dtype:
        out = run(cast, (out,), {"dtype": dt.from_numpy(x.dtype)}, device)
    return out.look(shape, DeviceArray(out.kind, out.memory, shape, out.dtype).strides)


def _rounded_sum(parts, *, dtype):
    total = sum_(parts, dim=(0,), keepdim=False)
    return (total if dt.of(total) is dtype else cast(total, dtype=dtype),)


def conv_of_last(inputs, params, device):
    """Return the convolution of channels-last images, with its bias."""
    x, w, b = inputs
    if not (conv_nhwc.takes(x, w.shape, params) or conv_nhwc.takes_packed(x, w.shape, params)):
        return _by_transposing(conv, (*map(_channels_first, (x, w)), b), params, device)
    window = params["stride"], params["padding"], params["dilation"]
    counts = cv.window_counts(x.shape[1:-1], w.shape[1:-1], *window)
    out = empty(device, (x.shape[0], *counts, w.shape[0]), x.dtype)
    conv_nhwc.convolve(inputs, params, out, device)
    return out


def packed_image(inputs, params, device):
    """Return an image padded, channels-last, with zero channels added."""
    x, = inputs
    if not isinstance(x, DeviceArray) or x.ndim > RANK + 2 or x.itemsize > 8:
        return NotImplemented
    return conv_packed.packed(x, **params)


def input_grad_of_last(inputs, params, device):
    """Return the transposed convolution of channels-last images."""
    g, w = inputs
    if not conv_nhwc.takes(g, w.shape, params):
        return _by_transposing(conv_input_grad, map(_channels_first, inputs), params, device)
    out = empty(device, (g.shape[0], *params["size"], w.shape[-1]), g.dtype)
    conv_nhwc.transpose(inputs, params, out, device)
    return out


def weight_grad_of_last(inputs, params, device):
    """Return the gradient of channels-last filters."""
    x, g = inputs
    shape = g.shape[-1], *params["size"], x.shape[-1]
    if not (conv_nhwc.takes(x, shape, params) or conv_nhwc.takes_packed(x, shape, params)):
        return _by_transposing(conv_weight_grad, map(_channels_first, inputs), params, device)
    out, parts = conv_nhwc.weight_grad(x, g, params, device)
    return _added(out, parts, shape, x, device)


def _by_transposing(operator, inputs, params, device):
    """Run the operator on channels-first images, if no other kernel fits."""
    out = operator(tuple(inputs), params | {"groups": 1}, device)
    return out if out is NotImplemented else conv_channels_last.channels_last(out)


def _channels_first(a):
    return a.transpose(0, a.ndim - 1, *range(1, a.ndim - 1)) if isinstance(a, DeviceArray) else a


def _gathered_weight_grad(x, g, params, shape, sizes, device):
    kernel, groups, kind = params["size"], params["groups"], dt.from_numpy(x.dtype)
    product = sizes["O"], shape[1] * prod(kernel), x.shape[0] * prod(g.shape[2:])
    by_channels = shape[1] == 1 and groups > 1 and prod(kernel) <= alone.MOST_TAPS
    parts = _parts(device, shape[0], product[2]) if by_channels else _parts(device, _tiles(kind, product) * groups, product[2])
    out = empty(device, (parts, *shape), np.dtype(np.float64 if kind is dt.float64 else np.float32))
    arrays = contiguous(g), contiguous(x), out
    if out.size and by_channels:
        constants = *geometry(params, kernel), *alone.weight_tile(prod(kernel)), ("GROUPS", groups), ("PARTS", parts)
        launch(device, alone.weight_grad(kind), arrays, sizes, (constants, 4, (shape[0], parts, 1)))
    elif out.size:
        source = text.weight_grad(kind, precision.of_convolutions())
        gathered(device, source, arrays, sizes, geometry(params, kernel), groups, product, parts)
    return out, parts


def _tiles(kind, product) -> int:
    m, n, _ = product
    (bm, bn, _), _, _ = text.tiles(kind, precision.of_convolutions(), *product)
    return -(-m // bm) * -(-n // bn)


def _parts(device, programs, k) -> int:
    """Return the number of parts of sums of k elements that occupies all multiprocessors."""
    wanted = 2 * contexts.context(device).processors // programs
    return 1 << max(1, min(_MOST_PARTS, wanted, k // _LEAST_DEPTH)).bit_length() - 1


def _in_rows(out) -> tuple:
    """Return (rows of an image, constants, warps, grid) of a kernel over tiles of rows."""
    width, sizes = out.shape[-1], pool_text.tile(out.shape[-1])
    rows = out.size // width
    return rows, tuple(zip(pool_text.TILE, sizes)), 4, (-(-rows // sizes[0]) * -(-width // sizes[1]), 1, 1)


def _is_image(x, kinds="c") -> bool:
    """Return whether pools take an image, of none of the dtype kinds `kinds`."""
    return x.ndim <= RANK + 2 and x.size > 0 and x.dtype.kind not in kinds


def _maxima(source, operands, counts, how):
    """Return the largest element of each window of a pool, and its flat index in the plane; `how` is the window's geometry."""
    x = operands[0]
    shape = (*x.shape[:2], *counts)
    out, positions = empty(x.device, shape, x.dtype), empty(x.device, shape, np.int64)
    if out.size:
        rows, tile, warps, grid = _in_rows(out)
        arrays, sizes = (*map(contiguous, operands), out, positions), {"N": rows} | spaces(x.shape[2:], counts)
        launch(x.device, source, arrays, sizes, ((*window(*how), *tile), warps, grid))
    return out, positions


def _unpadded(kernel) -> tuple:
    """Return the geometry of windows that kernels place themselves."""
    ones = (1,) * len(kernel)
    return kernel, ones, ((0, 0),) * len(kernel), ones


def max_pool(inputs, params, device):
    """Return the largest element of each window, and its flat index in the plane."""
    x, = inputs
    if not _is_image(x):
        return NotImplemented
    how = params["kernel"], params["stride"], params["padding"], params["dilation"]
    source = pool_text.maximum(dt.from_numpy(x.dtype), pool_text.is_short(params["kernel"]))
    return _maxima(source, inputs, cv.window_counts(x.shape[2:], *how), how)


def adaptive_max_pool(inputs, params, device):
    """Return the largest element of each of so many even bins, and its flat index in the plane."""
    x, = inputs
    if not _is_image(x):
        return NotImplemented
    longest = [pool.bin_positions(n, m).shape[1] for n, m in zip(x.shape[2:], params["size"])]
    source = pool_text.maximum(dt.from_numpy(x.dtype), pool_text.is_short(longest), True)
    return _maxima(source, inputs, params["size"], _unpadded(longest))


def fractional_max_pool(inputs, params, device):
    """Return the largest element of each randomly placed window, and its flat index in the plane."""
    x, samples = inputs
    if not (_is_image(x) and isinstance(samples, DeviceArray)):
        return NotImplemented
    kernel, kinds = params["kernel"], [dt.from_numpy(a.dtype) for a in inputs]
    source = pool_text.drawn_maximum(kinds[0], pool_text.is_short(kernel), kinds[1], x.ndim - 2)
    return _maxima(source, inputs, params["size"], _unpadded(kernel))


def max_pool_grad(inputs, params, device):
    """Return each element's gradient, from the windows of which it is the maximum."""
    g, positions = inputs
    if not (_is_image(g, "cb") and isinstance(positions, DeviceArray)):
        return NotImplemented
    out = empty(device, (*g.shape[:2], *params["size"]), g.dtype)
    rows, tile, warps, grid = _in_rows(out)
    how = window(params["kernel"], params["stride"], params["padding"], params["dilation"])
    source = pool_text.maximum_grad(dt.from_numpy(g.dtype), pool_text.is_short(params["kernel"]))
    launch(device, source, (contiguous(g), contiguous(positions), out), {"N": rows} | spaces(params["size"], g.shape[2:]),
           ((*how, *tile), warps, grid))
    return out


def _averaged(write, x, out, inner, outer, params, device):
    kind, divisor = dt.from_numpy(x.dtype), params["divisor"]
    rank = len(params["kernel"])
    how = window(params["kernel"], params["stride"], params["padding"], (1,) * rank)
    low, high = ([pair[side] for pair in params["counted"]] for side in (0, 1))
    counted = zip(pool_text.COUNTED, [*three(low, 0), *three(high, 0)])
    rows, tile, warps, grid = _in_rows(out)
    constants = (*how, *counted, ("DIVISOR", 1 if divisor is None else divisor), *tile)
    source = write(kind, pool_text.is_short(params["kernel"]), divisor is not None)
    launch(device, source, (contiguous(x), out), {"N": rows} | spaces(inner, outer), (constants, warps, grid))


def avg_pool(inputs, params, device):
    """Return the mean of each window."""
    x, = inputs
    if not _is_image(x, "cb"):
        return NotImplemented
    counts = cv.window_counts(x.shape[2:], params["kernel"], params["stride"], params["padding"], (1,) * (x.ndim - 2))
    out = empty(device, (*x.shape[:2], *counts), x.dtype)
    if out.size:
        _averaged(pool_text.average, x, out, x.shape[2:], counts, params, device)
    return out


def avg_pool_grad(inputs, params, device):
    """Return the gradient of the means, distributed over their windows."""
    g, = inputs
    if not _is_image(g, "cb"):
        return NotImplemented
    out = empty(device, (*g.shape[:2], *params["size"]), g.dtype)
    if out.size:
        _averaged(pool_text.average_grad, g, out, params["size"], g.shape[2:], params, device)
    return out


OPERATORS = {last.packed_image: packed_image, last.conv_last: conv_of_last, last.conv_last_input_grad: input_grad_of_last,
             last.conv_last_weight_grad: weight_grad_of_last, pool.max_pool: max_pool, pool.max_pool_grad: max_pool_grad,
             pool.adaptive_max_pool: adaptive_max_pool, pool.fractional_max_pool: fractional_max_pool, pool.avg_pool: avg_pool,
             pool.avg_pool_grad: avg_pool_grad}      # (`complex_products.py` lists the convolutions)
