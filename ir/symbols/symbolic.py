"""Symbolic numbers: integers and floats that know how they come from named sizes, and their value now.

    scope = Scope()             # in scope.py
    b = scope.size("b", 8)      # now 8, and at least 2 at all times
    n = b * 64 // 2             # 32*b, now 256
    n > 3                       # True: it is at least 64
    b > 3                       # True as well, and scope.conditions now says that b >= 4

A `SymInt` answers whatever Python or C asks of an int by its value now. An answer that other sizes could change becomes a
condition of the scope. So a computation with symbolic sizes holds for all sizes that meet the conditions: code that was not
made for symbolic sizes is specialised, never wrong.

A `SymFloat` is a Python number computed from sizes and number arguments; its value is computed anew at each call. A quotient of
such integers can be made whole again: `floor(b * 0.5)` is the integer `b // 2`.
"""

import math
import operator
import sys
from collections.abc import Callable
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np

from ..tracebacks import computes_for_python
from . import polynomial as poly

computes_for_python(__name__)


def _written(x, spec=None):
    """Return a number as `format` gives it, or `repr` without `spec`. It is fixed, unless the scope knows that nothing reads
    the text."""
    text = None if x.scope.printer is None else x.scope.printer(x, spec, sys._getframe(2))
    if text is not None:
        return text
    return repr(pinned(x)) if spec is None else format(pinned(x), spec)


def _poly_of(x):
    if type(x) is SymInt:
        return x.poly
    return poly.constant(int(x)) if type(x) is int or type(x) is bool else None


def _by_kind(plain, x, y, flipped=False):
    """Return an operation with a number of another class, whose operators know the kind of the result: numpy's, an enum's."""
    if _answers_itself(y) or not issubclass(type(y), (int, np.number)):       # a lazy scalar only says that it is one
        return NotImplemented
    return plain(y, pinned(x)) if flipped else plain(pinned(x), y)


def _arithmetic(name, compute, flipped=False):
    """Return an operator on polynomials, cached by the scope; other operands take the numbers' path."""
    plain = getattr(operator, name)

    def run(self, other):
        if other.__class__ is float or type(other) is SymFloat:
            return _real(plain, self, other, flipped)
        p = _poly_of(other)
        if p is None:
            return _by_kind(plain, self, other, flipped)
        key = (name, flipped, self.poly, p)
        results = self.scope._results
        found = results.get(key)
        if found is None:
            found = compute(self.scope, p, self.poly) if flipped else compute(self.scope, self.poly, p)
            results[key] = found
        return found
    return run


def _divide(scope, p, q, rest):
    by = poly.constant_of(q)
    if by == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    if not (by > 0 if by is not None else scope.decide(">=", poly.minus(q, poly.constant(1)))):
        negative = poly.negated(q)
        if by is None and not scope.decide(">=", poly.minus(negative, poly.constant(1))):
            raise ZeroDivisionError("integer division or modulo by zero")
        if rest:
            return -scope.wrap(poly.modulo(poly.negated(p), negative))
        return scope.wrap(poly.floor_divide(poly.negated(p), negative))
    if not rest and by is not None and by > 1 and scope.exact is not None:
        scope.divide(p, q, by)
    return scope.wrap(poly.modulo(p, q) if rest else poly.floor_divide(p, q))


def _compared(test):
    """Return a comparison as (relation, difference), with the answer's sense."""
    def run(self, other):
        if other.__class__ is float or type(other) is SymFloat:
            return _compare_real(test, self, other)
        p = _poly_of(other)
        if p is None:
            return _by_kind(getattr(operator, test), self, other)
        scope, mine = self.scope, self.poly
        if test == "lt":
            return not scope.decide(">=", poly.minus(mine, p))
        if test == "ge":
            return scope.decide(">=", poly.minus(mine, p))
        if test == "gt":
            return not scope.decide(">=", poly.minus(p, mine))
        if test == "le":
            return scope.decide(">=", poly.minus(p, mine))
        equal = mine == p or (poly.constant_of(poly.minus(mine, p)) is None and scope.decide("==", poly.minus(mine, p)))
        return equal if test == "eq" else not equal
    return run


