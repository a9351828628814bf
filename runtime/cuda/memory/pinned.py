"""Page-locked host memory, for copies that need not wait."""

import weakref
from collections import deque
from ctypes import byref, c_uint8, c_void_p
from functools import lru_cache, partial

import numpy as np

from ....ir.locks import new_rlock
from ..driver import context as contexts
from ..driver import streams
from ..driver.driver_state import on_replaced_driver
from ..driver.endings import each, leave
from .pools import is_capturing, keep, mode_exchange

_PORTABLE = 1


class PinnedMemory:
    """Pieces of page-locked memory, cached for reuse after their copies."""

    def __init__(self):
        self.lock = new_rlock()
        self.clear()
        on_replaced_driver(self.clear)

    def clear(self):
        """Forget all pieces, without the driver."""
        self.known: list[_Locked] = []
        self.free: dict[int, list] = {}             # by size; those that are in use are passed over
        self.freed: deque = deque()                 # endings of pieces: (locked memory, events)
        self.ended: deque = deque()                 # (bytes, device, streams) of dropped graphs

    def array(self, shape, dtype) -> np.ndarray:
        dtype = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return np.frombuffer(self._take(max(1, size)), np.uint8)[:size].view(dtype).reshape(shape)

    def _take(self, size):
        """Return at least so many bytes, as a ctypes array that carries its piece."""
        room = max(4096, 1 << (size - 1).bit_length())
        with self.lock:
            self.settle()
            waiting = self.free.setdefault(room, [])
            while waiting and waiting[-1].ending is not None:
                waiting.pop()
            if not waiting:
                waiting.append(_Locked(room))
            locked = waiting[-1]
            if not locked.place.value:
                self._lock_pages(locked)
            found = _Bytes(room).from_address(locked.place.value)
            found.piece = _Piece(found)
            locked.ending = leave(found, self.freed, (locked, found.piece.events))
            waiting.pop()
        return found

    def _lock_pages(self, locked):
        driver = contexts.context().driver
        exchange = mode_exchange(driver)
        if locked not in self.known:
            self.known.append(locked)
        try:
            exchange()
            driver.cuMemHostAlloc(byref(locked.place), locked.room, _PORTABLE)
        finally:
            exchange()

    def settle(self):
        """Free pieces whose copies are done; nothing can be queried while this thread captures."""
        with self.lock:
            while self.ended and not is_capturing():
                held, device, handles = self.ended[0]
                for handle in handles:
                    held.piece.used_in(streams.Stream(device, handle=handle))
                self.ended.popleft()
                del held
            if not is_capturing():
                each(self.freed, self._settle_one)

    def _settle_one(self, ending):
        locked, events = ending.left
        if locked.ending is ending:         # (else it was never handed out)
            if not all(e.query() for e in events.values()):
                return False
            self.free.setdefault(locked.room, []).append(locked)
            locked.ending = None
        return True

    def stats(self) -> dict:
        """Return byte counts by name, of locked and of free memory."""
        with self.lock:
            self.settle()
            known = [x for x in self.known if x.place.value]
            return {"reserved_bytes.current": sum(x.room for x in known),
                    "allocated_bytes.current": sum(x.room for x in known if x.ending is not None),
                    "segment.current": len(known)}

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
            exchange = mode_exchange(driver)
            try:
                exchange()
                for x in self.known:
                    if x.ending is None and x.place.value:
                        driver.noted(partial(setattr, x.place, "value", None), "cuMemFreeHost", x.place.value)
            finally:
                exchange()
            self.known = [x for x in self.known if x.place.value]
            self.free.clear()


class _Locked:
    """Page-locked memory of so many bytes; `ending` is that of the bytes in use, None while it is free."""

    __slots__ = ("ending", "place", "room")

    def __init__(self, room: int):
        self.room, self.place, self.ending = room, c_void_p(), None


class _Piece:
    """A page-locked piece in use, freed when NumPy drops its bytes.

    events   the last event of a copy in each stream, to wait for
    """

    def __init__(self, owner):
        self.owner, self.events = weakref.ref(owner), {}

    def used_by_graphs(self, owner, device, handles):
        """Record that dropped graphs, which ran in streams, used the piece of `owner`."""
        PINNED.ended.append((owner, device, frozenset(handles)))

    def begin(self, stream, copy, *given):
        """Call a function that copies the piece in a stream, and record that. After an interrupt the copy is waited for."""
        try:
            copy(*given)
            self.used_in(stream)
        except BaseException:
            if not is_capturing():
                stream.finish_interrupted(self.owner())
            raise

    def used_in(self, stream):
        """Record that a copy of the piece entered a stream. A captured graph holds the piece, because each replay copies
        again."""
        if is_capturing():
            keep(self.owner())
        else:
            self.events[stream] = stream.record_event(self.events.get(stream))


@lru_cache(None)
def _Bytes(size):
    """Return a ctypes array type whose instances may carry attributes."""
    return type("PinnedBytes", (c_uint8 * size,), {})


PINNED = PinnedMemory()
