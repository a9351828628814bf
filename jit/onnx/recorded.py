"""A function as operations to be written: recorded at one size of its inputs, or at several where dimensions are free.

The recordings are laid on top of each other: the operations must be the same, numbers that differ are `Varying`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...ir.dtype import DType
from ...ir.graph import Graph, Node, Value
from ...ir.op import Composite, Op
from ...passes.dce import dce
from ...passes.decompose import expand_body
from ...passes.rewrite import rebuild
from ...runtime.tensor import Tensor, wrap
from ..errors import ExportError, at
from .sizes import varying


@dataclass(frozen=True, eq=False)
class Ref:
    """A value: where it comes from in order, and its type; sizes may vary."""

    number: int
    shape: tuple
    dtype: DType

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)


@dataclass(frozen=True, eq=False)
class Item:
    """One operation: a record, its operands (refs, numbers or None), its parameters and its results."""

    op: Op
    inputs: tuple
    params: dict
    outputs: tuple
    line: tuple | None
    node: Node           # as it was in the first recording


@dataclass
class Recorded:
    """A function as operations: its arguments, the captured arrays by name, and which refs are its results."""

    arguments: list      # refs
    captured: list       # (ref, name, array)
    items: list
    outputs: list


@dataclass(frozen=True)
class Take:
    """One recording: its graph (arguments first, then weights), the weights by name, and what sizes it was made at."""

    graph: Graph
    weights: dict
    said: str


def expanded(graph: Graph, claims: Callable) -> Graph:
    """A graph without what nobody needs, in which every composite that is left is claimed."""
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


# Several recordings on top of each other.


def laid_together(takes: list, count: int) -> Recorded:
    """One program of recordings of one function, of `count` arguments, at several sizes."""
    graphs = [t.graph for t in takes]
    numbers = [_numbering(g) for g in graphs]
    for take, number in zip(takes[1:], numbers[1:]):
        _require_same(takes[0], take, numbers[0], number)
    refs = [Ref(i, _merged([v.shape for v in vs]), vs[0].dtype) for i, vs in enumerate(zip(*[g.values() for g in graphs]))]
    number = numbers[0]

    def operand(xs):
        return refs[number[xs[0]]] if type(xs[0]) is Value else _merged(xs)

    items = []
    for nodes in zip(*[g.nodes for g in graphs]):
        first = nodes[0]
        inputs = tuple([operand(xs) for xs in zip(*[n.inputs for n in nodes])])
        params = {k: _merged([n.params[k] for n in nodes]) for k in first.params}
        items.append(Item(first.op, inputs, params, tuple([refs[number[v]] for v in first.outputs]), first.line, first))
    return Recorded(refs[:count], _captured(takes, refs[count:]), items, [refs[number[v]] for v in graphs[0].outputs])


def _numbering(graph) -> dict:
    return {v: i for i, v in enumerate(graph.values())}


def _require_same(one, other, in_one, in_other):
    a, b = one.graph, other.graph
    for x, y in zip(a.nodes, b.nodes):
        wired = [in_one.get(v) if type(v) is Value else None for v in x.inputs]
        if x.op is not y.op or wired != [in_other.get(v) if type(v) is Value else None for v in y.inputs]:
            raise ExportError(f"the function does something else{at(y.line or x.line)} for {other.said} than for {one.said}: "
                              f"{y.op.name} in place of {x.op.name}, so these sizes cannot both be free in one model")
    if len(a.nodes) != len(b.nodes) or len(a.inputs) != len(b.inputs) or len(a.outputs) != len(b.outputs):
        longer = max(a.nodes, b.nodes, key=len)
        line = longer[min(len(a.nodes), len(b.nodes))].line if len(a.nodes) != len(b.nodes) else None
        raise ExportError(f"the function takes {len(b.nodes)} operations for {other.said} and {len(a.nodes)} for {one.said}"
                          f"{at(line)}: a loop over a size that is free cannot be written into a model")


def _merged(xs):
    """What several recordings have in one place."""
    first = xs[0]
    if type(first) is tuple:
        other = next((x for x in xs if len(x) != len(first)), None)
        if other is not None:
            raise ExportError(f"the function passes {first} at one size and {other} at another")
        return tuple([_merged(each) for each in zip(*xs)])
    if isinstance(first, (int, float)) and type(first) is not bool:
        return varying(xs)
    return first


def _captured(takes, refs):
    """(ref, name, array) of what was captured: it must be the same at all sizes."""
    found = []
    for i, (name, tensor) in enumerate(takes[0].weights.items()):
        for take in takes[1:]:
            if not same_bits(tensor._a, list(take.weights.values())[i]._a):
                graph = takes[0].graph
                value = graph.inputs[len(graph.inputs) - len(refs) + i]
                line = next((n.line for n in graph.nodes if value in n.inputs), None)
                raise ExportError(f"an array made in Python is another one for {take.said} than for {takes[0].said}{at(line)}; "
                                  "compute it with tensors (arange, full) from the shapes of tensors")
        found.append((refs[i], name, tensor._a))
    return found


def same_bits(a, b) -> bool:
    """Whether two arrays are equal, nan with nan."""
    if a is b:
        return True
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def resized(t: Tensor, sizes: dict) -> Tensor:
    """A tensor with its elements repeated or left out, so that its dims have other sizes."""
    if not sizes:
        return t
    a = t._a
    for axis, n in sizes.items():
        a = np.take(a, np.arange(n) % max(1, a.shape[axis]), axis=axis)
    return wrap(np.ascontiguousarray(a))
