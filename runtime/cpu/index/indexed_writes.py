"""Indexed writes: `scatter`, `index_put` and `assign_view`, as new arrays, as steps, and in place.

In place they are writers (`graph/inplace_kernels.py`). They take the array both as target and as the operator's first operand,
check indices before anything is written, and decline operands that share its memory, or sums in a wider type.
"""

import math
from dataclasses import replace

import numpy as np

from ....ir import dtype as dt
from ....ir.opdef.op import OPS, Op
from ....ir.ops.core import shape
from ....ir.ops.core.elementwise_rules import wide
from ....ir.ops.index import assign, indexing
from ....passes.codegen.llvm.ir.types import FLOATS_BY_NP, NUMBERS_BY_NP
from ....passes.layout.plain_operands import STRIDED
from ....passes.rewrite.strided import row_major, through
from ..calls import pool
from ..calls.kernel_steps import check_range, copy_of, move, over_first
from ..calls.operator_kernel import OperatorKernel
from ..calls.step_list import At, NativeCall
from ..loops import copies, kernels
from ..loops.kernels import LOW
from . import gathers, lookup

_FEW_ADDED = 64     # elements below which the reference is quicker


def _is_along(x, value, indices) -> bool:
    """Whether one vector of indices says all."""
    dims = [d for d, i in enumerate(indices) if i is not None]
    return (x.size > 0 and len(dims) == 1 and indices[dims[0]].ndim == 1
            and value.shape[dims[0]] == indices[dims[0]].size)


def add_into(table, value, indices) -> bool:
    """Add a value to an array in C order at index arrays; return False if this is not done in place."""
    if table.dtype not in NUMBERS_BY_NP:
        return False
    if not _is_along(table, value, indices):
        if any(i is None for i in indices):
            return False
        indexing.add_to(table, value, indices, _add_rows)
        return True
    dim = next(d for d, i in enumerate(indices) if i is not None)
    index = gathers.from_the_front(indices[dim], table.shape[dim])
    if index is None:
        indexing.require_ranges("index_put", table, indices)
    elif lookup.can_add(table) and not dim and table.ndim > 1:
        lookup.add_into(table.reshape(len(table), -1), value.reshape(index.size, -1), index)
    else:
        spread = np.broadcast_to(index.reshape(-1, *(1,) * (table.ndim - 1 - dim)), value.shape)
        gathers.scatter_into(table, spread, value, dim=dim, how="add")
    return True


def _add_rows(table, rows, values):
    if table.shape[1] > 1 and lookup.can_add(values):
        lookup.add_into(table, values, rows)
    elif table.shape[1] == 1:
        gathers.scatter_into(table[:, 0], rows, values[:, 0], dim=0, how="add")
    else:
        indexing.add_rows(table, rows, values)


def scatter(op: Op):
    """Return the eager scatter: all indices in one sweep, in order; float16 and bfloat16 are combined in float32."""

    def run(x, index, src, *, dim, mode):
        kind, wide = x.dtype, x
        if mode != "set" and kind in LOW and src.dtype == kind:
            wide, src = kernels.converted(x, np.float32), kernels.converted(src, np.float32)
        fits = (gathers.can_gather(wide.dtype, x.shape, index.dtype, index.shape, dim) and src.shape == index.shape
                and gathers.can_scatter(wide.dtype, mode))
        found = gathers.scatter(wide, index, src, dim=dim, how=mode) if fits else None
        return op.ref(x, index, src, dim=dim, mode=mode) if found is None else kernels.converted(found, kind)

    return run


def index_put(x, value, *indices, accumulate):
    """Add by index arrays, in the order of the indices; the reference does everything else."""
    if not accumulate or x.dtype not in NUMBERS_BY_NP or value.size < _FEW_ADDED:
        return indexing.index_put.ref(x, value, *indices, accumulate=accumulate)
    if not _is_along(x, value, indices):
        return indexing.accumulated(x, value, indices, _add_rows)
    table = copies.in_rows(x)
    add_into(table, value, indices)
    return table


def _takes(out, x, *others) -> bool:
    """Whether a writer writes over its first operand, and no other operand shares its memory."""
    return x is out and out.ndim > 0 and out.flags.carray and not any(
        [a is not None and np.may_share_memory(a, out) for a in others])  # noqa: C419


def _sums_as_it_is(out) -> bool:
    return wide(out[:0]).dtype == out.dtype


def scatter_writer(op: Op):
    """Return the writer that puts elements along a dim, or combines them with those there."""

    def write(out, x, index, src, *, dim, mode) -> bool:
        if not _takes(out, x, index, src) or (mode != "set" and not _sums_as_it_is(out)):
            return False
        indexing.require_range("scatter", index, out.shape[dim], dim)
        if gathers.can_gather(out.dtype, out.shape, index.dtype, index.shape, dim) \
                and src.shape == index.shape and gathers.can_scatter(out.dtype, mode):
            gathers.scatter_into(out, index, src, dim=dim, how=mode)
        elif index.size:
            indexing.put_along(out, index, src, dim, mode)
        return True

    return write


