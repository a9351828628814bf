"""Lazy scalars: proxies for numbers that a function reads out of tensors with `item()` while it is recorded.

    return loss.item()          # a result like others: every call gives its own
    self.total += loss.item()   # the graph computes in double precision, as Python does
    x / scale.item()            # the number meets a tensor in the graph
    if loss.item() < 1: ...     # only the answer of a comparison decides the path of a call

Other code forces the value, and the path that follows holds for this value alone. Integers are exact: whether 64 bits hold a
result is an answer, too. Functions without a graph operator of the same bits (`round(v, 2)`, `0.9 ** v`, `math.sqrt(v)`) are
host functions between kernels. A failure, or a result of another kind, is an answer, found before anything is written.
"""

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.interrupts import raise_interrupt
from ...ir.ops.core.elementwise import pow_
from ...ir.ops.core.host_call import FUNCTIONS
from ...ir.symbols.symbolic import MATH, SymFloat, SymInt, is_symbol
from ...ir.tracebacks import computes_for_python
from ...runtime.core.tensor import Tensor, wrap
from ...runtime.state.mode import tls

computes_for_python(__name__)

_WIDE = {float: dt.float64, int: dt.int64}
_EXACT = 1 << 53                    # integers up to here are doubles
_LIMITS = {operator.add: 1 << 62, operator.sub: 1 << 62, operator.mul: 1 << 31}     # of operands, so that 64 bits hold a result
_FLOATS = (operator.add, operator.sub, operator.mul, operator.truediv)
_BY_PYTHON = (operator.floordiv, operator.mod, operator.pow)
_MOST = 1 << 63


class NumberProxy:
    """Base of proxies for numbers. Each operator asks one method, which returns None for results that only Python can compute.
    Python gets the numbers behind the proxies then, and the recording holds for these alone from now on."""

    __slots__ = ()
    kind: type
    plain_of: Callable[[Any], Any]      # returns the number behind a proxy; other values as they are

    def combined(self, plain, x, y):
        """Return the result of an arithmetic operator."""

    def compared(self, plain, x, y):
        """Return the answer of a comparison."""

    def applied(self, plain, *args):
        """Return the result of `abs` or of a rounding."""

    def converted(self, plain, *args):
        """Return the result of a conversion, which only Python can compute."""

    @property  # type: ignore[misc]
    def __class__(self):
        return self.kind

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(self.kind, name):
            raise AttributeError(f"{self.kind.__name__!r} object has no attribute {name!r}")
        return getattr(self.plain_of(self), name)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.plain_of(self), dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return getattr(ufunc, method)(*map(self.plain_of, inputs), **kwargs)

    def __reduce__(self):
        return self.kind, (self.plain_of(self),)

    def __pos__(self):
        return self


def _operator(method: str, plain, is_flipped=False):
    def run(self, *args):
        operands = (*args, self) if is_flipped else (self, *args)
        result = getattr(self, method)(plain, *operands)
        return plain(*map(self.plain_of, operands)) if result is None else result
    return run


