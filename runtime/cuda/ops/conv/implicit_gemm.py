"""Convolutions as products with gathered operands, and their geometry, which pools share."""

from math import prod

from .....ir import dtype as dt
from .....passes.codegen.triton.conv import conv as text
from .....passes.codegen.triton.conv import conv_depthwise as alone
from ....core.device_array import DeviceArray
from ...compiler import precision
from ...compiler.flat_launches import flat_blocks
from ...compiler.kernels import launch
from ...compiler.tuning import launch_best
from ...driver import context as contexts
from ...driver import streams
from ...memory.arrays import fill, used
from ..products.factors import SideProgram
from ..products.products import multiply
from . import conv_channels_last, conv_packed

RANK = 3
_BLOCK = 256


def three(values, fill) -> list:
    """Return values of three dims, with missing ones in front."""
    return [fill] * (RANK - len(values)) + list(values)


def window(kernel, stride, padding, dilation) -> tuple:
    """Return the constants that determine a window's addresses."""
    found = [*three(kernel, 1), *three(stride, 1), *three([low for low, _ in padding], 0), *three(dilation, 1)]
    return tuple(zip(text.WINDOW, found))


def spaces(inputs, outputs) -> dict:
    """Return the sizes of planes as parameters."""
    sizes = dict(zip([f"I{d}" for d in text.DIMS], three(inputs, 1)))
    return sizes | dict(zip([f"Q{d}" for d in text.DIMS], three(outputs, 1)))


def fits(*arrays) -> bool:
    """Return whether the kernels here take such arrays."""
    there = [a for a in arrays if a is not None]
    return all(isinstance(a, DeviceArray) and a.size for a in there) and there[0].ndim <= RANK + 2 \
        and dt.from_numpy(there[0].dtype) in dt.FLOATS


def geometry(params, kernel) -> tuple:
    """Return the constants of a convolution's window."""
    return window(kernel, params["stride"], params["padding"], params["dilation"])


def without_padding(params) -> dict:
    """Return the parameters of the convolution of a padded image."""
    return params | {"padding": ((0, 0),) * len(params["padding"])}


