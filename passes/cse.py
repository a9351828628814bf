"""Common subexpressions: a pure operation on the same operands is done once."""

from ..ir.graph import Builder, Graph, Node, Value
from ..ir.params import param_key, params_key
from .rewrite import rebuild


def cse(graph: Graph) -> Graph:
    """Merges equal pure nodes. Operands of commutative operators may stand in either order."""
    same = _repeated(graph)
    firsts, places = frozenset(same.values()), {}

    def visit(b: Builder, node: Node, operands):
        if node in firsts:
            places[node] = len(b.nodes)
            return None
        return b.nodes[places[same[node]]].result

    return rebuild(graph, visit, lambda node: node in same or node in firsts)


def _repeated(graph) -> dict:
    """{node: the first one that computes the same}."""
    seen: dict = {}
    same: dict = {}
    number: dict = {v: i for i, v in enumerate(graph.values())}      # of equal values that of the first

    def operand_key(x):
        return number[x] if type(x) is Value else (param_key(x),)

    for node in graph.nodes:
        if not node.is_pure:
            continue
        keys = [operand_key(x) for x in node.inputs]
        if len(keys) > 1 and "commutative" in node.op.traits:
            keys.sort(key=repr)
        first = seen.setdefault((node.op, tuple(keys), params_key(node.params)), node)
        if first is not node:
            same[node] = first
            number.update({v: number[w] for v, w in zip(node.outputs, first.outputs)})
    return same
