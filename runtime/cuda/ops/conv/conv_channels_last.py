"""Convolutions as products of whole vectors: images are transposed, so that channels are adjacent
(`triton/conv/conv_channels_last.py`).

Transposing costs a pass over an image. For windows of several pixels over many channels, gathering pixel by pixel takes several
times as long as tensor cores.
"""

from math import log2, prod

import numpy as np

from .....ir import dtype as dt
from .....passes.codegen.triton.conv import conv as gathers
from .....passes.codegen.triton.conv import conv_channels_last as text
from .....passes.codegen.triton.loops.configs import has_warp_groups
from ...compiler import precision
from ...compiler.tuning import launch_best
from ...driver import context as contexts
from ...memory.arrays import empty

PARTS = 256          # most parts of a sum over pixels
DEPTH = 1024         # least pixels of a part
BESIDE = 4           # programs of a multiprocessor, which wait in turn


def takes(kind, w, groups, pixels) -> bool:
    """Return whether a convolution by filters w with so many output pixels, or one of its gradients, runs here."""
    return is_fast(kind) and text.pays(w, groups, pixels)


def takes_few(kind, w, groups, pixels, back=False) -> bool:
    """Return whether a convolution with few or odd output channels runs here; `back` is for the input's gradient."""
    outputs, channels, *kernel = w
    return is_fast(kind) and text.pays_for_few((channels, outputs, *kernel) if back else w, groups, pixels)


def multiplies(kind, w, groups, pixels, back=False) -> bool:
    """Return whether `multiply` supports the convolution."""
    return takes(kind, w, groups, pixels) or takes_few(kind, w, groups, pixels, back)


def channels_last(a):
    """Return an image (N, C, *space) as (N, *space, C)."""
    return a.backend.contiguous(a.transpose(0, *range(2, a.ndim), 1))


def filters(w, back: bool):
    """Transpose filters (O, C, *taps) to (O, *taps, C), or with `back` to (C, *taps, O)."""
    spatial = range(2, w.ndim)
    return w.backend.contiguous(w.transpose(1, *spatial, 0) if back else w.transpose(0, *spatial, 1))


def multiply(device, images, w, more, out, sizes, window, back, fused):
    """Write the convolution of images by filters, or with `back` the gradient of its input, to `out`.

    `more` are the bias, if there is one, and the operands of the epilogue `fused`.
    """
    bias, operands = more
    kind = dt.from_numpy(w.dtype)
    source = text.product(kind, precision.of_convolutions(), back, bias is not None, *(fused or (None, ())))
    arrays = (channels_last(images), filters(w, back), *(() if bias is None else (bias,)), out, *operands)
    rows = sizes["N"] * prod(sizes[f"Q{d}"] for d in gathers.DIMS)
    launch_rows(device, source, arrays, sizes, window, rows)


def weight_grad(device, x, g, shape, sizes, window) -> tuple:
    """Return (sums over parts of the pixels as (parts, *shape) in float32, the number of parts)."""
    return weight_sums(device, (channels_last(g), channels_last(x)), shape, sizes, window, False)


def weight_sums(device, images, shape, sizes, window, last) -> tuple:
    """Return the same from a gradient and a channels-last image; `last` if the filters are channels-last too."""
    kind, (outputs, channels) = dt.from_numpy(images[1].dtype), (sizes["O"], sizes["C"])
    spatial = prod(shape) // (outputs * channels)
    crossed = are_crossed(device, kind)
    (bm, bn, _), _, _ = _tiles(device, kind, outputs, channels, crossed, True)[0]
    parts = parts_of(device, -(-outputs // bm) * (channels // bn) * spatial, prod(images[0].shape[:-1]))
    out = empty(device, (parts, *shape), np.float32)
    source = text.weight_grad(kind, precision.of_convolutions(), last)

    def how(chosen):
        tile, warps, stages = chosen
        constants = (*window, *zip(gathers.TILE, tile), ("GROUPS", 1), ("PARTS", parts))
        return (constants, warps, (-(-outputs // tile[0]) * (channels // tile[1]) * spatial, 1, parts)), stages

    launched(device, source, (*images, out), sizes, how, (*window, parts), (outputs, channels), crossed, True)
    return out, parts


def takes_points(kind, w, groups) -> bool:
    """Return whether the gradient of filters w of one pixel is a product of images in place."""
    outputs, channels, *kernel = w
    return (is_fast(kind) and groups == 1 and prod(kernel) == 1 and outputs % text.WIDE == 0 and channels % text.WIDE == 0)


def point_weight_grad(device, x, g, shape) -> tuple:
    """Return the same for windows of one pixel without strides and padding."""
    kind, pixels = dt.from_numpy(x.dtype), prod(g.shape[2:])
    (bm, bn, bk), _, _ = _tiles(device, kind, shape[0], shape[1], over_pixels=True)[0]
    tiles, steps = -(-shape[0] // bm) * (shape[1] // bn), -(-pixels // bk)
    parts = parts_of(device, tiles, x.shape[0] * steps * bk)
    out = empty(device, (parts, *shape), np.float32)
    arrays = g.backend.contiguous(g), x.backend.contiguous(x), out
    sizes = {"N": x.shape[0], "C": shape[1], "O": shape[0], "P": pixels, "Q": steps}
    source = text.point_weight_grad(kind, precision.of_convolutions())

    def how(chosen):
        (bm, bn, bk), warps, stages = chosen
        constants = (("BM", bm), ("BN", bn), ("BK", bk), ("PARTS", parts))
        return (constants, warps, (-(-shape[0] // bm) * (shape[1] // bn), 1, parts)), stages

    launched(device, source, arrays, sizes, how, (parts,), shape[:2], over_pixels=True)
    return out, parts


def parts_of(device, tiles, pixels) -> int:
    """Return the number of parts of sums over pixels that gives each multiprocessor several programs."""
    wanted = round(log2(BESIDE * contexts.context(device).processors / tiles))
    return 1 << max(0, min(wanted, (pixels // DEPTH).bit_length() - 1, PARTS.bit_length() - 1))


def is_fast(kind) -> bool:
    """Return whether convolutions in a dtype use tensor cores."""
    return kind.itemsize == 2 or (kind is dt.float32 and precision.of_convolutions() != "ieee")


def are_crossed(device, kind) -> bool:
    """Return whether factors should be contiguous along the depth: 32-bit numbers on Hopper."""
    return kind.itemsize == 4 and has_warp_groups(contexts.context(device).arch)


def _tiles(device, kind, rows, columns, crossed=False, over_pixels=False) -> list:
    return text.candidates(kind, rows, columns, contexts.context(device).shared_memory, crossed, over_pixels)


def launched(device, source, arrays, sizes, how, mark, face, crossed=False, over_pixels=False):
    """Launch a product of `face` (rows, columns) with the best tile.

    `how(tile)` returns ((constants, warps, grid), stages), `mark` is part of the tuning key; `crossed` and `over_pixels` as for
    `candidates`.
    """
    rows, columns = face
    tiles = _tiles(device, source.parameters[0].dtype, rows, columns, crossed, over_pixels)
    launch_best((mark,), tiles, device, source, arrays, sizes, how)


def launch_rows(device, source, arrays, sizes, window, rows):
    """Launch a product of `rows` pixels with the filters, with the best tile."""
    def how(chosen):
        tile, warps, stages = chosen
        constants = (*window, *zip(gathers.TILE, tile), ("GROUPS", 1))
        return (constants, warps, (-(-rows // tile[0]) * -(-sizes["O"] // tile[1]), 1, 1)), stages

    launched(device, source, arrays, sizes, how, window, (rows, sizes["O"]))