class SymInt:
    """An integer computed from named sizes. An int to `isinstance`; C code must convert it, which becomes a condition."""

    __slots__ = ("poly", "scope")

    def __init__(self, scope: Any, p):
        self.scope = scope
        self.poly = p

    @property  # type: ignore[misc]
    def __class__(self):
        return int

    @property
    def hint(self) -> int:
        """Return the value now, for choices that may turn out either way, without a condition."""
        return poly.evaluate(self.poly, self.scope.hints)

    @property
    def text(self) -> str:
        """Return the expression, as Python and IR text have it."""
        return poly.text(self.poly)

    def __index__(self):
        value = self.hint
        if self.scope.on_index is not None:
            self.scope.on_index()
        self.scope.pin(self.poly, value)
        return value

    __int__ = __index__
    __trunc__ = __index__

    def __float__(self):
        return float(self.__index__())

    def __complex__(self):
        return complex(self.__index__())

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.__index__(), dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return _by_ufunc(ufunc, method, inputs, kwargs)

    @property
    def key(self):
        """Return the hashable identity of the expression, where its scope allows keys."""
        self.scope.refuse_keys()
        return self.poly

    def __hash__(self):
        self.scope.refuse_keys()
        if self.scope.on_hash is not None and self.scope.on_hash(self):
            return hash(self.hint)
        return hash(self.__index__())

    def __repr__(self):
        return self.text if self.scope.is_inner else _written(self)

    __str__ = __repr__

    def __format__(self, spec):
        return self.text if self.scope.is_inner else _written(self, spec)

    def __bool__(self):
        return not self.scope.decide("==", self.poly)

    def __reduce__(self):
        return int, (self.__index__(),)

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(int, name):
            raise AttributeError(f"'int' object has no attribute {name!r}")
        return getattr(self.__index__(), name)

    def __neg__(self):
        return self.scope.wrap(poly.negated(self.poly))

    def __pos__(self):
        return self

    def __abs__(self):
        return self if self >= 0 else -self

    def __round__(self, digits=None):
        return self if digits is None or digits >= 0 else round(self.__index__(), digits)

    def __floor__(self):
        return self

    def __ceil__(self):
        return self

    __add__ = __radd__ = _arithmetic("add", lambda scope, a, b: scope.wrap(poly.plus(a, b)))
    __sub__ = _arithmetic("sub", lambda scope, a, b: scope.wrap(poly.minus(a, b)))
    __rsub__ = _arithmetic("sub", lambda scope, a, b: scope.wrap(poly.minus(a, b)), True)
    __mul__ = __rmul__ = _arithmetic("mul", lambda scope, a, b: scope.wrap(poly.times(a, b)))
    __floordiv__ = _arithmetic("floordiv", lambda scope, a, b: _divide(scope, a, b, False))
    __rfloordiv__ = _arithmetic("floordiv", lambda scope, a, b: _divide(scope, a, b, False), True)
    __mod__ = _arithmetic("mod", lambda scope, a, b: _divide(scope, a, b, True))
    __rmod__ = _arithmetic("mod", lambda scope, a, b: _divide(scope, a, b, True), True)
    __lt__, __le__, __gt__, __ge__ = _compared("lt"), _compared("le"), _compared("gt"), _compared("ge")
    __eq__, __ne__ = _compared("eq"), _compared("ne")

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __truediv__(self, other):
        return _real(operator.truediv, self, other)

    def __rtruediv__(self, other):
        return _real(operator.truediv, self, other, True)

    def __pow__(self, other, modulus=None):
        if modulus is None and type(other) is int and 0 <= other <= 4:
            made: Any = 1
            for _ in range(other):
                made = made * self
            return made
        return _real(operator.pow, self, other) if modulus is None else pow(self.__index__(), other, modulus)

    def __rpow__(self, other):
        return _real(operator.pow, self, other, True) if type(other) is float else other ** self.__index__()


