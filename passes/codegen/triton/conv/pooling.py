"""Pools: maxima with their places, averages, and the gradient of averages.

Each lane computes one element and loops over the places of its window (or over the windows that hold it), in order. Tiles have
rows of planes, so an element's place in its plane is computed once per row. There are three spatial dims; missing ones are 1.
"""

import functools
from math import prod

import numpy as np

from .....ir import dtype as dt
from .....ir.symbols.symbolic import power_of_two
from ..ir.source import Source, emit, parameters
from ..ir.spelling import TYPE
from .conv import DIMS, WINDOW

TILE = "ROWS", "COLS"
LANES = 512        # elements of a tile
COUNTED = tuple([f"{what}{d}" for what in "FT" for d in DIMS])     # padding that counts, before and after
SHORT = 16         # most places of an unrolled window
_SIZES = ("N", *[f"I{d}" for d in DIMS], *[f"Q{d}" for d in DIMS])
_SAID = "", "_short"
_TAP = ["    tD = t // (KH * KW)", "    tH = t // KW % KH", "    tW = t % KW"]


def _start(space, names) -> list:
    """Return lines for a lane's element of (planes, *space); N is the number of rows."""
    d, h, w = names
    return [f"across = tl.cdiv({space}W, COLS)", "program = tl.program_id(0)",
            "row = ((program // across).to(INDEX) * ROWS + tl.arange(0, ROWS))[:, None]",
            f"{w} = ((program % across) * COLS + tl.arange(0, COLS)).to(INDEX)[None, :]", f"{h} = row % {space}H",
            f"{d} = row // {space}H % {space}D", f"plane = row // ({space}H * {space}D)",
            f"there = (row < N) & ({w} < {space}W)", f"at = row * {space}W + {w}"]


def tile(width: int) -> tuple:
    """Return (rows, columns) of a tile of planes of this width."""
    columns = min(LANES, power_of_two(width))
    return LANES // columns, columns


def is_short(kernel) -> bool:
    """Return whether windows have few places, so that few windows hold an element."""
    return prod(kernel) <= SHORT


def _each(name, count, short) -> str:
    """Return the head of a loop over places; a `short` one is unrolled, so that all loads overlap."""
    return f"for {name} in {'tl.static_range' if short else 'range'}(0, {count}):"


def _work(kind):
    return dt.float32 if kind in (dt.float16, dt.bfloat16) else dt.uint8 if kind is dt.bool_ else kind


def _parameters(pointers):
    return parameters({n: dt.uint8 if k is dt.bool_ else k for n, k in pointers}, _SIZES)


def _maximum(name, kind, pointers, before, at, inside, short) -> Source:
    """Return the kernel for each window's largest element (nan wins, then the first) and its place in the plane.

    A window outside of the plane gives the lowest number, and the first place not before the plane. `before` are lines before
    the loop over places, `at` those that locate an element, `inside` is its mask.
    """
    work = _work(kind)
    lowest = 'float("-inf")' if kind.is_floating_point else 0 if kind is dt.bool_ else np.iinfo(kind.np).min
    better = "(v > best)" if not kind.is_floating_point else "(v > best) | ((v != v) & (best == best))"
    lines = [*_start("Q", ("qD", "qH", "qW")), *before, f"best = tl.full([ROWS, COLS], {lowest}, {TYPE[work]})",
             "which = at * 0 - 1",
             _each("t", "KD * KH * KW", short), *_TAP, *at, f"    inside = {inside}",
             "    place = (aD * IH + aH) * IW + aW",
             f"    v = tl.load(x + (plane * (ID * IH * IW) + place), inside, 0).to({TYPE[work]})",
             "    which = tl.where((which < 0) & (aD >= 0) & (aH >= 0) & (aW >= 0), place, which)",
             f"    take = inside & ({better})", "    best = tl.where(take, v, best)",
             "    which = tl.where(take, place, which)",
             f"tl.store(out + at, best.to({TYPE[dt.uint8 if kind is dt.bool_ else kind]}), there)",
             "tl.store(places + at, which.to(tl.int64), there)"]
    return emit(name + _SAID[short], _parameters(pointers), ("INDEX", *WINDOW, *TILE), lines)


