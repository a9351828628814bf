"""Convolutions as matrix products with gathered operands: one flattened loop over channels and places of the kernel.

(For the gradient of the weight the loop is over images and pixels.) Pixels are contiguous in memory, which Triton cannot prove
behind divisions by sizes. For such tiles adjacent lanes read along the first dim (version 3.6) or the last one (from 3.7 on),
so tiles are written for both: `lanes` is the dim of pixels, LAST says which that is.

There are three spatial dims; missing ones are 1. Constants of a window's addresses (kernel, stride, padding, dilation) are
compile-time; other sizes are parameters.
"""

import functools
import itertools
from dataclasses import dataclass, replace

from .....ir import dtype as dt
from ..contract import epilogue, prologue
from ..ir.nest import memory
from ..ir.source import POINTER, SIZE, Parameter, Source, emit, parameters, stated_dot
from ..ir.spelling import TYPE
from ..loops.configs import power_of_two

DIMS = "DHW"
WINDOW = tuple([f"{what}{d}" for what in "KSPL" for d in DIMS])       # kernel, stride, padding, dilation (L)
TILE = ("BM", "BN", "BK")
_SIZES = ("N", "C", "O", *[f"I{d}" for d in DIMS], *[f"Q{d}" for d in DIMS])     # images, channels of a group, inputs, outputs
_CHANNELS = ["cg = tl.program_id(1).to(INDEX)", "taps = KD * KH * KW", "inner = ID * IH * IW", "outer = QD * QH * QW"]


def split(flat, names, sizes) -> list:
    """Return lines that split a flat index into named ones, the last size varying fastest."""
    lines, rest = [], flat
    for position in range(len(names) - 1, 0, -1):
        lines += [f"{names[position]} = {rest} % {sizes[position]}", f"{names[position]}_rest = {rest} // {sizes[position]}"]
        rest = f"{names[position]}_rest"
    return [*lines, f"{names[0]} = {rest}"]


def _flat(at, space) -> str:
    return f"(({at[0]} * {space}H) + {at[1]}) * {space}W + {at[2]}"


def _read(name, channel, image, inside, at, space) -> str:
    """Return a load of (image, channel, *at) from an array (N, groups * C, *space)."""
    flat = _flat(at, space)
    size = "inner" if space == "I" else "outer"
    channels = "C" if space == "I" else "O"
    return f"tl.load({name} + ((({image} * GROUPS + cg) * {channels} + {channel}) * {size} + {flat}), {inside}, 0.0)"


def within(at, space) -> str:
    """Return the condition that indices are in a plane."""
    return " & ".join([f"({a} >= 0) & ({a} < {space}{d})" for a, d in zip(at, DIMS)])


def shared_parameters(kind, reads, write, narrow) -> list:
    """Return the common parameters: pointers to a dtype, one to the result, sizes."""
    return parameters(dict.fromkeys(reads, kind) | {write: narrow}, _SIZES)


def _product(kind, precision) -> str:
    """Return a line for pixels (`left`) times channels (`right`), or the other way round."""
    stated = stated_dot(kind, precision)
    return f"total = tl.dot(right, left, total{stated}) if LAST else tl.dot(left, right, total{stated})"


def _tiles(kind, channel, channels, pixel, space, deep, before=()) -> list:
    """Return lines for a tile of pixels `m`, split into images and `pixel` indices of `space`, and its loop over `deep`.

    `channel` are the columns' indices, of `channels`; `before` are lines ahead of the tile's.
    """
    return [*_CHANNELS, f"across = tl.cdiv({channels}, BN)", "program = tl.program_id(0)", *before,
            "m = ((program // across) * BM + tl.arange(0, BM)).to(INDEX)",
            f"{channel} = ((program % across) * BN + tl.arange(0, BN)).to(INDEX)",
            f"m, {channel} = lanes(m, LAST), others({channel}, LAST)",
            *split("m", ["n", *[f"{pixel}{d}" for d in DIMS]], ["N", *[f"{space}{d}" for d in DIMS]]), f"deep = {deep}",
            f"total = tl.zeros([BN, BM] if LAST else [BM, BN], {wide_type(kind)})", "for start in range(0, deep, BK):",
            "    k = (start + tl.arange(0, BK)).to(INDEX)", "    beside, under = others(k, LAST), lanes(k, LAST)"]


TURNS = """@triton.jit
def lanes(x, LAST: tl.constexpr):
    return x[None, :] if LAST else x[:, None]


@triton.jit
def others(x, LAST: tl.constexpr):
    return x[:, None] if LAST else x[None, :]


"""


def wide_type(kind) -> str:
    """Return the type in which a dtype is summed."""
    return TYPE[dt.float64 if kind is dt.float64 else dt.float32]


