"""Proxies for NumPy scalars in arguments and Python state: numbers that keep their dtype.

A `SymScalar` stands for a scalar whose value changes. As an operand of tensors it is its symbolic number. Sums and products
with other numbers have its kind again, rounded as NumPy does. Other code gets NumPy's scalar with the current value, which
fixes it.
"""

import operator

import numpy as np

from ...ir.symbols.symbolic import SymFloat, hint, is_symbol, names_of, pinned, source_of
from .lazy_scalars import LazyScalar

KINDS = frozenset((np.float64, np.float32, np.int64, np.int32))
NUMBERS = frozenset((int, float, *KINDS))
_SIGNS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/"}


class SymScalar:
    """NumPy scalar of a kind whose number is symbolic."""

    __slots__ = ("kind", "number")

    def __init__(self, kind, number):
        self.kind, self.number = kind, number

    @property  # type: ignore[misc]
    def __class__(self):
        return self.kind

    @property
    def dtype(self):
        return np.dtype(self.kind)

    @property
    def hint(self):
        return self.kind(hint(self.number))

    def item(self):
        return self.number

    def fixed(self):
        return self.kind(pinned(self.number))

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return getattr(ufunc, method)(*map(fixed, inputs), **kwargs)

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(self.kind, name):
            raise AttributeError(f"{self.kind.__name__!r} object has no attribute {name!r}")
        return getattr(self.fixed(), name)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.fixed(), dtype)

    def __reduce__(self):
        return self.kind, (pinned(self.number),)

    def __format__(self, spec):
        return format(self.fixed(), spec)

    def __neg__(self):
        return SymScalar(self.kind, -self.number) if type(self.number) is SymFloat else -self.fixed()

    def __pos__(self):
        return self


def fixed(x):
    """Fix a symbolic number to its current value; return other values as they are."""
    if type(x) is SymScalar:
        return x.fixed()
    return pinned(x) if is_symbol(x) else x


def stands_for_number(x) -> bool:
    """Return whether a value is a symbolic number of Python's or NumPy's kind."""
    return type(x) is SymScalar or is_symbol(x)


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


def _combined(plain, x, y):
    """Return the result of an operation with a symbolic floating scalar, or None if it has no text."""
    kinds = {k.kind for k in (x, y) if type(k) is SymScalar} | {type(k) for k in (x, y) if type(k) in KINDS}
    kind = kinds.pop()
    a, b = [number_of(v.number if type(v) is SymScalar else v) for v in (x, y)]
    is_real = all(type(v) in (float, SymFloat) or (type(v) is int and abs(v) < 1 << 24) for v in (a, b))
    if kinds or kind not in (np.float64, np.float32) or not is_real or (plain is operator.truediv and hint(b) == 0):
        return None
    (left, p), (right, q) = _in_kind(kind, a), _in_kind(kind, b)
    scope = (a if type(a) is SymFloat else b).scope
    if plain is operator.truediv and is_symbol(b):
        scope.note(f"{source_of(b)} != 0")
    text = f"({left} {_SIGNS[plain]} {right})"
    text = f"float32{text}" if kind is np.float32 else text
    return SymScalar(kind, SymFloat(scope, text, kind(plain(p, q)).item(), names_of(a) | names_of(b)))


def _is_exact(x) -> bool:
    """Return whether a number is compared with a float32 without rounding."""
    return type(x) in (np.float32, np.float64, SymScalar) or (type(x) is int and abs(x) < 1 << 24)


def _operators():
    def arithmetic(plain, is_flipped):
        def run(self, other):
            if not (is_symbol(other) or type(other) is SymScalar or isinstance(other, (int, float, np.generic))):
                return NotImplemented
            x, y = (other, self) if is_flipped else (self, other)
            made = _combined(plain, x, y) if plain in _SIGNS and not isinstance(other, bool) else None
            return plain(fixed(x), fixed(y)) if made is None else made
        return run

    def compare(plain):
        def run(self, other):
            known = other.number if type(other) is SymScalar else number_of(other)
            if self.kind is np.float32 and type(other) is float:       # which numpy rounds first
                known = np.float32(other).item()
            elif self.kind is np.float32 and not _is_exact(other):
                return plain(self.fixed(), fixed(other))
            return np.bool_(plain(self.number, known)) if is_symbol(known) or type(known) in NUMBERS else plain(
                self.fixed(), fixed(other))
        return run

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
        plain = getattr(operator, name)
        setattr(SymScalar, f"__{name}__", arithmetic(plain, False))
        setattr(SymScalar, f"__r{name}__", arithmetic(plain, True))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(SymScalar, f"__{name}__", compare(getattr(operator, name)))
    for name, plain in (("float", float), ("int", int), ("bool", bool), ("hash", hash), ("repr", repr), ("str", str),
                        ("abs", abs), ("round", round), ("index", operator.index), ("complex", complex), ("trunc", int)):
        setattr(SymScalar, f"__{name}__", lambda self, *args, plain=plain: plain(self.fixed(), *args))


_operators()
