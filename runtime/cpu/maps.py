"""Fixed maps along a dim on generated kernels: `apply(x, axis, table)`, which gives the bits of `ir.ops.taps.apply_table`."""

import functools
import math

import numpy as np

from ...ir.ops import taps
from ...ir.target import host
from ...passes.codegen.llvm import maps as codegen
from ...passes.codegen.llvm.types import F32, F64
from . import alloc, copies, jobs, pool
from .compile import task_of

_WEIGHTED = {np.dtype(np.float32): F32, np.dtype(np.float64): F64}
_COPIED = {1: "i8", 2: "i16", 4: F32, 8: F64}       # elements of their size
_FEW = 1 << 10                                      # elements below which numpy is as quick
_KEPT = 512


@functools.lru_cache(_KEPT)
def plan(dtype, weighted: bool, shape: tuple, axis: int, count: int, number: int, threads: int) -> jobs.JobsPlan:
    """The job on (x of a shape, places, together, weights, y) of a map to `count` places along a dim by `number` taps."""
    kernel = codegen.MapKernel(host(), _WEIGHTED[dtype] if weighted else _COPIED[dtype.itemsize], weighted)
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1:])
    symbol = kernel.along if inner == 1 else kernel.across
    items, work = outer if inner == 1 else outer * count, 4 * outer * count * inner * number
    todo = jobs.Jobs(threads)
    todo.add(task_of(kernel, symbol, symbol), codegen.WORDS[len(codegen.ARRAYS) + 2:],
             chunks=jobs.chunks_for(work, items, threads), items=items, size=shape[axis], count=count, inner=inner, taps=number)
    return todo.plan(0, work)


def apply(x, axis: int, table: tuple):
    """x mapped along an axis by a table (places, weights) of taps."""
    places, weights = table
    count, kind = places.shape[1], x.dtype
    takes = kind in _WEIGHTED if weights is not None else kind.itemsize in _COPIED
    if not takes or not x.size or not count or x.size // x.shape[axis] * count < _FEW:
        return taps.apply_table(x, axis, table)
    out = alloc.empty((*x.shape[:axis], count, *x.shape[axis + 1:]), kind)
    made = plan(kind, weights is not None, x.shape, axis, count, len(places), pool.get_num_threads())
    x = copies.dense(x)
    places, together, factors = _prepared(places, weights, kind)
    made(x, places, together, x if factors is None else factors, out)
    return out


def bordered(x, low: tuple, high: tuple, mode: str):
    """x with numbers from inside around it, as `ir.ops.resample.border_pad` has it: one dim after the other, the last one
    first, each with the borders of those before."""
    out = alloc.empty(tuple([n + lo + hi for n, lo, hi in zip(x.shape, low, high)]), x.dtype)
    part: list = [slice(lo, lo + n) for n, lo in zip(x.shape, low)]
    copies.into(out[tuple(part)], x)
    for axis in range(x.ndim - 1, -1, -1):
        n, lo, hi = x.shape[axis], low[axis], high[axis]
        if lo or hi:
            places = taps.border_table(mode, n, lo, hi)[0][0] + lo
            for slab in (slice(0, lo), slice(lo + n, lo + n + hi)):
                if slab.start < slab.stop:
                    source = out[(*part[:axis], places[slab])]
                    out[(*part[:axis], slab)] = source
        part[axis] = slice(None)
    return out


def _prepared(places, weights, kind):
    """(places, which of them are together, weights) as the kernel reads them, kept for tables that come again."""
    key = id(places), id(weights), kind
    found = _tables.get(key)
    if found is None:
        dense = alloc.dense(places, np.int64)
        found = (dense, _together(dense, host().lanes(kind.itemsize)), None if weights is None else alloc.dense(weights, kind),
                 places, weights)           # which keep their identity while they are kept
        if len(_tables) >= _KEPT:
            _tables.clear()
        _tables[key] = found
    return found[:3]


_tables: dict = {}


def _together(places, lanes: int):
    """For each tap and vector of results, whether their places are neighbours in order."""
    number, count = places.shape
    steps = np.ones((number, -(-count // lanes) * lanes), np.bool_)
    np.equal(places[:, 1:], places[:, :-1] + 1, out=steps[:, 1:count])
    steps[:, ::lanes] = True
    return steps.reshape(number, -1, lanes).all(2).astype(np.int64)
