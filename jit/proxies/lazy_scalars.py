"""Numbers that a function reads out of tensors with `item()`, while it is recorded: what becomes of them is looked at first.

    return loss.item()          # a result like others: every call gives its own
    self.total += loss.item()   # arithmetic is done by the graph, in double precision as Python does it
    x / scale.item()            # so it is where the number meets a tensor
    if loss.item() < 1: ...     # only the answer of a comparison decides which way a call takes

A `LazyScalar` stands for such a number. Whatever else asks for it gets the value, and what follows is recorded for this value
alone, as with other ways to read a tensor. Integers are exact: whether 64 bits hold a result is asked like an answer. What no
graph computes as Python does (`round(v, 2)`, `0.9 ** v`, `math.sqrt(v)`), Python does at every call (`number_functions.py`).
"""

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.ops.core.elementwise import pow_
from ...ir.ops.core.host_call import FUNCTIONS
from ...ir.symbols.symbolic import MATH, SymFloat, SymInt, is_symbol
from ...runtime.core.state import tls
from ...runtime.core.tensor import Tensor, wrap

_WIDE = {float: dt.float64, int: dt.int64}
_EXACT = 1 << 53                    # integers up to here are doubles
_LIMITS = {operator.add: 1 << 62, operator.sub: 1 << 62, operator.mul: 1 << 31}     # of operands, so that 64 bits hold a result
_FLOATS = (operator.add, operator.sub, operator.mul, operator.truediv)
_BY_PYTHON = (operator.floordiv, operator.mod, operator.pow)
_MOST = 1 << 63
_ORDER = {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}



def deferred(recorder, t: Tensor, value, line=None):
    """What stands for a value that was read out of a tensor by a line; None if it has to be the value itself."""
    kind = type(value)
    if kind not in _WIDE or t.dtype is dt.uint64:
        return None
    return LazyScalar(recorder, as_number(t, kind), value, line)


def as_number(t: Tensor, kind) -> Tensor:
    """The one element of a tensor as Python has it, as an int or a float, in memory of its own."""
    return t.detach().reshape(()).to(_WIDE[kind], copy=True)


class LazyScalar:
    """A float or an int that a recorded function has read by a line, or computed of such; to `isinstance` it is one."""

    __slots__ = ("_tensor", "hint", "is_forced", "line", "recorder")

    def __init__(self, recorder, tensor, value, line=None):
        self.line = line
        self.recorder, self._tensor, self.hint, self.is_forced = recorder, tensor, value, False
        recorder.reads.has_numbers = True

    @property
    def tensor(self) -> Tensor:
        """The tensor that holds it; made when it is first asked for, where a function does that."""
        if not isinstance(self._tensor, Tensor):
            self._tensor = self._tensor()
        return self._tensor

    @property
    def kind(self) -> type:
        """float or int."""
        return type(self.hint)

    @property  # type: ignore[misc]
    def __class__(self):
        return type(self.hint)

    @property
    def is_open(self) -> bool:
        """Whether nobody has asked for the value yet, and the graph can still go on computing with it."""
        return not self.is_forced and tls.m.recorder is self.recorder

    def forced(self):
        """The value, for which alone the path that is being recorded holds from now on."""
        if not self.is_forced and self.recorder.reads.defers:
            self.is_forced = True
            self.recorder.cut(self.tensor, "item", self.hint, self.line if self.kind is int else None)
        return self.hint

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(self.kind, name):
            raise AttributeError(f"{self.kind.__name__!r} object has no attribute {name!r}")
        return getattr(self.force(), name)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.force(), dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return getattr(ufunc, method)(*map(forced, inputs), **kwargs)

    def __index__(self):
        return operator.index(self.force())

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return self.kind, (self.force(),)

    def __format__(self, spec):
        mark = self.recorder.reads.printed.mark(self.tensor, self.hint, spec, sys._getframe(1)) if self.is_open else None
        return format(self.force(), spec) if mark is None else mark

    def __pos__(self):
        return self

    def __neg__(self):
        return operator.mul(self, -1.0 if self.kind is float else -1)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self


def forced(x):
    """A number of which the value is noted, if it was read; anything else as it is."""
    return x.force() if type(x) is LazyScalar else x


def operands(op, args) -> list:
    """The operands of an operator. A read number beside tensors, of which it takes the dtype, is a tensor too, where that gives
    the same bits."""
    if LazyScalar not in map(type, args) or not ((op.is_elementwise and "exact" in op.traits) or _is_plain_power(op, args)):
        return [forced(x) for x in args]
    dtype = next((x.dtype for x in args if isinstance(x, Tensor) and x.dtype is not dt.bool_), None)     # where(c, x, v)
    return [operand(x, dtype) for x in args]


