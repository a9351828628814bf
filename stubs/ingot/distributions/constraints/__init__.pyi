"""Constraints: regions of parameters and samples, with checks of values."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Tensor as _Tensor

boolean: Constraint
corr_cholesky: Constraint
def dependent(*, is_discrete: _t.Any = ..., event_dim: _t.Any = ...) -> _t.Any:
    """Region that depends on other parameters, and cannot be checked by itself."""
lower_cholesky: Constraint
lower_triangular: Constraint
_greater_than_eq: _t.TypeAlias = greater_than_eq
nonnegative: _greater_than_eq
nonnegative_integer: Constraint
one_hot: Constraint
_greater_than: _t.TypeAlias = greater_than
positive: _greater_than
positive_definite: Constraint
positive_integer: Constraint
positive_semidefinite: Constraint
real: Constraint
_independent: _t.TypeAlias = independent
real_vector: _independent
simplex: Constraint
square: Constraint
symmetric: Constraint
_interval: _t.TypeAlias = interval
unit_interval: _interval

class Constraint:
    """Region of values. `event_dim` is the number of trailing dimensions of one value."""
    shows: _b.tuple[_t.Any, ...]
    def check(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return a bool tensor: whether each value is inside."""
    event_dim: _b.int
    is_discrete: _b.bool

class MixtureSameFamilyConstraint(Constraint):
    """Constraint that every component, along the last dimension of a batch, can draw a value."""
    base_constraint: Constraint
    def __init__(self, base_constraint: _t.Any) -> None: ...
    def check(self, value: _Tensor | _b.complex) -> _Tensor: ...
    event_dim: _b.int
    is_discrete: _b.bool
    shows: _b.tuple[_t.Any, ...]

class cat(Constraint):
    """Constraints on parts of the given lengths, joined along a dimension."""
    cseq: _b.list[_t.Any]
    dim: _t.Any
    lengths: _t.Any
    def __init__(self, cseq: _t.Any, dim: _t.Any = 0, lengths: _t.Any = None) -> None: ...
    def check(self, value: _Tensor | _b.complex) -> _Tensor: ...
    event_dim: _b.int
    is_discrete: _b.bool

class dependent_property(_b.property, Constraint):
    """Property that is a constraint of an object, and a dependent constraint of the class."""
    def __call__(self, fn: _t.Any = None, *, is_discrete: _t.Any = ..., event_dim: _t.Any = ...) -> _dependent_property: ...
    def __init__(self, fn: _t.Any = None, *, is_discrete: _t.Any = ..., event_dim: _t.Any = ...) -> None: ...
    def check(self, value: _Tensor | _b.complex) -> _Tensor:
        """Raise: a check needs the parameters."""
    event_dim: _b.int
    is_discrete: _b.bool

_dependent_property: _t.TypeAlias = dependent_property

class greater_than(Constraint):
    """Numbers above a bound."""
    lower_bound: _t.Any
    def __init__(self, lower_bound: _t.Any) -> None: ...
    def check(self, value: _Tensor | _b.complex) -> _Tensor: ...
    shows: _b.tuple[_t.Any, ...]

class greater_than_eq(_greater_than):
    """Numbers at a bound or above."""
    def check(self, value: _Tensor | _b.complex) -> _Tensor: ...

class half_open_interval(_interval):
    """Numbers between two bounds, the upper one excluded."""
    def check(self, value: _Tensor | _b.complex) -> _Tensor: ...

class independent(Constraint):
    """Constraint whose values have more trailing dimensions; all parts of a value must be inside."""
    base_constraint: Constraint
    reinterpreted_batch_ndims: _t.Any
    def __init__(self, base_constraint: _t.Any, reinterpreted_batch_ndims: _t.Any) -> None: ...
    def check(self, value: _Tensor | _b.complex) -> _Tensor: ...
    event_dim: _b.int
    is_discrete: _b.bool
    shows: _b.tuple[_t.Any, ...]

class integer_interval(Constraint):
    """Integers between two bounds, both included."""
    lower_bound: _t.Any
    upper_bound: _t.Any
    def __init__(self, lower_bound: _t.Any, upper_bound: _t.Any) -> None: ...
    def check(self, value: _Tensor | _b.complex) -> _Tensor: ...
    is_discrete: _b.bool
    shows: _b.tuple[_t.Any, ...]

class interval(Constraint):
    """Numbers between two bounds, both included."""
    lower_bound: _t.Any
    upper_bound: _t.Any
    def __init__(self, lower_bound: _t.Any, upper_bound: _t.Any) -> None: ...
    def check(self, value: _Tensor | _b.complex) -> _Tensor: ...
    shows: _b.tuple[_t.Any, ...]

def is_dependent(constraint: _t.Any) -> _b.bool:
    """Return whether a constraint depends on parameters."""

class less_than(Constraint):
    """Numbers below a bound."""
    upper_bound: _t.Any
    def __init__(self, upper_bound: _t.Any) -> None: ...
    def check(self, value: _Tensor | _b.complex) -> _Tensor: ...
    shows: _b.tuple[_t.Any, ...]

class multinomial(Constraint):
    """Counts that sum to at most a bound."""
    upper_bound: _t.Any
    def __init__(self, upper_bound: _t.Any) -> None: ...
    def check(self, x: _t.Any) -> _Tensor: ...
    event_dim: _b.int
    is_discrete: _b.bool
    shows: _b.tuple[_t.Any, ...]

class stack(Constraint):
    """Constraints on slices along a dimension."""
    cseq: _b.list[_t.Any]
    dim: _t.Any
    def __init__(self, cseq: _t.Any, dim: _t.Any = 0) -> None: ...
    def check(self, value: _Tensor | _b.complex) -> _Tensor: ...
    event_dim: _b.int
    is_discrete: _b.bool
