"""Keys of calls in tables: a value goes with the arguments that count by identity, since no later call equals its key.

    table = CallTable()
    table.put(key, value)       # table.get(key) is None once such an object is gone
"""

from enum import Enum
from types import MethodType
from typing import Any

from ..bytecode.user_code import is_a
from .exact_values import ByIdentity, ByReference
from .references import Living, can_die


def _object_in(spec) -> Any:
    """Return the object that counts by identity for which a spec stands, or None."""
    if type(spec) in (ByIdentity, ByReference):
        return spec.value
    is_pair = type(spec) is tuple and len(spec) == 2 and isinstance(spec[0], type) and type(spec[1]) is spec[0]
    is_alone = is_pair and spec[0].__hash__ is object.__hash__ and spec[0].__eq__ is object.__eq__
    return spec[1] if is_alone or (is_pair and spec[0] is MethodType) else None


def _dies(x) -> bool:
    if type(x) is MethodType:
        return _dies(x.__self__)
    return x is not None and can_die(x) and not is_a(x, Enum)


def passed_objects(spec) -> list:
    """Return the objects of a call, by its spec or kept spec, that count by identity and are not kept alive. Of a method it is
    the object to which it is bound."""
    found = _object_in(spec)
    if _dies(found):
        return [found.__self__ if type(found) is MethodType else found]
    return [x for part in spec for x in passed_objects(part)] if type(spec) is tuple else []


def kept(key):
    """Return a key, or a part of it, that equals another one and does not keep its objects alive."""
    found = _object_in(key)
    if _dies(found):
        return ByReference(found, hash(key)) if type(key) is ByIdentity else (key[0], ByReference(found, hash(found))) \
            if type(key) is tuple else key
    if type(key) is not tuple:
        return key
    parts = tuple(map(kept, key))
    return key if all(a is b for a, b in zip(parts, key)) else parts


def kept_key(key) -> tuple:
    """Return the key of a call that does not keep the arguments alive."""
    (spec, *others), *more = key
    found = kept(spec)
    return key if found is spec else ((found, *others), *more)


class CallTable:
    """Values by the keys of calls, each for as long as the arguments in its key live."""

    def __init__(self):
        self._known: dict = {}

    def get(self, key, default=None):
        found = self._known.get(key, default)
        if type(found) is not Living:
            return found
        value = found.value
        return default if value is None else value

    def put(self, key, value):
        """Set the value of a key in a call that is going on."""
        found = self._known.get(key)
        if type(found) is Living:
            found.put(value)
        elif found is not None:
            self._known[key] = value
        else:
            objects = passed_objects(key[0][0])
            self._known[kept_key(key)] = Living(value, objects) if objects else value

    def items(self) -> list:
        """Return pairs of a key and a value that is not gone."""
        pairs = [(key, found.value if type(found) is Living else found) for key, found in [*self._known.items()]]
        return [pair for pair in pairs if pair[1] is not None]

    def values(self) -> list:
        return [value for _, value in self.items()]

    def refill(self, pairs):
        """Replace all keys and values. Other threads may look something up meanwhile."""
        found = CallTable()
        for key, value in pairs:
            found.put(key, value)
        self._known = found._known

    def shrink(self, most: int):
        """Drop keys whose values are gone, and the oldest ones beyond some number."""
        gone = [key for key, found in self._known.items() if type(found) is Living and found.value is None]
        for key in [*gone, *[*self._known][: max(len(self._known) - len(gone) - most, 0)]]:
            self._known.pop(key, None)

    def __len__(self) -> int:
        return len(self._known)
