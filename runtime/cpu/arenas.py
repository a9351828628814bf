"""Memory for the inner values of native calls."""

import numpy as np

from . import alloc

_KEPT = 4          # small arenas that wait for the next call


class Arenas:
    """Arenas of one size: small ones are kept for the next call, large ones come from the allocator."""

    def __init__(self, size: int):
        self.size, self.kept = size, []
        self.large = size >= alloc.SMALL_BYTES
        if not self.large:
            self.kept.append(alloc.aligned_zeros((max(size, 1),), np.uint8))

    def take(self) -> np.ndarray:
        """An arena that nobody else uses until it is given back."""
        try:
            return self.kept.pop()
        except IndexError:
            return alloc.empty(self.size, np.uint8) if self.large else alloc.aligned_zeros((max(self.size, 1),), np.uint8)

    def give(self, arena):
        """Takes an arena back."""
        if not self.large and len(self.kept) < _KEPT:
            self.kept.append(arena)
