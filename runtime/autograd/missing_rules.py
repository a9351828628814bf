"""Functions without a gradient rule: backward through their results raises, so that no gradient is silently missing."""

from ..core.node import ForbiddenNode, Output, aval_of, is_inexact
from ..core.tensor import Tensor
from ..state.mode import tls


def without_rule(name: str, result, *inputs):
    """Return `result` (a tensor or a tuple) with a history that raises in backward, if an input records gradients."""
    if not tls.m.grad or not any(isinstance(t, Tensor) and t._node is not None for t in inputs):
        return result
    outs = result if isinstance(result, tuple) else (result,)
    edges = [t._node for t in (*inputs, *outs) if isinstance(t, Tensor) and t._node is not None]
    return forbidden(name.title().replace("_", "") + "Backward0", edges, f"{name} has no gradient rule", result)


def forbidden(label: str, edges, reason: str, result):
    """Return a tensor, or several as a tuple, with a history that raises in backward for a reason."""
    several = isinstance(result, (tuple, list))
    outs = result if several else (result,)
    node = ForbiddenNode(label, tuple(edges), reason)
    node.outs = tuple([aval_of(o._a) if isinstance(o, Tensor) else None for o in outs])
    marked = tuple([_marked(o, Output(node, i)) for i, o in enumerate(outs)])
    return marked if several else marked[0]


def _marked(out, edge):
    if not isinstance(out, Tensor) or not is_inexact(out._a):
        return out
    t = out.detach()
    t._node = edge
    return t
