"""Memory by device: the allocators of this process, memory as an object that frees itself, page-locked host memory."""

import functools
import itertools
import threading
import weakref
from collections import deque
from contextlib import contextmanager
from ctypes import byref, c_int, c_uint8

import numpy as np

from . import context as contexts
from . import streams
from .memory import Allocator, Block

_allocators: dict[int, Allocator] = {}
_PORTABLE, _RELAXED = 1, 2


class _Thread(threading.local):
    pool = 0                    # the pool that new blocks come from: another one while a graph is captured
    held: list | None = None    # what that graph keeps alive


thread = _Thread()


class Memory:
    """Device memory that is given back with the last reference to it."""

    __slots__ = ("__weakref__", "allocator", "block", "device", "nbytes", "pointer")

    def __init__(self, device: int, nbytes: int, stream: int | None = None):
        stream = streams.current(device).handle if stream is None else stream
        self.device, self.nbytes = device, nbytes
        self.allocator = allocator(device)
        self.block: Block = self.allocator.allocate(nbytes, stream, thread.pool)
        self.pointer = self.block.pointer

    def used_on(self, stream: int):
        """Says that another stream works on this memory. Where this thread captures, the stream runs nothing: whoever replays
        the graph says where."""
        if not thread.pool:
            self.block.used_on(stream)

    def __del__(self):
        block = getattr(self, "block", None)
        if block is not None:
            self.allocator.release(block)


class ForeignMemory:
    """Device memory that somebody else owns; `owner` is held as long as this is.

    The owner knows nothing of our streams, so the work in those that used the memory is waited for before it goes back.
    """

    __slots__ = ("__weakref__", "context", "device", "nbytes", "owner", "pointer", "streams")

    def __init__(self, device: int, pointer: int, nbytes: int, owner):
        self.device, self.pointer, self.nbytes, self.owner = device, pointer, nbytes, owner
        self.context, self.streams = contexts.context(device), set()

    def used_on(self, stream: int):
        """Notes a stream that works on this memory."""
        if not thread.pool:
            self.streams.add(stream)

    def __del__(self):
        driver = self.context.driver
        driver.raw["cuCtxSetCurrent"](self.context.handle)
        for stream in self.streams:
            driver.raw["cuStreamSynchronize"](stream)
        contexts.rebind()


def keep(memory):
    """Keeps memory that is not of its inputs alive as long as a graph that is being captured; called before it is used."""
    if thread.held is not None:
        thread.held.append(memory)


def allocator(device: int) -> Allocator:
    """The allocator of a device."""
    return _allocators.get(device) or _make(device)


def _make(device):
    context = contexts.context(device)
    driver = context.driver

    def take(size):
        contexts.context(device)
        with beside_captures(driver):
            return driver.handle("cuMemAlloc_v2", size)

    def give(pointer):
        contexts.context(device)
        with beside_captures(driver):
            driver.cuMemFree_v2(pointer)

    def mark(stream):
        contexts.context(device)
        event = driver.handle("cuEventCreate", 2)
        driver.cuEventRecord(event, stream)
        return event

    def done(event):
        contexts.context(device)
        return driver.is_done("cuEventQuery", event)

    # (No lock is held while it is made: the garbage collector may run a finaliser that asks for the allocator.)
    return _allocators.setdefault(device, Allocator(device, take, give, mark, done, driver.cuEventDestroy_v2))


def adopt(device: int, allocator):
    """Makes another allocator that of a device, and gives it back."""
    _allocators[device] = allocator
    return allocator


def started() -> dict:
    """The allocators that were used, by device."""
    return dict(_allocators)


@contextmanager
def beside_captures(driver):
    """Calls inside are no part of a capture that this thread may have under way."""
    mode = c_int(_RELAXED)
    driver.cuThreadExchangeStreamCaptureMode(byref(mode))
    try:
        yield
    finally:
        driver.cuThreadExchangeStreamCaptureMode(byref(mode))


_numbers = itertools.count(1)


