"""`p.data = new` between forward and backward: what was saved of the leaf `p` is the leaf itself, as in PyTorch, so gradient
rules read what it holds by then.

The storage that `p` leaves notes that (`Storage.left_by`), and counts a write; a node finds out as it checks what it saved.
"""

from ...ir.errors import AutogradError
from ...ir.ops.core.shape import expand
from .state import tls


def renew(node, storage):
    """Puts what lies now in leaves that left a storage in the place of what a node saved of them."""
    if type(node.saved) is not tuple:       # packed by hooks of the user
        return
    recorder = tls.m.recorder
    for i, edge in enumerate(node.edges, 1):
        t = successor(storage, node.saved[i], edge)
        if t is None or (i == 2 and "reads_turned_weight" in node.op.traits):       # a view, which keeps the data of before
            continue
        if not _takes_new(node.op, node.saved, i):
            raise _undecided(node)
        node.saved = (*node.saved[:i], checked(node, t, node.saved[i])._a, *node.saved[i + 1:])
        node.guards = [*node.guards, t._storage.guard()]
        if recorder is not None and node.traced is not None:
            node.traced = (*node.traced[:i], recorder.gradients.saved(t), *node.traced[i + 1:])


def successor(storage, array, edge):
    """The leaf whose array this was, and that lies elsewhere now; None if there is none. Where gradients go tells it from
    others over the same array, such as `p.detach()`."""
    if edge is not None and getattr(edge, "op", None) is expand:
        edge = edge.edges[0]
    for ref, left, node, _ in storage.moved or ():
        if left() is array and edge is node:
            t = ref()
            if t is None:
                raise AutogradError("the .data of a tensor that was saved for a gradient was set, and the tensor is gone: keep "
                                    "it until after backward()")
            return t if t._a is not array else None
    return None


def checked(node, t, before):
    """A leaf whose data were set, if it can stand for what was saved of it."""
    if t._a.__class__ is not before.__class__ or t._a.shape != before.shape or t._a.dtype != before.dtype:
        raise AutogradError(f"{node.op.name} saved a tensor for its gradient, and its .data was then set to {t.aval} in "
                            f"place of {before.dtype}{list(before.shape)}; set it after backward()")
    if t._data_version is not None and t._storage.was_overwritten(t._data_version):
        raise AutogradError(f"{node.op.name} saved a tensor for its gradient, whose .data was then set and overwritten in "
                            "place. Use the out-of-place form there, or clone() before writing.")
    return t


def _takes_new(op, saved, i) -> bool:
    """Whether the gradient rule, and PyTorch's, read the i-th operand itself, and nothing that was computed of it before."""
    if op.is_pointwise:
        return not hasattr(saved[0], "strides")     # else the result counts, which is of the old values
    if "reads_matrices" in op.traits:
        return all(x is None or len(x.shape) == 2 for x in saved[1:])
    return "reads_operands" in op.traits or (i > 1 and "reads_weight" in op.traits)


def _undecided(node):
    return AutogradError(f"{node.op.name} saved a tensor for its gradient, whose .data was set since: the gradient would be "
                         "one of values that were not computed with. Set it after backward(), give the function a clone() to "
                         "keep the old values, or write the new ones in place (t.data.copy_(new)).")
