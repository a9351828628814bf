"""Edges of histories: leaves at their ends, and gradient edges, which stand for tensors that may be gone."""

import numpy as np

from ...ir.dtype import of
from ...ir.errors import AutogradError
from ...ir.opdef.aval import Aval
from ..core.node import Leaf, Output, settle_view, shown_edge
from ..core.tensor import Tensor, wrap


def ends_of(tensors) -> set:
    """Return the leaves of the histories of tensors."""
    stack = [t._node for t in tensors if t._node is not None]
    seen = set(stack)
    while stack:
        node = stack.pop()
        for edge in () if type(node) is Leaf else (node.source,) if type(node) is Output else node.edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    return {node for node in seen if type(node) is Leaf}


class GradientEdge(tuple):
    """Edge of a tensor's gradient: (node, output_nr). `autograd.grad` and `backward` take it instead of the tensor.
    `ownership_token` is ignored: the edge itself keeps the node alive."""

    aval: Aval | None = None        # of the tensor, if known

    def __new__(cls, node, output_nr, ownership_token=None):
        return super().__new__(cls, (node, output_nr))

    node = property(lambda self: self[0])
    output_nr = property(lambda self: self[1])


def get_gradient_edge(tensor) -> GradientEdge:
    """Return the edge at which the tensor's gradient arrives."""
    if tensor._node is None:
        raise AutogradError("a tensor that does not require grad has no gradient edge")
    settle_view(tensor)
    edge = GradientEdge(*shown_edge(tensor._node))
    edge.aval = tensor.aval
    return edge


def tensor_at(edge: GradientEdge) -> Tensor:
    """Return a tensor with the history of an edge: the leaf itself, else one without memory of its own."""
    node, index = edge
    if isinstance(node, Leaf):
        leaf = node.of()
        if leaf is None:
            raise AutogradError("the tensor of this gradient edge is gone")
        return leaf
    aval = edge.aval or _result_of(node, index)
    if aval is None:
        raise nothing_known(edge)
    stand_in = wrap(np.broadcast_to(np.zeros((), aval.dtype.np), aval.shape))
    stand_in._node = node if node.outs is None else Output(node, index)
    return stand_in


def is_known(edge: GradientEdge) -> bool:
    """Return whether `tensor_at` works for an edge. One made from `next_functions` alone may have an unknown shape."""
    return isinstance(edge.node, Leaf) or edge.aval is not None or _result_of(*edge) is not None


def nothing_known(edge: GradientEdge) -> AutogradError:
    """Return the error for an edge whose shape is unknown."""
    return AutogradError(f"nothing is known of result {edge.output_nr} of {edge.node.label}, such as its shape; make the edge "
                         f"by get_gradient_edge(tensor)")


def _result_of(node, index) -> Aval | None:
    """Return the aval of a node's result, if the node knows it."""
    if node.outs is not None:
        return node.outs[index]
    result = node.saved[0] if type(node.saved) is tuple and node.saved else None
    return result if result is None or isinstance(result, Aval) else Aval(result.shape, of(result))
