"""Memory of arrays: small ones from NumPy, large ones from a heap that reuses memory of the system (`heap.py`).

A piece of 128 KiB and more belongs to an array (and all its views) through the array's base; it comes back when the last of
them is gone. Sizes are rounded up to one of eight steps per power of two, so at most an eighth is wasted. All pieces start on a
page. A freed piece waits on a shelf for a request of its very size. Other requests go to the heap; a large one, or too many
waiting bytes, first empties the shelves into it. Cached memory is bounded (`set_cache_limit`); what exceeds the bound by an
eighth goes back to the system at once.
"""

import ctypes
import functools
import math
import mmap
import os
import weakref
from typing import Any

import numpy as np

from ....ir.dim_order import inverse
from ....ir.errors import out_of_memory
from ....ir.interrupts import is_of_call
from ....ir.locks import Turn, new_rlock
from .heap import Heap, NoRegionError

SMALL_BYTES = 128 * 1024
_DEFAULT_LIMIT = 4 << 30
_A_FEW = 8
_SMALL_PIECE = 1 << 20              # bytes of a request for which shelves are not cleared
_MAY_WAIT = 8 << 20                 # while no more bytes than these wait there: programs ask for the same sizes again


class _Lease(weakref.ref):
    """Owner of a piece. It watches the buffer object that is an array's base; when that dies with the array and all views, the
    piece is freed."""

    __slots__ = ("piece",)
    piece: Any


class _Shelf:
    """Freed pieces of one size, as ended leases, the latest last.

    memory_at   makes an object of the memory at an address: one that NumPy takes and that may be watched by a weak reference
    put         adds a lease: no Python runs for it, and no lock is taken
    """

    __slots__ = ("ended", "memory_at", "put", "size")

    def __init__(self, size: int):
        self.size = size
        self.memory_at = (ctypes.c_char * size).from_address
        self.ended: list = []
        self.put = self.ended.append


class _State:
    """State of the process. `leases` are those of live arrays and of pieces on shelves."""

    __slots__ = ("at_once", "heap", "leases", "limit", "lock", "mapped", "peak", "reused", "shelves", "unseen", "unwatched")

    def __init__(self):
        self.lock = new_rlock()
        self.leases: dict = {}
        self.shelves: dict = {}
        self.heap = Heap()
        self.limit: int | None = None
        self.unwatched = 0          # while no more bytes than this are taken, freed pieces are not processed
        self.at_once = 0            # bytes from which a piece freed later is processed at once,
        self.unseen = 0             # the others a few at a time
        self.reused = self.mapped = self.peak = 0


_state = _State()
# Arrays do not hold their region: leases do, and outlive every array, also when the interpreter ends.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_state.leases))
_dtype, _new_array = np.dtype, np.empty


def empty(shape, dtype=np.float32) -> np.ndarray:
    """Return an uninitialised C-contiguous array of a shape (an int or a tuple), like `numpy.empty`, but reuse large memory."""
    if type(dtype) is not _dtype:
        dtype = np.dtype(dtype)
    size = dtype.itemsize
    for n in shape if isinstance(shape, tuple) else (shape,):
        size *= n
    if size < SMALL_BYTES or dtype.hasobject:
        return _new_array(shape, dtype)
    state, shelf = _state, _shelf(size)
    try:
        piece = shelf.ended.pop().piece
    except IndexError as error:
        if not is_of_call(error):
            raise
        if _is_inside():
            return _outside_heap(shape, dtype, size)
        piece = _from_heap(shelf.size)
    else:
        state.reused += 1
    memory = shelf.memory_at(piece.address)
    lease = _Lease(memory, shelf.put if state.heap.taken <= state.unwatched else _give_back)
    lease.piece = piece
    state.leases[piece] = lease                               # a weak reference calls back only while it lives itself
    return np.ndarray(shape, dtype, memory)


def empty_in_order(shape: tuple, dtype, order: tuple | None, make=empty) -> np.ndarray:
    """Return such an array with its dims in an order in memory (`ir/dim_order.py`)."""
    if order is None:
        return make(shape, dtype)
    return make(tuple([shape[d] for d in order]), dtype).transpose(inverse(order))


def zeros(shape, dtype=np.float32) -> np.ndarray:
    """Return an array of zeros."""
    array = empty(shape, dtype)
    array.fill(0)
    return array


def dense(array: np.ndarray, dtype=None) -> np.ndarray:
    """Return the array in C order, aligned, of a dtype: itself if it is so, else a copy."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned and (dtype is None or array.dtype == dtype):
        return array
    return np.require(array, dtype, "CA")


def aligned_zeros(shape: tuple, dtype=np.float32) -> np.ndarray:
    """Return an array of zeros that starts on a cache line, whatever its size."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size >= SMALL_BYTES:
        return zeros(shape, dtype)
    room = np.zeros(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start:start + size].view(dtype).reshape(shape)


