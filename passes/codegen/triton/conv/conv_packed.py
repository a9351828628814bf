"""Convolutions over few channels, for tensor cores.

Images are packed first, (N, *space, PACK), with the window's padding around them and zero channels up to PACK. A tile of pixels
meets several places of the window at a time, so it loads vectors of PACK channels, at addresses that are a pixel's plus a
place's: no index is compared with the image's ends. Gathers along pixels (`conv.py`) compute and compare an address per
element. Filters come as (outputs, taps, PACK). The window of a packed image has no padding, and its sizes (ID, IH, IW) include
the border.
"""

import functools
from dataclasses import replace
from math import prod

from .....ir import dtype as dt
from ..ir.source import BITS, Source, emit, parameters, stated_dot
from ..loops.configs import power_of_two
from . import conv_channels_last
from .conv import DIMS, TILE, TURNS, WINDOW, ended, named, shared_parameters, split, wide_type

CONSTANTS = ("INDEX", *WINDOW, *TILE, "PACK")
PACKS = (4, 8)                                      # channels of a packed image: vectors of 8 or 16 bytes in 16 bits
BLOCK = 256                                         # pixels of a packing program
_FLAT = "((({0}D * IH) + {0}H) * IW + {0}W) * PACK"
_TAPS = split("t", ["tD", "tH", "tW"], ["KD", "KH", "KW"])
_PLACES = [*[f"f{d} = t{d} * L{d}" for d in DIMS], f"far = {_FLAT.format('f')}"]
_FIRST = [*[f"s{d} = q{d} * S{d}" for d in DIMS], f"first = n * (ID * IH * IW * PACK) + {_FLAT.format('s')}"]


def pack_of(channels: int) -> int:
    """Return the packed channels of an image."""
    return next(n for n in PACKS if channels <= n)


@functools.lru_cache(32)
def pack(itemsize: int) -> Source:
    """Return the kernel out[n, i, c] = x[n, c, i - P] for PACK channels c, zeros where there is no such pixel or channel."""
    kind = BITS[itemsize]
    own = parameters({"x": kind, "out": kind}, (*"NC", *[f"{s}{d}" for s in "IQP" for d in DIMS]))
    lines = ["m = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(INDEX)[:, None]", "c = tl.arange(0, WIDE)[None, :]",
             *split("m", ["n", "qD", "qH", "qW"], ["N", "QD", "QH", "QW"]), *[f"a{d} = q{d} - P{d}" for d in DIMS],
             f"inside = (m < N * (QD * QH * QW)) & {' & '.join(f'(a{d} >= 0) & (a{d} < I{d})' for d in DIMS)}",
             "at = (n * C * ID + aD) * IH * IW + aH * IW + aW + c * (ID * IH * IW)",
             "value = tl.load(x + at, inside & (c < C), 0)",
             "tl.store(out + (m * PACK + c), value, (m < N * (QD * QH * QW)) & (c < PACK))"]
    return emit(f"pack_{8 * itemsize}", own, ("INDEX", "BLOCK", "PACK", "WIDE"), lines)


_ROWS, _OUTPUTS = conv_channels_last.ROWS, conv_channels_last.OUTPUTS


@functools.lru_cache(256)
def product(kind: dt.DType, precision: str, last: bool, bias: bool = False, fused=None, along: tuple = ()) -> Source:
    """Return the kernel out[n, o, q] = sum over t, c of x[n, q * stride + t * dilation, c] w[o, t, c], and the bias; out[n, q,
    o] with `last`. `fused` and `along` are as in `conv.forward` and `conv_channels_last.product_last`."""
    lines = ["pixels = QD * QH * QW", "taps = KD * KH * KW", "deep = taps * PACK", *conv_channels_last.TILE_OF_ROWS,
             # (Rows of a tile beyond the last pixel repeat it, and are not stored.)
             *split("tl.minimum(m, N * pixels - 1)", ["n", "qD", "qH", "qW"], ["N", "QD", "QH", "QW"]), *_FIRST,
             f"total = tl.zeros([BM, BN], {wide_type(kind)})", "for start in range(0, deep, BK):",
             *["    " + x for x in ["k = (start + tl.arange(0, BK)).to(INDEX)[None, :]", "t = k // PACK", *_TAPS, *_PLACES,
                                    "left = tl.load(x + (first + (far + k % PACK)), k < deep, 0.0)",
                                    "under = (start + tl.arange(0, BK)).to(INDEX)[:, None]",
                                    f"right = tl.load(w + (o * deep + under), {_OUTPUTS} & (under < deep), 0.0)",
                                    f"total = tl.dot(left, right, total{stated_dot(kind, precision)})"]]]
    lines += [] if last else conv_channels_last.STORED_BY_PIXELS
    if bias:
        lines.append(f"total = total + tl.load(bias + o, {_OUTPUTS}, 0.0).to({wide_type(kind)})")
    lines += [] if last else ["n = m // pixels", "pixel = m - n * pixels"]
    place, site = ("m * O + o", conv_channels_last.SITE_LAST) if last else ("(n * O + o) * pixels + pixel",
                                                                            conv_channels_last.SITE)
    site = site if last else replace(site, batch=("n", _ROWS), column=("pixel", _ROWS))
    end = ended(kind, place, f"{_ROWS} & {_OUTPUTS}", fused, along, site)
    own = shared_parameters(kind, ("x", "w", *(("bias",) if bias else ())), "out", kind)
    name = named(f"conv_packed{'_rows' if last else ''}{'_bias' if bias else ''}", kind, precision, fused)
    constants = CONSTANTS if last else ("LAST", *CONSTANTS)
    return emit(name, end.parameters(own), constants, [*lines, *end.lines], helpers=("" if last else TURNS) + end.helpers)


