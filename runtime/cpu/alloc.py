"""Memory for arrays: small ones from numpy, large ones from a caching allocator.

The system hands out large memory zeroed, page by page, at the first touch of each page: that costs more than most kernels
that fill it. So blocks of 128 KiB and more are kept when their array dies and given to the next array of about that size. A
block belongs to an array (and all its views) through the array's base; it comes back when the last of them is gone.

Sizes are rounded up to one of eight steps per power of two, so at most an eighth is wasted. All blocks start on a page. Kept
memory is bounded (`set_cache_limit`); what exceeds the bound goes back to the system at once, largest blocks first.
"""

import contextlib
import ctypes
import math
import mmap
import os
import sys
import threading
import weakref
from collections import deque
from typing import Any

import numpy as np

SMALL_BYTES = 128 * 1024
_HUGE_PAGE_BYTES = 4 << 20
_DEFAULT_LIMIT = 4 << 30


class _Block:
    """Page-aligned private memory."""

    __slots__ = ("kind", "memory", "size")

    def __init__(self, size):
        self.size = size
        self.kind = ctypes.c_char * size
        if sys.platform == "win32":
            self.memory = mmap.mmap(-1, size)
        else:
            self.memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if size >= _HUGE_PAGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):                # a kernel without huge pages: the memory is as good
                self.memory.madvise(mmap.MADV_HUGEPAGE)


class _Lease(weakref.ref):
    """Watches the buffer object that is an array's base; its death, with the array and all views, frees the block."""

    __slots__ = ("block",)
    block: Any


class _State:
    """Leases of live arrays, free blocks by size, counters. `returned` takes blocks from any thread without a lock."""

    lock = threading.Lock()
    returned: deque = deque()
    leases: dict = {}
    free: dict = {}
    cached = 0
    limit: int | None = None
    counts = {"reused": 0, "mapped": 0}
    in_use = 0
    peak = 0


def empty(shape, dtype=np.float32) -> np.ndarray:
    """An uninitialised C-contiguous array of a shape (an int or a tuple), as `numpy.empty`, but large memory is reused."""
    if type(dtype) is not np.dtype:
        dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize if type(shape) is tuple else shape * dtype.itemsize
    if size < SMALL_BYTES or dtype.hasobject:
        return np.empty(shape, dtype)
    block = _take(size_class(size))
    memory = block.kind.from_buffer(block.memory)
    lease = _Lease(memory, _give_back)
    lease.block = block
    _State.leases[id(block)] = lease                          # a weak reference calls back only while it lives itself
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
    """Give all kept blocks back to the system."""
    with _State.lock:
        _collect()
        _State.free.clear()
        _State.cached = 0


def set_cache_limit(size: int):
    """Bound the bytes kept for reuse; 0 keeps nothing."""
    with _State.lock:
        _State.limit = max(0, int(size))
        _collect()


def stats() -> dict:
    """Bytes in use by live large arrays (`in_use`, `peak`), bytes kept (`cached`, `limit`), blocks `mapped` and `reused`."""
    with _State.lock:
        _collect()
        return {"in_use": _State.in_use, "peak": _State.peak, "cached": _State.cached, "limit": _limit(), **_State.counts}


def reset_peak():
    """Start counting the peak anew."""
    with _State.lock:
        _collect()
        _State.peak = _State.in_use


def size_class(size: int) -> int:
    """The block size used for a request: rounded up to an eighth of a power of two, whole pages."""
    step = max(mmap.PAGESIZE, 1 << max(0, (size - 1).bit_length() - 4))
    return -(-size // step) * step


def _take(size):
    with _State.lock:
        _collect()
        _State.in_use += size
        _State.peak = max(_State.peak, _State.in_use)
        stack = _State.free.get(size)
        if stack:
            _State.cached -= size
            _State.counts["reused"] += 1
            return stack.pop()
        _State.counts["mapped"] += 1
    try:
        return _Block(size)
    except (OSError, ValueError, OverflowError) as error:
        empty_cache()
        return _second_try(size, error)


def _second_try(size, error):
    try:
        return _Block(size)
    except (OSError, ValueError, OverflowError):
        with _State.lock:
            _State.in_use -= size
        raise MemoryError(f"no memory for an array of {size} bytes: {error}") from error


def _give_back(lease):
    """Called when an array dies, in any thread, possibly while this thread holds the lock: never waits."""
    if _State is None:
        return          # the interpreter is ending, and takes the memory with it
    block = lease.block
    del _State.leases[id(block)]
    _State.returned.append(block)
    if _State.lock.acquire(blocking=False):
        try:
            _collect()
        finally:
            _State.lock.release()


def _collect():
    """Sort returned blocks into the free lists and drop what exceeds the bound; the lock is held."""
    returned = _State.returned
    while returned:
        block = returned.popleft()
        _State.in_use -= block.size
        _State.cached += block.size
        _State.free.setdefault(block.size, []).append(block)
    limit = _State.limit if _State.limit is not None else _limit()
    while _State.cached > limit:
        largest = max(size for size, stack in _State.free.items() if stack)
        _State.free[largest].pop()
        _State.cached -= largest


def _limit():
    """Unless set: 4 GiB, or a quarter of the machine's memory where that is less."""
    if _State.limit is None:
        try:
            physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            physical = 4 * _DEFAULT_LIMIT
        _State.limit = min(_DEFAULT_LIMIT, physical // 4)
    return _State.limit


def _after_fork():
    _State.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