def _by_value(name):
    plain, flipped = getattr(operator, name), f"__r{name.strip('_')}__"

    def run(self, other):
        return plain(self.__index__(), other)

    def run_flipped(self, other):
        return plain(other, self.__index__())

    setattr(SymInt, f"__{name.strip('_')}__", run)
    setattr(SymInt, flipped, run_flipped)


for _name in ("and_", "or_", "xor", "lshift", "rshift"):
    _by_value(_name)
setattr(SymInt, "__invert__", lambda self: ~self.__index__())  # noqa: B010  (as those above)


_LARGEST = 1000     # the largest denominator that a plain float is taken to have
_SMALL = 1 << 10    # coefficients up to which sizes times a coefficient have less than 53 bits


class Quotient(NamedTuple):
    """The polynomials whose quotient a float is, up to rounding.

    It is certain if the float is the quotient, rounded once: `floor` of both agrees then, as the integers have less than 53
    bits.
    """

    p: tuple
    q: tuple
    is_certain: bool

    @property
    def is_exact(self) -> bool:
        """Return whether the float is the quotient, without rounding."""
        by = poly.constant_of(self.q)
        return self.is_certain and by is not None and by & (by - 1) == 0


@lru_cache(256)
def quotient_of_number(x):
    """Return the quotient that a plain number is, such as 3/10 for 0.3; None if no small one is nearest to it."""
    if not math.isfinite(x) or abs(x) > _LARGEST ** 3:
        return None
    from fractions import Fraction  # here, since few numbers are multiplied with sizes

    numerator, denominator = Fraction(x).limit_denominator(_LARGEST).as_integer_ratio()
    return Quotient(poly.constant(numerator), poly.constant(denominator), True) if numerator / denominator == x else None


def combined_quotient(plain, x: Quotient, y: Quotient) -> Quotient | None:
    """Return the sum, difference, product or ratio of two quotients; None for other operations."""
    if plain is operator.mul:
        p, q = poly.times(x.p, y.p), poly.times(x.q, y.q)
    elif plain is operator.truediv:
        p, q = poly.times(x.p, y.q), poly.times(x.q, y.p)
    elif plain in (operator.add, operator.sub):
        join = poly.plus if plain is operator.add else poly.minus
        p, q = join(poly.times(x.p, y.q), poly.times(y.p, x.q)), poly.times(x.q, y.q)
    else:
        return None
    p, q = poly.lowest_terms(p, q)
    is_small = max([abs(c) for _, c in (*p, *q)], default=0) <= _SMALL
    return Quotient(p, q, x.is_exact and y.is_exact and is_small)


# Numbers.

_SIGNS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.pow: "**",
          operator.floordiv: "//", operator.mod: "%"}


# Roundings by their names in expressions.
ROUNDINGS: dict[str, Callable] = {
    "math_floor": math.floor, "math_ceil": math.ceil, "math_trunc": math.trunc, "math_round": round}
# Functions of `math` from floats to floats, by their names in expressions.
MATH = {name: getattr(math, name) for name in (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "copysign", "cos", "cosh", "degrees", "erf", "erfc", "exp",
    "expm1", "fabs", "fmod", "gamma", "hypot", "lgamma", "log", "log10", "log1p", "log2", "pow", "radians", "sin", "sinh",
    "sqrt", "tan", "tanh")}


def source_of(x) -> str:
    """Return a number as Python text over the names of its scope."""
    if type(x) is SymInt:       # past `__getattr__`, which would take an AttributeError that interrupts a property
        return f"({poly.text(x.poly)})"
    if type(x) is SymFloat:
        return x.text
    return f"({x!r})" if x == x and x not in (float("inf"), float("-inf")) else f"float('{x!r}')"


