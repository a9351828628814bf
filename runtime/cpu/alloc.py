"""Memory for arrays: small ones from numpy, large ones from a heap that uses again what the system gave (`heap.py`).

A piece of 128 KiB and more belongs to an array (and all its views) through the array's base; it comes back when the last of
them is gone. Sizes are rounded up to one of eight steps per power of two, so at most an eighth is wasted. All pieces start on a
page. What came back waits for a request of its very size, and goes to the heap before any other request does.
Kept memory is bounded (`set_cache_limit`); what exceeds the bound by an eighth goes back to the system at once.
"""

import ctypes
import functools
import math
import mmap
import os
import threading
import weakref
from collections import deque
from typing import Any

import numpy as np

from .heap import Heap

SMALL_BYTES = 128 * 1024
_DEFAULT_LIMIT = 4 << 30
_A_FEW = 8


class _Lease(weakref.ref):
    """Watches the buffer object that is an array's base; its death, with the array and all views, frees the piece."""

    __slots__ = ("piece",)
    piece: Any


class _State:
    """Leases of live arrays, free memory, counters. `returned` takes pieces from any thread without a lock."""

    lock = threading.Lock()
    returned: deque = deque()
    leases: dict = {}
    waiting: dict = {}          # size -> pieces of that size which came back, the latest last
    waiting_bytes = 0
    heap = Heap()
    limit: int | None = None
    at_once = 0                 # bytes from which a piece that comes back is looked at right away; the others a few at a time
    counts = {"reused": 0, "mapped": 0}
    in_use = 0
    peak = 0


# Arrays do not hold the region that they lie in: leases do, and outlive every array, also when the interpreter ends.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_State.leases))


def empty(shape, dtype=np.float32) -> np.ndarray:
    """An uninitialised C-contiguous array of a shape (an int or a tuple), as `numpy.empty`, but large memory is reused."""
    if type(dtype) is not np.dtype:
        dtype = np.dtype(dtype)
    size = (math.prod(shape) if type(shape) is tuple else shape) * dtype.itemsize
    if size < SMALL_BYTES or dtype.hasobject:
        return np.empty(shape, dtype)
    whole, memory_at = _block(size)
    piece = _take(whole)
    memory = memory_at(piece.address)
    lease = _Lease(memory, _give_back)
    lease.piece = piece
    _State.leases[id(piece)] = lease                          # a weak reference calls back only while it lives itself
    return np.ndarray(shape, dtype, memory)


def zeros(shape, dtype=np.float32) -> np.ndarray:
    """An array of zeros."""
    array = empty(shape, dtype)
    array.fill(0)
    return array


def aligned_zeros(shape: tuple, dtype=np.float32) -> np.ndarray:
    """An array of zeros that starts on a cache line, whatever its size."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size >= SMALL_BYTES:
        return zeros(shape, dtype)
    room = np.zeros(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start:start + size].view(dtype).reshape(shape)


def empty_cache():
    """Give all kept memory back to the system."""
    with _State.lock:
        _collect()
        _join_waiting()
        _State.heap.cool(0)


def set_cache_limit(size: int):
    """Bound the bytes kept for reuse; 0 keeps nothing."""
    with _State.lock:
        _State.limit = max(0, int(size))
        _State.at_once = _State.limit // (8 * _A_FEW)
        _collect()


def stats() -> dict:
    """Bytes in use by live large arrays (`in_use`, `peak`), bytes kept (`cached`, `limit`), arrays in memory that was
    `reused` and that was `mapped` anew."""
    with _State.lock:
        _collect()
        return {"in_use": _State.in_use, "peak": _State.peak, "cached": _State.heap.warm + _State.waiting_bytes,
                "limit": _limit(), **_State.counts}


def reset_peak():
    """Start counting the peak anew."""
    with _State.lock:
        _collect()
        _State.peak = _State.in_use


def size_class(size: int) -> int:
    """The block size used for a request: rounded up to an eighth of a power of two, whole pages."""
    step = max(mmap.PAGESIZE, 1 << max(0, (size - 1).bit_length() - 4))
    return -(-size // step) * step


@functools.lru_cache(4096)
def _block(size):
    """(the block size of a request, what makes an object of the memory at an address: one that numpy takes and that may be
    watched by a weak reference)"""
    whole = size_class(size)
    return whole, (ctypes.c_char * whole).from_address


def _take(size):
    state = _State
    with state.lock:
        if state.returned:
            _collect()
        pieces = state.waiting.get(size)
        if pieces:
            piece = pieces.pop()
            state.waiting_bytes -= size
            state.counts["reused"] += 1
        else:
            piece = _from_heap(size)
        state.in_use += size
        if state.in_use > state.peak:
            state.peak = state.in_use
        return piece


def _from_heap(size):
    """A piece of a size that no waiting one has."""
    _join_waiting()
    warm = _State.heap.warm
    try:
        piece = _State.heap.take(size)
    except (OSError, ValueError, OverflowError) as error:
        piece = _second_try(size, error)
    _State.counts["reused" if _State.heap.warm <= warm - size else "mapped"] += 1
    return piece


def _second_try(size, error):
    _State.heap.cool(0)
    try:
        return _State.heap.take(size)
    except (OSError, ValueError, OverflowError):
        raise MemoryError(f"no memory for an array of {size} bytes: {error}") from error


def _give_back(lease):
    """Called when an array dies, in any thread, possibly while this thread holds the lock: never waits."""
    if _State is None:
        return          # the interpreter is ending, and takes the memory with it
    piece, returned = lease.piece, _State.returned
    del _State.leases[id(piece)]
    returned.append(piece)
    if (piece.size > _State.at_once or len(returned) >= _A_FEW) and _State.lock.acquire(blocking=False):
        try:
            _collect()
        finally:
            _State.lock.release()


def _collect():
    """Takes in what came back, and drops what exceeds the bound; the lock is held."""
    state = _State
    returned, waiting = state.returned, state.waiting
    while returned:
        piece = returned.popleft()
        size = piece.size
        state.in_use -= size
        state.waiting_bytes += size
        pieces = waiting.get(size)
        if pieces is None:
            waiting[size] = [piece]
        else:
            pieces.append(piece)
    limit = state.limit if state.limit is not None else _limit()
    if state.heap.warm + state.waiting_bytes > limit:
        _join_waiting()
        state.heap.cool(limit)


def _join_waiting():
    """Gives the heap every piece that waits; the lock is held."""
    for pieces in _State.waiting.values():
        for piece in pieces:
            _State.heap.give(piece)
    _State.waiting.clear()
    _State.waiting_bytes = 0


def _limit():
    """Unless set: 4 GiB, or a quarter of the machine's memory where that is less."""
    if _State.limit is None:
        try:
            physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            physical = 4 * _DEFAULT_LIMIT
        _State.limit = min(_DEFAULT_LIMIT, physical // 4)
        _State.at_once = _State.limit // (8 * _A_FEW)
    return _State.limit


def _after_fork():
    _State.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
