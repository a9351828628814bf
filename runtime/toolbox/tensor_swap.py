"""Swaps of two tensors."""

import weakref

from ...ir.errors import AutogradError
from ..core.node import Leaf
from ..core.tensor import Tensor

_SLOTS = ("_a", "_node", "_shared")


def swap_tensors(t1, t2):
    """Swap two tensors: class, memory, history, gradient and attributes. Every reference to one then sees the other, so
    neither may be a view, have views, or have weak references."""
    for name, t in (("t1", t1), ("t2", t2)):
        if not isinstance(t, Tensor):
            raise TypeError(f"swap_tensors takes tensors, got {type(t).__name__} as {name}")
        is_viewed = t._base is not None or any(r() is not None for r in t._storage.aliases)
        if is_viewed or any(r is not _own(t._node) for r in weakref.getweakrefs(t)):
            raise AutogradError(f"cannot swap {name}: it has weak references, or is a view or the base of one")
    saved = [{name: getattr(t, name) for name in _SLOTS} for t in (t1, t2)]
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for t, slots in zip((t2, t1), saved):
        for name, value in slots.items():
            object.__setattr__(t, name, value)
        if type(t._node) is Leaf:
            t._node.of = weakref.ref(t)


def _own(node):
    """Return the weak reference that a leaf has to its tensor."""
    return node.of if type(node) is Leaf else None
