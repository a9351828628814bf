"""Rows of tables: copied by index, and summed by index in the order of the indices.

    take(table, index)                 table[index] for in-range int64 indices
    add_rows(values, index, rows)      zeros (rows, width) with values[i] added at index[i]
    add_into(table, values, index)     values[i] added to table[index[i]]
    bag_sums(table, index, offsets, *scales)    sums of rows (times their scales), without the rows in between

Sums do not depend on the number of threads: threads share out the columns.
"""

import functools

import numpy as np

from ....ir import dtype as dt
from ....ir.kernel.kernel_builder import KernelBuilder
from ....ir.ops.nn import embedding
from ....ir.target import host
from ....passes.codegen.llvm.index import lookup as codegen
from ....passes.codegen.llvm.ir.types import F32, F64, FLOATS_BY_NP, I16
from ..calls import pool
from ..calls.kernel_steps import check_range, check_rising, step
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import Jobs, JobsPlan, chunks_for
from ..calls.step_list import At, NativeCall, Scratch, Table
from ..compiler.compile import task_of
from ..loops import copies
from ..loops.kernels import widened
from ..memory import alloc

BY_SIZE = {2: I16, 4: F32, 8: F64}  # rows are copied as elements of their size
_WORK = 1 << 16                     # elements from which threads share
_KEPT = 512
_INT64 = np.dtype(np.int64)
INDEX, BAG_INDEX = codegen.ARRAYS.index("index"), codegen.BAG_ARRAYS.index("index")


def can_take(table) -> bool:
    """Whether rows of this table are copied by the kernel: those of plain numbers in C order."""
    return table.ndim == 2 and table.itemsize in BY_SIZE and table.flags.c_contiguous and table.shape[1] > 1


def can_add(values) -> bool:
    """Whether rows of these values are added by the kernel."""
    return values.dtype in FLOATS_BY_NP and values.size > 0


