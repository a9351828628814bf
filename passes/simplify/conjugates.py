"""Cancels conjugates of conjugates, also with views between.

Gradients of complex numbers are conjugated around each rule; of rules of views only these pairs remain.
"""

from ...ir.graph.graph import Builder, Graph, Node
from ...ir.opdef.op import View
from ...ir.ops.core.complex_numbers import conj
from ...ir.ops.core.shape import bitcast
from ..rewrite.rewrite import rebuild


def cancel_conjugates(graph: Graph) -> Graph:
    """Remove pairs of conjugates."""
    return rebuild(graph, _visit, lambda node: node.op is conj)


def _visit(b: Builder, node: Node, operands):
    views, value = [], operands[0]
    while value.node is not None and type(value.node.op.lower) is View and value.node.op is not bitcast:
        views.append(value.node)
        value = value.node.inputs[0]
    if value.node is None or value.node.op is not conj:
        return None
    made = value.node.inputs[0]
    for view in reversed(views):
        made = b.append(view.op, (made,), view.params)
    return made