_OPERATORS: dict[str, dict[str, Callable]] = {
    "combined": {name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")},
    "compared": {name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    "applied": {"abs": abs, "round": round, "floor": math.floor, "ceil": math.ceil, "trunc": int},
    "converted": {"float": float, "int": int, "bool": bool, "complex": complex, "index": operator.index, "hash": hash,
                  "repr": repr, "str": str, "format": format}}
for _method, _functions in _OPERATORS.items():
    for _name, _plain in _functions.items():
        setattr(NumberProxy, f"__{_name}__", _operator(_method, _plain))
for _name, _plain in _OPERATORS["combined"].items():
    setattr(NumberProxy, f"__r{_name}__", _operator("combined", _plain, True))


def forced(x):
    """Force a lazy scalar; return other values as they are."""
    return x.force() if type(x) is LazyScalar else x


def deferred(recorder, t: Tensor, value, line=None):
    """Return the lazy scalar for a value that a line read out of a tensor; None if it has to be the value itself."""
    kind = type(value)
    if kind not in _WIDE or t.dtype is dt.uint64:
        return None
    return LazyScalar(recorder, as_number(t, kind), value, line)


def as_number(t: Tensor, kind) -> Tensor:
    """Return the one element of a tensor as Python has it, an int or a float, in memory of its own."""
    return t.detach().reshape(()).to(_WIDE[kind], copy=True)


class LazyScalar(NumberProxy):
    """Float or int that a recorded function has read by a line, or computed of such; it passes `isinstance` as one."""

    __slots__ = ("_tensor", "hint", "is_forced", "line", "recorder")
    plain_of = staticmethod(forced)

    def __init__(self, recorder, tensor, value, line=None):
        self.line = line
        self.recorder, self._tensor, self.hint, self.is_forced = recorder, tensor, value, False
        recorder.reads.has_numbers = True

    @staticmethod
    def applied_function(name, plain, args):
        """Return the result of a function of `math`, lazy if each call can compute it."""
        found = applied(f"math_{name}", args)
        return plain(*map(forced, args)) if found is None else found

    @property
    def tensor(self) -> Tensor:
        """Return the tensor that holds it; it may be made at its first use."""
        if not isinstance(self._tensor, Tensor):
            self._tensor = self._tensor()
        return self._tensor

    @property
    def kind(self) -> type:
        return type(self.hint)

    @property
    def is_open(self) -> bool:
        """Return whether the value was not forced, so that the graph can go on computing with it."""
        recorder: Any = tls.m.recorder
        return not self.is_forced and recorder is self.recorder and recorder.reads.defers

    def force(self):
        """Return the value. The path that is being recorded holds for it alone from now on."""
        reads = getattr(self.recorder, "reads", None)        # None once it was recorded: a cache has kept it
        if not self.is_forced and reads is not None and reads.defers:
            self.is_forced = True
            self.recorder.cut(self.tensor, "item", self.hint, self.line if self.kind is int else None)
        return self.hint

    def combined(self, plain, x, y):
        if isinstance(x, Tensor) or isinstance(y, Tensor):
            return NotImplemented
        if not (isinstance(x, (int, float)) and isinstance(y, (int, float))):
            return None
        a, b = _sides(plain, x, y) if self.is_open else (None, None)
        if a is None or b is None:
            return applied(plain.__name__, (x, y)) if plain in _BY_PYTHON else None
        first: Any = x if type(x) is LazyScalar else y
        return LazyScalar(first.recorder, plain(a, b), plain(_now(x), _now(y)), first.line)

    def compared(self, plain, x, y):
        if not (isinstance(y, (int, float)) and self.is_open):
            return None
        if self.kind is int and type(y) is float:
            if plain in (operator.eq, operator.ne) and not y.is_integer():
                return plain is operator.ne
            y = int(y) if y.is_integer() else y
        if self.kind is float:
            b = _as_float(y)
        elif type(y) is LazyScalar:
            b = y.tensor if y.kind is int else None
        else:
            b = y if type(y) is SymInt or (type(y) in (int, bool) and abs(y) < 1 << 63) else None
        return None if b is None else bool(plain(self.tensor, b))

    def applied(self, plain, *args):
        return applied(plain.__name__, args if None not in args[1:] else (self,))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return _written(self)

    __str__ = __repr__

    def __format__(self, spec):
        return _written(self, spec)

    def __bool__(self):
        return self != 0

    def __neg__(self):
        return operator.mul(self, -1.0 if self.kind is float else -1)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self


def _written(x, spec=None):
    """Return a number as `format` gives it, or `repr` without `spec`; its value is forced, unless nothing reads the text."""
    text = x.recorder.reads.printed.text(x, spec, sys._getframe(2)) if x.is_open else None
    if text is not None:
        return text
    return repr(x.force()) if spec is None else format(x.force(), spec)


def operands(op, args) -> list:
    """Return the operands of an operator; a lazy scalar beside tensors, in their dtype, is a tensor if the bits agree."""
    if LazyScalar not in map(type, args) or not ((op.is_elementwise and "exact" in op.traits) or _is_plain_power(op, args)):
        return [forced(x) for x in args]
    dtype = next((x.dtype for x in args if isinstance(x, Tensor) and x.dtype is not dt.bool_), None)     # where(c, x, v)
    return [operand(x, dtype) for x in args]


def operand(x, dtype):
    """Return an open lazy scalar as a tensor of a dtype if the bits agree, else its value; other values as they are."""
    if type(x) is not LazyScalar:
        return x
    if dtype is dt.float32 or dtype is dt.float64:
        return x.tensor.to(dt.float64).to(dtype) if x.is_open else x.force()
    return x.tensor if dtype is dt.int64 and x.kind is int and x.is_open else x.force()


def _is_plain_power(op, args) -> bool:
    """Return whether it is a power without gradients: these compute with the number in double precision."""
    return op is pow_ and not (tls.m.grad and any(isinstance(x, Tensor) and x.requires_grad for x in args))


def _is_small(x, limit) -> bool:
    return bool(x < limit) and bool(x > -limit)


def _as_float(x):
    """Return an operand of double arithmetic or comparison, or None if it is not exact."""
    kind = type(x)
    if kind is LazyScalar:
        return x.tensor if x.kind is float else None
    if kind is float or kind is SymFloat:
        return x
    return _as_int(x, _EXACT)


def _as_double(x):
    """Return an operand of double arithmetic, to which Python rounds ints as a cast does, or None if unknown."""
    return x.tensor.to(dt.float64) if type(x) is LazyScalar and x.kind is int else _as_float(x)


def _as_int(x, limit):
    """Return an operand of 64-bit integers, or None if they might not hold the result."""
    kind = type(x)
    if not (kind is int or kind is bool or kind is SymInt or (kind is LazyScalar and x.kind is int)) or not _is_small(x, limit):
        return None
    return x.tensor if kind is LazyScalar else int(x) if kind is bool else x


def _sides(plain, x, y):
    """Return the operands with which the graph computes, or (None, None) if it cannot do so as Python does."""
    if plain is operator.truediv and y == 0:
        return None, None
    if any(v.__class__ is float for v in (x, y)):
        return (_as_double(x), _as_double(y)) if plain in _FLOATS else (None, None)
    if plain is operator.truediv:
        return [v.to(dt.float64) if isinstance(v, Tensor) else v for v in (_as_int(x, _EXACT), _as_int(y, _EXACT))]
    limit = _LIMITS.get(plain)
    return (None, None) if limit is None else (_as_int(x, limit), _as_int(y, limit))


def _now(x):
    return x.hint if hasattr(x, "hint") else x


def is_number(x) -> bool:
    """Return whether a host function can take a value as a number."""
    return type(x) in (LazyScalar, SymInt, SymFloat, float) or (type(x) in (int, bool) and -_MOST <= x < _MOST)


def applied(name: str, args) -> Any:
    """Return the lazy result of a function of `PLAIN`, or None if no number is open or it cannot be computed at every call."""
    first = next((x for x in args if type(x) is LazyScalar and x.is_open), None)
    if first is None or not all(map(is_number, args)):
        return None
    recorder = first.recorder
    made = computed(recorder, name, [_tensor_of(recorder, x) for x in args], [*map(_now, args)])
    return None if made is None else LazyScalar(recorder, *made, first.line if name == "floordiv" else None)


def _tensor_of(recorder, x) -> Tensor:
    if type(x) is LazyScalar and x.is_open:
        return x.tensor
    x = forced(x)
    constant = wrap(np.array(1 if is_symbol(x) else x, np.float64 if type(_now(x)) is float else np.int64))
    recorder.created(constant)
    return constant * x if is_symbol(x) else constant


def read_as_tensor(recorder, x):
    """Return a symbolic number as a lazy scalar; other values as they are."""
    number = x.number if hasattr(x, "number") else x
    return LazyScalar(recorder, _tensor_of(recorder, number), _now(number)) if is_symbol(number) else x


_NUMPY = {int: np.int64, float: np.float64}
PLAIN: dict[str, Callable] = {
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "abs": abs, "int": int, "round": round,
    "floor": math.floor, "ceil": math.ceil, **{f"math_{name}": function for name, function in MATH.items()}}
_WHOLE = ("int", "floor", "ceil")        # of these, and of rounding to no digits, the results are ints


def _attempt(plain, kind, args):
    """Return (result of a function, whether it is a number of a kind that 64 bits hold)."""
    try:
        found = plain(*args)
    except (ArithmeticError, ValueError) as error:
        raise_interrupt(error, plain, *args)
        return kind(0), False
    fits = type(found) is kind and (kind is float or -_MOST <= found < _MOST)
    return (found, True) if fits else (kind(0), False)


def _host_function(name: str, kind) -> str:
    known = f"number_{name}_{kind.__name__}"
    if known not in FUNCTIONS:
        plain, wide = PLAIN[name], _NUMPY[kind]

        def call(*arrays):
            found, fits = _attempt(plain, kind, [a.item() for a in arrays])
            return np.array(found, wide), np.array(fits)

        FUNCTIONS[known] = call
    return known


def kind_of_result(name: str, hints) -> type:
    """Return whether a function gives ints or floats for some numbers, most likely if it fails for them."""
    if name in _WHOLE or (name == "round" and len(hints) == 1):
        return int
    if name.startswith("math_") or float in map(type, hints):
        return float
    return float if name == "pow" and hints[1] < 0 else int


def computed(recorder, name: str, operands, hints) -> tuple[Tensor, int | float] | None:
    """Return (tensor that holds the result of a function at every call, its current value), or None if that is no number."""
    kind = kind_of_result(name, hints)
    value, fits = _attempt(PLAIN[name], kind, hints)
    made = [wrap(np.array(value, _NUMPY[kind])), wrap(np.array(fits))]
    recorder.hosts.results(operands, made, function=_host_function(name, kind),
                          results=tuple([((), t.dtype.name) for t in made]))
    recorder.cut(made[1], "bool", fits)
    return (made[0], value) if fits else None
