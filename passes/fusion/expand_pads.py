"""Padding at the ends of one dim is a join with fills: what makes the rest may write it where it will lie.

    %1 = pad(%0, low=(0, 0), high=(47, 0))          %1 = full(shape=(47, 768), value=0)
                                                    %2 = cat(%0, %1, dim=0)

One that pads nothing is what it is given.
"""

from ...ir.graph.graph import Builder, Graph, Node
from ...ir.ops.core.shape import cat, full, pad
from ...ir.symbols.symbolic import hint
from ..rewrite.rewrite import rebuild


def pads_as_joins(graph: Graph) -> Graph:
    """Replaces each such pad."""
    return rebuild(graph, _joined, lambda n: n.op is pad and (_pads_nothing(n) or _dim(n) is not None))


def _pads_nothing(node) -> bool:
    return all(type(n) is int and n == 0 for name in ("low", "high", "interior") for n in node.params[name])


def _dim(node) -> int | None:
    """The one dim that is padded, if nothing is cut away and nothing comes between."""
    low, high = node.params["low"], node.params["high"]
    dims = [d for d, (a, b) in enumerate(zip(low, high)) if hint(a) or hint(b)]
    if len(dims) != 1 or any(node.params["interior"]) or min(hint(low[dims[0]]), hint(high[dims[0]])) < 0:
        return None
    return dims[0] if type(low[dims[0]]) is type(high[dims[0]]) is int and 0 not in node.output.shape else None


def _joined(b: Builder, node: Node, operands):
    if _pads_nothing(node):
        return operands[0]
    x, dim, whole = operands[0], _dim(node), node.output
    ends = []
    for count in (node.params["low"][dim], node.params["high"][dim]):
        shape = tuple([count if d == dim else n for d, n in enumerate(whole.shape)])
        ends.append([b.call(full, None, shape=shape, value=node.params.get("value", 0), dtype=whole.dtype)] if count else [])
    return b.append(cat, (*ends[0], x, *ends[1]), {"dim": dim})
