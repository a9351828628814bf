"""Linear maps along a dim by tables of taps: `apply(x, axis, table)` gives the bits of `ir.ops.nn.linear_maps.apply_table`."""

import functools
import math

import numpy as np

from ....ir.ops.nn import linear_maps
from ....ir.sized_cache import SizedCache, nbytes_of
from ....ir.target import host
from ....passes.codegen.llvm.index import linear_maps as codegen
from ....passes.codegen.llvm.ir.types import F32, F64, FLOATS_BY_NP
from ..calls import pool
from ..calls.plan import JobsPlan, one_job
from ..compiler.compile import task_of
from ..memory import alloc
from . import copies

_COPIED = {1: "i8", 2: "i16", 4: F32, 8: F64}       # elements of their size
_SMALL_COUNT = 1 << 10                              # results below which numpy is as quick
_MOST_TABLES = 512
_MOST_RUNS = 32                                     # of a border


@functools.lru_cache(_MOST_TABLES)
def plan(dtype, weighted: bool, shape: tuple, axis: int, count: int, number: int, threads: int) -> JobsPlan:
    """Return the job on (x of a shape, sources, adjacent, weights, y) of a map to `count` results of `number` taps each."""
    kernel = codegen.MapKernel(host(), FLOATS_BY_NP[dtype] if weighted else _COPIED[dtype.itemsize], weighted)
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1:])
    symbol = kernel.along if inner == 1 else kernel.across
    items, work = outer if inner == 1 else outer * count, 4 * outer * count * inner * number
    return one_job(codegen, task_of(kernel, symbol, symbol), work, items, threads, size=shape[axis], count=count, inner=inner,
                   taps=number)


def takes(kind, weighted: bool) -> bool:
    """Whether the kernels map elements of a dtype."""
    return kind in FLOATS_BY_NP if weighted else kind.itemsize in _COPIED


def apply(x, axis: int, table: tuple):
    """Map x along an axis by a table (sources, weights) of taps."""
    sources, weights = table
    count, kind = sources.shape[1], x.dtype
    if not takes(kind, weights is not None) or not x.size or not count or x.size // x.shape[axis] * count < _SMALL_COUNT:
        return linear_maps.apply_table(x, axis, table)
    out = alloc.empty((*x.shape[:axis], count, *x.shape[axis + 1:]), kind)
    job = plan(kind, weights is not None, x.shape, axis, count, len(sources), pool.get_num_threads())
    x = copies.dense(x)
    sources, adjacent, factors = prepared(sources, weights, kind)
    job(x, sources, adjacent, x if factors is None else factors, out)
    return out


def bordered(x, low: tuple, high: tuple, mode: str):
    """Return x with a border of its own elements (`ir.ops.nn.resample.border_pad`). Dims go one after the other, the last one
    first, each with the borders of those before."""
    out = alloc.empty(tuple([n + lo + hi for n, lo, hi in zip(x.shape, low, high)]), x.dtype)
    part: list = [slice(lo, lo + n) for n, lo in zip(x.shape, low)]
    copies.into(out[tuple(part)], x)
    for axis in range(x.ndim - 1, -1, -1):
        before = tuple(part[:axis])
        for goal, start, step, count in border_runs(mode, x.shape[axis], low[axis], high[axis]):
            out[(*before, slice(goal, goal + count))] = out[(*before, _slice(start, step, count))]
        part[axis] = slice(None)
    return out


def _slice(start: int, step: int, count: int) -> slice:
    """Return the slice of `count` elements with a step; with step 0, of one element."""
    end = start + step * count
    return slice(start, start + 1) if step == 0 else slice(start, None if end < 0 else end, step)


def are_few(mode: str, shape, low: tuple, high: tuple) -> bool:
    """Return whether a border is few runs: it does not go through x many times."""
    return mode == "replicate" or all(lo + hi <= _MOST_RUNS * n for n, lo, hi in zip(shape, low, high))


@functools.lru_cache(_MOST_TABLES)
def border_runs(mode: str, n: int, low: int, high: int) -> list:
    """Return the source of a dim's borders, in indices of the result: [(first of some, its source, step of sources, count)]."""
    table, runs = linear_maps.border_table(mode, n, low, high)[0][0], []
    for first, end in ((0, low), (low + n, low + n + high)):
        sources, at = (table[first:end] + low).tolist(), 0
        while at < len(sources):
            step = sources[at + 1] - sources[at] if at + 1 < len(sources) else 0
            count = 1
            while at + count < len(sources) and sources[at + count] == sources[at] + step * count:
                count += 1
            runs.append((first + at, sources[at], step, count))
            at += count
    return runs


def prepared(sources, weights, kind):
    """Return (sources, which of them are adjacent, weights) as the kernel reads them, cached by table."""
    key = id(sources), id(weights), kind
    found = _tables.entries.get(key)
    if found is not None:
        return found[0][:3]
    dense = alloc.dense(sources, np.int64)
    made = (dense, _are_adjacent(dense, host().lanes(kind.itemsize)), None if weights is None else alloc.dense(weights, kind),
            sources, weights)       # the last two keep their ids valid
    return _tables.put(key, made, nbytes_of(made))[:3]


_tables = SizedCache()


def _are_adjacent(sources, lanes: int):
    """Return, for each tap and vector of results, whether their sources are adjacent and in order."""
    number, count = sources.shape
    steps = np.ones((number, -(-count // lanes) * lanes), np.bool_)
    np.equal(sources[:, 1:], sources[:, :-1] + 1, out=steps[:, 1:count])
    steps[:, ::lanes] = True
    return steps.reshape(number, -1, lanes).all(2).astype(np.int64)
