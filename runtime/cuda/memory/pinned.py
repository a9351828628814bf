"""Page-locked host memory, for copies that need not wait."""

import functools
import weakref
from collections import deque
from ctypes import c_uint8

import numpy as np

from ....ir.locks import new_rlock
from ..driver import context as contexts
from ..driver import streams
from ..driver.driver_state import on_replaced_driver
from ..driver.endings import collected, leave
from .pools import is_capturing, keep, outside_of_captures

_PORTABLE = 1


class PinnedMemory:
    """Pieces of page-locked memory, cached for reuse after their copies."""

    def __init__(self):
        self.lock = new_rlock()
        self.clear()
        on_replaced_driver(self.clear)

    def clear(self):
        """Forget all pieces, without the driver."""
        self.free: dict[int, list] = {}
        self.freed: deque = deque()                 # endings of pieces: (pointer, size, events)
        self.ended: deque = deque()                 # (bytes, device, streams) of dropped graphs
        self.locked = self.pieces = 0               # locked bytes, and the number of pieces

    def array(self, shape, dtype) -> np.ndarray:
        dtype = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return np.frombuffer(self._take(max(1, size)), np.uint8)[:size].view(dtype).reshape(shape)

    def _take(self, size):
        """Return at least so many bytes, as a ctypes array that carries its piece."""
        room = max(4096, 1 << (size - 1).bit_length())
        with self.lock:
            self.settle()
            waiting = self.free.get(room)
            pointer = waiting.pop() if waiting else self._lock_pages(room)
        found = _Bytes(room).from_address(pointer)
        found.piece = _Piece(found)
        leave(found, self.freed, (pointer, room, found.piece.events))
        return found

    def _lock_pages(self, room):
        driver = contexts.context().driver
        with outside_of_captures(driver):
            pointer = driver.handle("cuMemHostAlloc", room, _PORTABLE)
        self.locked += room
        self.pieces += 1
        return pointer

    def settle(self):
        """Free pieces whose copies are done; nothing can be queried while this thread captures."""
        with self.lock:
            while self.ended and not is_capturing():
                held, device, handles = self.ended.popleft()
                for handle in handles:
                    held.piece.used_in(streams.Stream(device, handle=handle))
                del held
            for _ in range(0 if is_capturing() else len(self.freed)):
                ending = self.freed.popleft()
                pointer, room, events = ending.left
                if all(e.query() for e in events.values()):
                    collected(ending)
                    self.free.setdefault(room, []).append(pointer)
                else:
                    self.freed.append(ending)

    def stats(self) -> dict:
        """Return byte counts by name, of locked and of free memory."""
        with self.lock:
            self.settle()
            free = sum(room * len(pointers) for room, pointers in self.free.items())
            return {"reserved_bytes.current": self.locked, "allocated_bytes.current": self.locked - free,
                    "segment.current": self.pieces}

    def piece_of(self, a: np.ndarray):
        """Return the piece that an array lies in, or None."""
        base = a
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        owner = getattr(base, "obj", base)
        return getattr(owner, "piece", None)

    def empty(self):
        """Return cached pieces to the system."""
        with self.lock:
            self.settle()
            driver = contexts.context().driver
            with outside_of_captures(driver):
                for room, pointers in self.free.items():
                    for p in pointers:
                        driver.cuMemFreeHost(p)
                    self.locked -= room * len(pointers)
                    self.pieces -= len(pointers)
            self.free.clear()


class _Piece:
    """A page-locked piece in use, freed when NumPy drops its bytes.

    events   the last event of a copy in each stream, to wait for
    """

    def __init__(self, owner):
        self.owner, self.events = weakref.ref(owner), {}

    def used_by_graphs(self, owner, device, handles):
        """Record that dropped graphs, which ran in streams, used the piece of `owner`."""
        PINNED.ended.append((owner, device, frozenset(handles)))

    def used_in(self, stream):
        """Record that a copy of the piece entered a stream. A captured graph holds the piece, because each replay copies
        again."""
        if is_capturing():
            keep(self.owner())
        else:
            self.events[stream] = stream.record_event(self.events.get(stream))


@functools.lru_cache(None)
def _Bytes(size):
    """Return a ctypes array type whose instances may carry attributes."""
    return type("PinnedBytes", (c_uint8 * size,), {})


PINNED = PinnedMemory()