def gathered(device, source, arrays, sizes, window, groups, product, parts=1, kind=None):
    """Launch a product of sizes (m, n, k) for each group (and part), of factors of a dtype (the first parameter's)."""
    kind, (m, n, k) = kind or source.parameters[0].dtype, product
    cut = [("PARTS", parts)] if "PARTS" in source.constants else []

    def how(chosen):
        tile, warps, stages = chosen
        constants = (*window, *zip(text.TILE, tile), ("GROUPS", groups), *cut)
        return (constants, warps, (-(-m // tile[0]) * -(-n // tile[1]), groups, parts)), stages

    tiles = text.candidates(kind, precision.of_convolutions(), m, n, k, contexts.context(device).shared_memory)
    launch_best((window, groups, parts), tiles, device, source, arrays, sizes, how)


def is_depthwise(w, groups) -> bool:
    """Return whether each channel is convolved alone."""
    return w.shape[1] == 1 and groups > 1


def convolve(inputs, params, out, device, side: SideProgram | None = None, operands=()):
    """Write a convolution with its epilogue to `out`; `operands` are the epilogue's arrays.

    Images are an array, or (Computed, its source arrays, shape).
    """
    x, w, b = inputs
    computed, images, shape = (None, [x.backend.contiguous(x)], x.shape) if isinstance(x, DeviceArray) else x
    kernel, groups, counts = w.shape[2:], params["groups"], out.shape[2:]
    kind, more = dt.from_numpy(w.dtype), () if side is None else (side.fused, side.along)
    sizes = {"N": shape[0], "C": w.shape[1], "O": w.shape[0] // groups} | spaces(shape[2:], counts)
    if side is not None:
        sizes |= side.sizes
    arrays = (*images, *[a.backend.contiguous(a) for a in (w, b) if a is not None], out, *operands)
    if is_depthwise(w, groups):
        (block,), warps, grid = flat_blocks(out.size, _BLOCK)
        launch(device, alone.forward(kind, b is not None, *more), arrays, sizes | {"TOTAL": out.size},
               ((*geometry(params, kernel), block, ("GROUPS", groups)), warps, grid))
        return
    if is_point(kernel, params, shape[2:], counts) and b is None and groups == 1:
        flat = shape[0], w.shape[1], prod(counts)
        planes = images[0].reshape(*flat) if computed is None else (computed, images, flat)
        _multiplied(arrays[len(images)].reshape(*w.shape[:2]), planes, out, device, side, operands)
        return
    pixels = shape[0] * prod(counts)
    if computed is None and conv_channels_last.multiplies(kind, w.shape, groups, pixels):
        conv_channels_last.multiply(device, images[0], w, (b if b is None else b.backend.contiguous(b), operands), out, sizes,
                                    geometry(params, kernel), False, more)
        return
    if computed is None and conv_packed.takes(kind, w.shape, groups, pixels, params["padding"]):
        image, filters = conv_packed.plain(images[0], w, params["padding"])
        conv_packed.multiply(device, (image, filters), (b if b is None else b.backend.contiguous(b), operands), out,
                             sizes | spaces(image.shape[1:-1], counts), geometry(without_padding(params), kernel), False, more)
        return
    how = precision.of_convolutions()
    source = text.forward(kind, how, b is not None, *(more or (None, ())), computed and computed.how)
    if computed is not None:
        sizes |= computed.sizes("x")
    product = pixels, sizes["O"], sizes["C"] * prod(kernel)
    gathered(device, source, arrays, sizes, geometry(params, kernel), groups, product, kind=kind)


def is_point(kernel, params, sizes, counts) -> bool:
    """Return whether a window is its own pixel everywhere."""
    return prod(kernel) == 1 and all(s == 1 for s in params["stride"]) and tuple(sizes) == tuple(counts) \
        and not any(low for low, _ in params["padding"])


def _multiplied(w, planes, out, device, side, operands):
    """Write a convolution by a window of one pixel: each image's product (outputs, channels) @ (channels, pixels)."""
    stream = streams.current(device).handle
    batch, _, pixels = planes.shape if isinstance(planes, DeviceArray) else planes[2]
    multiply(w, planes, out.reshape(batch, w.shape[0], pixels), device, side,
             [used(a, stream) for a in operands], wanted=precision.of_convolutions())


def transpose(inputs, params, out, device, side: SideProgram | None = None, operands=()):
    """Write a transposed convolution (the gradient of a convolution's input) with its epilogue to `out`."""
    g, w = inputs
    kernel, groups, size = w.shape[2:], params["groups"], params["size"]
    kind, more = dt.from_numpy(g.dtype), () if side is None else (side.fused, side.along)
    sizes = {"N": g.shape[0], "C": w.shape[1], "O": w.shape[0] // groups} | spaces(size, g.shape[2:])
    if side is not None:
        sizes |= side.sizes
    arrays = (g.backend.contiguous(g), w.backend.contiguous(w), out, *operands)
    if is_depthwise(w, groups):
        (block,), warps, grid = flat_blocks(out.size, _BLOCK)
        launch(device, alone.input_grad(kind, *more), arrays, sizes | {"TOTAL": out.size},
               ((*geometry(params, kernel), block, ("GROUPS", groups)), warps, grid))
    elif is_point(kernel, params, size, g.shape[2:]) and groups == 1:
        planes, transposed = arrays[0].reshape(*g.shape[:2], prod(size)), arrays[1].reshape(*w.shape[:2]).transpose(1, 0)
        _multiplied(transposed, planes, out, device, side, operands)
    elif all(s == 1 for s in params["stride"]) and conv_channels_last.multiplies(kind, w.shape, groups, g.shape[0] * prod(size),
                                                                                 True):
        transposed_sizes = {"N": g.shape[0], "C": w.shape[0], "O": w.shape[1]} | spaces(g.shape[2:], size)
        transposed_sizes |= {} if side is None else side.sizes
        conv_channels_last.multiply(device, g, w, (None, operands), out, transposed_sizes, geometry(params, kernel), True, more)
    elif not _by_phases(device, arrays, sizes, params, kernel, groups, more):
        product = g.shape[0] * prod(size), sizes["C"], sizes["O"] * prod(kernel)
        source = text.input_grad(kind, precision.of_convolutions(), *more)
        gathered(device, source, arrays, sizes, geometry(params, kernel), groups, product)


def _by_phases(device, arrays, sizes, params, kernel, groups, more) -> bool:
    """Write a strided transposed convolution, phase by phase, and return whether that is possible. Elements without a tap are
    0."""
    stride, size, kind = params["stride"], params["size"], dt.from_numpy(arrays[0].dtype)
    low = three([first for first, _ in params["padding"]], 0)
    if all(s == 1 for s in stride) or min(low) < 0:
        return False
    found = text.phases(three(kernel, 1), three(stride, 1), low, three(params["dilation"], 1), three(size, 1))
    if found is None:
        return False
    if sum(prod(pixels) for _, pixels in found) < prod(size):
        fill(arrays[2], 0)
    for constants, pixels in found:
        kernel_size = prod(constants[f"J{d}"] for d in text.DIMS)
        product = sizes["N"] * prod(pixels), sizes["C"], sizes["O"] * kernel_size
        source = text.phase_grad(kind, precision.of_convolutions(), *more)
        here = *geometry(params, kernel), *constants.items()
        gathered(device, source, arrays, sizes | dict(zip(text.COUNTS, pixels)), here, groups, product)
    return True
