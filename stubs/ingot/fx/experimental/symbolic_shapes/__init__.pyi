"""`ingot.fx.experimental.symbolic_shapes`: queries about symbolic sizes."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.jit import TraceError as _TraceError

class GuardOnDataDependentSymNode(_TraceError):
    """PyTorch's error for branches on data-dependent sizes. Traces accept such branches."""

def constrain_range(a: _t.Any, *, min: _t.Any = None, max: _t.Any = None) -> None:
    """Raise unless a size lies in a range."""
def free_symbols(val: _t.Any) -> _b.set[_t.Any]:
    """Return the names of symbols in a number, the sizes of a tensor, or several of these."""
def free_unbacked_symbols(x: _t.Any) -> _b.set[_t.Any]:
    """Return an empty set: every symbol has a value."""
def guard_bool(a: _t.Any) -> _b.bool:
    """Return a condition as a plain bool, and guard it."""
def guard_float(a: _t.Any) -> _b.float:
    """Return a float as a plain number, and specialise the recording to it."""
def guard_int(a: _t.Any) -> _b.int:
    """Return a size as a plain number, and specialise the recording to it."""
def guard_scalar(a: _t.Any) -> _b.bool | _b.int | _b.float:
    """Return a number or bool as plain Python, and specialise the recording to it."""
def has_free_symbols(val: _t.Any) -> _b.bool:
    """Return whether a value has symbols."""
def has_free_unbacked_symbols(x: _t.Any) -> _b.bool:
    """Return False: every symbol has a value."""
def has_guarding_hint(a: _t.Any) -> _b.bool:
    """Return True: every number has a value in this call."""
def has_static_value(a: _t.Any) -> _b.bool:
    """Return whether a number is the same at all calls."""
def is_concrete_bool(a: _t.Any) -> _b.bool: ...
def is_nested_int(s: _t.Any) -> _b.bool:
    """Return False: no size stands for different lengths."""
def is_symbolic(val: _t.Any) -> _b.bool:
    """Return whether a number may differ at other calls of a recording."""
def optimization_hint(a: _t.Any, fallback: _t.Any = None) -> _t.Any:
    """Return the value of a number in this call, without a guard. `fallback` is ignored: every number has a value."""
def statically_known_false(x: _t.Any) -> _b.bool:
    """Return whether a condition is false."""
def sym_and(x: _t.Any, *others: _t.Any) -> _t.Any:
    """Return whether all conditions hold."""
def sym_eq(x: _t.Any, y: _t.Any) -> _b.bool:
    """Return whether two sizes, or sequences of sizes, are equal."""
def sym_or(x: _t.Any, *others: _t.Any) -> _t.Any:
    """Return whether some condition holds."""

expect_true = guard_bool
guard_or_false = guard_bool
guard_or_true = guard_bool
guard_size_oblivious = guard_bool
guarding_hint_or_throw = optimization_hint
has_symbolic_sizes_strides = has_free_symbols
is_concrete_float = is_concrete_bool
is_concrete_int = is_concrete_bool
statically_known_true = guard_bool