def operand(x, dtype):
    """A number that was read as a tensor of a dtype, if nobody has asked for it and that gives the same bits; else as the
    number that it is. Anything else stays as it is."""
    if type(x) is not LazyScalar:
        return x
    if dtype is dt.float32 or dtype is dt.float64:
        return x.tensor.to(dt.float64).to(dtype) if x.is_open else x.force()
    return x.tensor if dtype is dt.int64 and x.kind is int and x.is_open else x.force()


def _is_plain_power(op, args) -> bool:
    """Whether it is a power of which nobody wants gradients: theirs compute with the number in double precision."""
    return op is pow_ and not (tls.m.grad and any(isinstance(x, Tensor) and x.requires_grad for x in args))


def _is_small(x, limit) -> bool:
    return bool(x < limit) and bool(x > -limit)


def _as_float(x):
    """An operand of double arithmetic or comparison (a tensor or a number), or None where that would not be exact."""
    kind = type(x)
    if kind is LazyScalar:
        return x.tensor if x.kind is float else None
    if kind is float or kind is SymFloat:
        return x
    return _as_int(x, _EXACT)


def _as_double(x):
    """An operand of double arithmetic, to which Python rounds ints as a cast does; None if that is not known."""
    return x.tensor.to(dt.float64) if type(x) is LazyScalar and x.kind is int else _as_float(x)


def _as_int(x, limit):
    """An operand of 64-bit integers, or None where they might not hold the result."""
    kind = type(x)
    if not (kind is int or kind is bool or kind is SymInt or (kind is LazyScalar and x.kind is int)) or not _is_small(x, limit):
        return None
    return x.tensor if kind is LazyScalar else int(x) if kind is bool else x


def _sides(plain, x, y):
    """What the graph computes with, or (None, None) where it cannot do so as Python does."""
    if plain is operator.truediv and y == 0:
        return None, None
    if any(v.__class__ is float for v in (x, y)):
        return (_as_double(x), _as_double(y)) if plain in _FLOATS else (None, None)
    if plain is operator.truediv:
        return [v.to(dt.float64) if isinstance(v, Tensor) else v for v in (_as_int(x, _EXACT), _as_int(y, _EXACT))]
    limit = _LIMITS.get(plain)
    return (None, None) if limit is None else (_as_int(x, limit), _as_int(y, limit))


def _computed(plain, x, y) -> Any:
    """An operation of a read number with another number, or None where the graph cannot do it as Python does."""
    a, b = _sides(plain, x, y)
    if a is None or b is None:
        return None
    first = x if type(x) is LazyScalar else y
    return LazyScalar(first.recorder, plain(a, b), plain(_now(x), _now(y)), first.line)


def _now(x):
    """The value of a number in this call."""
    return x.hint if hasattr(x, "hint") else x


def is_number(x) -> bool:
    """Whether a function of numbers may be computed of it at every call."""
    return type(x) in (LazyScalar, SymInt, SymFloat, float) or (type(x) in (int, bool) and -_MOST <= x < _MOST)


def applied(name: str, args) -> Any:
    """What a function of `number_functions` gives for numbers, of which one was read and nobody has asked for it; None where
    it cannot be computed at every call."""
    first = next((x for x in args if type(x) is LazyScalar and x.is_open), None)
    if first is None or not all(map(is_number, args)):
        return None
    recorder = first.recorder
    made = computed(recorder, name, [_tensor_of(recorder, x) for x in args], [*map(_now, args)])
    return None if made is None else LazyScalar(recorder, *made, first.line if name == "floordiv" else None)


def _tensor_of(recorder, x) -> Tensor:
    """A number as a tensor of the recording."""
    if type(x) is LazyScalar and x.is_open:
        return x.tensor
    x = forced(x)
    constant = wrap(np.array(1 if is_symbol(x) else x, np.float64 if type(_now(x)) is float else np.int64))
    recorder.created(constant)
    return constant * x if is_symbol(x) else constant


def read_as_tensor(recorder, x):
    """A symbolic number as one that was read out of a tensor; anything else as it is."""
    number = x.number if hasattr(x, "number") else x
    return LazyScalar(recorder, _tensor_of(recorder, number), _now(number)) if is_symbol(number) else x


