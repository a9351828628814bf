"""What is done to each element of a join is done to its parts, and these are joined.

    %1 = cat(neg(%b), %a, dim=1)           %1 = add(slice(%x), neg(%b))
    %2 = add(%x, %1)                       %2 = add(slice(%x), %a)
                                           %3 = cat(%1, %2, dim=1)

One kernel makes all parts and writes them where they will lie, so nothing is written to be joined and read again: vectors that
are turned by halves (rotary embeddings) come so, and their gradients.
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


class _Join(NamedTuple):
    """The parts of a join, as values of the new graph, and along which dim they lie."""

    parts: tuple
    dim: int


def sunk_joins(graph: Graph) -> Graph:
    """The graph with joins behind what is done to their elements."""
    joins: dict = {}

    def visit(b: Builder, node: Node, operands):
        if node.op is cat:
            joins[node.output] = _Join(tuple(operands), node.params["dim"])
            return None
        join = next(joins[x] for x in node.inputs if type(x) is Value and x in joins)
        parts, start = [], 0
        for i, part in enumerate(join.parts):
            size = part.shape[join.dim]
            cut = {"dim": join.dim, "start": start, "stop": start + size, "step": 1}
            args = [new if type(old) is not Value else joins[old].parts[i] if _agree(joins.get(old), join)
                    else _cut(b, graph, old, new, cut) for old, new in zip(node.inputs, operands)]
            parts.append(b.append(node.op, tuple(args), node.params))
            start += size
        joins[node.output] = _Join(tuple(parts), join.dim)
        return b.append(cat, tuple(parts), {"dim": join.dim})

    found = _found(graph)
    return rebuild(graph, visit, found.__contains__)


def _cut(b, graph, old, new, cut):
    """A part of a value: made of parts, where it is made of elements for nobody else."""
    node = old.node
    if not (_sinks(graph, old) and node is not None and _is_of_elements(node, old.shape) and new.node.op is node.op):
        return b.append(slice_, (new,), cut)
    args = [_cut(b, graph, x, y, cut) if type(x) is Value else y for x, y in zip(node.inputs, new.node.inputs)]
    return b.append(node.op, tuple(args), node.params)


def _agree(one, other) -> bool:
    """Whether two joins are cut alike."""
    if one is None or one.dim != other.dim:
        return False
    return is_same(tuple([p.shape for p in one.parts]), tuple([p.shape for p in other.parts]))


def _found(graph) -> set:
    """Joins of even parts that one operation on elements reads alone, and these operations, which are such joins in turn."""
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
    """Whether parts of a join have one size, and kernels of loops can read them where they are made."""
    first, *others = node.inputs
    sources = [source_of(x) for x in node.inputs]
    return (0 < len(others) < MOST_PARTS and all(is_same(x.shape, first.shape) for x in others) and 0 not in node.output.shape
            and not any(s is not None and s.node is not None and s.node.op in STRIDED for s in sources))


def _sinks(graph, value) -> bool:
    """Whether one operation on elements reads a value, and nothing else does."""
    readers = set(graph.uses[value])
    if len(readers) != 1 or value in graph.results:
        return False
    reader, = readers
    return _is_of_elements(reader, value.shape)


def _is_of_elements(node, shape) -> bool:
    return (type(node.op.lower) is Scalar and can_fuse(node)
            and all(is_same(x.shape, shape) for x in node.inputs if type(x) is Value))
