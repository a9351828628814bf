"""Forward mode as pairs of a value and its tangent: `ingot.autograd.forward_ad`."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor

_Decorated = _t.TypeVar("_Decorated", bound=_c.Callable[..., _t.Any])

class UnpackedDualTensor(_t.NamedTuple):
    """A value and its tangent, None if it has none."""
    primal: _Tensor
    tangent: _Tensor | None

class dual_level:
    """Context manager of a level for duals."""
    def around(self) -> _b.tuple[_t.Any, ...]: ...
    def __call__(self, fn: _Decorated) -> _Decorated: ...
    def __enter__(self) -> _t.Any: ...
    def __exit__(self, *error: _t.Any) -> None: ...

def enter_dual_level() -> _b.int:
    """Open a level; only one can be open."""
def exit_dual_level(*, level: _t.Any = None) -> None:
    """Close the level; its duals lose their tangents. `level` is ignored: one level can be open."""
def make_dual(tensor: _t.Any, tangent: _t.Any, *, level: _t.Any = None) -> _Tensor:
    """Return a dual tensor with the value and the tangent; results computed from it have tangents. `level` is ignored: one
    level can be open."""
def unpack_dual(tensor: _t.Any, *, level: _t.Any = None) -> UnpackedDualTensor:
    """Return (value, tangent) of a dual tensor, or of a result computed from duals. `level` is ignored: one level can be
    open."""
