"""Python values as they were: what to remember of one while a function is recorded, and whether it is still so."""

import os
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import numpy as np

_VALUES = (bool, int, float, complex, str, bytes, type(None))
_MAPPINGS = frozenset((dict, Counter, OrderedDict, defaultdict, type(os.environ)))
CONTAINERS = frozenset((list, set, deque, *_MAPPINGS))


class Photograph:
    """A container as it was: its type and its items, nested containers likewise."""

    __slots__ = ("items", "keys", "kind")

    def __init__(self, container):
        self.kind = type(container)
        self.keys: Any = tuple(container) if self.kind is set or self.kind in _MAPPINGS else None
        self.items = tuple([photograph(v) for v in (container.values() if self.kind in _MAPPINGS else container)])

    def matches(self, now) -> bool:
        """Whether a value is such a container."""
        if type(now) is not self.kind or len(now) != len(self.items):
            return False
        if self.kind is set:
            return set(self.keys) == now
        if self.kind in _MAPPINGS and tuple(now) != self.keys:
            return False
        return all(looks_like(v, e) for v, e in zip(now.values() if self.kind in _MAPPINGS else now, self.items))

    def __repr__(self):
        return f"<{self.kind.__name__} of {len(self.items)}>"


class ArrayPhotograph:
    """A numpy array as it was."""

    __slots__ = ("copy",)

    def __init__(self, a):
        self.copy = a.copy()

    def matches(self, now) -> bool:
        """Whether a value is an array of these bits."""
        old = self.copy
        return (type(now) is np.ndarray and now.shape == old.shape and now.dtype == old.dtype and not old.dtype.hasobject
                and now.tobytes() == old.tobytes())

    def __repr__(self):
        return f"<array of {self.copy.dtype}{list(self.copy.shape)}>"


def is_changeable(value) -> bool:
    """Whether a value is remembered by its content."""
    return type(value) in CONTAINERS or type(value) is np.ndarray


def photograph(value):
    """What to remember of a value: containers and arrays by content, everything else as it is."""
    if type(value) in CONTAINERS:
        return Photograph(value)
    return ArrayPhotograph(value) if type(value) is np.ndarray else value


def looks_like(now, expected) -> bool:
    """Whether a value is what it was: numbers and strings by value, containers by content, other objects by identity."""
    if now is expected:
        return True
    if type(expected) in (Photograph, ArrayPhotograph):
        return expected.matches(now)
    return type(now) is type(expected) and is_plain(expected) and now == expected


def is_plain(value) -> bool:
    """Whether a value is a number, a string or a tuple of such: what is compared by value."""
    return isinstance(value, _VALUES) or (isinstance(value, (tuple, frozenset)) and all(is_plain(v) for v in value))