@functools.lru_cache(_KEPT)
def plan(kind, dtype, count, width, table_rows, clears, threads) -> JobsPlan:
    """Return the plan on (table, index, rows) that copies or adds rows: `kind` is "take" or "add"."""
    size = dtype.itemsize
    kernel = codegen.LookupKernel(host(), BY_SIZE[size] if kind == "take" else FLOATS_BY_NP[dtype])
    symbol = getattr(kernel, kind)
    task = task_of(kernel, symbol)
    shares = count if kind == "take" else -(-width * size // 64)
    chunks = min(threads, shares) if threads > 1 and count * width >= _WORK else 1
    todo = Jobs(threads)
    todo.add(task, codegen.WORDS[len(codegen.ARRAYS) + 2:], chunks=chunks, count=count, width=width, table_rows=table_rows,
             table_row=width * size, row=width * size, clears=clears)
    return todo.plan(0, count * width)


def _run(kind, table, index, rows, clears):
    plan(kind, table.dtype, index.size, table.shape[1], table.shape[0], clears, pool.get_num_threads())(table, index, rows)


def _indices(index):
    return index if index.dtype is _INT64 and index.flags.c_contiguous else np.ascontiguousarray(index, np.int64)


def take(table, index):
    """Return table[index]; every index is in range."""
    out = alloc.empty((*index.shape, table.shape[1]), table.dtype)
    if out.size:
        _run("take", table, _indices(index), out, False)
    return out


def add_rows(values, index, rows):
    """Return the sums of the rows of `values` by index, (rows, width)."""
    table = alloc.empty((rows, values.shape[-1]), values.dtype)
    _run("add", table, _indices(index), copies.dense(values), True)
    return table


def add_into(table, values, index):
    """Add rows of `values` to those of a C-contiguous table."""
    _run("add", table, _indices(index), copies.dense(values), False)


@functools.lru_cache(_KEPT)
def bag_plan(dtype, count, width, bag_count, scaled, threads) -> JobsPlan:
    """Return the plan on (table, index, offsets, sums) of each bag's rows; with scales of the rows before the sums."""
    kernel = codegen.BagKernel(host(), FLOATS_BY_NP[dtype], scaled)
    task, work = task_of(kernel), count * width
    todo = Jobs(threads)
    todo.add(task, codegen.BAG_WORDS, chunks=chunks_for(work, bag_count, threads), items=bag_count, count=count, width=width)
    return todo.plan(0, work)


def bag_sums(table, index, offsets, *scales):
    """Return sums of rows for each bag, scaled or not; offsets and indices are in range."""
    out = alloc.empty((offsets.size, table.shape[1]), table.dtype)
    bag_plan(table.dtype, index.size, table.shape[1], offsets.size, bool(scales), pool.get_num_threads())(
        alloc.dense(table), _indices(index), _indices(offsets), *map(alloc.dense, scales), out)
    return out


_FEW = 1 << 12                      # elements below which numpy copies rows


def embed(weight, index, **params):
    """Return rows of a table, copied by all threads if they are many."""
    embedding.check_kinds(weight, index)
    if index.size * weight.shape[1] < _FEW or not can_take(weight):
        return embedding.embedding.ref(weight, index, **params)
    embedding.check_range("embedding", index, weight.shape[0])
    return take(weight, index)


def row_sums(values, index, *, rows):
    """Return sums of rows, in the order of the indices."""
    if not can_add(values) or not rows or index.min() < 0 or index.max() >= rows:
        return embedding.row_sums.ref(values, index, rows=rows)
    return add_rows(values, index, rows)


def _bag_sums(op):
    def run(weight, index, offsets, *scales):
        embedding.check_kinds(weight, index)
        if weight.dtype not in FLOATS_BY_NP or not weight.size or not index.size or not offsets.size:
            return op.ref(weight, index, offsets, *scales)
        embedding.check_bags(offsets, index.size)
        embedding.check_range("embedding", index, weight.shape[0])
        return bag_sums(weight, index, offsets, *scales)

    return run


INDICES = {dt.int64.np, dt.int32.np, dt.int16.np, dt.int8.np, dt.uint8.np}


@functools.lru_cache(16)
def _as_long(kind):
    """Return the kernel that converts indices to int64, counted from the front."""
    k = KernelBuilder(f"index_{kind.name}")
    k.parallel("i", "n")
    k.input("x", kind, (1,))
    k.input("rows", dt.int64, (0,))
    k.output("y", dt.int64, (1,))
    with k.point():
        x = k.load("x").to(dt.int64)
        k.store(k.fn.where(k.fn.lt(x, 0), x + k.load("rows"), x), "y")
    return k.build()


def index_steps(number: int, index, rows: int, low: int):
    """Return (checks and conversions, the word of int64 indices, scratch bytes) of the operand `number`."""
    kind = dt.BY_NP[index.dtype]
    steps = [check_range(At(number), index.size, kind, low, rows)]
    if low == 0 and kind is dt.int64:
        return steps, At(number), 0
    steps.append(step(_as_long(kind), (At(number), Table([rows]), Scratch()), n=index.size))
    return steps, Scratch(), 8 * index.size


def rows_plan(kind, dtype, index, width, rows, clears):
    """Return the plan that copies or adds rows by the indices of a step."""
    return plan(kind, dtype, index.size, width, rows, clears, pool.get_num_threads())


def taken(operands, results, low):
    """Return the call that copies rows of the first operand by the second into the result."""
    (table, index), (out,) = operands, results
    if index.dtype not in INDICES or out.dtype.itemsize not in BY_SIZE:
        return None
    steps, at, scratch = index_steps(1, index, table.shape[0], low)
    width = table.size // table.shape[0]
    made = rows_plan("take", out.dtype, index, width, table.shape[0], False).native([0, 1, 2])
    steps += [with_index(s, at) for s in made.steps]
    return NativeCall(tuple(steps), scratch)


def with_index(native_step, at, word=INDEX):
    """Return a step of a lookup with its indices at another location."""
    words = list(native_step.words)
    words[word] = at
    return native_step._replace(words=tuple(words))


def _embed_step(node, operands, results):
    return taken(operands, results, 0)


def _row_sums_step(node, operands, results):
    (values, index), (out,) = operands, results
    if index.dtype not in INDICES or out.dtype not in FLOATS_BY_NP:
        return None
    return added(values, 0, index, 1, out, 0, 2, True, [])


def _bag_sums_step(node, operands, results):
    (table, index, offsets, *scales), (out,) = operands, results
    if index.dtype not in INDICES or offsets.dtype != dt.int64.np or out.dtype not in FLOATS_BY_NP or not index.size:
        return None
    steps, at, scratch = index_steps(1, index, table.shape[0], 0)
    checks = [check_range(At(2), 1, dt.int64, 0, 1), check_range(At(2), offsets.size, dt.int64, 0, index.size + 1),
              *check_rising(2, offsets.size, dt.int64)]
    made = bag_plan(out.dtype, index.size, table.shape[1], offsets.size, bool(scales),
                    pool.get_num_threads()).native(list(range(4 + len(scales))))
    return NativeCall((*checks, *steps, *[with_index(s, at, BAG_INDEX) for s in made.steps]), scratch)


def added(values, value_number, index, index_number, out, low, out_number, clears, before):
    """Return the steps that add rows of values into a table by their indices; `before` comes after the check of these."""
    rows = out.shape[0]
    steps, at, scratch = index_steps(index_number, index, rows, low)
    made = rows_plan("add", out.dtype, index, out.size // rows, rows, clears).native(
        [out_number, index_number, value_number])
    return NativeCall((*steps, *before, *[with_index(s, at) for s in made.steps]), scratch)


OPERATORS = {
    embedding.embedding: OperatorKernel(embed, _embed_step),
    embedding.row_sums: OperatorKernel(widened(row_sums), _row_sums_step),
    embedding.bag_sums: OperatorKernel(make=_bag_sums, step=_bag_sums_step),
    embedding.scaled_bag_sums: OperatorKernel(make=_bag_sums, step=_bag_sums_step),
}
