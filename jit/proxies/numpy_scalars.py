"""Proxies for NumPy scalars in arguments and Python state: numbers that keep their dtype.

A `SymScalar` stands for a scalar whose value changes. As an operand of tensors it is its symbolic number. Sums and products
with other numbers have its kind again, rounded as NumPy does. Other code gets NumPy's scalar with the current value, which
fixes it.
"""

import operator

import numpy as np

from ...ir.symbols.symbolic import SymFloat, hint, is_symbol, names_of, pinned, source_of
from .lazy_scalars import LazyScalar, NumberProxy

KINDS = frozenset((np.float64, np.float32, np.int64, np.int32))
NUMBERS = frozenset((int, float, *KINDS))
_SIGNS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/"}


def fixed(x):
    """Fix a symbolic number to its current value; return other values as they are."""
    if type(x) is SymScalar:
        return x.kind(pinned(x.number))
    return pinned(x) if is_symbol(x) else x


def stands_for_number(x) -> bool:
    """Return whether a value is a symbolic number of Python's or NumPy's kind."""
    return type(x) is SymScalar or is_symbol(x)


class SymScalar(NumberProxy):
    """NumPy scalar of a kind whose number is symbolic."""

    __slots__ = ("kind", "number")
    plain_of = staticmethod(fixed)

    def __init__(self, kind, number):
        self.kind, self.number = kind, number

    @property
    def dtype(self):
        return np.dtype(self.kind)

    @property
    def hint(self):
        return self.kind(hint(self.number))

    def item(self):
        return self.number

    def combined(self, plain, x, y):
        if not all(stands_for_number(v) or isinstance(v, (int, float, np.generic)) for v in (x, y)):
            return NotImplemented
        kinds = {k.kind for k in (x, y) if type(k) is SymScalar} | {type(k) for k in (x, y) if type(k) in KINDS}
        kind = kinds.pop()
        a, b = [number_of(v.number if type(v) is SymScalar else v) for v in (x, y)]
        is_real = all(type(v) in (float, SymFloat) or (type(v) is int and abs(v) < 1 << 24) for v in (a, b))
        is_float = not kinds and kind in (np.float64, np.float32)
        if plain not in _SIGNS or not (is_float and is_real) or (plain is operator.truediv and hint(b) == 0):
            return None
        (left, p), (right, q) = _in_kind(kind, a), _in_kind(kind, b)
        scope = (a if type(a) is SymFloat else b).scope
        if plain is operator.truediv and is_symbol(b):
            scope.note(f"{source_of(b)} != 0")
        text = f"({left} {_SIGNS[plain]} {right})"
        text = f"float32{text}" if kind is np.float32 else text
        return SymScalar(kind, SymFloat(scope, text, kind(plain(p, q)).item(), names_of(a) | names_of(b)))

    def compared(self, plain, x, y):
        number = y.number if type(y) is SymScalar else number_of(y)
        if self.kind is np.float32 and type(y) is float:       # which numpy rounds first
            number = np.float32(y).item()
        elif self.kind is np.float32 and not _is_exact(y):
            return None
        return np.bool_(plain(self.number, number)) if is_symbol(number) or type(number) in NUMBERS else None

    def __neg__(self):
        return SymScalar(self.kind, -self.number) if type(self.number) is SymFloat else -fixed(self)


def now(x):
    """Return the current value of a number; it is not fixed."""
    return x.hint if type(x) is SymScalar or type(x) is LazyScalar else hint(x)


def number_of(x):
    """Return a number without its NumPy kind, as keys hold it."""
    return x.item() if type(x) in KINDS else x


def with_kind(kind, number):
    """Return a number as one of a kind."""
    if kind not in KINDS:
        return number
    return SymScalar(kind, number) if is_symbol(number) else kind(number)


def _in_kind(kind, x):
    """Return (text, value) of a float as an operand of a kind."""
    value = kind(hint(x)).item()
    return (f"float32({source_of(x)})" if kind is np.float32 and type(x) is not int else source_of(x)), value


def _is_exact(x) -> bool:
    """Return whether a number is compared with a float32 without rounding."""
    return type(x) in (np.float32, np.float64, SymScalar) or (type(x) is int and abs(x) < 1 << 24)
