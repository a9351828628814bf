"""Transforms from real numbers onto constraints: `biject_to` one to one, `transform_to` at least onto."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot import Tensor as _Tensor

def biject_to(constraint: _t.Any) -> _t.Any:
    """Registry of the transforms onto each constraint."""
def transform_to(constraint: _t.Any) -> _t.Any:
    """Registry of the transforms onto each constraint."""

class ConstraintRegistry:
    """Registry of the transforms onto each constraint."""
    def __call__(self, constraint: _t.Any) -> _t.Any: ...
    def __init__(self) -> None: ...
    def register(self, constraint: _t.Any, factory: _t.Any = None) -> _Tensor:
        """Enter a factory of transforms for a class of constraints (or that of an example); also a decorator."""