def named(what, kind, precision, fused=None) -> str:
    """Return a kernel's name."""
    marks = [] if precision == "ieee" else [precision]
    return "_".join([what, kind.short, *marks, *([] if fused is None else [fused.name])])


@dataclass(frozen=True)
class _End:
    """End of a kernel: sums are rounded, get their epilogue, and are stored at `place` under `mask`."""

    kind: dt.DType
    place: str
    mask: str
    after: epilogue.Written | None

    @property
    def lines(self) -> list:
        after = [] if self.after is None else [line.removeprefix("    ") for line in self.after.lines]
        result = "z_tile" if self.after is None else self.after.result
        return [f"z_tile = total.to({TYPE[self.kind]})", *after, f"tl.store(out + ({self.place}), {result}, {self.mask})"]

    @property
    def helpers(self) -> str:
        return "" if self.after is None else self.after.helpers

    def parameters(self, own) -> list:
        """Return the kernel's parameters, the last pointer being the result, with the epilogue's."""
        if self.after is None:
            return list(own)
        operands, steps = self.after.parameters
        *reads, out = [p for p in own if p.kind == POINTER]
        sizes = [p for p in own if p.kind != POINTER]
        return [*reads, replace(out, dtype=memory(self.after.stored)), *operands, *sizes, *steps]


def ended(kind, place, mask, fused, along, site) -> _End:
    """Return the end of a kernel whose sums are stored at `place`."""
    return _End(kind, place, mask, None if fused is None else epilogue.written(fused, along, site))


CONSTANTS = ("INDEX", "LAST", *WINDOW, *TILE, "GROUPS")
PHASE = tuple([f"{what}{d}" for what in "RTJB" for d in DIMS])     # first pixel, first tap, taps, first output
COUNTS = tuple([f"U{d}" for d in DIMS])                            # pixels of a phase


_PIXELS, _OUTPUTS = "(m < N * outer)", "(o < O)"
_FORWARD = epilogue.Site(("n", _PIXELS), ("(cg * O + o)", _OUTPUTS), ("pixel", _PIXELS))


_PIXEL = f"({_flat([f'a{d}' for d in DIMS], 'I')})"
_GATHERED = epilogue.Site(("n", _PIXELS), ("(cg * C + c)", "(beside < deep)"), (_PIXEL, "inside"))


@functools.lru_cache(256)
def forward(kind: dt.DType, precision: str, bias: bool, fused=None, along: tuple = (), before=None) -> Source:
    """Return the kernel out[n, o, q] = sum over c, t of x[n, c, q * stride - padding + t * dilation] w[o, c, t], and the bias.

    `fused` is an epilogue over (images, channels, pixels); `along` says for each of its operands whether (channels, images)
    differ. x is in memory or computed (`before`, over images, channels and pixels as well).
    """
    at = [f"q{d} * S{d} - P{d} + t{d} * L{d}" for d in DIMS]
    lines = _tiles(kind, "o", "O", "q", "Q", "C * taps")
    row = split("beside", ["c", "tD", "tH", "tW"], ["C", "KD", "KH", "KW"])
    row += [f"a{d} = {x}" for d, x in zip(DIMS, at)]
    ats = [f"a{d}" for d in DIMS]
    tile = None if before is None else prologue.factor_tile("x", before, _GATHERED, "inside")
    row += [f"inside = (m < N * outer) & (beside < deep) & {within(ats, 'I')}", *(() if tile is None else tile.lines),
            f"left = {_read('x', 'c', 'n', 'inside', ats, 'I') if tile is None else tile.ref}",
            "right = tl.load(w + ((cg * O + o) * deep + under), (o < O) & (under < deep), 0.0)",
            _product(kind, precision)]
    lines += ["    " + x for x in row]
    if bias:
        lines.append(f"total = total + tl.load(bias + (cg * O + o), o < O, 0.0).to({wide_type(kind)})")
    end = ended(kind, "((n * GROUPS + cg) * O + o) * outer + pixel", f"{_PIXELS} & {_OUTPUTS}", fused, along, _FORWARD)
    lines += ["pixel = (qD * QH + qH) * QW + qW", *end.lines]
    own = shared_parameters(kind, (*(("x",) if tile is None else ()), "w", *(("bias",) if bias else ())), "out", kind)
    own = own if tile is None else [*tile.pointers, *own, *tile.sizes]
    helpers = TURNS + epilogue.joined_helpers("" if tile is None else tile.helpers, end.helpers)
    name = named("conv_bias" if bias else "conv", kind, precision, fused) + ("" if before is None else "_" + before.name)
    return emit(name, end.parameters(own), CONSTANTS, lines, helpers=helpers)


_INNER, _INPUTS = "(m < N * inner)", "(c < C)"
_BACKWARD = epilogue.Site(("n", _INNER), ("(cg * C + c)", _INPUTS), ("pixel", _INNER))


