"""Operators on device arrays that write over one of their operands, and writes of values into arrays.

A function of elements is a graph of one node, as in `eager.py`, whose result lies where an operand does; an update has code of
its own. Several that are asked for at once are one list of launches (`launch_cache.py`).
"""

import functools
from typing import NamedTuple

from ....ir.opdef.op import Op
from ...core.device_array import DeviceArray
from ..compiler import copies
from ..replay import launch_cache, shape_families
from .eager import INTO, common_device, plan_inputs, planned


class InPlace(NamedTuple):
    """An operator that writes over one of its inputs."""

    op: Op
    where: int


class InPlaceEach(NamedTuple):
    """Operators that each overwrite their first input, in a row: (operator, its number of inputs)."""

    each: tuple


_in_place = functools.lru_cache(None)(InPlace)


def overwrite(op: Op, out: DeviceArray, inputs, params) -> bool:
    """Write an elementwise function, or an update, into its input `out`; return False, with nothing done, if impossible."""
    work = _updated if "updates" in op.traits else _worked_into if op.is_pointwise else None
    if work is None or not out.is_contiguous:
        return False
    memory, where = out.memory, None
    for i, x in enumerate(inputs):
        if x is out:
            where = i if where is None else where
        elif x.__class__ is DeviceArray and x.memory is memory:
            return False
    if where is None:
        return False
    device = common_device(op, inputs)
    return launch_cache.run(_in_place(op, where), inputs, params, device, work, pure=False) is not NotImplemented


def overwrite_each(rows) -> bool:
    """Run elementwise functions (op, inputs) that each overwrite their first input, in order; False if any is impossible."""
    inputs, each = [], []
    for op, operands in rows:
        out = operands[0]
        if not op.is_pointwise or not out.is_contiguous:
            return False
        for x in operands:
            if x.__class__ is DeviceArray and x is not out and x.memory is out.memory:
                return False
        each.append((op, len(operands)))
        inputs += operands
    device = common_device(rows[0][0], inputs)
    return launch_cache.run(InPlaceEach(tuple(each)), inputs, {}, device, _worked_into_each, pure=False) is not NotImplemented


def _worked_into(over: InPlace, inputs, params, device):
    plan = _plan_over(over, inputs, params)
    return NotImplemented if plan is None else _run_over(plan, inputs)


def _worked_into_each(over: InPlaceEach, inputs, params, device):
    """Return the overwritten inputs, or NotImplemented before any is."""
    plans, at = [], 0
    for op, count in over.each:
        operands = inputs[at:at + count]
        plan = _plan_over(_in_place(op, 0), operands, params)
        if plan is None:
            return NotImplemented
        plans.append((plan, operands))
        at += count
    return tuple([_run_over(plan, operands) for plan, operands in plans])


def _plan_over(over: InPlace, inputs, params):
    """Return (a graph that overwrites an input, its numbers, the inputs that it takes), or None."""
    kind = shape_families.kind_of(over, inputs, params)
    plan = shape_families.cached_plan(kind, lambda sizes: planned(over.op, inputs, params, sizes, over.where))
    if type(plan) is not tuple or plan[0] is None or not plan[0].in_place:
        return None
    graph, taken, _ = plan
    return graph, kind.numbers, taken


def _run_over(plan, inputs):
    graph, numbers, taken = plan
    return graph.at(numbers).run(plan_inputs(inputs, taken))[0]


def _updated(over: InPlace, inputs, params, device):
    own, out = INTO.get(over.op), inputs[over.where]
    return NotImplemented if own is None or over.where else own(inputs, params, device, (out,))


def write(dst, src):
    """Write `src` (an array anywhere, or a number) into `dst` in place, cast and broadcast."""
    if isinstance(dst, DeviceArray):
        launch_cache.run(write, (dst, src), {}, dst.device, _written, pure=False)
    else:
        copies.write(dst, src)


def _written(call, inputs, params, device):
    copies.write(*inputs)
    return inputs[0]
