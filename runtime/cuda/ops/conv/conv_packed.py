"""Convolutions over few channels: padded, packed images (`triton/conv/conv_packed.py`) as products of channel vectors."""

from math import prod

import numpy as np

from .....ir import dtype as dt
from .....ir.ops.nn.windows import padded_sizes
from .....ir.symbols.symbolic import power_of_two
from .....passes.codegen.triton.conv import conv as gathers
from .....passes.codegen.triton.conv import conv_packed as text
from ...compiler import precision
from ...compiler.kernels import launch
from ...compiler.tuning import launch_best
from ...driver import context as contexts
from ...memory.arrays import empty
from . import conv_channels_last


def takes(kind, w, groups, pixels, padding) -> bool:
    """Return whether a convolution by filters w with so many output pixels, or their gradient, runs here."""
    return conv_channels_last.is_fast(kind) and text.pays(w, groups, pixels, padding)


def packed(x, padding, channels):
    """Return an image (N, C, *space), or filters, as (N, *padded space, channels)."""
    x, space = x.backend.contiguous(x), x.shape[2:]
    out = empty(x.device, (x.shape[0], *padded_sizes(space, padding), channels), x.dtype)
    sizes = {"N": x.shape[0], "C": x.shape[1]} | _spatial("I", space, 1) | _spatial("Q", out.shape[1:-1], 1)
    sizes |= _spatial("P", [low for low, _ in padding], 0)
    grid = -(-(out.size // channels) // text.BLOCK), 1, 1
    as_bits = [a.look(a.shape, a.strides, 0, text.BITS[a.itemsize].np) for a in (x, out)]
    constants = ("BLOCK", text.BLOCK), ("PACK", channels), ("WIDE", power_of_two(channels))
    launch(x.device, text.pack(x.itemsize), as_bits, sizes, (constants, 4, grid))
    return out


def plain(x, w, padding):
    """Return an image and filters as the operands of a product."""
    channels = text.pack_of(w.shape[1])
    return packed(x, padding, channels), packed(w, ((0, 0),) * (w.ndim - 2), channels)


def multiply(device, factors, more, out, sizes, window, last, fused):
    """Write the convolution of a packed image by packed filters to `out`, whose channels are last or second.

    `more` are the bias, if there is one, and the operands of the epilogue `fused`.
    """
    bias, operands = more
    image, filters = factors
    channels, rows = image.shape[-1], sizes["N"] * prod(sizes[f"Q{d}"] for d in gathers.DIMS)
    kind = dt.from_numpy(image.dtype)
    source = text.product(kind, precision.of_convolutions(), last, bias is not None, *(fused or (None, ())))
    arrays = (image, filters, *(() if bias is None else (bias,)), out, *operands)

    def grid(tile):
        return -(-rows // tile[0]) * -(-sizes["O"] // tile[1]), 1, 1

    deep = prod(filters.shape[1:])
    tiles = _tiles(device, image, (rows, sizes["O"], deep), False)
    _launched(device, source, arrays, sizes, (*window, ("PACK", channels)), grid, tiles)


def weight_sums(device, g, image, shape, sizes, window, last) -> tuple:
    """Return (sums over parts of the pixels as (parts, *shape) in float32, number of parts).

    Operands are a gradient and a packed image; `last` if gradient and filters are channels-last.
    """
    channels, outputs, pixels = image.shape[-1], sizes["O"], prod(g.shape) // sizes["O"]
    width = prod(dict(window)[f"K{d}"] for d in gathers.DIMS) * channels
    tiles = _tiles(device, image, (width, outputs, pixels), True)
    (bm, bn, _), _, _ = tiles[0]
    parts = conv_channels_last.parts_of(device, -(-width // bm) * -(-outputs // bn), pixels)
    out = empty(device, (parts, *shape), np.float32)
    source = text.weight_grad(dt.from_numpy(g.dtype), precision.of_convolutions(), last)

    def grid(tile):
        return -(-width // tile[0]) * -(-outputs // tile[1]), 1, parts

    constants = *window, ("PACK", channels), ("PARTS", parts)
    _launched(device, source, (g, image, out), sizes, constants, grid, tiles)
    return out, parts


def _spatial(mark, values, fill) -> dict:
    values = [fill] * (len(gathers.DIMS) - len(values)) + list(values)
    return {f"{mark}{d}": n for d, n in zip(gathers.DIMS, values)}


def _tiles(device, image, product, back) -> list:
    kind = dt.from_numpy(image.dtype)
    return text.candidates(kind, image.shape[-1], product, contexts.context(device).shared_memory, back)


def _launched(device, source, arrays, sizes, constants, grid, tiles):
    def how(chosen):
        tile, warps, stages = chosen
        return ((*constants, *zip(gathers.TILE, tile)), warps, grid(tile)), stages

    launch_best((constants,), tiles, device, source, arrays, sizes, how)
