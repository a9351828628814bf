"""Tensors in containers that a function replaces without having read them: `state["before"] = p.clone()` at every step."""

from ...runtime.core.tensor import Tensor
from .memory_order import memory_order


class AnyTensor:
    """Stands in guards for a tensor of one kind, whichever it is."""

    def __init__(self, t):
        self.kind = _kind_of(t)

    def matches(self, now) -> bool:
        """Whether it is of that kind."""
        return isinstance(now, Tensor) and _kind_of(now) == self.kind

    def __repr__(self):
        return f"<a tensor of shape {list(self.kind[1])}>"


def overwritten(effects, used) -> dict:
    """{(id of a container, key): what guards are to expect there} for the `Target`s that were tensors which take no part in a
    recording: their ids are not among `used`."""
    return {(id(t.owner), key_id(t.key)): AnyTensor(t.was) for t in effects
            if t.kind == "item" and isinstance(t.was, Tensor) and id(t.was) not in used}


def key_id(key):
    """A key that is compared as dictionaries do, but for tensors, which are what they are."""
    return (Tensor, id(key)) if isinstance(key, Tensor) else key


def _kind_of(t):
    return type(t), t._a.shape, t._a.dtype, t._node is not None, t.is_leaf, memory_order(t._a)
