"""Convolutions of channels-last images (N, *space, C): products of whole vectors, for tensor cores.

A tile of pixels meets one place of the window and some channels at a time, so it loads rows of channels: 16 bytes a lane, by
asynchronous copies, where gathers along pixels (`conv.py`) load element by element. Filters come as (outputs, taps, channels).
Results of `product` have contiguous pixels, those of `product_last` contiguous channels.
"""

import functools
from dataclasses import replace
from math import prod

from .....ir import dtype as dt
from ..contract.epilogue import Site
from ..contract.matmul import HOPPER_SHARED, WAVE
from ..ir.source import SIZE, Parameter, Source, emit, parameters, stated_dot
from ..loops.configs import power_of_two
from .conv import COUNTS, DIMS, PHASE, TILE, TURNS, WINDOW, ended, named, shared_parameters, split, wide_type, within

CONSTANTS = ("INDEX", *WINDOW, *TILE, "GROUPS")
DEEP = {2: 64, 4: 32}      # channels of a step: a line of 128 bytes, by the bytes of an element
WIDE = 64                  # outputs are multiples of it
FEW = 16                   # outputs of the narrowest tile
LEAST = 1 << 29            # multiplications from which transposing images pays
_PIXELS, OUTPUTS = "(m < N * outer)", "(o < O)"
SITE = Site(("n", _PIXELS), ("o", OUTPUTS), ("pixel", _PIXELS))
# A tile of pixels and outputs.
TILE_OF_ROWS = ["across = tl.cdiv(O, BN)", "program = tl.program_id(0)",
                "m = ((program // across) * BM + tl.arange(0, BM)).to(INDEX)[:, None]",
                "o = ((program % across) * BN + tl.arange(0, BN)).to(INDEX)[None, :]"]
# Threads store other pixels than they load: adjacent threads store adjacent pixels.
STORED_BY_PIXELS = ["total = tl.trans(total) if LAST else total",
                    "m = lanes(((program // across) * BM + tl.arange(0, BM)).to(INDEX), LAST)",
                    "o = others(((program % across) * BN + tl.arange(0, BN)).to(INDEX), LAST)"]
_TAP = ["tD = t // (KH * KW)", "tH = t // KW % KH", "tW = t % KW"]


@functools.lru_cache(256)
def product(kind: dt.DType, precision: str, back: bool, bias: bool = False, fused=None, along: tuple = ()) -> Source:
    """Return the kernel out[n, o, q] = sum over t, c of x[n, q * stride - padding + t * dilation, c] w[o, t, c], and the bias.

    `back` reads x[n, q + padding - t * dilation, c], for the gradient of the input of a convolution without strides. `fused`
    and `along` are as in `conv.forward`.
    """
    sign = "-" if back else "+"
    lines = ["outer = QD * QH * QW", "taps = KD * KH * KW", *TILE_OF_ROWS,
             *split("m", ["n", "qD", "qH", "qW"], ["N", "QD", "QH", "QW"]),
             *[f"b{d} = q{d} + P{d}" if back else f"b{d} = q{d} * S{d} - P{d}" for d in DIMS],
             "first = n * (ID * IH * IW)", "steps = C // BK", "under = tl.arange(0, BK).to(INDEX)",
             f"total = tl.zeros([BM, BN], {wide_type(kind)})", "for step in range(0, taps * steps):",
             *["    " + x for x in ["t = step // steps", "from_c = step % steps * BK", *_TAP,
                                    *[f"a{d} = b{d} {sign} t{d} * L{d}" for d in DIMS],
                                    f"inside = {_PIXELS} & {within([f'a{d}' for d in DIMS], 'I')}",
                                    "at = (first + (aD * IH + aH) * IW + aW) * C + (from_c + under)[None, :]",
                                    "left = tl.load(x + at, inside, 0.0)",
                                    "of = o * (taps * C) + (t * C + from_c + under)[:, None]",
                                    f"right = tl.load(w + of, {OUTPUTS}, 0.0)",
                                    f"total = tl.dot(left, right, total{stated_dot(kind, precision)})"]]]
    lines += STORED_BY_PIXELS
    if bias:
        lines.append(f"total = total + tl.load(bias + o, {OUTPUTS}, 0.0).to({wide_type(kind)})")
    end = ended(kind, "(n * O + o) * outer + pixel", f"{_PIXELS} & {OUTPUTS}", fused, along, SITE)
    lines += ["n = m // outer", "pixel = m - n * outer", *end.lines]
    own = shared_parameters(kind, ("x", "w", *(("bias",) if bias else ())), "out", kind)
    name = named(f"conv_last{'_back' if back else ''}{'_bias' if bias else ''}", kind, precision, fused)
    return emit(name, end.parameters(own), ("LAST", *CONSTANTS), lines, helpers=TURNS + end.helpers)


