"""A recorded function as a list of operations to write; numbers that depend on dynamic dims are symbolic."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ....ir.dtype import DType
from ....ir.graph.graph import Graph, Node, Value
from ....ir.opdef.op import Composite, Op
from ....ir.process_state import ignore_float_errors
from ....ir.symbols.substitute import owned_by, replaced
from ....passes.rewrite.rewrite import rebuild
from ....passes.simplify.dce import dce
from ....passes.simplify.decompose import expand_body
from ....runtime.core.tensor import Tensor, wrap
from .size_formulas import Sizes

_NEARER, _GOLDEN = 0.25, 0.6180339887498949


@dataclass(frozen=True, eq=False)
class Ref:
    """A value with its number, and a type whose sizes may be symbolic."""

    number: int
    shape: tuple
    dtype: DType

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, eq=False)
class Item:
    """One operation: a record, its operands (refs, numbers or None), its parameters and its results."""

    op: Op
    inputs: tuple
    params: dict
    outputs: tuple
    line: tuple | None
    node: Node           # as recorded


@dataclass
class Recorded:
    """A function as operations: its arguments, the captured arrays by name, and its results."""

    arguments: list      # refs
    captured: list       # (ref, name, array)
    items: list
    outputs: list


def expanded(graph: Graph, claims: Callable) -> Graph:
    """Return a graph without dead nodes, in which every remaining composite is claimed."""
    def visit(b, node, operands):
        if type(node.op.lower) is not Composite or claims(node):
            return None
        return expand_body(b, node, operands, claims.ops - {node.op})  # type: ignore[attr-defined]

    graph = dce(graph)
    while True:
        after = rebuild(graph, visit)
        if after is graph:
            return graph
        graph = after


def recorded(graph: Graph, weights: dict, count: int, sizes: Sizes | None) -> Recorded:
    """Return the program of a graph whose inputs are `count` arguments and then the weights.

    Its symbolic numbers become those of `sizes`.
    """
    def own(x):
        return x if sizes is None else replaced(x, lambda n: owned_by(sizes, n))

    refs = {v: Ref(i, own(tuple(v.shape)), v.dtype) for i, v in enumerate(graph.values())}
    items = []
    for node in graph.nodes:
        inputs = tuple([refs[x] if type(x) is Value else own(x) for x in node.inputs])
        params = {k: own(x) for k, x in node.params.items()}
        items.append(Item(node.op, inputs, params, tuple([refs[v] for v in node.outputs]), node.line, node))
    given = [refs[v] for v in graph.inputs]
    captured = [(ref, name, t._a) for ref, (name, t) in zip(given[count:], weights.items())]
    return Recorded(given[:count], captured, items, [refs[v] for v in graph.outputs])


@ignore_float_errors
def resized(t: Tensor, sizes: dict) -> Tensor:
    """Return a tensor whose elements are repeated or cut to other sizes.

    Repeated floats move a bit towards the next ones, because the order among equal ones would be arbitrary.
    """
    if not sizes:
        return t
    a = t._a
    for axis, n in sizes.items():
        count, positions = max(1, a.shape[axis]), np.arange(n)
        made = np.take(a, positions % count, axis=axis)
        if a.dtype.kind == "f" and n > count > 1:
            way = np.where(positions < count, 0, _NEARER * (positions * _GOLDEN % 1))
            way = way.reshape([-1 if d == axis else 1 for d in range(a.ndim)])
            mixed = made + way * (np.take(a, (positions + 1) % count, axis=axis) - made)
            made = np.where(np.isfinite(mixed), mixed, made).astype(a.dtype)
        a = made
    return wrap(np.ascontiguousarray(a))
