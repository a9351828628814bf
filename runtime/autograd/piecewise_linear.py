"""Second derivatives of functions of straight pieces (trait "straight": relu, max_pool and their like) are zeros, not missing.

The gradient of such a function is made of what arrives and of choices that the argument makes, so on the tape it does not come
of the argument at all. Whoever asks for its gradient means the zeros that mathematics has there. To send them through the tape
would cost each network of relus arrays of nothing; so a gradient only remembers to what it is tied, and is asked when an input
was not reached otherwise.
"""

from ..core.node import Leaf, Node, Output


class Straight(Node):
    """The history of a gradient that comes of nothing but choices."""

    label = "StraightBackward0"

    def run(self, engine, g) -> list:
        """It has no arguments that a gradient could go to."""
        return []


def tie(gradients, edges):
    """Notes that gradients depend on what is behind some edges, but for no change that a derivative would see."""
    for t in gradients:
        if t is None:
            continue
        if t._node is None:
            t._node = Straight(None, {}, (), (), ())
        node = t._node.source if type(t._node) is Output else t._node
        if type(node) is not Leaf:
            node.ties = (*getattr(node, "ties", ()), *[e for e in edges if e is not None])


def tied(roots) -> set:
    """Return the nodes, leaves and (node, number of the result) that the history of some edges is tied to."""
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