def index_put_writer(op: Op):
    """Return the writer that puts or adds elements at index arrays."""

    def write(out, x, value, *indices, accumulate) -> bool:
        if not _takes(out, x, value, *indices) or (accumulate and not _sums_as_it_is(out)):
            return False
        if not accumulate:
            try:
                out[indexing.key_of(indices)] = value
            except IndexError:
                indexing.require_ranges("index_put", out, indices)
                raise
        elif value.size >= _FEW_ADDED:
            return add_into(out, value, indices)
        else:
            indexing.require_ranges("index_put", out, indices)
            ufunc = np.logical_or if out.dtype == np.bool_ else np.add
            ufunc.at(out, indexing.key_of(indices), value)
        return True

    return write


def assign_writer(op: Op):
    """Return the writer of the part that views select, if they are views in memory."""

    def write(out, base, value, *, chain) -> bool:
        if not _takes(out, base):
            return False
        part = out
        for name, params in chain:
            part = OPS[name].ref(part, **dict(params))
        if part.size and not np.may_share_memory(part, out):
            return False
        part.setflags(write=True)
        part[...] = value
        return True

    return write


def _scatter_step(node, operands, results):
    (x, index, src), (out,), dim, how = operands, results, node.params["dim"], node.params["mode"]
    takes = gathers.can_scatter(x.dtype, how) and index.dtype == dt.int64.np
    if not takes or src.shape != index.shape or not gathers.fits(x.shape, index.shape, dim):
        return None
    check = check_range(At(1), index.size, dt.int64, 0, x.shape[dim])
    made = gathers.scatter_plan(x.dtype, how, x.shape, index.shape, dim, pool.get_num_threads()).native([3, 1, 2, None])
    return NativeCall((check, copy_of(x, 0, out, 3), *map(gathers.with_status, made.steps)), over=over_first(x, out, 3))


def _index_put_step(node, operands, results):
    """Put slices, or add them, by the indices of one dim."""
    x, values, *indices = operands
    (out,), given = results, [d for d, i in enumerate(indices) if i is not None]
    if len(given) != 1 or indices[given[0]].dtype not in lookup.INDICES:
        return None
    dim, = given
    index, number, before = indices[dim], 2 + dim, [copy_of(x, 0, out, len(operands))]
    if node.params["accumulate"] and not dim and len(x.shape) > 1 and out.dtype in FLOATS_BY_NP:
        made = lookup.added(values, 1, index, number, out, -x.shape[0], len(operands), False, before)
    else:
        made = _put_along(node.params["accumulate"], x, dim, index, number, len(operands), before)
    return None if made is None else replace(made, over=over_first(x, out, len(operands)))


def _put_along(adds, x, dim, index, number, result, before):
    """Return steps that put slices along a dim by a vector of indices, which may count from the end."""
    how = "add" if adds else "set"
    if not gathers.can_scatter(x.dtype, how):
        return None
    steps, at, scratch = lookup.index_steps(number, index, x.shape[dim], -x.shape[dim])
    wanted = (*x.shape[:dim], index.size, *x.shape[dim + 1:])
    made = gathers.scatter_plan(x.dtype, how, x.shape, wanted, dim, pool.get_num_threads(), (0, 1, 0))
    puts = [gathers.with_status(s) for s in made.native([result, number, 1, None]).steps]
    return NativeCall((*steps, *before, *[lookup.with_index(s, at, 1) for s in puts]), scratch)


def _assign_view_step(node, operands, results):
    """Copy the base, unless the result is in its memory, then the part that is written."""
    (base, value), (out,) = operands, results
    part = row_major(out.shape)
    for name, params in node.params["chain"]:
        seen = None if OPS[name] in _OVERLAPPING else through(part, OPS[name], dict(params))
        if seen is None:
            return None
        part = seen
    if value.dtype != out.dtype:
        return None
    item, lead = out.dtype.itemsize, len(part.shape) - len(value.shape)
    steps = [copy_of(base, 0, out, 2)]
    if math.prod(part.shape):
        strides = [0] * lead + [0 if n == 1 else s for n, s in zip(value.shape, value.strides)]
        steps.append(move(part.shape, item, At(1), strides, At(2, part.offset * item), [s * item for s in part.strides]))
    return NativeCall(tuple(steps), over=over_first(base, out, 2))


_OVERLAPPING = frozenset((shape.expand, shape.unfold, shape.as_strided))


OPERATORS = {
    indexing.scatter: OperatorKernel(make=scatter, step=_scatter_step, write=scatter_writer),
    indexing.scatter_reduce: OperatorKernel(make=scatter, step=_scatter_step, write=scatter_writer),
    indexing.index_put: OperatorKernel(index_put, _index_put_step, write=index_put_writer),
    assign.assign_view: OperatorKernel(step=_assign_view_step, reads=STRIDED, write=assign_writer),
}
