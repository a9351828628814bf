"""Steps of plans as native calls, so that a whole graph is one native call.

`prepare` plans a step with the kernel of its operator (`OperatorKernel.step`), for the shapes and strides of its operands.
"""

from typing import Any, NamedTuple, cast

from ....ir.graph.graph import Node, Value
from ....passes.layout.plain_operands import pattern_of
from ....passes.schedule.plan_steps import Call, Product
from ..calls.operator_kernel import Operand, OperatorKernel
from ..calls.step_list import NativeCall
from .families import find


class Prepared(NamedTuple):
    """A native call of a step of a plan.

    given     its inputs: operands, None, numbers
    operands  locations of inputs and results: (value behind views, bytes from its start), or None for what is no array
    over      (result, operand) pairs: the result may be written over the operand, whose memory it fills
    """

    call: NativeCall
    given: tuple
    operands: tuple
    over: tuple

    @property
    def over_values(self) -> dict:
        """{result: value in whose memory it may be written}"""
        return {self.operands[result][0]: self.operands[operand][0] for result, operand in self.over}

    def at(self, values) -> "Prepared":
        """Return the same call on other values."""
        return self._replace(operands=tuple([(v, offset) for v, (_, offset) in zip(values, self.operands, strict=True)]))


def reads(node: Node):
    """Return how the native code of a node reads its operands; None if it has no native code."""
    kernel = find(node.op)
    if kernel is None or kernel.step is None:
        return None
    if not node.outputs[0].aval.size or any(type(x) is Value and not x.aval.size for x in node.inputs):
        return None
    return kernel.reads


def prepare(step: Call | Product) -> Prepared | None:
    """Return the native call of a step, if there is one."""
    node = step.node
    if reads(node) is None:
        return None
    found = [_operand(x) if type(x) is Value else (x, (None, 0)) for x in node.inputs]
    if None in found:
        return None
    given = tuple([operand for operand, _ in found])
    locations, results = [location for _, location in found], [_plain(v) for v in node.outputs]
    plan: Any = cast(OperatorKernel, find(node.op)).step
    if type(step) is Product:
        epilogue = step.epilogue
        call = plan(node, given, results, epilogue)
        locations += [(epilogue.result, 0), *[(v, offset * v.dtype.itemsize) for v, offset, *_ in epilogue.operands]]
    else:
        call = plan(node, given, results)
        locations += [(v, 0) for v in node.outputs]
    if call is None:
        return None
    return Prepared(call, given, tuple(locations), tuple([p for p in call.over if _fills(locations, *p)]))


def _fills(locations, result, operand) -> bool:
    (value, _), (read, start) = locations[result], locations[operand]
    return start == 0 and read.dtype == value.dtype and read.aval.size == value.aval.size


def _operand(value: Value):
    """Return (operand, (value behind the views, bytes from its start)) of an input; None without such strides."""
    found = pattern_of(value)
    if found is None:
        return None
    source, pattern = found
    item = value.dtype.itemsize
    return Operand(value.shape, tuple([s * item for s in pattern.strides]), value.dtype.np), (source, pattern.offset * item)


def _plain(value: Value) -> Operand:
    item, strides = value.dtype.itemsize, []
    for n in reversed(value.shape):
        strides.insert(0, item)
        item *= n
    return Operand(value.shape, tuple(strides), value.dtype.np)
