"""Scans along contiguous rows: lanes read one row side by side, tile by tile, and combine their elements in order.

A state summarises adjacent elements, and an associative function joins two states. Long rows are cut in parts: one launch
stores the state of each part, another begins each part with the joined states before it. So a result depends on the length of
rows alone.
"""

import functools
from dataclasses import dataclass

import numpy as np

from .....ir import dtype as dt
from ..ir.nest import memory
from ..ir.source import POINTER, SIZE, Parameter, Source, emit
from ..ir.spelling import TYPE, filled

WHOLE, ENDS, PARTS = "rows", "ends", "parts"     # whole rows; the states of parts; parts that begin with these
_BITS = {4: "tl.int32", 8: "tl.int64"}
_PLACE = "place"        # a state that is an element's number, in the integer type of addresses


@dataclass(frozen=True)
class Scan:
    """A scan of elements of a dtype.

        states   parts of a state: a dtype, or _PLACE, and the neutral value
        of       the state of an element `v` at the place `k`, an expression each
        join     lines of a function of two states, (a0, a1 ...) and (b0, b1 ...)
        results  (name, dtype, expression of s0, s1 ...) of the results
    """

    name: str
    dtype: dt.DType
    states: tuple
    of: tuple
    join: tuple
    results: tuple


def stored_dtypes(states) -> tuple:
    """Return the dtypes of stored states of parts."""
    return tuple([dt.int64 if d == _PLACE else d for d, _ in states])


def _type(d) -> str:
    return "INDEX" if d == _PLACE else TYPE[d]


def _started(shape, d, value) -> str:
    return f"tl.full([{shape}], {value}, INDEX)" if d == _PLACE else filled(shape, d, value)


@functools.lru_cache(64)
def source(scan: Scan, how: str) -> Source:
    """Return a kernel of a scan."""
    numbers, pair = range(len(scan.states)), ", ".join
    states, carried = (pair(f"{stem}{n}" for n in numbers) for stem in ("s", "carry"))
    lines = ["at_row = (tl.program_id(0).to(INDEX) * ROWS + tl.arange(0, ROWS))[:, None]", "in_row = at_row < N",
             *[f"carry{n} = {_started('ROWS, 1', d, value)}" for n, (d, value) in enumerate(scan.states)]]
    if how == PARTS:
        lines += ["q = tl.arange(0, WIDTH)[None, :]", "before = in_row & (q < tl.program_id(1))"]
        for n, (d, value) in enumerate(scan.states):
            lines += [f"e{n} = tl.load(end{n} + (at_row * COUNT + q), before, 0).to({_type(d)})",
                      f"e{n} = tl.where(before, e{n}, {_started('ROWS, WIDTH', d, value)})"]
        parts = pair(f"e{n}" for n in numbers)
        lines += [f"{parts} = tl.associative_scan(({parts}), 1, joined)", *_last(scan, "e", "q == WIDTH - 1")]
    first, end = ("0", "L") if how == WHOLE else ("tl.program_id(1).to(INDEX) * PART", "tl.minimum(first + PART, L)")
    lines += ["each = tl.arange(0, COLS)[None, :]", f"first = {first}", f"end = {end}", "for low in range(first, end, COLS):"]
    loop = ["k = low + each", "there = in_row & (k < end)",
            f"v = tl.load(x + (at_row * L + k), there, 0).to({TYPE[scan.states[0][0]]})"]
    for n, ((d, value), text) in enumerate(zip(scan.states, scan.of)):
        loop.append(f"s{n} = tl.where(there, {text}, {_started('ROWS, COLS', d, value)})")
    loop += [f"{states} = tl.associative_scan(({states}), 1, joined)", f"{states} = joined({carried}, {states})"]
    if how != ENDS:
        loop += [f"tl.store({name} + (at_row * L + k), ({text}).to({TYPE[d]}), there)" for name, d, text in scan.results]
    loop += _last(scan, "s", "each == COLS - 1")
    lines += ["    " + x for x in loop]
    if how == ENDS:
        lines += [f"tl.store(end{n} + (at_row * COUNT + tl.program_id(1)), carry{n}.to({TYPE[d]}), in_row)"
                  for n, d in enumerate(stored_dtypes(scan.states))]
    ends = [Parameter(f"end{n}", POINTER, d) for n, d in enumerate(stored_dtypes(scan.states)) if how != WHOLE]
    outs = [Parameter(name, POINTER, d) for name, d, _ in scan.results if how != ENDS]
    sizes = [Parameter(n, SIZE) for n in ("N", "L", *(("COUNT",) if how != WHOLE else ()))]
    constants = ("INDEX", "ROWS", "COLS", *(("PART",) if how != WHOLE else ()), *(("WIDTH",) if how == PARTS else ()))
    helper = [f"def joined({pair(f'{x}{n}' for x in 'ab' for n in numbers)}):", *["    " + x for x in scan.join]]
    return emit(f"{scan.name}_{scan.dtype.short}_{how}", (Parameter("x", POINTER, memory(scan.dtype)), *ends, *outs, *sizes),
                constants, lines, helpers="@triton.jit\n" + "\n".join(helper) + "\n\n\n")


def _last(scan, stem, where) -> list:
    """Return lines that carry the state of the last column, bit for bit."""
    found = []
    for n, (d, _) in enumerate(scan.states):
        bits = f"{stem}{n}.to({_BITS[d.itemsize]}, bitcast=True)" if d != _PLACE else f"{stem}{n}"
        total = f"tl.sum(tl.where({where}, {bits}, 0), 1)[:, None]"
        found.append(f"carry{n} = {total}.to({_type(d)}{'' if d == _PLACE else ', bitcast=True'})")
    return found


def _work(dtype):
    """Return the dtype that lanes exchange: at least 32 bits."""
    if dtype in (dt.float16, dt.bfloat16):
        return dt.float32
    return dt.int32 if memory(dtype).itemsize < 4 else memory(dtype)


@functools.lru_cache(64)
def extreme(dtype: dt.DType, sign: str) -> Scan:
    """Return the scan of running extremes (nan wins), with the last place of each."""
    work = _work(dtype)
    if work.is_floating_point:
        least, other = float(f"{'-' if sign == '>' else ''}inf"), " | (b0 != b0)"
    else:
        info = np.iinfo(work.np)
        least, other = info.min if sign == ">" else info.max, ""
    join = (f"take = ((b0 {sign}= a0){other}) & (b1 >= 0)", "return tl.where(take, b0, a0), tl.where(take, b1, a1)")
    return Scan(f"running_{'max' if sign == '>' else 'min'}", dtype, ((work, least), (_PLACE, -1)), ("v", "k"), join,
                (("out", memory(dtype), "s0"), ("places", dt.int64, "s1")))


@functools.lru_cache(16)
def log_sums(dtype: dt.DType) -> Scan:
    """Return the scan of logarithms of running sums of exponentials, as (largest so far, sum of exponentials relative to it).
    """
    join = ("later = (b0 > a0) | (b0 != b0)", "high = tl.where(later, b0, a0)", "low = tl.where(later, a0, b0)",
            "scale = tl.where(low == high, 1.0, tl.exp(low - high))",
            "return high, tl.where(later, a1 * scale + b1, a1 + b1 * scale)")
    result = 'tl.where(s0 == float("-inf"), s0, s0 + tl.log(s1))'
    return Scan("log_sums", dtype, ((_work(dtype), float("-inf")), (_work(dtype), 0)), ("v", "1.0"), join,
                (("out", dtype, result),))
