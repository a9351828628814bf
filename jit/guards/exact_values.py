"""Values compared as code can tell them apart: by type, sign of zero, bits of nan, scale of a decimal number, layout of a set.

Python's own `==` calls 1, 1.0 and True equal, 0.0 and -0.0, `Decimal("1.0")` and `Decimal("1.00")`, two times in different
zones. Keys of traces, keys of dictionaries, items of sets and guarded values are compared by `exact` instead.
"""

import datetime
import decimal
import enum
import struct
import weakref
from dataclasses import fields
from types import MethodType
from typing import Any

import numpy as np

from ...ir.interrupts import raise_interrupt
from ...runtime.core.tensor import Tensor
from ..bytecode.user_code import attributes_of, is_a, is_user_defined
from ..proxies.numpy_scalars import stands_for_number
from ..proxies.set_layout import layout_of

_BITS = struct.Struct("d").pack
_PLAIN = frozenset((str, int, bool, bytes, type(None)))


class ByIdentity:
    """Object in a key that is compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, ByIdentity) and self.value is other.value

    def __hash__(self):
        return id(self.value)

    def __repr__(self):
        return f"<{type(self.value).__name__}>"


class ByReference(ByIdentity):
    """Argument in a key that is kept: it equals the object itself and its `ByIdentity` for as long as that lives. Methods are
    equal if they are bound to one object."""

    __slots__ = ("_number", "_of")

    def __init__(self, value, number):
        self._of = weakref.WeakMethod(value) if type(value) is MethodType else weakref.ref(value)
        self._number = number

    @property
    def value(self):        # type: ignore[override]
        """The object, or what nothing else is if that is gone."""
        found = self._of()
        return self if found is None else found

    def __eq__(self, other):
        found = self._of()
        if type(found) is MethodType:
            return found == (other.value if isinstance(other, ByIdentity) else other)
        return found is not None and (other is found or (isinstance(other, ByIdentity) and other.value is found))

    def __hash__(self):
        return self._number


class ByContent(ByIdentity):
    """Value in a key that is compared by its content when the key was made."""

    __slots__ = ("content",)

    def __init__(self, value, content):
        super().__init__(value)
        self.content = content

    def __eq__(self, other):
        return type(other) is ByContent and self.content == other.content

    def __hash__(self):
        return hash(self.content)

    def __repr__(self):
        return repr(self.value)


def number_bits(x: float):
    """Return what tells a float from all others."""
    return x.hex() if x == x else _BITS(x)


def exact(x) -> tuple:
    """Return a key that is equal for values that no code can tell apart; the second item is the value itself if `==` can."""
    kind: Any = type(x)
    if kind in _PLAIN:
        return kind, x
    if kind is float:
        return kind, number_bits(x)
    found = _CONTENT.get(kind)
    if found is not None:
        return kind, found(x)
    if is_a(x, tuple):
        return kind, tuple(map(exact, tuple.__iter__(x)))
    if kind is set or kind is frozenset:
        return kind, tuple(map(exact, x)), layout_of(x)
    if is_a(x, enum.Enum):
        return kind, ByIdentity(x)
    if stands_for_number(x):        # to look into one would fix its number
        return kind, ByIdentity(x)
    if is_a(x, np.generic):
        return kind, x.dtype.str, x.tobytes()
    if hasattr(kind, "__dataclass_fields__") and kind.__hash__ is not None and kind.__eq__ is not object.__eq__:
        return kind, tuple([(f.name, exact(getattr(x, f.name, None))) for f in fields(x)])
    base = next((b for b in _BASES if is_a(x, b)), None)
    if base is not None and is_user_defined(kind):
        return kind, exact(PLAIN_OF[base](x)), tuple([(k, exact(v)) for k, v in attributes_of(x).items()])
    return kind, x if _is_compared_well(x, kind) else ByIdentity(x)


# Class whose user-defined subclasses count by value -> function that gives the plain value, past their methods.
PLAIN_OF: dict = {int: int.__int__, float: float.__float__, complex: complex.__complex__, str: str.__str__,
                  bytes: lambda x: bytes.__getitem__(x, slice(None))}
_BASES = tuple(PLAIN_OF)
_CONTENT: dict = {
    complex: lambda x: (number_bits(x.real), number_bits(x.imag)),
    range: lambda x: (x.start, x.stop, x.step),
    slice: lambda x: (exact(x.start), exact(x.stop), exact(x.step)),
    decimal.Decimal: lambda x: x.as_tuple(),
    datetime.datetime: lambda x: (x.replace(tzinfo=None), x.fold, _zone(x)),
    datetime.time: lambda x: (x.replace(tzinfo=None), x.fold, _zone(x)),
}


def _zone(x):
    return type(x.tzinfo), repr(x.tzinfo)


def _is_compared_well(x, kind) -> bool:
    """Return whether `==` tells all objects of a class apart, and always will. Objects of user classes are compared by
    identity: users may change the class of one, or give the class other methods, while a key holds it."""
    if is_a(x, Tensor) or is_user_defined(kind):
        return False
    try:
        hash(x)
    except (TypeError, ValueError) as error:
        raise_interrupt(error, hash, x)
        return False
    return True


def are_exact(a, b) -> bool:
    """Return whether two values are the same to all code."""
    if a is b:
        return True
    kind = type(a)
    return kind is type(b) and (a == b if kind in _PLAIN else exact(a) == exact(b))
