"""Arenas: memory of the inner values of native calls."""

import threading

import numpy as np

from ....ir.interrupts import is_of_call
from . import alloc

_MOST_FREE = 4                   # small arenas that wait for the next call
_LARGEST_SPARE = 4 << 20    # bytes up to which a thread keeps a large arena, for whichever call comes next


class _Spare(threading.local):
    """A thread's cached large arena."""

    arena = None


_spare = _Spare()


class Arenas:
    """Arenas of one size at least: small ones are cached for the next call, large ones are the thread's spare one, which is
    warm in its cache, or new memory."""

    def __init__(self, size: int):
        self.size, self.free = size, []
        self.large = size >= alloc.SMALL_BYTES
        if not self.large:
            self.free.append(alloc.aligned_zeros((max(size, 1),), np.uint8))

    def take(self) -> np.ndarray:
        """Return an arena for exclusive use until it is given back."""
        if self.large:
            arena = _spare.arena
            if arena is not None and arena.size >= self.size:
                _spare.arena = None
                return arena
            return alloc.empty(self.size, np.uint8)
        try:
            return self.free.pop()
        except IndexError as error:
            if not is_of_call(error):
                raise
            return alloc.aligned_zeros((max(self.size, 1),), np.uint8)

    def give(self, arena):
        if not self.large:
            if len(self.free) < _MOST_FREE:
                self.free.append(arena)
        elif arena.size <= _LARGEST_SPARE and (_spare.arena is None or _spare.arena.size < arena.size):
            _spare.arena = arena