def new_number() -> int:
    """The number of a pool that nobody has yet."""
    return next(_numbers)


class Pool:
    """A pool of its own for what is captured; several graphs may share one."""

    _uses: dict[int, int] = {}
    _streams: dict[int, set] = {}       # where its graphs ran

    def __init__(self, device: int, number: int | None = None):
        self.device, self.number = device, new_number() if number is None else number
        self._uses[self.number] = self._uses.get(self.number, 0) + 1
        self.held: list = []

    def enter(self):
        """New blocks of this thread come from here."""
        found = allocator(self.device)
        found.settle()
        found.capturing += 1
        thread.pool, thread.held = self.number, self.held

    def leave(self):
        """New blocks come from where all do."""
        allocator(self.device).capturing -= 1
        thread.pool, thread.held = 0, None

    def release(self, streams):
        """One user less, which ran in `streams`; after the last, its memory is as any other."""
        self._uses[self.number] -= 1
        self._streams.setdefault(self.number, set()).update(streams)
        self.held.clear()
        if not self._uses[self.number]:
            allocator(self.device).end_pool(self.number, self._streams.pop(self.number))


# Page-locked host memory: copies between it and the device need not wait.


class PinnedMemory:
    """Pieces of page-locked memory, kept for reuse when the copies that use them are done."""

    def __init__(self):
        self.free: dict[int, list] = {}
        self.freed: deque = deque()                 # (pointer, size, events)
        self.lock = threading.RLock()

    def forget(self):
        """Forgets all of it, for a driver that was replaced."""
        self.free, self.freed = {}, deque()

    def array(self, shape, dtype) -> np.ndarray:
        """A new array in page-locked memory."""
        dtype = np.dtype(dtype)
        piece = self._take(max(1, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize))
        flat = np.frombuffer(piece.bytes, np.uint8)[: int(np.prod(shape, dtype=np.int64)) * dtype.itemsize]
        return flat.view(dtype).reshape(shape)

    def _take(self, size):
        room = max(4096, 1 << (size - 1).bit_length())
        with self.lock:
            self.settle()
            waiting = self.free.get(room)
            pointer = waiting.pop() if waiting else self._lock_pages(room)
            return _Piece(self, pointer, room)

    @staticmethod
    def _lock_pages(room):
        return contexts.context().driver.handle("cuMemHostAlloc", room, _PORTABLE)

    def settle(self):
        """Takes in pieces whose copies are done."""
        with self.lock:
            for _ in range(len(self.freed)):
                pointer, room, events = self.freed.popleft()
                if all(e.query() for e in events):
                    self.free.setdefault(room, []).append(pointer)
                else:
                    self.freed.append((pointer, room, events))

    def piece_of(self, a: np.ndarray):
        """The piece that an array lies in, or None."""
        base = a
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        owner = getattr(base, "obj", base)
        return getattr(owner, "piece", None)

    def empty(self):
        """Gives pieces kept for reuse back to the system."""
        with self.lock:
            self.settle()
            for pointers in self.free.values():
                for p in pointers:
                    contexts.context().driver.cuMemFreeHost(p)
            self.free.clear()


class _Piece:
    """A page-locked piece in use. `bytes` is what numpy sees; the piece goes back when numpy lets go of that."""

    def __init__(self, pool, pointer, size):
        self.pool, self.pointer, self.size, self.events = pool, pointer, size, []
        self.bytes = _Bytes(size).from_address(pointer)
        self.bytes.piece = _Token(self.events)
        weakref.finalize(self.bytes, pool.freed.append, (pointer, size, self.events))


class _Token:
    """What copies leave with a piece: the events to wait for."""

    def __init__(self, events):
        self.events = events


@functools.lru_cache(None)
def _Bytes(size):
    """A ctypes array type whose instances may carry attributes."""
    return type("PinnedBytes", (c_uint8 * size,), {})


PINNED = PinnedMemory()


def forget():
    """Forgets all memory, for a driver that was replaced."""
    _allocators.clear()
    PINNED.forget()