@functools.lru_cache(32)
def maximum(kind: dt.DType, short: bool, even: bool = False) -> Source:
    """Return the kernel for each window's maximum. `even`: windows are bins that partition the plane, at most KD, KH and KW
    long."""
    at = [f"    a{d} = " + (f"q{d} * I{d} // Q{d} + t{d}" if even else f"q{d} * S{d} - P{d} + t{d} * L{d}") for d in DIMS]
    inside = " & ".join(["there", *[f"(a{d} * Q{d} < (q{d} + 1) * I{d})" if even else f"(a{d} >= 0) & (a{d} < I{d})"
                                    for d in DIMS]])
    pointers = (("x", kind), ("out", kind), ("places", dt.int64))
    return _maximum(f"{'adaptive_' if even else ''}max_pool_{kind.short}", kind, pointers, [], at, inside, short)


@functools.lru_cache(32)
def drawn_maximum(kind: dt.DType, short: bool, samples: dt.DType, rank: int) -> Source:
    """Return `maximum` for windows at fractional distances, the last one at the end: the starts of the others are drawn for
    each plane and dim."""
    drawn = DIMS[len(DIMS) - rank:]
    via = ".to(tl.float32)" if samples in (dt.float16, dt.bfloat16) else ""
    lines = []
    for number, d in enumerate(drawn):
        lines += [f"u{d} = tl.load(samples + (plane * {rank} + {number}), row < N, 0){via}.to(tl.float64)",
                  f"step{d} = (at * 0 + (I{d} - K{d})).to(tl.float64) / (at * 0 + tl.maximum(Q{d} - 1, 1)).to(tl.float64)",
                  f"start{d} = ((q{d}.to(tl.float64) + u{d}) * step{d}).to(tl.int64) - (u{d} * step{d}).to(tl.int64)",
                  f"start{d} = tl.where(q{d} == Q{d} - 1, at * 0 + (I{d} - K{d}), start{d}.to(INDEX))"]
    lines += [f"start{d} = at * 0" for d in DIMS if d not in drawn]
    pointers = (("x", kind), ("samples", samples), ("out", kind), ("places", dt.int64))
    return _maximum(f"fractional_max_pool{rank}d_{kind.short}_{samples.short}", kind, pointers, lines,
                    [f"    a{d} = start{d} + t{d}" for d in DIMS], "there", short)


def _windows(short, dilated=True) -> list:
    """Return lines with a loop over the windows that may hold element (iD, iH, iW), in order, as (qD, qH, qW), and the mask."""
    step = {d: f" * L{d}" if dilated else "" for d in DIMS}
    held = [f"(q{d} >= 0) & (q{d} < Q{d}) & (b{d} - q{d} * S{d} <= (K{d} - 1){step[d]})" for d in DIMS]
    between = [f"((b{d} - q{d} * S{d}) % L{d} == 0)" for d in DIMS] if dilated else []
    return [*[f"M{d}: tl.constexpr = (K{d} - 1){step[d]} // S{d} + 1" for d in DIMS], *[f"b{d} = i{d} + P{d}" for d in DIMS],
            *[f"last{d} = b{d} // S{d}" for d in DIMS],
            _each("n", "MD * MH * MW", short), "    t = MD * MH * MW - 1 - n", "    qD = lastD - t // (MH * MW)",
            "    qH = lastH - t // MW % MH", "    qW = lastW - t % MW", f"    inside = there & {' & '.join(held + between)}"]