ROWS = "(m < N * pixels)"
SITE_LAST = Site(("0", ""), ("m", ROWS), ("o", OUTPUTS))


@functools.lru_cache(256)
def product_last(kind: dt.DType, precision: str, back: bool, bias: bool = False, fused=None, along: tuple = (),
                 transposed: bool = False) -> Source:
    """Return the kernel out[n, q, o] = sum over t, c of x[n, q * stride - padding + t * dilation, c] w[o, t, c], and the bias.

    With `back` it is one phase of the gradient of a convolution's input, as in `conv.phase_grad`. It computes out[n, R + u *
    stride, o] = sum over j, c of x[n, B + u - j * dilation, c] w[c, T + j * stride, o]; `transposed` filters are w[o, T + j *
    stride, c]. `fused` is an epilogue over (pixels, channels).
    """
    place = [f"a{d} = B{d} + u{d} - j{d} * L{d}" if back else f"a{d} = u{d} * S{d} - P{d} + j{d} * L{d}" for d in DIMS]
    tap = "((TD + jD * SD) * KH + TH + jH * SH) * KW + TW + jW * SW" if back else "t"
    of = "o * (taps * C) + (tap * C + from_c + under)[:, None]"
    of = "(from_c + under)[:, None] * (taps * O) + (tap * O + o)" if back and not transposed else of
    lines = [f"pixels = {'UD * UH * UW' if back else 'QD * QH * QW'}", "taps = KD * KH * KW",
             f"reached = {'JD * JH * JW' if back else 'taps'}", *TILE_OF_ROWS,
             *split("m", ["n", "uD", "uH", "uW"], ["N", *[f"{'U' if back else 'Q'}{d}" for d in DIMS]]),
             "first = n * (ID * IH * IW)", "steps = C // BK", "under = tl.arange(0, BK).to(INDEX)",
             f"total = tl.zeros([BM, BN], {wide_type(kind)})", "for step in range(0, reached * steps):",
             *["    " + x for x in ["t = step // steps", "from_c = step % steps * BK",
                                    *split("t", ["jD", "jH", "jW"], [f"{'J' if back else 'K'}{d}" for d in DIMS]), *place,
                                    f"inside = {ROWS} & {within([f'a{d}' for d in DIMS], 'I')}",
                                    "at = (first + (aD * IH + aH) * IW + aW) * C + (from_c + under)[None, :]",
                                    "left = tl.load(x + at, inside, 0.0)", f"tap = {tap}",
                                    f"right = tl.load(w + ({of}), {OUTPUTS}, 0.0)",
                                    f"total = tl.dot(left, right, total{stated_dot(kind, precision)})"]]]
    if bias:
        lines.append(f"total = total + tl.load(bias + o, {OUTPUTS}, 0.0).to({wide_type(kind)})")
    row = "m"
    if back:
        row = "row"
        lines.append("row = ((n * QD + RD + uD * SD) * QH + RH + uH * SH) * QW + RW + uW * SW")
    end = ended(kind, f"{row} * O + o", f"{ROWS} & {OUTPUTS}", fused, along, replace(SITE_LAST, row=(row, ROWS)))
    own = shared_parameters(kind, ("x", "w", *(("bias",) if bias else ())), "out", kind)
    own += [Parameter(n, SIZE) for n in COUNTS] if back else []
    marks = f"{'_back' if back else ''}{'_turned' if transposed else ''}{'_bias' if bias else ''}"
    name = named(f"conv_rows{marks}", kind, precision, fused)
    return emit(name, end.parameters(own), (*CONSTANTS, *(PHASE if back else ())), [*lines, *end.lines], helpers=end.helpers)


