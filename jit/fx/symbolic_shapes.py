"""`ingot.fx.experimental.symbolic_shapes`: queries about symbolic sizes.

Symbolic sizes of a trace answer comparisons with plain booleans and record the condition, which each call checks. So "may I
assume it" is just a comparison.
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
    """PyTorch's error for branches on data-dependent sizes. Traces accept such branches."""


def is_symbolic(val) -> bool:
    """Return whether a number may differ at other calls of a recording."""
    return symbolic.is_symbol(val)


def guard_bool(a) -> bool:
    """Return a condition as a plain bool, and guard it."""
    return bool(a)


guard_or_false = guard_or_true = guard_size_oblivious = guard_bool
statically_known_true = expect_true = guard_bool


def statically_known_false(x) -> bool:
    """Return whether a condition is false."""
    return not x


def guard_int(a) -> int:
    """Return a size as a plain number, and specialise the recording to it."""
    return int(symbolic.pinned(a))


def guard_float(a) -> float:
    """Return a float as a plain number, and specialise the recording to it."""
    return float(symbolic.pinned(a))


def guard_scalar(a) -> bool | int | float:
    """Return a number or bool as plain Python, and specialise the recording to it."""
    return a if isinstance(a, bool) else symbolic.pinned(a)


def optimization_hint(a, fallback=None) -> Any:
    """Return the value of a number in this call, without a guard. `fallback` is ignored: every number has a value."""
    return symbolic.hint(a)


guarding_hint_or_throw = optimization_hint


def has_guarding_hint(a) -> bool:
    """Return True: every number has a value in this call."""
    return True


def has_static_value(a) -> bool:
    """Return whether a number is the same at all calls."""
    return not symbolic.is_symbol(a)


def _is_concrete(a) -> bool:
    return not symbolic.is_symbol(a)


is_concrete_int = is_concrete_bool = is_concrete_float = _is_concrete


def is_nested_int(s) -> bool:
    """Return False: no size stands for different lengths."""
    return False


def free_symbols(val) -> set:
    """Return the names of symbols in a number, the sizes of a tensor, or several of these."""
    if isinstance(val, Tensor):
        return free_symbols(tuple(val.shape))
    if isinstance(val, (tuple, list)):
        return set().union(*map(free_symbols, val))
    return set(symbolic.names_of(val)) if symbolic.is_symbol(val) else set()


def has_free_symbols(val) -> bool:
    """Return whether a value has symbols."""
    return bool(free_symbols(val))


has_symbolic_sizes_strides = has_free_symbols


def free_unbacked_symbols(x) -> set:
    """Return an empty set: every symbol has a value."""
    return set()


def has_free_unbacked_symbols(x) -> bool:
    """Return False: every symbol has a value."""
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
    """Return whether some condition holds."""
    return any((x, *others))


def sym_eq(x, y) -> bool:
    """Return whether two sizes, or sequences of sizes, are equal."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and all(map(sym_eq, x, y))
    return bool(x == y)
