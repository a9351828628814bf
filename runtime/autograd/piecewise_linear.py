"""Zero second derivatives of piecewise linear functions (trait "straight": relu, max_pool and similar).

The gradient of such a function depends on choices that the argument makes, so on the tape it does not depend on the argument.
Zeros on the tape would cost every network of relus useless arrays. So such a gradient only records the edges it is tied to,
and backward consults them when an input was not reached otherwise.
"""

from ..core.node import Leaf, Node, Output


class Straight(Node):
    """Node of a gradient that depends only on choices."""

    label = "StraightBackward0"

    def run(self, engine, g) -> list:
        """Return no gradients: there are no arguments."""
        return []


def tie(gradients, edges):
    """Tie gradients to edges on which they depend with derivative zero."""
    for t in gradients:
        if t is None:
            continue
        if t._node is None:
            t._node = Straight(None, {}, (), (), ())
        node = t._node.source if type(t._node) is Output else t._node
        if type(node) is not Leaf:
            node.ties = (*getattr(node, "ties", ()), *[e for e in edges if e is not None])


def tied(roots) -> set:
    """Return the nodes, leaves and (node, result number) to which the history of some edges is tied."""
    found: set = set()
    seen: set = set()
    stack = [(edge, False) for edge in roots]
    while stack:
        edge, by_tie = stack.pop()
        if edge is None or (edge, by_tie) in seen:
            continue
        seen.add((edge, by_tie))
        node = edge.source if type(edge) is Output else edge
        if by_tie:
            found.add((node, edge.index) if type(edge) is Output else node)
        if type(node) is not Leaf:
            stack.extend([(e, by_tie) for e in node.edges])
            stack.extend([(e, True) for e in getattr(node, "ties", ())])
    return found
