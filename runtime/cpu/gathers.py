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
_KEPT = 512
_INDEX = np.dtype(np.int64)


def fits(shape, wanted, dim: int) -> bool:
    """Whether two shapes differ along a dim alone."""
    if not shape or len(shape) != len(wanted):
        return False
    dim %= len(shape)
    return shape[:dim] == wanted[:dim] and shape[dim + 1:] == wanted[dim + 1:]


def can_gather(dtype, shape, index_dtype, wanted, dim: int) -> bool:
    """Whether the kernels take these: integers in shapes that differ along the dim alone, elements of a size that they copy."""
    return (dtype.itemsize in SIZES and index_dtype.kind in "iu" and 0 not in shape and 0 not in wanted
            and fits(shape, wanted, dim))


@functools.lru_cache(_KEPT)
def plan(dtype, shape: tuple, index_dtype, wanted: tuple, dim: int, threads: int) -> jobs.JobsPlan | None:
    """The job on (x of this shape, int64 index of the wanted one, y, an int64 that is set where an index is wrong); None if the
    kernel does not take them."""
    if not can_gather(dtype, shape, index_dtype, wanted, dim):
        return None
    kernel, dim = codegen.GatherKernel(host(), dtype.itemsize), dim % len(shape)
    outer, inner, count = math.prod(shape[:dim]), math.prod(shape[dim + 1:]), wanted[dim]
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
    out, index, src, wrong = np.array(x, order="C"), alloc.dense(index, _INDEX), alloc.dense(src), np.zeros(1, _INDEX)
    made = scatter_plan(x.dtype, adds, x.shape, index.shape[dim], dim, pool.get_num_threads())
    made(out, index, src, wrong)
    return None if wrong[0] else out


def gather(x, index, *, dim):
    """The elements that `index` names along a dim; None if the kernel does not take these arrays, too."""
    made = plan(x.dtype, x.shape, index.dtype, index.shape, dim, pool.get_num_threads())
    if made is None:
        return None
    out, wrong = alloc.empty(index.shape, x.dtype), np.zeros(1, _INDEX)
    made.__call__(alloc.dense(x), alloc.dense(index, _INDEX), out, wrong)       # a method: quicker to call than an object
    return None if wrong[0] else out