def hint(x):
    """Return the value now of a size or a number, without a condition."""
    if type(x) is SymInt:
        return poly.evaluate(x.poly, x.scope.hints)     # past `__getattr__`, as in `source_of`
    return x.hint if type(x) is SymFloat else x


def judged(x):
    """Return a size's value now for a choice that may turn out either way; a scope that records choices keeps it symbolic."""
    return x if type(x) is SymInt and x.scope.judges else hint(x)


def extreme(plain, numbers) -> SymInt | None:
    """Return `max` or `min` of integers as a symbol, without a condition; None if none is one, or others are among them."""
    symbol = next((x for x in numbers if type(x) is SymInt), None)
    if symbol is None or not all(type(x) is int or (type(x) is SymInt and x.scope is symbol.scope) for x in numbers):
        return None
    sign: Any = poly.negated if plain is min else lambda p: p
    return symbol.scope.wrap(sign(reduce(poly.larger, [sign(_poly_of(x)) for x in numbers])))


def larger(a, b):
    """Return the larger one of two sizes."""
    found = extreme(max, (a, b))
    return max(a, b) if found is None else found


def power_of_two(n) -> int:
    """Return the smallest power of two that is not below a size; for a symbolic one, a condition keeps it the same."""
    found = 1 << max(0, hint(n) - 1).bit_length()
    if type(n) is SymInt:           # (found already: the questions are for the scope)
        while found < n:
            found *= 2
        while found > 1 and found // 2 >= n:
            found //= 2
    return found


def is_symbol(x) -> bool:
    """Return whether a number is symbolic."""
    return type(x) is SymInt or type(x) is SymFloat


def names_of(x) -> frozenset:
    """Return the names that a number depends on."""
    if type(x) is SymInt:
        return poly.names(x.poly)
    return x.names if type(x) is SymFloat else frozenset()


def _real(plain, x, y, flipped=False):
    """Return an operation whose float result is an expression, computed again at each call."""
    if issubclass(type(y), (int, float)) and is_python_class(type(y)):       # which may compute in its own way
        return plain(y, pinned(x)) if flipped else plain(pinned(x), y)
    if not (is_symbol(y) or type(y) in (int, float, bool) or isinstance(y, (np.integer, np.floating))):
        return NotImplemented
    if isinstance(y, np.generic) and not is_symbol(y):
        return plain(y, x.__index__() if type(x) is SymInt else float(x)) if flipped else plain(
            x.__index__() if type(x) is SymInt else float(x), y)
    a, b = (y, x) if flipped else (x, y)
    value = plain(hint(a), hint(b))
    if type(value) is not float:           # a power of integers that is one again, or a complex number
        return plain(pinned(a), pinned(b))
    scope = x.scope
    if plain in (operator.truediv, operator.floordiv, operator.mod) and is_symbol(b) and not _is_positive(b):
        scope.note(f"{source_of(b)} != 0")
    text = f"({source_of(a)} {_SIGNS[plain]} {source_of(b)})"
    if plain is operator.pow and not (type(a) is SymInt and type(b) is float):     # it may be complex, or an integer
        scope.note(f"type({text}) is float")
    known = _floored(scope, plain, a, b, text, value) if plain in (operator.floordiv, operator.mod) else _quotient(plain, a, b)
    return SymFloat(scope, text, value, names_of(a) | names_of(b), known)


def _is_positive(x) -> bool:
    return type(x) is SymInt and (x.scope.lowest(x.poly) or 0) > 0


def _quotient_of(x):
    """Return the quotient that a number is; None if it is not plainly one."""
    if type(x) is SymFloat:
        return x.quotient
    if type(x) is SymInt:
        is_size = None not in [x.scope.lows[name] for name in poly.names(x.poly)]
        return Quotient(x.poly, poly.constant(1), is_size)
    return quotient_of_number(x)


def _quotient(plain, a, b):
    """Return the quotient that the result of an operation is, if it is plainly one."""
    x, y = _quotient_of(a), _quotient_of(b)
    return None if x is None or y is None else combined_quotient(plain, x, y)


