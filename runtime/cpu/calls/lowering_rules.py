"""Operators that are native code in a compiled graph, so that a whole graph is one native call.

    @native(linalg.matmul, reads=STRIDED)
    def matmul(node, operands, results):            # for concrete shapes: a NativeCall, or None where Python must call

A maker gets the node and where its inputs and results lie (`Operand`; None and numbers as they are). The words of its steps
name operands by number: the node's inputs first, in order, then its results, which are in C order. Makers are in `native_*.py`;
they describe the very kernels that eager code runs.
"""

import math
from typing import NamedTuple

import numpy as np

from ....ir.graph.graph import Node, Value
from ....passes.layout.plain_operands import PLAIN, pattern_of
from ....passes.schedule.plan_steps import Call, Product
from .step_list import NativeCall

_MAKERS: dict = {}      # op -> (maker, how it reads)


class Operand(NamedTuple):
    """An array of a native step: strides are in bytes."""

    shape: tuple
    strides: tuple
    dtype: np.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


class Prepared(NamedTuple):
    """A native call of a step of a plan: `given` are its inputs (operands, None, numbers), `operands` where inputs and results
    lie, as (value behind views, bytes from its start), with None for what is no array. `over` has pairs of them: a result, and
    what it may be written over, since it fills that."""

    call: NativeCall
    given: tuple
    operands: tuple
    over: tuple

    @property
    def over_values(self) -> dict:
        """{result: the value in whose memory it may be written}"""
        return {self.operands[result][0]: self.operands[operand][0] for result, operand in self.over}

    def at(self, values) -> "Prepared":
        """The same call on other values."""
        return self._replace(operands=tuple([(v, offset) for v, (_, offset) in zip(values, self.operands, strict=True)]))


def native(*ops, reads: str = PLAIN):
    """Marks the maker of the native call of some operators."""

    def mark(maker):
        _MAKERS.update(dict.fromkeys(ops, (maker, reads)))
        return maker

    return mark


def reads(node: Node):
    """How the native code of a node reads its operands; None where it has none."""
    found = _MAKERS.get(node.op)
    if found is None or not node.outputs[0].aval.size or any(type(x) is Value and not x.aval.size for x in node.inputs):
        return None
    return found[1]


def prepare(step: Call | Product) -> Prepared | None:
    """The native call of a step, if there is one."""
    node = step.node
    if reads(node) is None:
        return None
    found = [_operand(x) if type(x) is Value else (x, (None, 0)) for x in node.inputs]
    if None in found:
        return None
    given = tuple([operand for operand, _ in found])
    places, results = [place for _, place in found], [_plain(v) for v in node.outputs]
    maker = _MAKERS[node.op][0]
    if type(step) is Product:
        epilogue = step.epilogue
        made = maker(node, given, results, epilogue)
        places += [(epilogue.result, 0), *[(v, offset * v.dtype.itemsize) for v, offset, *_ in epilogue.operands]]
    else:
        made = maker(node, given, results)
        places += [(v, 0) for v in node.outputs]
    return None if made is None else Prepared(made, given, tuple(places), tuple([p for p in made.over if _fills(places, *p)]))


def _fills(places, result, operand) -> bool:
    """Whether a result has all of the memory of an operand."""
    (value, _), (read, start) = places[result], places[operand]
    return start == 0 and read.dtype == value.dtype and read.aval.size == value.aval.size


def _operand(value: Value):
    """(operand, (value behind the views, bytes from its start)) of what a node reads."""
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


