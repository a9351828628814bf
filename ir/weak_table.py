"""Tables of values that others keep alive.

    table = WeakTable()
    table[key] = value      # table.get(key) is None once nothing else holds the value

An entry leaves without Python code. The interpreter may drop a value at any moment, and runs Python code of finalisers where no
exception gets out: one from a signal handler would be lost there. So `WeakValueDictionary` has no place on the way of a replay.
"""

import weakref
from collections.abc import Iterator
from typing import Any

from .interrupts import is_of_call

_remove_dead: Any = weakref._remove_dead_weakref       # type: ignore[attr-defined]


class _Entry(weakref.ref):
    __slots__ = ("key",)
    key: Any


class WeakTable:
    """Values by key, each for as long as something else holds it. Keys of dropped values stay until the next value comes."""

    __slots__ = ("_ended", "_known")

    def __init__(self):
        self._known: dict[Any, _Entry] = {}
        self._ended: list[_Entry] = []

    def get(self, key) -> Any:
        """Return the value of a key, None if there is none."""
        found = self._known.get(key)
        return None if found is None else found()

    def __setitem__(self, key, value):
        while True:
            try:
                ended = self._ended.pop()
            except IndexError as error:
                if not is_of_call(error):
                    raise
                break
            _remove_dead(self._known, ended.key)
        entry = _Entry(value, self._ended.append)
        entry.key = key
        self._known[key] = entry

    def values(self) -> Iterator:
        """Iterate over the values."""
        return iter([x for x in [entry() for entry in list(self._known.values())] if x is not None])

    def __len__(self) -> int:
        return len(list(self.values()))
