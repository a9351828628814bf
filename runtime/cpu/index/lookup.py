"""Rows of tables on generated kernels: copying them by index, and adding them up by index in the order of the indices.

    take(table, index)                 table[index] for in-range int64 indices
    add_rows(values, index, rows)      zeros (rows, width) with values[i] added at index[i]
    add_into(table, values, index)     the same on a table that is there
    bag_sums(table, index, offsets, *scales)    sums of rows (times their scales), without the rows in between

Sums do not depend on the number of threads: threads share out the columns.
"""

import functools

import numpy as np

from ....ir.target import host
from ....passes.codegen.llvm.index import embedding_bag as bags_codegen
from ....passes.codegen.llvm.index import lookup as codegen
from ....passes.codegen.llvm.ir.types import F32, F64, I16
from ..calls import jobs, pool
from ..compiler.compile import task_of
from ..loops import copies
from ..memory import alloc

ADDABLE = {np.dtype(np.float32): F32, np.dtype(np.float64): F64}
BY_SIZE = {2: I16, 4: F32, 8: F64}  # rows are copied as elements of their size
_WORK = 1 << 16                     # elements from which threads share
_KEPT = 512
_INT64 = np.dtype(np.int64)
INDEX, BAG_INDEX = codegen.ARRAYS.index("index"), bags_codegen.ARRAYS.index("index")


def can_take(table) -> bool:
    """Whether rows of this table are copied by the kernel: those of plain numbers that lie one after the other."""
    return table.ndim == 2 and table.itemsize in BY_SIZE and table.flags.c_contiguous and table.shape[1] > 1


def can_add(values) -> bool:
    """Whether rows of these values are added by the kernel."""
    return values.dtype in ADDABLE and values.size > 0


@functools.lru_cache(_KEPT)
def plan(kind, dtype, count, width, table_rows, clears, threads) -> jobs.JobsPlan:
    """The plan on (table, index, rows) that copies or adds rows: `kind` is "take" or "add"."""
    size = dtype.itemsize
    kernel = codegen.LookupKernel(host(), BY_SIZE[size] if kind == "take" else ADDABLE[dtype])
    symbol = getattr(kernel, kind)
    task = task_of(kernel, symbol)
    shares = count if kind == "take" else -(-width * size // 64)
    chunks = min(threads, shares) if threads > 1 and count * width >= _WORK else 1
    todo = jobs.Jobs(threads)
    todo.add(task, codegen.WORDS[len(codegen.ARRAYS) + 2:], chunks=chunks, count=count, width=width, table_rows=table_rows,
             table_row=width * size, row=width * size, clears=clears)
    return todo.plan(0, count * width)


def _run(kind, table, index, rows, clears):
    plan(kind, table.dtype, index.size, table.shape[1], table.shape[0], clears, pool.get_num_threads())(table, index, rows)


def _indices(index):
    return index if index.dtype is _INT64 and index.flags.c_contiguous else np.ascontiguousarray(index, np.int64)


def take(table, index):
    """table[index]; every index is in range."""
    out = alloc.empty((*index.shape, table.shape[1]), table.dtype)
    if out.size:
        _run("take", table, _indices(index), out, False)
    return out


def add_rows(values, index, rows):
    """The sums of the rows of `values` by index, (rows, width)."""
    table = alloc.empty((rows, values.shape[-1]), values.dtype)
    _run("add", table, _indices(index), copies.dense(values), True)
    return table


def add_into(table, values, index):
    """Adds rows of `values` to those of a C-contiguous table."""
    _run("add", table, _indices(index), copies.dense(values), False)


@functools.lru_cache(_KEPT)
def bag_plan(dtype, count, width, bags, scaled, threads) -> jobs.JobsPlan:
    """The plan on (table, index, offsets, sums) of each bag's rows; with scales of the rows before the sums."""
    kernel = bags_codegen.BagKernel(host(), ADDABLE[dtype], scaled)
    task, work = task_of(kernel, kernel.symbol), count * width
    todo = jobs.Jobs(threads)
    todo.add(task, bags_codegen.WORDS, chunks=jobs.chunks_for(work, bags, threads), items=bags,
             count=count, width=width)
    return todo.plan(0, work)


def bag_sums(table, index, offsets, *scales):
    """The sums of the rows of a table at the indices of each bag, scaled or not; offsets and indices are in range."""
    out = alloc.empty((offsets.size, table.shape[1]), table.dtype)
    bag_plan(table.dtype, index.size, table.shape[1], offsets.size, bool(scales), pool.get_num_threads())(
        alloc.dense(table), _indices(index), _indices(offsets), *map(alloc.dense, scales), out)
    return out
