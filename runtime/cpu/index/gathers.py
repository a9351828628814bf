"""Elements by index along a dim on generated kernels: `gather(x, index, dim=1)`, `scatter(x, index, src, dim=1, how="add")`;
None where an index is out of range. An index that repeats itself (an expanded one) is read as it lies."""

import functools
import math

import numpy as np

from ....ir.target import host
from ....passes.codegen.llvm.index import gathers as codegen
from ....passes.codegen.llvm.ir.types import F32, F64, I32, I64
from ..calls import jobs, pool
from ..compiler.compile import task_of
from ..loops import copies
from ..memory import alloc

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


def index_steps(shape, strides, item: int, dim: int):
    """Strides, in elements, of an index as [outer, count, inner] around a dim; None where no three numbers say them."""
    dim %= len(shape)
    outer, inner = _joined(shape[:dim], strides[:dim]), _joined(shape[dim + 1:], strides[dim + 1:])
    if outer is None or inner is None or min(outer, inner, strides[dim]) < 0:
        return None
    return outer // item, (strides[dim] if shape[dim] > 1 else 0) // item, inner // item


def _joined(sizes, strides):
    """The stride of several dims as one; None if they are none."""
    last = None
    for n, step in zip(reversed(sizes), reversed(strides)):
        if n != 1:
            if last is not None and step != last[0] * last[1]:
                return None
            last = (step, n) if last is None else (last[0], last[1] * n)
    return 0 if last is None else last[0]


def _words(shape, wanted, steps, dim):
    """What both kernels know of sizes: items come beside it."""
    given = steps or index_steps(wanted, dense_strides(wanted), 1, dim)
    return {"size": shape[dim], "count": wanted[dim], "inner": math.prod(shape[dim + 1:])} | dict(
        zip(("by_outer", "by_count", "by_inner"), given, strict=True))


def dense_strides(shape) -> tuple:
    """Strides, in elements, of a C-contiguous array."""
    return tuple([math.prod(shape[d + 1:]) for d in range(len(shape))])


@functools.lru_cache(_KEPT)
def plan(dtype, shape: tuple, index_dtype, wanted: tuple, dim: int, threads: int, steps=None) -> jobs.JobsPlan | None:
    """The job on (x of this shape, int64 index of the wanted one, y, an int64 that is set where an index is wrong); None if the
    kernel does not take them. `steps` are the index's strides as `index_steps` gives them, if it is not contiguous."""
    if not can_gather(dtype, shape, index_dtype, wanted, dim):
        return None
    kernel, dim = codegen.GatherKernel(host(), dtype.itemsize), dim % len(shape)
    words = _words(shape, wanted, steps, dim)
    items = math.prod(shape[:dim]) * wanted[dim]
    todo, work = jobs.Jobs(threads), 4 * items * words["inner"]
    todo.add(task_of(kernel, kernel.symbol), codegen.WORDS[len(codegen.ARRAYS) + 2:],
             chunks=jobs.chunks_for(work, items, threads), items=items, **words)
    return todo.plan(0, work)


def can_scatter(dtype, how: str) -> bool:
    """Whether the kernel puts, or combines, elements of a dtype."""
    return dtype.itemsize in SIZES if how == codegen.SET else dtype in ADDABLE


@functools.lru_cache(_KEPT)
def scatter_plan(dtype, how: str, shape: tuple, wanted: tuple, dim: int, threads: int, steps=None) -> jobs.JobsPlan:
    """The job on (the copy of x to write in, int64 index of the wanted shape, src, an int64 set by a wrong index)."""
    element = f"i{8 * dtype.itemsize}" if how == codegen.SET else ADDABLE[dtype]
    kernel, dim = codegen.ScatterKernel(host(), element, how), dim % len(shape)
    words, outer = _words(shape, wanted, steps, dim), math.prod(shape[:dim])
    todo, work = jobs.Jobs(threads), 4 * outer * wanted[dim] * words["inner"]
    todo.add(task_of(kernel, kernel.symbol), codegen.WORDS[len(codegen.ARRAYS) + 2:],
             chunks=jobs.chunks_for(work, outer, threads), items=outer, **words)
    return todo.plan(0, work)


def _index(index, dim):
    """(an int64 index that kernels read, its strides; None of a contiguous one)"""
    if index.flags.c_contiguous and index.dtype == _INDEX:
        return index, None
    steps = index_steps(index.shape, index.strides, index.itemsize, dim) if index.dtype == _INDEX else None
    if steps is None:
        return alloc.dense(index, _INDEX), None
    return index, steps


def scatter(x, index, src, *, dim, how: str):
    """x with elements of `src` put, or combined with what is there, where `index` says."""
    out = copies.in_rows(x)
    return out if scatter_into(out, index, src, dim=dim, how=how) else None


def scatter_into(out, index, src, *, dim, how: str) -> bool:
    """The same on a contiguous array that is there; tells whether all indices were in range."""
    (index, steps), src, wrong = _index(index, dim), copies.dense(src), np.zeros(1, _INDEX)
    made = scatter_plan(out.dtype, how, out.shape, index.shape, dim, pool.get_num_threads(), steps)
    made(out, _first(index, steps), src, wrong)
    return not wrong[0]


def from_the_front(index, size):
    """Indices that may count from the end, counted from the front; None if one is out of range."""
    low = index.min()
    if low < -size or index.max() >= size:
        return None
    return np.where(index < 0, index + size, index) if low < 0 else index.astype(_INDEX, copy=False)


def _first(index, steps):
    """What is handed to native code for its address."""
    return index if steps is None else np.lib.stride_tricks.as_strided(index, (1,), (_INDEX.itemsize,))


def gather(x, index, *, dim):
    """The elements that `index` names along a dim; None if the kernel does not take these arrays, too."""
    steps = None
    if not index.flags.c_contiguous:
        index, steps = _index(index, dim)
    made = plan(x.dtype, x.shape, index.dtype, index.shape, dim, pool.get_num_threads(), steps)
    if made is None:
        return None
    out, wrong = alloc.empty(index.shape, x.dtype), np.zeros(1, _INDEX)
    index = alloc.dense(index, _INDEX) if steps is None else _first(index, steps)
    made.__call__(copies.dense(x), index, out, wrong)       # a method: quicker to call than an object
    return None if wrong[0] else out