def _floored(scope, plain, a, b, text, value):
    """Return the quotient of a floor division or a remainder, if it is plainly one."""
    x, y, ratio = _quotient_of(a), _quotient_of(b), _quotient(operator.truediv, a, b)
    if ratio is None or not math.isfinite(value):
        return None
    whole = scope.wrap(ratio.p) // scope.wrap(ratio.q)
    is_certain = x.is_exact and y.is_exact
    found = Quotient(_poly_of(whole), poly.constant(1), is_certain)
    if plain is operator.mod:
        taken = combined_quotient(operator.mul, y, found)
        return combined_quotient(operator.sub, x, taken) if is_certain and taken is not None else None
    if hint(whole) != value:
        return None
    if not is_certain:
        scope.note(f"{text} == {source_of(whole)}")
    return found


def applied(name: str, args) -> "SymFloat":
    """Apply a function of `MATH` to numbers, some of which are symbolic."""
    value = MATH[name](*map(hint, args))
    scope = next(x for x in args if is_symbol(x)).scope
    text = f"math_{name}({', '.join(map(source_of, args))})"
    scope.note(f"type({text}) is float")        # it may be undefined
    return SymFloat(scope, text, value, frozenset().union(*map(names_of, args)))


OPERATOR = "operator_"      # begins the name of an operator's record, where an expression calls it


def computed(name: str, args, scope, value):
    """Apply an operator to numbers, some of which are symbolic; an answer that is no float becomes a condition."""
    text = f"{OPERATOR}{name}({', '.join(map(source_of, args))})"
    if type(value) is not float:
        scope.note(f"{text} == {value!r}")
        return value
    scope.note(f"type({text}) is float")
    return SymFloat(scope, text, value, frozenset().union(*map(names_of, args)))


def pinned(x):
    """Return the value of a number, fixed by a condition."""
    if type(x) is SymInt:
        return x.__index__()
    return float(x) if type(x) is SymFloat else x


def _by_ufunc(ufunc, method, inputs, kwargs):
    """Apply a ufunc to Python numbers, which an array of one number would not be."""
    return getattr(ufunc, method)(*map(pinned, inputs), **kwargs)


_OTHERS = frozenset((str, bytes, type(None), tuple, list, dict))
_OF_PYTHON = 1 << 9        # the flag of classes that a `class` statement makes


def is_python_class(kind: type) -> bool:
    """Return whether a `class` statement made a class, not code in C."""
    return bool(kind.__flags__ & _OF_PYTHON)


def _answers_itself(y) -> bool:
    """Return whether y's class decides a comparison with y, or its answer does not depend on the number."""
    return type(y) in _OTHERS or (is_python_class(type(y)) and not isinstance(y, (int, float, complex, np.generic)))


def _compare_real(test, x, y):
    if not (is_symbol(y) or type(y) in (int, float, bool)):
        return NotImplemented if _answers_itself(y) else getattr(operator, test)(pinned(x), y)
    answer = getattr(operator, test)(hint(x), hint(y))
    sign = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}[test]
    x.scope.note(f"({source_of(x)} {sign} {source_of(y)}) is {answer}")
    return answer


