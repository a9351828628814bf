"""Caches with a limit in bytes, for tables whose size grows with a shape."""

from functools import wraps
from typing import Any

_MOST_VALUES = 512


class SizedCache:
    """Values by key, with the bytes of each; the oldest ones leave when all take more than `most` bytes, or are too many.

    Threads may compute one value twice, and lose values to each other, but never read another key's.
    """

    most = 64 << 20

    def __init__(self):
        self.entries: dict[Any, tuple] = {}       # {key: (value, bytes)}

    def put(self, key, value, nbytes: int):
        """Keep a value, and return it."""
        if nbytes > self.most:
            return value
        self.entries[key] = value, nbytes
        total = sum(n for _, n in list(self.entries.values()))
        for old in list(self.entries):
            if total <= self.most and len(self.entries) <= _MOST_VALUES:
                break
            total -= self.entries.pop(old, (None, 0))[1]
        return value


def nbytes_of(arrays) -> int:
    """Return the bytes of arrays in a tuple, some of which may be None."""
    return sum(a.nbytes for a in arrays if a is not None)


def sized_cache(nbytes=nbytes_of):
    """Decorate a function: keep its results in a `SizedCache`. `nbytes` counts those of a result."""
    def decorate(make):
        cache = SizedCache()
        entries = cache.entries

        @wraps(make)
        def cached(*args, **named):
            key = (args, *named.items()) if named else args
            found = entries.get(key)
            if found is not None:
                return found[0]
            made = make(*args, **named)
            return cache.put(key, made, nbytes(made))

        return cached

    return decorate
