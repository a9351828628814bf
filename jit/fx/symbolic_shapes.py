"""`ingot.fx.experimental.symbolic_shapes`: what code asks of sizes that may be symbolic.

A trace's sizes answer comparisons with plain truth values and note what these rest on, so that "may I assume it" is asked by
looking: whatever is assumed is checked at each call.
"""

from typing import Any

from ...ir.errors import ArgumentError, ShapeError
from ...ir.symbols import symbolic
from ...runtime.core.tensor import Tensor
from ..errors.errors import TraceError

__all__ = ["GuardOnDataDependentSymNode", "constrain_range", "expect_true", "free_symbols", "free_unbacked_symbols",
           "guard_bool", "guard_float", "guard_int", "guard_or_false", "guard_or_true", "guard_scalar", "guard_size_oblivious",
           "guarding_hint_or_throw", "has_free_symbols", "has_free_unbacked_symbols", "has_guarding_hint", "has_static_value",
           "has_symbolic_sizes_strides", "is_concrete_bool", "is_concrete_float", "is_concrete_int", "is_nested_int",
           "is_symbolic", "optimization_hint", "statically_known_false", "statically_known_true", "sym_and", "sym_eq", "sym_or"]


class GuardOnDataDependentSymNode(TraceError):
    """What PyTorch raises where a branch depends on a size that comes out of data. Traces take such branches."""


def is_symbolic(val) -> bool:
    """Return whether a number may be another one at other calls of what is recorded."""
    return symbolic.is_symbol(val)


def guard_bool(a) -> bool:
    """Return a condition as a plain truth value, which counts from then on."""
    return bool(a)


guard_or_false = guard_or_true = guard_size_oblivious = guard_bool
statically_known_true = expect_true = guard_bool


def statically_known_false(x) -> bool:
    """Return whether a condition does not hold."""
    return not x


def guard_int(a) -> int:
    """Return a size as a plain number, for which alone a recording is good from then on."""
    return int(symbolic.pinned(a))


def guard_float(a) -> float:
    """Return the same for a number that is no integer."""
    return float(symbolic.pinned(a))


def guard_scalar(a) -> bool | int | float:
    """Return the same for a number of either kind, or a truth value."""
    return a if isinstance(a, bool) else symbolic.pinned(a)


def optimization_hint(a, fallback=None) -> Any:
    """What a number is in this call, which nobody may rely on."""
    return symbolic.hint(a)


guarding_hint_or_throw = optimization_hint


def has_guarding_hint(a) -> bool:
    """Return whether it is known what a number is in this call: always."""
    return True


def has_static_value(a) -> bool:
    """Return whether a number is the same at all calls."""
    return not symbolic.is_symbol(a)


def _is_concrete(a) -> bool:
    return not symbolic.is_symbol(a)


is_concrete_int = is_concrete_bool = is_concrete_float = _is_concrete


def is_nested_int(s) -> bool:
    """Return whether a size stands for lengths that differ: no size of ingot's does."""
    return False


def free_symbols(val) -> set:
    """Return the names of the symbolic numbers that a number, the sizes of a tensor, or several of these rest on."""
    if isinstance(val, Tensor):
        return free_symbols(tuple(val.shape))
    if isinstance(val, (tuple, list)):
        return set().union(*map(free_symbols, val))
    return set(symbolic.names_of(val)) if symbolic.is_symbol(val) else set()


def has_free_symbols(val) -> bool:
    """Return whether there are any."""
    return bool(free_symbols(val))


has_symbolic_sizes_strides = has_free_symbols


def free_unbacked_symbols(x) -> set:
    """Those of which nobody knows what they are: none."""
    return set()


def has_free_unbacked_symbols(x) -> bool:
    """Return whether there are any: never."""
    return False


def constrain_range(a, *, min=None, max=None):
    """Raise unless a size lies in a range."""
    if min is not None and max is not None and max < min:
        raise ArgumentError(f"constrain_range: the largest size {max} is below the smallest, {min}")
    if (min is not None and a < min) or (max is not None and a > max):
        raise ShapeError(f"constrain_range: {symbolic.hint(a)} is outside of [{min}, {max}]")


def sym_and(x, *others):
    """Return whether all conditions hold."""
    return all((x, *others))


def sym_or(x, *others):
    """Return whether one of them does."""
    return any((x, *others))


def sym_eq(x, y) -> bool:
    """Return whether two sizes are equal, or two sequences of them one by one."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and all(map(sym_eq, x, y))
    return bool(x == y)
