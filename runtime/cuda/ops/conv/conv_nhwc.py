"""Convolutions of channels-last images and filters (`ir/ops/packed/conv_channels_last.py`), without transposes."""

from math import prod

from .....ir import dtype as dt
from .....passes.codegen.triton.conv import conv as gathers
from .....passes.codegen.triton.conv import conv_channels_last as text
from .....passes.codegen.triton.conv import conv_packed as packed
from ....core.device_array import DeviceArray
from ...compiler import precision
from ...driver import streams
from ...memory.arrays import fill, used
from ..products.factors import SideProgram
from ..products.products import multiply
from . import conv_channels_last, conv_packed
from .implicit_gemm import RANK, geometry, is_point, spaces, three


def _is_fast_image(images) -> bool:
    return (isinstance(images, DeviceArray) and images.size > 0 and images.ndim <= RANK + 2
            and conv_channels_last.is_fast(dt.from_numpy(images.dtype)))


def takes(images, filters: tuple, params) -> bool:
    """Return whether a convolution by filters (outputs, *kernel, channels), or one of its gradients, runs here."""
    window = zip(params["stride"], params["padding"], params["dilation"])
    return _is_fast_image(images) and text.fits(dt.from_numpy(images.dtype), filters[0], filters[-1], window)


def takes_packed(images, filters: tuple, params) -> bool:
    """Return whether the kernels for few channels run a convolution, or the gradient of its filters."""
    return _is_fast_image(images) and packed.fits(dt.from_numpy(images.dtype), filters[0], filters[-1], params["padding"])


def convolve(inputs, params, out, device, side: SideProgram | None = None, operands=()):
    """Write a convolution with its epilogue to `out`; `operands` are the epilogue's arrays."""
    x, w, b = inputs
    kernel, sides = w.shape[1:-1], (x.shape[1:-1], out.shape[1:-1])
    if b is None and is_point(kernel, params, *sides):
        _multiplied(x, w.reshape(w.shape[0], w.shape[-1]).transpose(1, 0), out, device, side, operands)
        return
    sizes = {"N": x.shape[0], "C": x.shape[-1], "O": w.shape[0]} | spaces(*sides)
    if packed.fits(dt.from_numpy(x.dtype), w.shape[0], w.shape[-1], params["padding"]):
        more = (b, operands), out, sizes if side is None else sizes | side.sizes, geometry(params, kernel)
        conv_packed.multiply(device, _in_order(x, w), *more, True, None if side is None else (side.fused, side.along))
        return
    source = _source(x, False, b is not None, side)
    arrays = (*_in_order(x, w, *(() if b is None else (b,))), out, *operands)
    _launched(device, source, arrays, sizes, side, geometry(params, kernel), prod(out.shape[:-1]))


def transpose(inputs, params, out, device, side: SideProgram | None = None, operands=()):
    """Write the gradient of a convolution's input, phase by phase; elements without a tap are 0."""
    g, w = inputs
    if is_point(w.shape[1:-1], params, params["size"], g.shape[1:-1]):
        _multiplied(g, w.reshape(w.shape[0], w.shape[-1]), out, device, side, operands)
        return
    kernel, size, low = w.shape[1:-1], params["size"], [first for first, _ in params["padding"]]
    sizes = {"N": g.shape[0], "C": g.shape[-1], "O": w.shape[-1]} | spaces(g.shape[1:-1], size)
    stride, dilation = (three(params[name], 1) for name in ("stride", "dilation"))
    found = gathers.phases(three(kernel, 1), stride, three(low, 0), dilation, three(size, 1)) or ()
    if sum(prod(pixels) for _, pixels in found) < prod(size):
        fill(out, 0)
    transposed = conv_channels_last.are_crossed(device, dt.from_numpy(w.dtype)) or w.shape[-1] % text.WIDE != 0
    if transposed:
        w = w.transpose(w.ndim - 1, *range(1, w.ndim - 1), 0)
    source, arrays = _source(g, True, False, side, transposed), (*_in_order(g, w), out, *operands)
    for constants, pixels in found:
        window = *geometry(params, kernel), *constants.items()
        _launched(device, source, arrays, sizes | dict(zip(gathers.COUNTS, pixels)), side, window, g.shape[0] * prod(pixels))


def weight_grad(x, g, params, device) -> tuple:
    """Return (sums over parts of the pixels as (parts, outputs, *kernel, channels) in float32, number of parts)."""
    shape = (g.shape[-1], *params["size"], x.shape[-1])
    sizes = {"N": x.shape[0], "C": shape[-1], "O": shape[0]} | spaces(x.shape[1:-1], g.shape[1:-1])
    if takes_packed(x, shape, params):
        g, x = _in_order(g, x)
        return conv_packed.weight_sums(device, g, x, shape, sizes, geometry(params, params["size"]), True)
    return conv_channels_last.weight_sums(device, _in_order(g, x), shape, sizes, geometry(params, params["size"]), True)


def _multiplied(x, w, out, device, side, operands):
    """Write a convolution by windows of one pixel: a matrix (pixels, channels) times a weight (channels, outputs)."""
    x = x.backend.contiguous(x).reshape(x.size // x.shape[-1], x.shape[-1])
    stream = streams.current(device).handle
    multiply(x, w, out.reshape(x.shape[0], w.shape[1]), device, side, [used(a, stream) for a in operands],
             wanted=precision.of_convolutions())


def _in_order(*arrays):
    return [a.backend.contiguous(a) for a in arrays]


def _source(x, back, bias, side, transposed=False):
    more = (None, ()) if side is None else (side.fused, side.along)
    return text.product_last(dt.from_numpy(x.dtype), precision.of_convolutions(), back, bias, *more, transposed)


def _launched(device, source, arrays, sizes, side, window, rows):
    sizes = sizes if side is None else sizes | side.sizes
    conv_channels_last.launch_rows(device, source, arrays, sizes, window, rows)