def empty_cache():
    """Give all cached memory back to the system."""
    if not _is_inside():
        with _state.lock:
            _clear_shelves()
            _state.heap.cool(0)


def set_cache_limit(size: int):
    """Bound the bytes cached for reuse; 0 caches nothing."""
    is_inside = _is_inside()
    with _state.lock:
        _set_limit(max(0, int(size)))
        if not is_inside:
            _trim()


def stats() -> dict:
    """Return byte counts and numbers of arrays.

    in_use, peak     bytes of live large arrays, now and at most (the peak includes the few bytes that waited then)
    cached, limit    bytes cached, and their bound
    reused, mapped   arrays in reused memory, and in new memory
    """
    is_inside = _is_inside()
    with _state.lock:
        if not is_inside:
            _trim()
        waiting = _waiting()
        return {"in_use": _state.heap.taken - waiting, "peak": _state.peak, "cached": _state.heap.warm + waiting,
                "limit": _limit(), "reused": _state.reused, "mapped": _state.mapped}


def reset_peak():
    """Restart the count of the peak."""
    is_inside = _is_inside()
    with _state.lock:
        if not is_inside:
            _clear_shelves()
        _state.peak = _state.heap.taken


def size_class(size: int) -> int:
    """Return the block size of a request: rounded up to an eighth of a power of two, whole pages."""
    step = max(mmap.PAGESIZE, 1 << max(0, (size - 1).bit_length() - 4))
    return -(-size // step) * step


@functools.lru_cache(4096)
def _shelf(size) -> _Shelf:
    whole = size_class(size)
    return _state.shelves.setdefault(whole, _Shelf(whole))


def _is_inside() -> bool:
    """Return whether this thread holds the lock already: a signal handler runs in the middle of a change of the heap."""
    return _state.lock._is_owned()


def _outside_heap(shape, dtype, size) -> np.ndarray:
    """Return an array in memory of numpy's, on a page's beginning as the heap's pieces are."""
    room = _new_array(size + mmap.PAGESIZE, np.uint8)
    start = -room.ctypes.data % mmap.PAGESIZE
    return np.ndarray(shape, dtype, room, start)


def _from_heap(size):
    """Take a piece of a size of which none waits; only then the peak is updated."""
    state = _state
    with state.lock:
        if size >= _SMALL_PIECE or _waiting() > _MAY_WAIT:
            _clear_shelves()
        warm = state.heap.warm
        try:
            piece = state.heap.take(size)
        except NoRegionError as error:
            piece = _second_try(size, error)
        if state.heap.warm <= warm - size:
            state.reused += 1
        else:
            state.mapped += 1
        state.peak = max(state.peak, state.heap.taken)
        _trim()
        return piece


def _second_try(size, error):
    _state.heap.cool(0)
    try:
        return _state.heap.take(size)
    except NoRegionError:
        raise out_of_memory(f"no memory for an array of {size / 2 ** 30:,.1f} GiB: {error}") from error


def _give_back(lease):
    """Free a lease. Called when an array dies while much is in use, in any thread, perhaps while it holds the lock: never
    waits."""
    state = _state
    if state is None:
        return          # the interpreter is ending, and takes the memory with it
    size = lease.piece.size
    state.shelves[size].put(lease)
    state.unseen += 1
    if (size > state.at_once or state.unseen >= _A_FEW) and not _is_inside():
        turn = Turn()
        try:
            if turn.takes(state.lock, False):
                _trim()
        finally:
            turn.give_back()


def _waiting() -> int:
    return sum([shelf.size * len(shelf.ended) for shelf in list(_state.shelves.values())])


def _trim():
    """Drop what exceeds the bound; the lock is held."""
    _state.unseen, limit = 0, _limit()
    if _state.heap.warm + _waiting() > limit:
        _clear_shelves()
        _state.heap.cool(limit)


def _clear_shelves():
    """Give the heap every piece that waits; the lock is held, but other threads may come and take from shelves."""
    for shelf in list(_state.shelves.values()):
        while True:
            try:
                ended = shelf.ended.pop()
            except IndexError as error:
                if not is_of_call(error):
                    raise
                break
            del _state.leases[ended.piece]
            _state.heap.give(ended.piece)


def _limit() -> int:
    """Return the bound: by default 4 GiB, or a quarter of the machine's memory if that is less."""
    if _state.limit is None:
        try:
            physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            physical = 4 * _DEFAULT_LIMIT
        _set_limit(min(_DEFAULT_LIMIT, physical // 4))
    return _state.limit or 0


def _set_limit(limit):
    """Set the bound; an eighth of it may be cached beyond it, unchecked."""
    _state.limit, _state.unwatched, _state.at_once = limit, limit // 8, limit // (8 * _A_FEW)


