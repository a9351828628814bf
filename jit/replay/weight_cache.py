"""Cache of values that depend on weights alone: computed once, and again when a weight was written or replaced."""

import ctypes
import os
from operator import attrgetter, is_
from typing import NamedTuple

import numpy as np

_array_of, _storage_of = attrgetter("_a"), attrgetter("_storage")
_state_of = attrgetter("version", "lent", "returned")
_differ = ctypes.CDLL(None).memcmp if os.name == "posix" else ctypes.cdll.msvcrt.memcmp
_differ.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class _CachedValues(NamedTuple):
    """Cached values with their origin: arrays, storages, (version, lent, returned) of each, copies of lent memory as (address,
    address of the copy, bytes, copy), and the results."""

    arrays: list
    storages: list
    states: list
    copies: list
    results: list


class Derived:
    """Values of captured tensors alone, cached until one of these is written or gets other memory. A write by ingot counts a
    version. Memory that is lent (to NumPy, DLPack, another process) may be written without one: its content is compared with a
    copy at every call, and all is computed again when it was returned."""

    def __init__(self, compiled, tensors):
        self.compiled, self.tensors = compiled, tuple(tensors)
        self.cached = _CachedValues([None], [], [], [], [])     # of no arrays yet

    def arrays(self) -> list:
        """Return the arrays, computed again if something changed."""
        cached = self.cached
        arrays, storages = list(map(_array_of, self.tensors)), list(map(_storage_of, self.tensors))
        same = (len(cached.arrays) == len(arrays) and all(map(is_, arrays, cached.arrays))
                and all(map(is_, storages, cached.storages)) and list(map(_state_of, storages)) == cached.states)
        if not same or any(_differ(*where) for *where, _ in cached.copies):
            self.cached = cached = self._make(arrays, storages)
        return cached.results

    def _make(self, arrays, storages) -> _CachedValues:
        states = list(map(_state_of, storages))
        copies = [_span(a) for a, s in zip(arrays, storages) if s.lent]
        return _CachedValues(arrays, storages, states, copies, self.compiled.run(arrays))


def _span(a) -> tuple:
    """Return (address, address of a copy, bytes, the copy) of the memory from an array's first byte to its last."""
    low, high = np.lib.array_utils.byte_bounds(a)
    copy = ctypes.create_string_buffer(ctypes.string_at(low, high - low), high - low) if high > low else None
    return low, 0 if copy is None else ctypes.addressof(copy), high - low if copy is not None else 0, copy