@functools.lru_cache(256)
def input_grad(kind: dt.DType, precision: str, fused=None, along: tuple = ()) -> Source:
    """Return the kernel gx[n, c, i] = sum over o, t of g[n, o, (i + padding - t * dilation) / stride] w[o, c, t]; the rest as
    in `forward`."""
    lines = _tiles(kind, "c", "C", "i", "I", "O * taps")
    row = split("beside", ["o", "tD", "tH", "tW"], ["O", "KD", "KH", "KW"])
    row += ["inside = (m < N * inner) & (beside < deep)"]
    for d in DIMS:
        row += [f"b{d} = i{d} + P{d} - t{d} * L{d}", f"a{d} = b{d} // S{d}",
                f"inside = inside & (b{d} >= 0) & (b{d} % S{d} == 0) & (a{d} < Q{d})"]
    row += [f"left = {_read('g', 'o', 'n', 'inside', [f'a{d}' for d in DIMS], 'Q')}",
            "there = under", "place = ((cg * O + there // taps) * C + c) * taps + there % taps",
            "right = tl.load(w + place, (c < C) & (there < deep), 0.0)", _product(kind, precision)]
    lines += ["    " + x for x in row]
    end = ended(kind, "((n * GROUPS + cg) * C + c) * inner + pixel", f"{_INNER} & {_INPUTS}", fused, along, _BACKWARD)
    lines += ["pixel = (iD * IH + iH) * IW + iW", *end.lines]
    return emit(named("conv_input_grad", kind, precision, fused),
                end.parameters(shared_parameters(kind, ("g", "w"), "out", kind)), CONSTANTS, lines,
                helpers=TURNS + end.helpers)


_PHASE = "(m < N * pixels)"
_BY_PHASES = epilogue.Site(("n", _PHASE), ("(cg * C + c)", _INPUTS), ("pixel", _PHASE))


@functools.lru_cache(256)
def phase_grad(kind: dt.DType, precision: str, fused=None, along: tuple = ()) -> Source:
    """Return the kernel gx[n, c, R + u * stride] of one phase: with a stride only some taps reach a pixel, the same for all
    pixels a stride apart. It sums g[n, o, B + u - j * dilation] w[o, c, T + j * stride] over o, j."""
    lines = _tiles(kind, "c", "C", "u", "U", "O * (JD * JH * JW)", ["pixels = UD * UH * UW"])
    row = split("beside", ["o", "jD", "jH", "jW"], ["O", "JD", "JH", "JW"])
    row += [f"a{d} = B{d} + u{d} - j{d} * L{d}" for d in DIMS]
    ats = [f"a{d}" for d in DIMS]
    row += [f"inside = (m < N * pixels) & (beside < deep) & {within(ats, 'Q')}",
            f"left = {_read('g', 'o', 'n', 'inside', ats, 'Q')}"]
    row += split("under", ["p", "xD", "xH", "xW"], ["O", "JD", "JH", "JW"])
    row += ["tap = ((TD + xD * SD) * KH + TH + xH * SH) * KW + TW + xW * SW",
            "right = tl.load(w + (((cg * O + p) * C + c) * taps + tap), (c < C) & (under < deep), 0.0)",
            _product(kind, precision)]
    lines += ["    " + x for x in row]
    end = ended(kind, "((n * GROUPS + cg) * C + c) * inner + pixel", f"{_PHASE} & {_INPUTS}", fused, along, _BY_PHASES)
    lines += ["pixel = ((RD + uD * SD) * IH + RH + uH * SH) * IW + RW + uW * SW", *end.lines]
    parameters = [*shared_parameters(kind, ("g", "w"), "out", kind), *[Parameter(n, SIZE) for n in COUNTS]]
    return emit(named("conv_phase_grad", kind, precision, fused), end.parameters(parameters), (*CONSTANTS, *PHASE), lines,
                helpers=TURNS + end.helpers)


def phases(kernel, stride, padding, dilation, size) -> list | None:
    """Return ({constant: value}, pixels of each dim) of the phases that any tap reaches; None for a stride with a dilation. All
    have three dims; `padding` is that before the first pixel."""
    if any(s > 1 and l > 1 for s, l in zip(stride, dilation)):
        return None
    dims = [[_phase(*each, first) for first in range(min(each[1], each[4]))]
            for each in zip(kernel, stride, padding, dilation, size)]
    found = []
    for chosen in itertools.product(*dims):
        if all(count for _, _, count, _, _ in chosen):
            constants = {f"{what}{d}": one[i] for i, what in enumerate("RTJB") for d, one in zip(DIMS, chosen)}
            found.append((constants, tuple([one[4] for one in chosen])))
    return found


