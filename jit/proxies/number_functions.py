"""Functions of Python's on numbers that were read out of tensors: `round(v, 2)`, `0.9 ** v`, `math.exp(v)`, `v // 2`, `int(v)`.

A graph has no arithmetic that gives Python's bits for these, so Python itself computes them at every call, as a host function
between kernels. Whether it could, and gave a number of the kind with which the recording goes on, is an answer like others: a
power that is complex, or a division by zero, is found before anything was written, and is recorded by itself.
"""

import math
import operator
from collections.abc import Callable

import numpy as np

from ...ir.ops.core.host_call import FUNCTIONS
from ...ir.symbols.symbolic import MATH
from ...runtime.core.tensor import Tensor, wrap

_MOST = 1 << 63
_WIDE = {int: np.int64, float: np.float64}
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
        plain, wide = PLAIN[name], _WIDE[kind]

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
    made = [wrap(np.array(value, _WIDE[kind])), wrap(np.array(fits))]
    recorder.hosts.results(operands, made, function=_host_function(name, kind),
                          results=tuple([((), t.dtype.name) for t in made]))
    recorder.cut(made[1], "bool", fits)
    return (made[0], value) if fits else None
