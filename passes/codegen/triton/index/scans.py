"""Sequential scans, one sequence per lane: recurrences, running extremes, and positions of true elements.

Sequences are (rows, length, inner): adjacent lanes read adjacent elements unless the scan is along the last dim.
"""

import functools

from .....ir import dtype as dt
from ..ir.nest import memory
from ..ir.source import Source, emit, parameters
from ..ir.spelling import TYPE

_LANE = ["at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK).to(INDEX)", "there = at < ROWS * C",
         "first = at // C * (L * C) + at % C"]
_SIZES = ("ROWS", "L", "C")


def _work(dtype):
    return dt.float32 if dtype in (dt.float16, dt.bfloat16) else memory(dtype)


def _source(name, dtype, reads, writes, before, step) -> Source:
    """Return a scan: lines `before`, and `step` for each place; `v_NAME` is the element of an array at a place."""
    stored, work = memory(dtype), TYPE[_work(dtype)]
    own = parameters(dict.fromkeys(reads, stored) | dict(writes), _SIZES)
    loads = [f"v_{n} = tl.load({n} + place, there, 0).to({work})" for n in reads]
    lines = [*_LANE, *before, "for t in range(0, L):", *["    " + x for x in ("place = first + t * C", *loads, *step)]]
    return emit(f"{name}_{dtype.short}", own, ("INDEX", "BLOCK"), lines)


@functools.lru_cache(16)
def recurrence(dtype: dt.DType) -> Source:
    """Return the kernel h[t] = a[t] * h[t-1] + b[t], from 0."""
    step = ["h = v_a * h + v_b", f"tl.store(out + place, h.to({TYPE[dtype]}), there)"]
    return _source("recurrence", dtype, ("a", "b"), (("out", dtype),), [f"h = tl.zeros([BLOCK], {TYPE[_work(dtype)]})"], step)


@functools.lru_cache(16)
def log_sums(dtype: dt.DType) -> Source:
    """Return the kernel for logarithms of running sums of exponentials, as (largest so far, sum of exponentials relative to
    it)."""
    work = TYPE[_work(dtype)]
    step = ["new = tl.where((v_x > high) | (v_x != v_x), v_x, high)",
            "kept = tl.where(high == new, total, total * tl.exp(high - new))",
            'total = tl.where(high == float("-inf"), zero, kept) + tl.where(v_x == new, zero + 1.0, tl.exp(v_x - new))',
            "high = new",
            f'tl.store(out + place, tl.where(high == float("-inf"), high, high + tl.log(total)).to({TYPE[dtype]}), there)']
    before = [f"zero = tl.zeros([BLOCK], {work})", f'high = tl.full([BLOCK], float("-inf"), {work})', "total = zero"]
    return _source("log_sums", dtype, ("x",), (("out", dtype),), before, step)


@functools.lru_cache(32)
def extreme(dtype: dt.DType, sign: str) -> Source:
    """Return the kernel for running extremes (nan wins), with the last place of each."""
    joins = f"(last < 0) | (v_x {sign}= best)"
    if dtype.is_floating_point:
        joins += " | (v_x != v_x)"          # (no later number is above or below nan)
    step = [f"take = {joins}", "best = tl.where(take, v_x, best)", "last = tl.where(take, t, last).to(INDEX)",
            f"tl.store(out + place, best.to({TYPE[memory(dtype)]}), there)",
            "tl.store(places + place, last.to(tl.int64), there)"]
    before = [f"best = tl.zeros([BLOCK], {TYPE[_work(dtype)]})", "last = at * 0 - 1"]
    name = "running_max" if sign == ">" else "running_min"
    return _source(name, dtype, ("x",), (("out", memory(dtype)), ("places", dt.int64)), before, step)


@functools.lru_cache(16)
def nonzero_positions(rank: int) -> Source:
    """Return the kernel for coordinates of true elements, each at the place of its running count."""
    pointers = {"hit": dt.uint8, "counts": dt.int64, **{f"out{d}": dt.int64 for d in range(rank)}}
    own = parameters(pointers, ("TOTAL", "COUNT", *[f"n{d}" for d in range(rank)]))
    lines = ["at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)", "there = at < TOTAL",
             "place = tl.load(counts + at, there, 0) - 1",
             "there = there & (tl.load(hit + at, there, 0) != 0) & (place < COUNT)", "rest = at"]
    for d in range(rank - 1, -1, -1):
        lines += [f"tl.store(out{d} + place, rest % n{d}, there)", f"rest = rest // n{d}"]
    return emit(f"found_{rank}", own, ("INDEX", "BLOCK"), lines)