@functools.lru_cache(32)
def weight_grad(kind: dt.DType, precision: str, last: bool = False) -> Source:
    """Return the kernel out[part, o, c, t] = sum over the part's n, q of g[n, q, o] x[n, q * stride - padding + t * dilation,
    c]; with `last` out[part, o, t, c]."""
    wide = dt.float64 if kind is dt.float64 else dt.float32
    rows = "part * O + rows"
    place = f"(({rows}) * taps + t) * C + columns" if last else f"(({rows}) * C + columns) * taps + t"
    lines = ["part = tl.program_id(2).to(INDEX)", "outer = QD * QH * QW", "taps = KD * KH * KW", "across = tl.cdiv(C, BN)",
             "down = tl.cdiv(O, BM)", "program = tl.program_id(0)", "t = program // (across * down)", *_TAP,
             "o = ((program // across % down) * BM + tl.arange(0, BM)).to(INDEX)[None, :]",
             "c = ((program % across) * BN + tl.arange(0, BN)).to(INDEX)[None, :]", "deep = N * outer",
             "share = tl.cdiv(tl.cdiv(deep, PARTS), BK) * BK", "low = part * share", "high = tl.minimum(low + share, deep)",
             f"total = tl.zeros([BM, BN], {wide_type(kind)})", "for start in range(low, high, BK):",
             *["    " + x for x in ["k = (start + tl.arange(0, BK)).to(INDEX)[:, None]",
                                    "left = tl.load(g + (k * O + o), (k < high) & (o < O), 0.0)",
                                    *split("k", ["n", "qD", "qH", "qW"], ["N", "QD", "QH", "QW"]),
                                    *[f"a{d} = q{d} * S{d} - P{d} + t{d} * L{d}" for d in DIMS],
                                    f"inside = (k < high) & {within([f'a{d}' for d in DIMS], 'I')}",
                                    "at = (n * (ID * IH * IW) + (aD * IH + aH) * IW + aW) * C + c",
                                    "right = tl.load(x + at, inside & (c < C), 0.0)",
                                    f"total = tl.dot(tl.trans(left), right, total{stated_dot(kind, precision)})"]],
             "rows, columns = tl.trans(o), c",
             f"tl.store(out + ({place}), total, (rows < O) & (columns < C))"]
    name = named(f"conv_{'rows' if last else 'last'}_weight_grad", kind, precision)
    return emit(name, shared_parameters(kind, ("g", "x"), "out", wide), (*CONSTANTS, "PARTS"), lines)


POINT_CONSTANTS = ("INDEX", *TILE, "PARTS")


@functools.lru_cache(32)
def point_weight_grad(kind: dt.DType, precision: str) -> Source:
    """Return the kernel out[part, o, c] = sum over the part's images and all pixels of g[n, o, q] x[n, c, q], for windows of
    one pixel and images as in memory. P is the number of pixels, Q the number of steps of BK pixels per image."""
    wide = dt.float64 if kind is dt.float64 else dt.float32
    lines = ["part = tl.program_id(2).to(INDEX)", "across = tl.cdiv(C, BN)", "program = tl.program_id(0)",
             "o = ((program // across) * BM + tl.arange(0, BM)).to(INDEX)[:, None]",
             "c = ((program % across) * BN + tl.arange(0, BN)).to(INDEX)[:, None]",
             "share = tl.cdiv(N * Q, PARTS)", "low = part * share", "high = tl.minimum(low + share, N * Q)",
             f"total = tl.zeros([BM, BN], {wide_type(kind)})", "for step in range(low, high):",
             *["    " + x for x in ["n = step // Q", "p = (step % Q * BK + tl.arange(0, BK)).to(INDEX)[None, :]",
                                    "left = tl.load(g + ((n * O + o) * P + p), (o < O) & (p < P), 0.0)",
                                    "right = tl.load(x + ((n * C + c) * P + p), (c < C) & (p < P), 0.0)",
                                    f"total = tl.dot(left, tl.trans(right), total{stated_dot(kind, precision)})"]],
             "column = tl.trans(c)", "tl.store(out + ((part * O + o) * C + column), total, (o < O) & (column < C))"]
    own = parameters({"g": kind, "x": kind, "out": wide}, "NCOPQ")
    return emit(named("point_weight_grad", kind, precision), own, POINT_CONSTANTS, lines)


