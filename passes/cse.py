"""Common subexpressions: a pure operation on the same operands is done once."""

from ..ir.graph import Builder, Graph, Node, Value
from ..ir.params import param_key, params_key
from .rewrite import rebuild


def cse(graph: Graph) -> Graph:
    """Merges equal pure nodes. Operands of commutative operators may stand in either order."""
    seen: dict = {}
    number: dict = {}

    def operand_key(x):
        if type(x) is Value:
            return (0, number.setdefault(x, len(number)))
        return (1, param_key(x))

    def key(node, operands):
        keys = [operand_key(x) for x in operands]
        if "commutative" in node.op.traits:
            keys.sort(key=repr)
        return node.op, tuple(keys), params_key(node.params)

    def visit(b: Builder, node: Node, operands):
        if not node.is_pure:
            return None
        first = seen.setdefault(key(node, operands), len(b.nodes))   # where the node will stand, if it is the first
        return None if first == len(b.nodes) else b.nodes[first].result

    return rebuild(graph, visit)