@functools.lru_cache(32)
def maximum_grad(kind: dt.DType, short: bool) -> Source:
    """Return the kernel that adds, for each element, the values of the windows that took it, in the order of windows."""
    work = _work(kind)
    lines = [*_start("I", ("iD", "iH", "iW")), f"total = tl.zeros([ROWS, COLS], {TYPE[work]})",
             "place = (iD * IH + iH) * IW + iW", *_windows(short),
             "    window = plane * (QD * QH * QW) + (qD * QH + qH) * QW + qW",
             "    mine = inside & (tl.load(places + window, inside, -1) == place)",
             f"    total = total + tl.load(g + window, mine, 0).to({TYPE[work]})",
             f"tl.store(out + at, total.to({TYPE[kind]}), there)"]
    pointers = (("g", kind), ("places", dt.int64), ("out", kind))
    return emit(f"max_pool_grad_{kind.short}{_SAID[short]}", _parameters(pointers), ("INDEX", *WINDOW, *TILE), lines)


def _count(divisor: bool) -> list:
    """Return lines for the divisor of window (qD, qH, qW)."""
    if divisor:
        return ["count = DIVISOR"]
    lines = [f"n{d} = tl.minimum(q{d} * S{d} - P{d} + K{d}, I{d} + T{d}) - tl.maximum(q{d} * S{d} - P{d}, 0 - F{d})"
             for d in DIMS]
    return [*lines, "count = nD * nH * nW"]


def _divided(kind, total) -> str:
    """Return the quotient; Triton's // truncates integers towards zero."""
    work = TYPE[_work(kind)]
    if not kind.is_floating_point:
        return f"{total} // count.to({work})"
    return f"tl.div_rn({total}, count.to({work}))" if _work(kind) is dt.float32 else f"{total} / count.to({work})"


@functools.lru_cache(32)
def average(kind: dt.DType, short: bool, divisor: bool) -> Source:
    """Return the kernel for the mean of each window."""
    work = _work(kind)
    lines = [*_start("Q", ("qD", "qH", "qW")), f"total = tl.zeros([ROWS, COLS], {TYPE[work]})",
             _each("t", "KD * KH * KW", short), *_TAP,
             *[f"    a{d} = q{d} * S{d} - P{d} + t{d}" for d in DIMS],
             "    inside = there & " + " & ".join([f"(a{d} >= 0) & (a{d} < I{d})" for d in DIMS]),
             "    place = plane * (ID * IH * IW) + (aD * IH + aH) * IW + aW",
             f"    total = total + tl.load(x + place, inside, 0).to({TYPE[work]})", *_count(divisor)]
    if divisor:
        lines[-1] = "count = at * 0 + DIVISOR"
    lines += [f"total = {_divided(kind, 'total')}", f"tl.store(out + at, total.to({TYPE[kind]}), there)"]
    constants = ("INDEX", *WINDOW, *COUNTED, "DIVISOR", *TILE)
    name = f"avg_pool_{kind.short}{_SAID[short]}{'_by' if divisor else ''}"
    return emit(name, _parameters((("x", kind), ("out", kind))), constants, lines)


@functools.lru_cache(32)
def average_grad(kind: dt.DType, short: bool, divisor: bool) -> Source:
    """Return the kernel for each element's share of the windows that hold it."""
    work = _work(kind)
    lines = [*_start("I", ("iD", "iH", "iW")), f"total = tl.zeros([ROWS, COLS], {TYPE[work]})", *_windows(short, dilated=False)]
    count = _count(divisor)
    if divisor:
        count[-1] = "count = at * 0 + DIVISOR"
    lines += ["    " + x for x in count]
    lines += ["    count = tl.where(inside, count, 1)",
              f"    v = tl.load(g + (plane * (QD * QH * QW) + (qD * QH + qH) * QW + qW), inside, 0).to({TYPE[work]})",
              f"    total = total + {_divided(kind, 'v')}", f"tl.store(out + at, total.to({TYPE[kind]}), there)"]
    constants = ("INDEX", *WINDOW, *COUNTED, "DIVISOR", *TILE)
    name = f"avg_pool_grad_{kind.short}{_SAID[short]}{'_by' if divisor else ''}"
    return emit(name, _parameters((("g", kind), ("out", kind))), constants, lines)