def suits(w: tuple, groups: int) -> bool:
    """Return whether filters have several pixels, and whole tiles of channels."""
    outputs, channels, *kernel = w
    return groups == 1 and prod(kernel) > 1 and outputs % WIDE == 0 and channels % WIDE == 0


def fits(kind: dt.DType, outputs: int, channels: int, window) -> bool:
    """Return whether `product_last` and `weight_grad` take a convolution of one group; `window` is (stride, padding, dilation).
    """
    return (kind in (dt.float16, dt.bfloat16, dt.float32) and outputs % WIDE == 0 and channels % WIDE == 0
            and all(low >= 0 and (stride == 1 or far == 1) for stride, (low, _), far in window))


def pays(w: tuple, groups: int, pixels: int) -> bool:
    """Return whether a convolution by such filters (outputs, channels, *kernel), or one of its gradients, with this many pixels
    is worth transposing images."""
    return suits(w, groups) and pixels * prod(w) >= LEAST


def pays_for_few(w: tuple, groups: int, pixels: int) -> bool:
    """Return `pays` for filters (outputs, channels, *kernel) with many channels and partial tiles of outputs."""
    outputs, channels, *kernel = w
    return (groups == 1 and prod(kernel) > 1 and outputs % WIDE != 0 and channels % WIDE == 0
            and pixels * max(FEW, outputs) * channels * prod(kernel) >= LEAST)


# Two warps form no warp group. Hopper's warp-group products take 32-bit numbers along the depth only: factors across it would
# be gathered four bytes at a time, four sectors for one.
CROSSED = (64, 128, 16, 2, 4), (64, 64, 32, 2, 3), (64, 64, 16, 2, 4)


def candidates(kind: dt.DType, rows: int, columns: int, shared_memory: int, crossed=False, over_pixels=False) -> list:
    """Return ((BM, BN, BK), warps, stages) for rows and columns, the default first. Tiles divide the columns if they can.

    `crossed`: both factors are 32-bit, across the depth, on Hopper. `over_pixels`: the sum is over pixels.
    """
    if columns % WIDE:
        bn, deep = max(FEW, min(WIDE, power_of_two(columns))), DEEP[kind.itemsize]
        return [((bm, bn, deep), warps, stages) for bm, warps, stages in ((128, 4, 4), (64, 4, 4), (256, 8, 3))
                if stages * (bm + bn) * deep * kind.itemsize <= shared_memory]
    if crossed:
        return [((bm, bn, bk), warps, stages) for bm, bn, bk, warps, stages in CROSSED if columns % bn == 0]
    deep = DEEP[kind.itemsize]
    sizes = [(128, 128, 8, 3), (128, 64, 4, 3), (128, 128, 4, 3), (64, 128, 4, 3), (128, 256, 8, 3), (64, 64, 4, 4)]
    if over_pixels:
        sizes.insert(0, sizes.pop(1))
    elif shared_memory >= HOPPER_SHARED and WAVE < -(-rows // 128) * (columns // 128) < 2 * WAVE:
        sizes.insert(0, sizes.pop(3))           # (the last programs leave less of the chip idle)
    return [((bm, bn, deep), warps, stages) for bm, bn, warps, stages in sizes
            if bm <= max(64, power_of_two(rows)) and columns % bn == 0
            and stages * (bm + bn) * deep * kind.itemsize <= shared_memory]