def _phase(kernel, stride, padding, dilation, size, first) -> tuple:
    """Return (first pixel, first tap, taps, first output, pixels)."""
    tap = (first + padding) % stride
    return first, tap, max(0, -(-(kernel - tap) // stride)), (first + padding - tap) // stride, -(-(size - first) // stride)


@functools.lru_cache(32)
def weight_grad(kind: dt.DType, precision: str) -> Source:
    """Return the kernel out[part, o, c, t] = sum over the part's n, q of g[n, o, q] x[n, c, q * stride - padding + t *
    dilation]."""
    wide, stated = dt.float64 if kind is dt.float64 else dt.float32, stated_dot(kind, precision)
    lines = [*_CHANNELS, "part = tl.program_id(2).to(INDEX)", "width = C * taps", "across = tl.cdiv(width, BN)",
             "program = tl.program_id(0)", "o = ((program // across) * BM + tl.arange(0, BM)).to(INDEX)",
             "at = ((program % across) * BN + tl.arange(0, BN)).to(INDEX)", "of, to = others(o, LAST), others(at, LAST)",
             *split("to", ["c", "tD", "tH", "tW"], ["C", "KD", "KH", "KW"]), "deep = N * outer",
             "share = tl.cdiv(tl.cdiv(deep, PARTS), BK) * BK", "low = part * share", "high = tl.minimum(low + share, deep)",
             f"total = tl.zeros([BM, BN], {wide_type(kind)})", "for start in range(low, high, BK):",
             "    k = lanes(start + tl.arange(0, BK), LAST).to(INDEX)"]
    row = ["left = tl.load(g + (((k // outer * GROUPS + cg) * O + of) * outer + k % outer), (of < O) & (k < high), 0.0)"]
    row += split("k", ["n", "qD", "qH", "qW"], ["N", "QD", "QH", "QW"])
    row += [f"a{d} = q{d} * S{d} - P{d} + t{d} * L{d}" for d in DIMS]
    ats = [f"a{d}" for d in DIMS]
    row += [f"inside = (to < width) & (k < high) & {within(ats, 'I')}",
            f"right = {_read('x', 'c', 'n', 'inside', ats, 'I')}",
            f"total = tl.dot(left, tl.trans(right), total{stated}) if LAST else tl.dot(tl.trans(left), right, total{stated})"]
    lines += ["    " + x for x in row]
    lines.append("tl.store(out + (((part * GROUPS + cg) * O + o[:, None]) * width + at[None, :]), total, "
                 "(o[:, None] < O) & (at[None, :] < width))")
    return emit(named("conv_weight_grad", kind, precision), shared_parameters(kind, ("g", "x"), "out", wide),
                (*CONSTANTS, "PARTS"), lines, helpers=TURNS)


# (BM, BN, BK, warps, stages) that a tuner may try: gathers compute an address per element, so wide tiles pay.
_EXACT = ((128, 128, 16, 8, 2), (64, 128, 16, 4, 2), (128, 64, 16, 4, 2), (64, 64, 16, 4, 3), (64, 32, 32, 4, 2))
_NARROW = ((128, 128, 64, 8, 3), (128, 256, 32, 8, 3), (64, 256, 32, 8, 2), (64, 128, 64, 4, 4), (128, 64, 32, 4, 3),
           (64, 64, 32, 4, 3), (64, 32, 32, 4, 3))
_TF32 = ((128, 64, 32, 4, 3), (64, 128, 32, 4, 3), (128, 128, 32, 8, 3), (64, 32, 32, 4, 3))


def candidates(kind: dt.DType, precision: str, m: int, n: int, k: int, shared_memory: int) -> list:
    """Return ((BM, BN, BK), warps, stages) worth trying for products of these sizes, the default first."""
    first = tiles(kind, precision, m, n, k)
    every = () if kind is dt.float64 else _NARROW if kind.itemsize == 2 else _EXACT if precision == "ieee" else _TF32
    fit = [((bm, bn, bk), warps, stages) for bm, bn, bk, warps, stages in every
           if bm <= 2 * power_of_two(m) and bn <= 2 * power_of_two(n) and bk <= max(16, power_of_two(k))
           and stages * (bm + bn) * bk * kind.itemsize <= shared_memory]
    return [first, *[t for t in fit if t != first]]


def tiles(kind: dt.DType, precision: str, m: int, n: int, k: int) -> tuple:
    """Return ((BM, BN, BK), warps, stages) for products of these sizes."""
    fast = kind.itemsize == 2 or precision != "ieee"
    most = 128 if kind.itemsize == 2 else 64
    if not fast:
        most = 64 if kind is dt.float32 else 32
    bm, bn = (min(most, max(16, power_of_two(size))) for size in (m, n))
    deep = 32 if kind.itemsize <= 4 else 16
    return (bm, bn, min(deep, max(16, power_of_two(k)))), 8 if bm * bn > 64 * 64 else 4, 3 if fast else 2
