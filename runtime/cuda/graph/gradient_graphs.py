"""Gradient rules of an operator as one graph, for eager mode: one kernel for elementwise functions."""

from typing import NamedTuple

from ....ir import dtype as dt
from ....ir.errors import IngotError
from ....ir.graph.graph import Builder
from ....ir.opdef.aval import Aval
from ....ir.opdef.op import Op
from ....passes.rewrite import pass_manager
from ....passes.rewrite.kernel_body import LOW
from ...autograd.gradient_rules import write_joint_rule, write_rules
from ...core.device_array import DeviceArray
from ..replay import launch_cache, shape_families
from . import eager
from .program import DeviceGraph

_NUMBERS = (float, int)
_plain: set = set()         # (operator, goals) whose rules are only single operators


class RulesCall(NamedTuple):
    """Rules of an operator that run together."""

    op: Op
    goals: tuple


def gradients(op: Op, goals: tuple, args, params) -> tuple | None:
    """Return the wanted gradients from the gradient, the result and the arguments; None if rules run one by one.

    `goals` are those of `write_rules`, or for a joint rule flags of needed gradients.
    """
    if (op, goals) in _plain:
        return None
    low = dt.from_numpy(args[0].dtype) in LOW
    for a in args:
        if a.__class__ is DeviceArray:
            if a.dtype.kind == "c" or 0 in a.shape:
                return None
        elif a.__class__ in _NUMBERS:
            if low:                 # which numbers are rounded to at each operator
                return None
        elif not (a is None or a.__class__ is bool or a.__class__ is Aval):
            return None
    device = eager.common_device(op, args)
    found = launch_cache.run(RulesCall(op, goals), args, params, device, _worked_out)
    return None if found is NotImplemented else found


def _worked_out(call: RulesCall, args, params, device):
    kind = shape_families.kind_of(call, args, params)
    graph = shape_families.cached_plan(kind, lambda sizes: _graph(call, args, params, sizes))
    if graph is None:
        return NotImplemented
    return tuple(graph.at(kind.numbers).run([eager.as_stored(x) for x in args if _is_read(x)]))


def _is_read(x) -> bool:
    """Return whether a rule reads the values of an argument; otherwise its aval is enough."""
    return x.__class__ is DeviceArray or x.__class__ in _NUMBERS


def _graph(call, args, params, sizes) -> DeviceGraph | None:
    """Return the graph of the rules; None if there can be none, or it is not worth it."""
    b, kind = Builder(f"eager_{call.op.name}_rules"), dt.from_numpy(args[0].dtype)
    operands = [sizes.of_aval(x) if not _is_read(x) else eager.stored(b, f"x{i}", x, sizes) if x.__class__ is DeviceArray
                else b.input(f"x{i}", Aval((), kind)) for i, x in enumerate(args)]
    write = write_rules if type(call.op.vjp) is tuple else write_joint_rule
    try:
        outs = write(b, call.op, call.goals, operands, sizes.of_params(params))
    except IngotError:
        _plain.add((call.op, call.goals))
        return None
    graph = pass_manager.run(b.finish(outs), eager.PASSES)
    numbers = frozenset([n for n, x in enumerate(filter(_is_read, args)) if x.__class__ in _NUMBERS])
    return DeviceGraph(graph, eager.run_into, frozenset(range(len(outs))), numbers, names=sizes.symbols)