def _compared(plain, x, y) -> Any:
    """The answer of a comparison, or None where the graph cannot compare as Python does."""
    if x.kind is int and type(y) is float:
        if plain in (operator.eq, operator.ne) and not y.is_integer():
            return plain is operator.ne
        y = int(y) if y.is_integer() else y
    if x.kind is float:
        b = _as_float(y)
    elif type(y) is LazyScalar:
        b = y.tensor if y.kind is int else None
    else:
        b = y if type(y) is SymInt or (type(y) in (int, bool) and abs(y) < 1 << 63) else None
    return None if b is None else bool(plain(x.tensor, b))


def _operators():
    def arithmetic(plain, is_flipped):
        def run(self, other):
            if isinstance(other, Tensor):
                return NotImplemented
            if not isinstance(other, (int, float)):
                return plain(other, self.force()) if is_flipped else plain(self.force(), other)
            x, y = (other, self) if is_flipped else (self, other)
            made = _computed(plain, x, y) if self.is_open else None
            if made is None and plain in _BY_PYTHON:
                made = applied(plain.__name__, (x, y))
            return plain(forced(x), forced(y)) if made is None else made
        return run

    def compare(plain):
        def run(self, other):
            answer = _compared(plain, self, other) if isinstance(other, (int, float)) and self.is_open else None
            return plain(self.force(), forced(other)) if answer is None else answer
        return run

    def function(plain):
        def run(self, *args):
            made = applied(plain.__name__, (self, *args)) if None not in args else run(self)
            return plain(self.force(), *args) if made is None else made
        return run

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
        plain = getattr(operator, name)
        setattr(LazyScalar, f"__{name}__", arithmetic(plain, False))
        setattr(LazyScalar, f"__r{name}__", arithmetic(plain, True))
    for plain in _ORDER:
        setattr(LazyScalar, f"__{plain.__name__}__", compare(plain))
    for name, plain in (("float", float), ("int", int), ("hash", hash), ("repr", repr), ("str", str), ("complex", complex)):
        setattr(LazyScalar, f"__{name}__", lambda self, *args, plain=plain: plain(self.force(), *args))
    for name, plain in (("abs", abs), ("round", round), ("floor", math.floor), ("ceil", math.ceil), ("trunc", int)):
        setattr(LazyScalar, f"__{name}__", function(plain))
    setattr(LazyScalar, "__bool__", lambda self: self != 0)  # noqa: B010


_operators()


_NUMPY = {int: np.int64, float: np.float64}
PLAIN: dict[str, Callable] = {
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "abs": abs, "int": int, "round": round,
    "floor": math.floor, "ceil": math.ceil, **{f"math_{name}": function for name, function in MATH.items()}}
_WHOLE = ("int", "floor", "ceil")        # of these, and of rounding to no digits, the results are ints


def _attempt(plain, kind, args):
    """(the number that a function gives, whether it is one of a kind that 64 bits hold)."""
    try:
        found = plain(*args)
    except (ArithmeticError, ValueError):
        return kind(0), False
    fits = type(found) is kind and (kind is float or -_MOST <= found < _MOST)
    return (found, True) if fits else (kind(0), False)


def _host_function(name: str, kind) -> str:
    """The name by which graphs know a function that gives numbers of a kind."""
    known = f"number_{name}_{kind.__name__}"
    if known not in FUNCTIONS:
        plain, wide = PLAIN[name], _NUMPY[kind]

        def call(*arrays):
            found, fits = _attempt(plain, kind, [a.item() for a in arrays])
            return np.array(found, wide), np.array(fits)

        FUNCTIONS[known] = call
    return known


def kind_of_result(name: str, hints) -> type:
    """Whether a function gives ints or floats for some numbers; what it most likely would where it fails for them."""
    if name in _WHOLE or (name == "round" and len(hints) == 1):
        return int
    if name.startswith("math_") or float in map(type, hints):
        return float
    return float if name == "pow" and hints[1] < 0 else int


def computed(recorder, name: str, operands, hints) -> tuple[Tensor, int | float] | None:
    """(the tensor that holds at every call what a function gives for some tensors of one number, its value now); None where
    that is no number."""
    kind = kind_of_result(name, hints)
    value, fits = _attempt(PLAIN[name], kind, hints)
    made = [wrap(np.array(value, _NUMPY[kind])), wrap(np.array(fits))]
    recorder.hosts.results(operands, made, function=_host_function(name, kind),
                          results=tuple([((), t.dtype.name) for t in made]))
    recorder.cut(made[1], "bool", fits)
    return (made[0], value) if fits else None
