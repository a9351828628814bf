"""A heap of large memory: regions of address space, cut into pieces and joined again.

The system hands out memory zeroed, page by page, at the first touch of each page, which costs more than most kernels that fill
it. So touched memory is reused, whatever its size: a request takes the smallest free piece that is large enough and leaves the
rest of it, and a freed piece joins its free neighbours. Untouched address space costs nothing; a region ends in it, so the free
memory before it grows into it.

An exception from a signal handler may end an operation anywhere. Which pieces there are, and which of them are free, is right
at each moment: `after` links the pieces of a region, and one store links or frees one. The next operation computes the rest.
"""

import bisect
import ctypes
import mmap
import sys
from typing import Any

from ....ir.interrupts import is_of_call

_LEAST_REGION = 64 << 20
_HUGE_PAGES = getattr(mmap, "MADV_HUGEPAGE", None)
_FORGET = getattr(mmap, "MADV_DONTNEED" if sys.platform == "linux" else "MADV_FREE", None)


class NoRegionError(Exception):
    """The system gives no region of a size."""


class Region:
    """Address space from the system."""

    __slots__ = ("address", "memory", "size")

    def __init__(self, size: int):
        self.size = size
        flags = {} if sys.platform == "win32" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
        try:
            self.memory = mmap.mmap(-1, size, **flags)
        except (OSError, ValueError, OverflowError) as error:
            if not is_of_call(error):
                raise
            raise NoRegionError(str(error)) from error
        if _HUGE_PAGES is not None:
            try:
                self.memory.madvise(_HUGE_PAGES)
            except OSError as error:        # a kernel without huge pages: the memory is as good
                if not is_of_call(error):
                    raise
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))


class Piece:
    """Whole pages of a region, in use or free. Of a free one the first `warm` bytes are taken to be in memory."""

    __slots__ = ("address", "after", "before", "free", "region", "size", "warm")

    def __init__(self, region: Region, address: int, size: int, warm: int = 0):
        self.region, self.address, self.size, self.warm = region, address, size, warm
        self.before: Piece | None = None
        self.after: Piece | None = None
        self.free = True

    def forget(self, keep: int) -> bool:
        """Tell the system that it may have the pages after the first `keep` bytes."""
        if _FORGET is None:
            return False
        try:
            self.region.memory.madvise(_FORGET, self.address - self.region.address + keep, self.size - keep)
        except OSError as error:
            if not is_of_call(error):
                raise
            return False
        return True


class Heap:
    """Pieces of regions. The caller makes sure that one thread at a time is inside.

    taken    bytes of the pieces in use
    warm     free bytes that are in memory
    mapped   bytes of all regions
    """

    def __init__(self):
        self.taken = self.warm = self.mapped = 0
        self._pieces: list = []         # of the free ones (size, address, piece), in order
        self._first: list[Any] = []          # the first piece of each region
        self._is_whole = True           # whether no operation is under way, or was interrupted

    def _begin(self):
        if not self._is_whole:
            self._count()
        self._is_whole = False

    def _count(self):
        """Compute anew what does not follow from the links of the pieces and from which are free, and join free neighbours."""
        self._pieces, self.taken, self.warm, self.mapped = [], 0, 0, 0
        for first in self._first:
            before: Any = None
            piece, end = first, first.region.address + first.region.size
            while piece is not None:
                if piece.free and before is not None and before.free:
                    before.warm += piece.warm if before.warm == before.size else 0
                    before.after = piece.after
                    piece = before
                piece.size = (end if piece.after is None else piece.after.address) - piece.address
                piece.warm = min(piece.warm, piece.size)
                piece.before = None if piece is first else piece.before if piece is before else before
                before, piece = piece, piece.after
            piece = first
            while piece is not None:
                if piece.free:
                    self._pieces.append((piece.size, piece.address, piece))
                    self.warm += piece.warm
                else:
                    self.taken += piece.size
                piece = piece.after
            self.mapped += first.region.size
        self._pieces.sort()

    def take(self, size: int) -> Piece:
        """Return a piece of so many bytes, whole pages; raise the system's error if there is no memory."""
        self._begin()
        at = self._best(size)
        piece = self._pieces.pop(at)[2] if at < len(self._pieces) else self._new_region(size)
        self.warm -= piece.warm
        if piece.size > size:
            self._cut(piece, size)
        piece.free = False
        self.taken += size
        self._is_whole = True
        return piece

    def _best(self, size):
        """Return the index of the piece to take, past the end if none fits: the smallest, preferably one in memory."""
        at = bisect.bisect_left(self._pieces, (size,))
        if at < len(self._pieces) and self._pieces[at][2].warm < size <= self.warm:
            return max(range(at, len(self._pieces)), key=lambda i: min(self._pieces[i][2].warm, size))
        return at

    def _cut(self, piece, size):
        rest = Piece(piece.region, piece.address + size, piece.size - size, max(0, piece.warm - size))
        rest.before, rest.after = piece, piece.after
        piece.after = rest
        if rest.after is not None:
            rest.after.before = rest
        piece.size, piece.warm = size, min(piece.warm, size)
        self.warm += rest.warm
        bisect.insort(self._pieces, (rest.size, rest.address, rest))

    def give(self, piece: Piece):
        """Take a piece back."""
        self._begin()
        piece.warm = piece.size
        piece.free = True
        self.taken -= piece.size
        self.warm += piece.size
        before, after = piece.before, piece.after
        if after is not None and after.free:
            self._unlist(after)
            _join(piece, after)
        if before is not None and before.free:
            self._unlist(before)
            _join(before, piece)
            piece = before
        bisect.insort(self._pieces, (piece.size, piece.address, piece))
        self._is_whole = True

    def _unlist(self, piece):
        del self._pieces[bisect.bisect_left(self._pieces, (piece.size, piece.address))]

    def cool(self, most: int):
        """Give free memory back to the system until at most so many bytes of it are cached, from the largest pieces first. With
        0, unused regions go, too."""
        self._begin()
        for _, _, piece in reversed(self._pieces):
            if self.warm <= most:
                break
            keep = max(0, piece.warm - (self.warm - most)) // mmap.PAGESIZE * mmap.PAGESIZE
            if piece.warm > keep and piece.forget(keep):
                self.warm -= piece.warm - keep
                piece.warm = keep
        if not most:
            for _, _, piece in [p for p in self._pieces if p[2].before is p[2].after is None]:
                self._first.remove(piece)
                self._unlist(piece)
                self.mapped -= piece.size
                self.warm -= piece.warm
        self._is_whole = True

    def _new_region(self, size):
        """Return a free piece that is a new region: larger than the request, since later pieces will be beside it."""
        room = max(size, _LEAST_REGION, self.mapped)
        try:
            region = Region(room)
        except NoRegionError:
            region, room = Region(size), size
        self.mapped += room
        piece = Piece(region, region.address, room)
        self._first.append(piece)
        return piece


def _join(piece, after):
    piece.after = after.after
    piece.size += after.size
    piece.warm += after.warm
    if after.after is not None:
        after.after.before = piece
