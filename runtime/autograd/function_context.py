"""Context of a user's `Function`: values kept for its backward and its jvp."""

from ..core.composite_tensors import PARTS
from ..core.data_swaps import checked, successor
from ..core.node import Output, overwritten
from ..core.state import tls
from ..core.tensor import Tensor, class_for, wrap

_new = object.__new__


class SavedTensor:
    """One tensor kept by a Function: its memory and version, and where its gradient goes."""

    __slots__ = ("array", "edge", "index", "packed", "storage", "traced", "unpack_hook", "version")

    def __init__(self, t: Tensor, edge, index):
        hooks, recorder = tls.m.saved_hooks, tls.m.recorder
        self.traced = None if recorder is None else recorder.saved(t)
        self.edge = edge            # of an input; an output's is made from its index, as it would be a cycle
        self.index = index
        self.storage, self.version = t._storage.guard()
        self.unpack_hook = None
        if hooks is None:
            self.array = t._a
        else:
            self.packed = hooks[0](wrap(t._a))
            self.unpack_hook = hooks[1]

    def unpack(self, node, named) -> Tensor:
        recorder = tls.m.recorder
        if self.unpack_hook is not None:
            t = wrap(self.unpack_hook(self.packed)._a)
        elif self.storage.was_overwritten(self.version):
            raise overwritten(node or named, self.storage, self.version)
        else:
            if self.storage.moved is not None:
                self.follow(node or named)
            t = wrap(self.array) if recorder is not None else alias(self.array, self.storage)
        t._node = self.edge
        if self.index is not None and node is not None:
            t._node = Output(node, self.index)
        if recorder is not None:
            recorder.unpacked(t, self.traced, node or named, ((self.storage, self.version),))
        return t

    def follow(self, named):
        """A leaf whose `.data` was set since is what it is by now."""
        now = successor(self.storage, self.array, self.edge)
        if now is not None:
            self.array = checked(named, now, self.array)._a
            self.storage, self.version = now._storage.guard()
            if tls.m.recorder is not None:
                self.traced = tls.m.recorder.saved(now)


class SavedParts:
    """What is made of tensors, kept as these."""

    __slots__ = ("make", "parts")

    def __init__(self, parts, make):
        self.parts = parts
        self.make = make

    def unpack(self, node, named):
        return self.make(*[p.unpack(node, named) for p in self.parts])


def alias(array, storage) -> Tensor:
    """A new tensor over the same memory."""
    t = _new(class_for(array))
    t._a = array
    t._node = None
    t._storage = storage
    return t


def keep(t, saved_as, inputs, carried):
    """What is kept of a tensor: of an argument (`inputs`: histories by id) its history, of a result (`saved_as`: numbers by id,
    `carried`: the results as they are handed out) its number."""
    if t is None:
        return None
    if type(t) in PARTS:
        parts, make = PARTS[type(t)](t)
        return SavedParts([keep(part, saved_as, inputs, carried) for part in parts], make)
    i = saved_as.get(id(t))
    if i is not None:
        return SavedTensor(t, None, i if carried[i]._node is not None else None)
    return SavedTensor(t, inputs.get(id(t), t._node), None)
