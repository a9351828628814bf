"""Storages: the version that tensors over the same memory share, and the list of these tensors."""

import sys
import threading
import weakref
from sys import getrefcount
from typing import Any

import numpy as np

from ...ir.tracebacks import user_frame

FEW_ALIASES = 16


class Storage:
    """State shared by all tensors over the same memory.

    version     count of writes in place
    aliases     weak references to views that know their base, so that a write can renew their histories
    alias_limit number of aliases from which dead ones are removed
    guarded     whether the memory was saved at some version, and use at another version raises
    writer      (operator name, file, line) of the last write in place since then, for error messages
    lent        count of users outside (NumPy, DLPack, another process) that may write without a version
    returned    count of these that are gone
    unchecked   (version, version): the writes between them, up to the last one, went through `.data`
    data_swaps  leaves whose `.data` was set since the memory was saved: (weak reference, that of the array, node, version) each
    is_part     whether other storages lie in the same memory, since a tensor got a part of one by `.data = `
    cell        a recorder's value of the memory, while it listens
    """

    version = 0
    guarded = False
    aliases: Any = ()
    alias_limit = 0
    writer = None
    lent = returned = 0
    unchecked: Any = None
    data_swaps: Any = None
    is_part = False
    cell: Any

    def lend(self):
        """Count an outside user of the memory that stays for good."""
        _loans_of(self).for_good += 1

    def lend_to(self, user):
        """Count an outside user of the memory as long as it lives."""
        loans = _loans_of(self)
        loans.made += 1
        user.loan = loans.mark

    def add_aliases(self, tensors):
        """Add views; drop dead entries when the list doubles."""
        live = self.aliases
        if live.__class__ is tuple:
            live = self.aliases = []
            self.alias_limit = FEW_ALIASES
        live += map(weakref.ref, tensors)
        if len(live) > self.alias_limit:
            live[:] = [r for r in live if r() is not None]
            self.alias_limit = max(FEW_ALIASES, 2 * len(live))

    def guard(self) -> tuple:
        """Return (storage, version), to notice later writes."""
        self.guarded = True
        return self, self.version

    def wrote(self, name: str, depth: int = 3):
        """Count a write in place. If guarded, remember the user's line, `depth` or more frames up: nearer ones are ingot's."""
        self.version += 1
        if self.guarded:
            self.writer = (name, *user_line(depth))

    def wrote_unchecked(self, count: int = 1):
        """Mark the last write, or several, as writes through `.data`, which saved values do not check."""
        last, before = self.version, self.version - count
        first = self.unchecked[0] if self.unchecked is not None and self.unchecked[1] == before else before
        self.unchecked = first, last

    def left_by(self, t):
        """A leaf is about to get other memory: nodes that saved it read its new data then (`renew` in node.py)."""
        known = [(leaf, *rest) for leaf, *rest in self.data_swaps or ()
                 if not (leaf() is None or leaf() is t) or rest[0]() is not t._a]
        self.version += 1
        self.data_swaps = [*known, (weakref.ref(t), weakref.ref(t._a), t._node, self.version)]
        self.wrote_unchecked()

    def was_overwritten(self, version: int) -> bool:
        """Return whether the memory was written after a version, other than through `.data`."""
        if self.version == version:
            return False
        return self.unchecked is None or self.unchecked[1] != self.version or version < self.unchecked[0]


class _Loans:
    """The outside users of a storage. Each holds `mark`, whose references count them: no code runs when a user goes, as an
    exception from a signal handler would be lost in there."""

    __slots__ = ("for_good", "made", "mark")

    def __init__(self):
        self.for_good = self.made = 0
        self.mark = object()

    @property
    def alive(self) -> int:
        return getrefcount(self.mark) - _NO_LOANS


_NO_LOANS = 0           # what `alive` counts of no users, measured here
_NO_LOANS = _Loans().alive


class LentStorage(Storage):
    """A storage that outside users have, or had."""

    loans: _Loans

    def __reduce__(self):
        return Storage, ()

    @property
    def lent(self) -> int:          # type: ignore[override]
        return self.loans.for_good + self.loans.alive

    @property
    def returned(self) -> int:      # type: ignore[override]
        return self.loans.made - self.loans.alive


def _loans_of(storage: Any) -> _Loans:
    if not isinstance(storage, LentStorage):
        storage.loans = _Loans()
        storage.__class__ = LentStorage
    return storage.loans


class Loan:
    """Memory of a storage in use outside: alive as long as an array over it, or a view of one, is."""

    __slots__ = ("__array_struct__", "_array", "loan")

    def __init__(self, array: np.ndarray, storage: Storage):
        self.__array_struct__ = array.__array_struct__
        self._array = array
        storage.lend_to(self)


def borrowed(array: np.ndarray, storage: Storage) -> np.ndarray:
    """Return the same memory as a new array that the storage counts as lent until it and its views are gone."""
    own = array.dtype.isbuiltin != 2       # types of other packages have no name in numpy's protocol, and travel as integers
    found = np.asarray(Loan(array if own else array.view(f"u{array.itemsize}"), storage))
    return found if own else found.view(array.dtype)


class _Background(threading.local):
    """The user's line that began the work of a thread."""

    line: tuple = ("<unknown>", 0)


background = _Background()


def user_line(depth: int = 1) -> tuple:
    """Return file and line of the nearest frame outside ingot and its decorators, from `depth` frames up."""
    frame, _ = user_frame(sys._getframe(depth))
    return background.line if frame is None else (frame.f_code.co_filename, frame.f_lineno)
