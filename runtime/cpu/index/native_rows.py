"""Rows of tables by index as steps of a native call: looking them up, adding them up."""

import functools
from dataclasses import replace
from math import prod

import numpy as np

from ....ir import dtype as dt
from ....ir.kernel.kernel_builder import KernelBuilder
from ....ir.ops.index import indexing
from ....ir.ops.nn import embedding
from ....ir.ops.nn import pool as pooling
from ..calls import pool
from ..calls.kernel_steps import check_range, check_rising, copy_of, over_first, step
from ..calls.lowering_rules import Operand, native
from ..calls.step_list import At, NativeCall, Scratch, Status, Table
from . import gathers, lookup

_INDICES = {dt.int64.np, dt.int32.np, dt.int16.np, dt.int8.np, dt.uint8.np}


@functools.lru_cache(16)
def _as_long(kind):
    """Integers as int64, counted from the end where they are negative."""
    k = KernelBuilder(f"index_{kind.name}")
    k.parallel("i", "n")
    k.input("x", kind, (1,))
    k.input("rows", dt.int64, (0,))
    k.output("y", dt.int64, (1,))
    with k.point():
        x = k.load("x").to(dt.int64)
        k.store(k.fn.where(k.fn.lt(x, 0), x + k.load("rows"), x), "y")
    return k.build()


def _index_steps(number: int, index, rows: int, low: int):
    """(checks and conversions, the word where int64 indices lie, scratch bytes) of the operand `number`."""
    kind = dt.BY_NP[index.dtype]
    steps = [check_range(At(number), index.size, kind, low, rows)]
    if low == 0 and kind is dt.int64:
        return steps, At(number), 0
    steps.append(step(_as_long(kind), (At(number), Table([rows]), Scratch()), n=index.size))
    return steps, Scratch(), 8 * index.size


def _plan(kind, dtype, index, width, rows, clears):
    return lookup.plan(kind, dtype, index.size, width, rows, clears, pool.get_num_threads())


def _taken(operands, results, low):
    """Copies rows of the first operand by the second into the result."""
    (table, index), (out,) = operands, results
    if index.dtype not in _INDICES or out.dtype.itemsize not in lookup.BY_SIZE:
        return None
    steps, at, scratch = _index_steps(1, index, table.shape[0], low)
    width = table.size // table.shape[0]
    made = _plan("take", out.dtype, index, width, table.shape[0], False).native([0, 1, 2])
    steps += [_with_index(s, at) for s in made.steps]
    return NativeCall(tuple(steps), scratch)


def _with_index(native_step, at, word=lookup.INDEX):
    """A step of a lookup with its indices elsewhere."""
    words = list(native_step.words)
    words[word] = at
    return native_step._replace(words=tuple(words))


@native(embedding.embedding)
def embed(node, operands, results):
    """Rows at indices that are not negative."""
    return _taken(operands, results, 0)


@native(indexing.index)
def index_rows(node, operands, results):
    """Rows by indices of dims that follow each other; negative ones count from the end. Those of the first dim alone are rows
    of a table; others are first made places among all rows."""
    x, *indices = operands
    if len(indices) == 1 and indices[0] is not None:
        return _taken(operands, results, -x.shape[0])
    given = [d for d, i in enumerate(indices) if i is not None]
    if given[-1] - given[0] + 1 != len(given) or results[0].dtype.itemsize not in lookup.BY_SIZE:
        return None
    if not all(indices[d].dtype in _INDICES for d in given):
        return None
    first, last = given[0], given[-1] + 1
    common = np.broadcast_shapes(*[indices[d].shape for d in given])
    shape, rows = (prod(x.shape[:first]), *common), prod(x.shape[:last])
    steps = [check_range(At(1 + d), indices[d].size, dt.BY_NP[indices[d].dtype], -x.shape[d], x.shape[d]) for d in given]
    steps += [_place_step(shape, 1 + d, indices[d], x.shape[d], d == first) for d in given]
    places = Operand((prod(shape),), (8,), dt.int64.np)
    made = _plan("take", results[0].dtype, places, prod(x.shape[last:]), rows, False).native([0, 1, len(operands)])
    return NativeCall((*steps, *[_with_index(s, Scratch()) for s in made.steps]), 8 * places.size)