@functools.lru_cache(32)
def weight_grad(kind: dt.DType, precision: str, last: bool) -> Source:
    """Return the kernel out[part, o, c, t] = sum over the part's n, q of g[n, o, q] x[n, q * stride + t * dilation, c], for C
    channels; with `last` out[part, o, t, c] of g[n, q, o], for all channels. Tiles divide the outputs."""
    wide = dt.float64 if kind is dt.float64 else dt.float32
    gradient = (["right = tl.load(g + (k * O + o), k < high, 0.0)"] if last else
                ["line = (start + tl.arange(0, BK)).to(INDEX)[None, :]", "of = tl.trans(o)",
                 "at = (line // outer * O + of) * outer + line % outer",
                 "right = tl.trans(tl.load(g + at, line < high, 0.0))"])
    place, there = (("(part * O + o) * width + rows", "rows < width") if last else
                    ("((part * O + o) * C + rows % PACK) * taps + rows // PACK", "(rows < width) & (rows % PACK < C)"))
    lines = ["part = tl.program_id(2).to(INDEX)", "outer = QD * QH * QW", "taps = KD * KH * KW", "width = taps * PACK",
             "across = tl.cdiv(O, BN)", "program = tl.program_id(0)",
             "to = ((program // across) * BM + tl.arange(0, BM)).to(INDEX)[None, :]",
             "o = ((program % across) * BN + tl.arange(0, BN)).to(INDEX)[None, :]",
             "t = to // PACK", *_TAPS, *_PLACES, "beside = far + to % PACK", "deep = N * outer",
             "share = tl.cdiv(tl.cdiv(deep, PARTS), BK) * BK", "low = part * share", "high = tl.minimum(low + share, deep)",
             f"total = tl.zeros([BM, BN], {wide_type(kind)})", "for start in range(low, high, BK):",
             *["    " + x for x in ["k = (start + tl.arange(0, BK)).to(INDEX)[:, None]",
                                    *split("k", ["n", "qD", "qH", "qW"], ["N", "QD", "QH", "QW"]), *_FIRST,
                                    "left = tl.load(x + (first + beside), (k < high) & (to < width), 0.0)", *gradient,
                                    f"total = tl.dot(tl.trans(left), right, total{stated_dot(kind, precision)})"]],
             "rows = tl.trans(to)", f"tl.store(out + ({place}), total, {there})"]
    name = named(f"conv_packed_{'rows_' if last else ''}weight_grad", kind, precision)
    return emit(name, shared_parameters(kind, ("g", "x"), "out", wide), (*CONSTANTS, "PARTS"), lines)


def suits(w: tuple, groups: int) -> bool:
    """Return whether filters have several pixels over few channels, and whole tiles of outputs."""
    outputs, channels, *kernel = w
    few = channels <= PACKS[-1] and channels % conv_channels_last.WIDE > 0
    return groups == 1 and prod(kernel) > 1 and outputs % conv_channels_last.WIDE == 0 and few


def fits(kind: dt.DType, outputs: int, channels: int, padding) -> bool:
    """Return whether `product` and `weight_grad` take an image with this many channels, last, without a copy."""
    return (kind in (dt.float16, dt.bfloat16, dt.float32) and outputs % conv_channels_last.WIDE == 0 and channels in PACKS
            and not any(n for pair in padding for n in pair))


def pays(w: tuple, groups: int, pixels: int, padding) -> bool:
    """Return whether a convolution by such filters, or their gradient, with this many pixels is worth packing images."""
    return suits(w, groups) and pixels * prod(w) >= conv_channels_last.LEAST and min([n for pair in padding for n in pair]) >= 0


PLACES = 8     # places of a window per step; extra ones of the last step are wasted
# (BM, BN, warps, stages): many pixels for each load of the filters; whole windows for each load of a gradient.
_FORWARD = (128, 128, 8, 3), (256, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3)
_BACKWARD = (256, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3)
_CROSSED = (128, 64, 2, 3), (64, 64, 2, 3)      # (as conv_channels_last.CROSSED: 32-bit numbers across the depth)


def candidates(kind: dt.DType, channels: int, product: tuple, shared_memory: int, back: bool) -> list:
    """Return ((BM, BN, BK), warps, stages) for products of sizes (m, n, k) of packed images (`back`: gradients of filters), the
    default first."""
    m, n, k = product
    most = 64 // kind.itemsize if back else min(PLACES * channels, conv_channels_last.DEEP[kind.itemsize])
    deep = min(most, max(16, power_of_two(k)))
    tiles = _FORWARD if not back else _CROSSED if kind.itemsize == 4 else _BACKWARD
    return [((bm, bn, deep), warps, stages) for bm, bn, warps, stages in tiles
            if bm <= max(64, power_of_two(m)) and bn <= max(64, power_of_two(n))
            and stages * (bm + bn) * deep * kind.itemsize <= shared_memory]
