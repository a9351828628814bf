"""Storages: the version that tensors which share memory have in common, and the list of these tensors."""

import sys
import weakref
from types import FrameType
from typing import Any

import numpy as np

FEW_ALIASES = 16
_PACKAGE = __name__.split(".")[0]


class Storage:
    """Shared by all tensors over the same memory.

    version   how often the memory was written in place
    aliases   weak references to views that know their base, so that a write can renew their histories
    many      from how many aliases on dead ones are looked for
    guarded   whether somebody saved the memory at some version, and raises if it is at another when it is needed
    writer    (operator name, file, line) of the last write in place since then, for error messages
    lent      how many others see the memory (numpy, DLPack, another process) and may write without a version
    returned  how many of them are gone
    unchecked (version, version): the writes between them, up to the last one so far, went through `.data`
    moved     leaves that lay here and whose `.data` was set since somebody saved the memory: (weak reference, that of
              the array, node, version) of each
    cell      what a recorder knows of it, while it listens
    """

    version = 0
    guarded = False
    aliases: Any = ()
    many = 0
    writer = None
    lent = returned = 0
    unchecked: Any = None
    moved: Any = None
    cell: Any

    def lend(self):
        """Remembers that something outside sees the memory from now on, for good."""
        self.lent += 1

    def add_aliases(self, tensors):
        """Remembers views; dead entries are dropped as the list doubles."""
        live = self.aliases
        if live.__class__ is tuple:
            live = self.aliases = []
            self.many = FEW_ALIASES
        live += map(weakref.ref, tensors)
        if len(live) > self.many:
            live[:] = [r for r in live if r() is not None]
            self.many = max(FEW_ALIASES, 2 * len(live))

    def guard(self) -> tuple:
        """This and its version now, for somebody who must notice writes."""
        self.guarded = True
        return self, self.version

    def wrote(self, name: str, depth: int = 3):
        """Counts a write in place, and remembers where the user asked for it, if somebody may want to know: `depth` frames up
        or further, as who calls this, and who called that function, are of the package."""
        self.version += 1
        if self.guarded:
            self.writer = (name, *user_line(depth))

    def wrote_unchecked(self):
        """The last write went through `.data`: whoever writes there answers for what was saved for gradients."""
        last = self.version
        first = self.unchecked[0] if self.unchecked is not None and self.unchecked[1] == last - 1 else last - 1
        self.unchecked = first, last

    def left_by(self, t):
        """A leaf is about to lie elsewhere: whoever saved it reads what it holds then (`renew` in node.py)."""
        known = [entry for entry in self.moved or () if entry[0]() not in (None, t) or entry[1]() is not t._a]
        self.version += 1
        self.moved = [*known, (weakref.ref(t), weakref.ref(t._a), t._node, self.version)]
        self.wrote_unchecked()

    def was_overwritten(self, version: int) -> bool:
        """Whether the memory was written since it had a version, but for writes through `.data`."""
        if self.version == version:
            return False
        return self.unchecked is None or self.unchecked[1] != self.version or version < self.unchecked[0]


class Loan:
    """Memory of a storage in somebody's hands: alive as long as an array over it, or a view of one, is."""

    __slots__ = ("__array_struct__", "_array", "_storage")

    def __init__(self, array: np.ndarray, storage: Storage):
        self.__array_struct__ = array.__array_struct__
        self._array, self._storage = array, storage
        storage.lent += 1

    def __del__(self):
        self._storage.lent -= 1
        self._storage.returned += 1


def borrowed(array: np.ndarray, storage: Storage) -> np.ndarray:
    """The same memory as an array of its own, of which the storage knows until it and its views are gone."""
    own = array.dtype.isbuiltin != 2       # types of other packages have no name in numpy's protocol, and travel as integers
    found = np.asarray(Loan(array if own else array.view(f"u{array.itemsize}"), storage))
    return found if own else found.view(array.dtype)


_BETWEEN = frozenset(("contextlib", "functools"))


def user_line(depth: int = 1) -> tuple:
    """File and line of the nearest frame outside ingot and of what stands between its own frames (decorators), from `depth`
    frames up on."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        inside = _inside.get(name)
        if inside is None:
            inside = _inside[name] = name == _PACKAGE or name.startswith(_PACKAGE + ".") or name in _BETWEEN
        if not inside:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "<unknown>", 0


_inside: dict = {}      # by names of modules
