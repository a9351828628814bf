"""Resampling and borders: linear maps along one dim after the other."""

import functools
from math import prod

from ....ir.ops.nn import linear_maps
from ....ir.ops.nn import resample as ops
from ..calls import pool
from ..calls.kernel_steps import move, words_of
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import StepBuilder, wide
from ..calls.step_list import At, NativeCall, Table
from ..loops import linear_maps as linear_map_plans

_CALLS = 128                # calls of a kind that take about as long as compiling them
_MANY_MOVED = 1 << 15       # elements from which overhead between the steps is negligible
_MANY_PADDED = 1 << 13      # elements from which copying once and filling borders pays


def compiled_after(x) -> int | None:
    """Return after how many calls of one kind an operator is compiled as a graph."""
    return _CALLS if x.size < _MANY_MOVED else None


def pad_border(x, *, low, high, mode):
    """Copy a large array once, then fill its borders."""
    if x.size < _MANY_PADDED or min(*low, *high) < 0 or not linear_map_plans.are_few(mode, x.shape, low, high):
        return ops.border_pad.ref(x, low=low, high=high, mode=mode, along=linear_map_plans.apply)
    return linear_map_plans.bordered(x, low, high, mode)


def _along_dims(op):
    """Return the reference with generated maps along each dim."""
    return functools.partial(op.ref, along=linear_map_plans.apply)


def _mapped_step(tables_of):
    """Return the step of an operator that maps by tables."""
    return lambda node, operands, results: _mapped(tables_of(*operands, **node.params), operands, results)


def _mapped(tables, operands, results):
    """Plan the maps of tables, one dim after the other, those that shrink most first."""
    (x,), (out,) = operands, results
    weighted = any(w is not None for _, w in tables.values())
    kind = wide(x.dtype) if weighted else x.dtype
    if not linear_map_plans.takes(kind, weighted):
        return None
    axes, made, shape = linear_maps.in_order(tables, x.shape), StepBuilder(), x.shape
    if not axes:
        return NativeCall((move(x.shape, x.dtype.itemsize, At(0), x.strides, At(1), out.strides),))
    at, end = (made.read(0, x), made.write(1, out)) if weighted else (At(0), At(1))
    for axis in axes:
        sources, adjacent, weights = linear_map_plans.prepared(tables[axis][0], tables[axis][1], kind)
        count = sources.shape[1]
        plan = linear_map_plans.plan(kind, weights is not None, shape, axis, count, len(sources), pool.get_num_threads())
        shape = (*shape[:axis], count, *shape[axis + 1:])
        to = end if axis == axes[-1] else made.room(prod(shape), kind)
        factors = at if weights is None else Table(words_of(weights))
        made.steps += plan.native([at, Table(sources), Table(adjacent), factors, to]).steps
        at = to
    return made.call()


def _border_pad_step(node, operands, results):
    """Copy the inside, then fill the borders: one dim after the other, the last one first, each with the borders of those
    before. Negative borders, which cut, go by maps, and so do borders of many runs."""
    (x,), (out,) = operands, results
    low, high, mode = (node.params[name] for name in ("low", "high", "mode"))
    if min(*low, *high) < 0 or not linear_map_plans.are_few(mode, x.shape, low, high):
        return _mapped(ops.border_pad_tables(x, low=low, high=high, mode=mode), operands, results)
    item, part = out.dtype.itemsize, [slice(lo, lo + n) for n, lo in zip(x.shape, low)]
    steps = [move(x.shape, item, At(0), x.strides, At(1, _start(part, out)), out.strides)]
    for axis in range(len(x.shape) - 1, -1, -1):
        for goal, start, step, count in linear_map_plans.border_runs(mode, x.shape[axis], low[axis], high[axis]):
            sizes = [s.stop - s.start for s in part]
            sizes[axis] = count
            source, target = list(part), list(part)
            source[axis], target[axis] = slice(start, None), slice(goal, None)
            steps.append(move(sizes, item, At(1, _start(source, out)),
                              [s * step if d == axis else s for d, s in enumerate(out.strides)],
                              At(1, _start(target, out)), out.strides))
        part[axis] = slice(0, out.shape[axis])
    return NativeCall(tuple(steps))


def _start(part, array) -> int:
    return sum(s.start * stride for s, stride in zip(part, array.strides))


OPERATORS = {
    ops.border_pad: OperatorKernel(pad_border, _border_pad_step, compiled=compiled_after),
    ops.border_pad_grad: OperatorKernel(make=_along_dims, step=_mapped_step(ops.border_grad_tables), compiled=compiled_after),
    ops.resample: OperatorKernel(make=_along_dims, step=_mapped_step(ops.resample_tables), compiled=compiled_after),
    ops.resample_grad: OperatorKernel(make=_along_dims, step=_mapped_step(ops.resample_grad_tables), compiled=compiled_after),
}
