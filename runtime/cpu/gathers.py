"""Elements by index along a dim on generated kernels: `gather(x, index, dim=1)`, `scatter(x, index, src, dim=1, adds=True)`;
None where an index is out of range."""

import functools
import math

import numpy as np

from ...ir.target import host
from ...passes.codegen.llvm import gathers as codegen
from ...passes.codegen.llvm.types import F32, F64, I32, I64
from . import alloc, jobs, pool
from .compile import compile_module

SIZES = (1, 2, 4, 8)
ADDABLE = {np.dtype(np.float32): F32, np.dtype(np.float64): F64, np.dtype(np.int32): I32, np.dtype(np.int64): I64}
_LEAST = 1 << 10        # elements below which numpy is as quick
_KEPT = 512


def can_gather(x, index, dim: int) -> bool:
    """Whether the kernel takes these: shapes that differ along the dim alone."""
    return (x.itemsize in SIZES and index.size >= _LEAST and index.dtype.kind in "iu" and x.size > 0
            and fits(x.shape, index.shape, dim))


def fits(shape, wanted, dim: int) -> bool:
    """Whether two shapes differ along a dim alone."""
    if not shape or len(shape) != len(wanted):
        return False
    dim %= len(shape)
    return shape[:dim] == wanted[:dim] and shape[dim + 1:] == wanted[dim + 1:]


@functools.lru_cache(_KEPT)
def plan(dtype, shape: tuple, count: int, dim: int, threads: int) -> jobs.JobsPlan:
    """The job on (x of this shape, int64 index with `count` along the dim, y, an int64 that is set where an index is wrong)."""
    kernel, dim = codegen.GatherKernel(host(), dtype.itemsize), dim % len(shape)
    outer, inner = math.prod(shape[:dim]), math.prod(shape[dim + 1:])
    todo, items, work = jobs.Jobs(), outer * count, 4 * outer * count * inner
    todo.add(compile_module(kernel.text(), [kernel.symbol])[kernel.symbol], codegen.WORDS[len(codegen.ARRAYS) + 2:],
             chunks=jobs.chunks_for(work, items, threads), items=items, size=shape[dim], count=count, inner=inner)
    return todo.plan(0, work)


def can_scatter(dtype, adds: bool) -> bool:
    """Whether the kernel puts, or adds, elements of a dtype."""
    return dtype in ADDABLE if adds else dtype.itemsize in SIZES


@functools.lru_cache(_KEPT)
def scatter_plan(dtype, adds: bool, shape: tuple, count: int, dim: int, threads: int) -> jobs.JobsPlan:
    """The job on (the copy of x to write in, int64 index with `count` along the dim, src, an int64 set by a wrong index)."""
    element = ADDABLE[dtype] if adds else f"i{8 * dtype.itemsize}"
    kernel, dim = codegen.ScatterKernel(host(), element, adds), dim % len(shape)
    outer, inner = math.prod(shape[:dim]), math.prod(shape[dim + 1:])
    todo, work = jobs.Jobs(), 4 * outer * count * inner
    todo.add(compile_module(kernel.text(), [kernel.symbol])[kernel.symbol], codegen.WORDS[len(codegen.ARRAYS) + 2:],
             chunks=jobs.chunks_for(work, outer, threads), items=outer, size=shape[dim], count=count, inner=inner)
    return todo.plan(0, work)


def scatter(x, index, src, *, dim, adds: bool):
    """x with elements of `src` put, or added, where `index` says."""
    out, index = np.array(x, order="C"), np.require(index, np.int64, "CA")
    src, wrong = np.require(src, requirements="CA"), np.zeros(1, np.int64)
    made = scatter_plan(x.dtype, adds, x.shape, index.shape[dim], dim, pool.get_num_threads())
    made(out, index, src, wrong)
    return None if wrong[0] else out


def gather(x, index, *, dim):
    """The elements that `index` names along a dim."""
    x, index = np.require(x, requirements="CA"), np.require(index, np.int64, "CA")
    out, wrong = alloc.empty(index.shape, x.dtype), np.zeros(1, np.int64)
    plan(x.dtype, x.shape, index.shape[dim], dim, pool.get_num_threads())(x, index, out, wrong)
    return None if wrong[0] else out