class SymFloat:
    """A Python float computed from sizes and number arguments.

    Arithmetic gives another one; comparisons and any other use of its value become conditions.
    """

    __slots__ = ("hint", "names", "quotient", "scope", "text")

    def __init__(self, scope: Any, text: str, value: float, names: frozenset, quotient: Any = None):
        self.scope, self.text, self.hint, self.names, self.quotient = scope, text, value, names, quotient

    @property  # type: ignore[misc]
    def __class__(self):
        return float

    def __float__(self):
        self.scope.note(f"({self.text}).hex() == {self.hint.hex()!r}")
        self.scope.pinned.update(self.names)
        return self.hint

    def _is(self, above, low, below, high) -> bool:
        return _compare_real(above, self, low) and _compare_real(below, self, high)

    def _whole(self, rounding: str, up: bool = False, half: bool = False):
        """Return the quotient rounded by a name of `ROUNDINGS`, conditional for other sizes; None if it rounds differently."""
        if self.quotient is None or not math.isfinite(self.hint):
            return None
        p, q, is_certain = self.quotient
        if half:
            p, q = poly.plus(poly.times(p, poly.constant(2)), q), poly.times(q, poly.constant(2))
        numerator, denominator = map(self.scope.wrap, (poly.negated(p) if up else p, q))
        made = -(numerator // denominator) if up else numerator // denominator
        if hint(made) != ROUNDINGS[rounding](self.hint):
            return None
        if half or not is_certain:
            self.scope.note(f"{rounding}({self.text}) == {source_of(made)}")
        return made

    def whole(self):
        """Return `int` of it as a symbolic integer where it is a quotient of integers; else None."""
        if self.quotient is None:
            return None
        by = poly.constant_of(self.quotient.q)
        if by is None:
            return self._whole("math_trunc", up=_compare_real("lt", self, 0))
        p = self.quotient.p if by > 0 else poly.negated(self.quotient.p)
        return self._whole("math_trunc", up=not self.scope.decide(">=", p))

    def __int__(self):
        """Return the whole number, on the condition that the value stays between the same integers."""
        if self.hint >= 1:
            return pinned(self.__floor__())
        if self.hint <= -1:
            return pinned(self.__ceil__())
        return 0 if self._is("gt", -1, "lt", 1) else int(float(self))

    __trunc__ = __int__

    def __floor__(self):
        found = self._whole("math_floor")
        if found is not None:
            return found
        n = math.floor(self.hint)
        return n if self._is("ge", n, "lt", n + 1) else math.floor(float(self))

    def __ceil__(self):
        found = self._whole("math_ceil", up=True)
        if found is not None:
            return found
        n = math.ceil(self.hint)
        return n if self._is("gt", n - 1, "le", n) else math.ceil(float(self))

    def __round__(self, digits=None):
        if digits is not None or not math.isfinite(self.hint):
            return round(float(self), digits)
        found = self._whole("math_round", half=True)
        if found is not None:
            return found
        n = round(self.hint)
        return n if self._is("gt", n - 0.5, "lt", n + 0.5) or self == self.hint else round(float(self))

    def __bool__(self):
        return _compare_real("ne", self, 0.0)

    def __hash__(self):
        if self.scope.on_hash is not None and self.scope.on_hash(self):
            return hash(self.hint)
        return hash(float(self))

    def __repr__(self):
        return _written(self)

    __str__ = __repr__

    def __format__(self, spec):
        return _written(self, spec)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(float(self), dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return _by_ufunc(ufunc, method, inputs, kwargs)

    def __reduce__(self):
        return float, (float(self),)

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(float, name):
            raise AttributeError(f"'float' object has no attribute {name!r}")
        return getattr(float(self), name)

    def __neg__(self):
        quotient = self.quotient and self.quotient._replace(p=poly.negated(self.quotient.p))
        return SymFloat(self.scope, f"(-{self.text})", -self.hint, self.names, quotient)

    def __pos__(self):
        return self

    def __abs__(self):
        return SymFloat(self.scope, f"abs({self.text})", abs(self.hint), self.names)

    def __complex__(self):
        return complex(float(self))

    def __divmod__(self, other):
        return divmod(float(self), other)


def _float_operators():
    def forward(plain):
        return lambda self, other: _real(plain, self, other)

    def backward(plain):
        return lambda self, other: _real(plain, self, other, True)

    def compare(test):
        return lambda self, other: _compare_real(test, self, other)

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
        setattr(SymFloat, f"__{name}__", forward(getattr(operator, name)))
        setattr(SymFloat, f"__r{name}__", backward(getattr(operator, name)))
    for test in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(SymFloat, f"__{test}__", compare(test))


_float_operators()
