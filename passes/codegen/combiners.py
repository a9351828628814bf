"""Reductions as states that combine, shared by all backends."""

from ...ir import dtype as dt
from ...ir.kernel.kernel import EXP_SUM, SPREAD, SWEEP, Kernel, Stage
from .scalars import Builder, apply


def folds_of(stage: Stage) -> list:
    """Return the reduce instructions of a sweep."""
    return [i for i in stage.body if i.op == "reduce"] if stage.over == SWEEP else []


def has_scan(kernel: Kernel) -> bool:
    """Return whether a kernel keeps running results."""
    return any(i.op == "scan" for i in kernel.instructions())


def lowest(dtype):
    """Return the number below all others."""
    return float("-inf") if dtype.is_floating_point else False if dtype is dt.bool_ else _limits(dtype)[0]


def highest(dtype):
    """Return the number above all others."""
    return float("inf") if dtype.is_floating_point else True if dtype is dt.bool_ else _limits(dtype)[1]


def _limits(dtype):
    bits = 8 * dtype.itemsize
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if dtype.is_signed else (0, (1 << bits) - 1)


_IDENTITY = {"sum": lambda d: 0, "prod": lambda d: 1, "max": lowest, "min": highest, "any": lambda d: False,
             "all": lambda d: True, "argmax": lowest, "argmin": highest}
_STATES = {SPREAD: 4, EXP_SUM: 2}
_NO_INDEX = (1 << 63) - 1


class Fold:
    """One reduction: its kind and the dtype of the values it folds. A state is a tuple of values that are not complex.

    States of a spread and of an exp_sum are never combined in pairs; `loops/single_pass_folds.py` describes them.
    """

    def __init__(self, kind: str, dtype):
        self.kind, self.dtype = kind, dtype
        self.indexed = kind.startswith("arg")
        parts = (dt.PARTS[dtype],) * 2 if dtype.is_complex else (dtype,) * _STATES.get(kind, 1)
        self.dtypes = (dtype, dt.int64) if self.indexed else parts

    @property
    def start(self) -> tuple:
        """The state before the first element, as Python numbers."""
        if self.kind == SPREAD:
            return (0,) * 4
        if self.kind == EXP_SUM:
            return (lowest(self.dtype), 0)
        first = _IDENTITY[self.kind](self.dtype)
        return (first, _NO_INDEX) if self.indexed else (first, 0) if self.dtype.is_complex else (first,)

    def identity(self, s: Builder) -> tuple:
        """Return the state before the first element."""
        return tuple([s.const(d, n) for d, n in zip(self.dtypes, self.start)])

    def combine(self, s, a: tuple, b: tuple) -> tuple:
        """Combine two states, `a` the earlier."""
        if self.indexed:
            return self._better(s, a, b)
        if self.dtype.is_complex:
            return s.re_im(apply(s, {"sum": "add", "prod": "mul"}[self.kind], s.whole(*a), s.whole(*b)))
        x, y = a[0], b[0]
        if self.kind == "sum":
            return (x | y if self.dtype is dt.bool_ else x + y,)
        if self.kind == "prod":
            return (x & y if self.dtype is dt.bool_ else x * y,)
        if self.kind in ("any", "all"):
            return (x | y if self.kind == "any" else x & y,)
        if self.dtype is dt.bool_:
            return (x | y if self.kind == "max" else x & y,)
        return (s.maximum(x, y) if self.kind == "max" else s.minimum(x, y),)

    def _better(self, s, a, b):
        """Choose the larger (smaller) value, nan before all numbers, at its lowest index."""
        (x, i), (y, j) = a, b
        if self.dtype is dt.bool_:
            x8, y8 = x.to(dt.uint8), y.to(dt.uint8)
        else:
            x8, y8 = x, y
        wins = y8 > x8 if self.kind == "argmax" else y8 < x8
        ties = x8.eq(y8)
        if self.dtype.is_floating_point:
            wins = wins & x.eq(x) | (y.ne(y) & x.eq(x))
            ties = ties | (x.ne(x) & y.ne(y))
        take = wins | (ties & (j < i))
        return s.select(take, y, x), s.select(take, j, i)

    def state(self, s, value) -> tuple:
        """Return the state of one value, without its index."""
        return s.re_im(value) if self.dtype.is_complex else (value,)

    def result(self, s, state):
        """Return the value of the reduction. An exp_sum is nan where the largest value is infinite, like exp(x - max)."""
        if self.kind == EXP_SUM:
            return state[1] + (state[0] - state[0])
        return s.whole(*state) if self.dtype.is_complex else state[1] if self.indexed else state[-1]