@functools.lru_cache(64)
def _place(kind, rank: int, is_first: bool):
    """Places along a dim more: those so far times its size, and the index."""
    k = KernelBuilder(f"place_{kind.name}_{rank}_{int(is_first)}")
    for d in range(rank):
        k.parallel(f"d{d}", f"n{d}")
    k.input("x", kind, [f"x{d}" for d in range(rank)])
    k.input("rows", dt.int64, [0] * rank)
    if not is_first:
        k.input("y", dt.int64, [f"y{d}" for d in range(rank)])
    k.output("z", dt.int64, [f"y{d}" for d in range(rank)])
    with k.point():
        x, rows = k.load("x").to(dt.int64), k.load("rows")
        x = k.fn.where(k.fn.lt(x, 0), x + rows, x)
        k.store(k.fn.add(k.fn.mul(k.index("d0") if is_first else k.load("y"), rows), x), "z")
    return k.build()


def _place_step(shape, number: int, index, rows: int, is_first: bool):
    """The step that takes in the indices of a dim; the first dim of `shape` counts what stands before all indices."""
    item, lead = index.dtype.itemsize, len(shape) - len(index.shape)
    strides = [0] * lead + [0 if n == 1 else s // item for n, s in zip(index.shape, index.strides)]
    named = {f"n{d}": n for d, n in enumerate(shape)} | {f"x{d}": s for d, s in enumerate(strides)}
    named |= {f"y{d}": prod(shape[d + 1:]) for d in range(len(shape))}
    read = () if is_first else (Scratch(),)
    kernel = _place(dt.BY_NP[index.dtype], len(shape), is_first)
    return step(kernel, (At(number), Table([rows]), *read, Scratch()), **named)


@native(indexing.gather)
def gather(node, operands, results):
    """Elements along a dim, where shapes differ along it alone."""
    (x, index), dim = operands, node.params["dim"]
    plan = gathers.plan(x.dtype, x.shape, index.dtype, index.shape, dim, pool.get_num_threads())
    if plan is None or index.dtype != dt.int64.np:
        return None
    return NativeCall(tuple(map(_with_status, plan.native([0, 1, 2, None]).steps)))


@native(pooling.plane_take)
def plane_take(node, operands, results):
    """The same of planes, each of which is a row."""
    (planes, size), (_, count) = [(prod(v.shape[:2]), prod(v.shape[2:])) for v in operands]
    x, index = operands
    plan = gathers.plan(x.dtype, (planes, size), index.dtype, (planes, count), 1, pool.get_num_threads())
    if plan is None or index.dtype != dt.int64.np:
        return None
    return NativeCall(tuple(map(_with_status, plan.native([0, 1, 2, None]).steps)))


def _with_status(native_step):
    """A step whose fourth array is what it sets when an index is out of range."""
    return native_step._replace(words=(*native_step.words[:3], Status(), *native_step.words[4:]))


@native(indexing.scatter, indexing.scatter_reduce)
def scatter(node, operands, results):
    """Elements along a dim, put in a copy or combined with what is there."""
    (x, index, src), (out,), dim, how = operands, results, node.params["dim"], node.params["mode"]
    takes = gathers.can_scatter(x.dtype, how) and index.dtype == dt.int64.np
    if not takes or src.shape != index.shape or not gathers.fits(x.shape, index.shape, dim):
        return None
    check = check_range(At(1), index.size, dt.int64, 0, x.shape[dim])
    made = gathers.scatter_plan(x.dtype, how, x.shape, index.shape, dim, pool.get_num_threads()).native([3, 1, 2, None])
    return NativeCall((check, copy_of(x, 0, out, 3), *map(_with_status, made.steps)), over=over_first(x, out, 3))


@native(embedding.row_sums)
def row_sums(node, operands, results):
    """Sums in the order of the indices."""
    (values, index), (out,) = operands, results
    if index.dtype not in _INDICES or out.dtype not in lookup.ADDABLE:
        return None
    return _added(values, 0, index, 1, out, 0, 2, True, [])


@native(embedding.bag_sums)
@native(embedding.scaled_bag_sums)
def bag_sums(node, operands, results):
    """Sums of a table's rows for each bag, without the rows in between."""
    (table, index, offsets, *scales), (out,) = operands, results
    if index.dtype not in _INDICES or offsets.dtype != dt.int64.np or out.dtype not in lookup.ADDABLE or not index.size:
        return None
    steps, at, scratch = _index_steps(1, index, table.shape[0], 0)
    bags = [check_range(At(2), 1, dt.int64, 0, 1), check_range(At(2), offsets.size, dt.int64, 0, index.size + 1),
            *check_rising(2, offsets.size, dt.int64)]
    made = lookup.bag_plan(out.dtype, index.size, table.shape[1], offsets.size, bool(scales),
                           pool.get_num_threads()).native(list(range(4 + len(scales))))
    return NativeCall((*bags, *steps, *[_with_index(s, at, lookup.BAG_INDEX) for s in made.steps]), scratch)


@native(indexing.in_range)
def in_range(node, operands, results):
    """A check, and a copy, where one is needed."""
    (index,), (out,) = operands, results
    if index.dtype not in _INDICES:
        return None
    check = check_range(At(0), index.size, dt.BY_NP[index.dtype], node.params["low"], node.params["high"])
    return NativeCall((check, copy_of(index, 0, out, 1)), over=over_first(index, out, 1))


@native(indexing.index_put)
def index_put(node, operands, results):
    """Slices put, or added, by the indices of one dim."""
    x, values, *indices = operands
    (out,), given = results, [d for d, i in enumerate(indices) if i is not None]
    if len(given) != 1 or indices[given[0]].dtype not in _INDICES:
        return None
    dim, = given
    index, number, before = indices[dim], 2 + dim, [copy_of(x, 0, out, len(operands))]
    if node.params["accumulate"] and not dim and len(x.shape) > 1 and out.dtype in lookup.ADDABLE:
        made = _added(values, 1, index, number, out, -x.shape[0], len(operands), False, before)
    else:
        made = _put_along(node.params["accumulate"], x, dim, index, number, len(operands), before)
    return None if made is None else replace(made, over=over_first(x, out, len(operands)))


def _put_along(adds, x, dim, index, number, result, before):
    """Slices along a dim by a vector of indices, which may count from the end."""
    how = "add" if adds else "set"
    if not gathers.can_scatter(x.dtype, how):
        return None
    steps, at, scratch = _index_steps(number, index, x.shape[dim], -x.shape[dim])
    wanted = (*x.shape[:dim], index.size, *x.shape[dim + 1:])
    made = gathers.scatter_plan(x.dtype, how, x.shape, wanted, dim, pool.get_num_threads(), (0, 1, 0))
    puts = [_with_status(s) for s in made.native([result, number, 1, None]).steps]
    return NativeCall((*steps, *before, *[_with_index(s, at, 1) for s in puts]), scratch)


def _added(values, value_number, index, index_number, out, low, out_number, clears, before):
    rows = out.shape[0]
    steps, at, scratch = _index_steps(index_number, index, rows, low)
    made = _plan("add", out.dtype, index, out.size // rows, rows, clears).native(
        [out_number, index_number, value_number])
    return NativeCall((*steps, *before, *[_with_index(s, at) for s in made.steps]), scratch)
