"""Blocks of shared memory: this rank writes them, and lends them to others, which read them in place."""

import bisect
import fcntl
import mmap
import os
import tempfile

import numpy as np

from ....ir.locks import new_lock
from ..stores.distributed_errors import DistBackendError

_LEAST = 1 << 16        # bytes of the smallest block
_MOST_ROOM = 4          # times the bytes of a message: a free block of more is left to larger ones
_KEPT = 1 << 28         # bytes of blocks that are kept for later, in all: those that were used last


class Block:
    """Memory of this rank that others may map."""

    def __init__(self, number: int, size: int):
        self.number, self.size = number, size
        self.fd = _memory(size)
        self.view = np.frombuffer(mmap.mmap(self.fd, size), np.uint8)
        self.known: set[int] = set()        # ranks that have mapped it
        self.lent = 0                       # ranks that read it now

    def __del__(self):
        if hasattr(self, "fd"):
            os.close(self.fd)


class SharedBlocks:
    """Blocks of this rank: lent to other ranks, or free to be used again."""

    def __init__(self):
        self._lock = new_lock()
        self._free: list[tuple] = []            # (size, number) of free blocks, in order
        self._unused: dict[int, Block] = {}     # the same blocks by number; the one that was used last comes last
        self._lent: dict[int, Block] = {}
        self._kept = self._count = 0

    def take(self, size: int, readers: int) -> Block:
        """Return a block of at least some bytes, to be written and lent to so many readers."""
        size = max(_LEAST, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
        with self._lock:
            at = bisect.bisect_left(self._free, (size, 0))
            if at < len(self._free) and self._free[at][0] <= _MOST_ROOM * size:
                block = self._unused.pop(self._free.pop(at)[1])
                self._kept -= block.size
            else:
                self._count += 1
                block = Block(self._count, size)
            block.lent = readers
            self._lent[block.number] = block
        return block

    def take_back(self, number: int, by: int = 1) -> list[Block]:
        """Note that a reader is done; return the blocks that are no longer kept."""
        with self._lock:
            block = self._lent[number]
            block.lent -= by
            if block.lent > 0:
                return []
            del self._lent[number]
            self._kept += block.size
            bisect.insort(self._free, (block.size, number))
            self._unused[number] = block
            dropped = []
            while self._kept > _KEPT:
                oldest = self._unused.pop(next(iter(self._unused)))
                self._free.remove((oldest.size, oldest.number))
                self._kept -= oldest.size
                dropped.append(oldest)
            return dropped


def _memory(size: int) -> int:
    """Return a file descriptor of new memory, of a size that nobody can change."""
    try:
        if not hasattr(os, "memfd_create"):
            with tempfile.TemporaryFile() as file:
                fd = os.dup(file.fileno())
            os.ftruncate(fd, size)
            return fd
        fd = os.memfd_create("ingot", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.posix_fallocate(fd, 0, size)         # so that a lack of memory is an error here, and no signal later
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
        return fd
    except OSError as e:
        raise DistBackendError(f"there are no {size} bytes of shared memory for a message: {e}") from e


_SEALS = getattr(fcntl, "F_SEAL_SHRINK", 0) | getattr(fcntl, "F_SEAL_GROW", 0) | getattr(fcntl, "F_SEAL_SEAL", 0)


def mapped(fd: int, size: int) -> np.ndarray:
    """Return another rank's block for reading; close its descriptor."""
    try:
        if os.fstat(fd).st_size < size or (_SEALS and fcntl.fcntl(fd, fcntl.F_GET_SEALS) & _SEALS != _SEALS):
            raise DistBackendError("another rank sent memory that can shrink while it is read")
        return np.frombuffer(mmap.mmap(fd, size, prot=mmap.PROT_READ), np.uint8)
    finally:
        os.close(fd)
