"""Leaves at which histories end."""

from ..core.node import Leaf, Output


def ends_of(tensors) -> set:
    """The ends of the histories of some tensors."""
    stack = [t._node for t in tensors if t._node is not None]
    seen = set(stack)
    while stack:
        node = stack.pop()
        for edge in () if type(node) is Leaf else (node.source,) if type(node) is Output else node.edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    return {node for node in seen if type(node) is Leaf}
