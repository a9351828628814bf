"""Sinks concats below elementwise operations: the operation is done to the parts, and its results are concatenated.

    %1 = cat(neg(%b), %a, dim=1)           %1 = add(slice(%x), neg(%b))
    %2 = add(%x, %1)                       %2 = add(slice(%x), %a)
                                           %3 = cat(%1, %2, dim=1)

One kernel computes all parts and writes them in place, so no intermediate concat is written and read again. Rotary
embeddings, which rotate halves of vectors, and their gradients are such.
"""

from typing import NamedTuple

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.op import Scalar
from ...ir.ops.core.shape import cat, slice_
from ...ir.symbols.substitute import is_same
from ..layout.assign_layouts import STRIDED
from ..rewrite.kernel_body import can_fuse, source_of
from ..rewrite.rewrite import rebuild

MOST_PARTS = 4


class _Concat(NamedTuple):
    """The parts of a concat, as values of the new graph, and its dim."""

    parts: tuple
    dim: int


def sink_concats(graph: Graph) -> Graph:
    """Return the graph with concats behind the operations on their elements."""
    concats: dict = {}

    def visit(b: Builder, node: Node, operands):
        if node.op is cat:
            concats[node.output] = _Concat(tuple(operands), node.params["dim"])
            return None
        concat = next(concats[x] for x in node.inputs if type(x) is Value and x in concats)
        parts, start = [], 0
        for i, part in enumerate(concat.parts):
            size = part.shape[concat.dim]
            cut = {"dim": concat.dim, "start": start, "stop": start + size, "step": 1}
            args = [new if type(old) is not Value else concats[old].parts[i] if _agree(concats.get(old), concat)
                    else _cut(b, graph, old, new, cut) for old, new in zip(node.inputs, operands)]
            parts.append(b.append(node.op, tuple(args), node.params))
            start += size
        concats[node.output] = _Concat(tuple(parts), concat.dim)
        return b.append(cat, tuple(parts), {"dim": concat.dim})

    found = _nodes_to_rewrite(graph)
    return rebuild(graph, visit, found.__contains__)


def _cut(b, graph, old, new, cut):
    """Return a slice of a value; an elementwise value without other readers is computed in parts."""
    node = old.node
    if not (_sinks(graph, old) and node is not None and _is_of_elements(node, old.shape) and new.node.op is node.op):
        return b.append(slice_, (new,), cut)
    args = [_cut(b, graph, x, y, cut) if type(x) is Value else y for x, y in zip(node.inputs, new.node.inputs)]
    return b.append(node.op, tuple(args), node.params)


def _agree(one, other) -> bool:
    if one is None or one.dim != other.dim:
        return False
    return is_same(tuple([p.shape for p in one.parts]), tuple([p.shape for p in other.parts]))


def _nodes_to_rewrite(graph) -> set:
    """Return concats of equal parts with one elementwise reader, and these readers, which are such concats in turn."""
    values: set = set()
    nodes: set = set()
    for n in graph.nodes:
        if n.op is cat:
            if _is_even(n) and _sinks(graph, n.output):
                values.add(n.output)
                nodes.add(n)
        elif any(type(x) is Value and x in values for x in n.inputs):
            nodes.add(n)
            if _sinks(graph, n.output):
                values.add(n.output)
    return nodes


def _is_even(node) -> bool:
    """Return whether parts of a concat have one size, and kernels of loops can read them at their source."""
    first, *others = node.inputs
    sources = [source_of(x) for x in node.inputs]
    return (0 < len(others) < MOST_PARTS and all(is_same(x.shape, first.shape) for x in others) and 0 not in node.output.shape
            and not any(s is not None and s.node is not None and s.node.op in STRIDED for s in sources))


def _sinks(graph, value) -> bool:
    readers = set(graph.uses[value])
    if len(readers) != 1 or value in graph.results:
        return False
    reader, = readers
    return _is_of_elements(reader, value.shape)


def _is_of_elements(node, shape) -> bool:
    return (type(node.op.lower) is Scalar and can_fuse(node)
            and all(is_same(x.shape, shape) for x in node.inputs if type(x) is Value))
