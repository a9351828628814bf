"""Common subexpression elimination: a pure operation on the same operands is done once."""

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.params import param_key, params_key
from ..rewrite.rewrite import rebuild


def cse(graph: Graph) -> Graph:
    """Merge equal pure nodes. Operands of commutative operators may stand in either order."""
    same = _repeated(graph)
    firsts, positions = frozenset(same.values()), {}

    def visit(b: Builder, node: Node, operands):
        if node in firsts:
            positions[node] = len(b.nodes)
            return None
        return b.nodes[positions[same[node]]].result

    return rebuild(graph, visit, lambda node: node in same or node in firsts)


def _repeated(graph) -> dict:
    """Return {node: the first one that computes the same}."""
    equals, same = Equals(), {}
    for node in graph.nodes:
        first = equals.enter(node)
        if first is not node:
            same[node] = first
    return same


class Equals:
    """Classes of values that are equal whatever the inputs are. Nodes are entered in order.

    `number` maps each value to the number of the first one equal to it.
    """

    def __init__(self):
        self.number: dict = {}
        self._first: dict = {}

    def of(self, value: Value) -> int:
        """Return the number of a value whose node was entered, or that is an input."""
        return self.number.setdefault(value, len(self.number))

    def enter(self, node: Node) -> Node:
        """Return the first node that computes the same; itself, if there is none."""
        if not node.is_pure:
            return node
        keys = [self.of(x) if type(x) is Value else (param_key(x),) for x in node.inputs]
        if len(keys) > 1 and "commutative" in node.op.traits:
            keys.sort(key=repr)
        first = self._first.setdefault((node.op, tuple(keys), params_key(node.params)), node)
        if first is not node:
            self.number.update({v: self.of(w) for v, w in zip(node.outputs, first.outputs)})
        return first
