"""Optimizer: parameter groups, state, hooks, and the loop over parameters."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor
from ingot.optim import Optimizer as Optimizer
from ingot.optim import Optimizer as _Optimizer
from ingot.utils.hooks import RemovableHandle as _RemovableHandle

required: _Required

class State(_b.dict[_b.str, _t.Any]):
    """The state of one parameter. A trace captures the tensors in here, so added and removed entries bump a version that
    traces check."""
    def __setitem__(self, name: _t.Any, value: _t.Any) -> None: ...
    def put(self, name: _t.Any, value: _t.Any) -> None:
        """Set an entry without telling a recorder. A changed number is not a change of layout."""

def all_hooks(optimizer: _Optimizer) -> _b.list[_b.list[_t.Any]]:
    """Return the hooks of an optimizer by event; those of every optimizer are among the hooks of its steps."""
def check(**bounds: _t.Any) -> None:
    """Raise unless each named value is at least 0, or in [0, 1) for names that start with beta."""
def count(state: _b.dict[_t.Any, _t.Any], p: _Tensor, group: _t.Any) -> _t.Any:
    """Count a step of a parameter and return the count. It is a Python float, or a 0-d tensor under a recorder (so that no
    number is baked in) and for counts on a device."""
def counts_on_device(p: _Tensor, group: _t.Any) -> _b.bool:
    """Return whether a parameter's steps are counted on its device, for manually captured CUDA graphs."""
def device_of_scalars(p: _Tensor, group: _t.Any) -> _t.Any:
    """Return the device of step counts and other scalar states, whatever the default device is."""
def has_tensors(group: _t.Any) -> _b.bool:
    """Return whether an option is a tensor."""
def hooked(step: _t.Any) -> _t.Any:
    """Decorate `step` to run the hooks around it; subclasses get it for their own `step` too."""
def numeric_options(group: _t.Any) -> _t.Any:
    """Return the options of a group as numbers for updates. NumPy floats become Python floats. Tensors of one number become
    float64, like Python numbers: results from both round once, at the parameter."""
def options_of(arguments: _b.dict[_t.Any, _t.Any]) -> _b.dict[_t.Any, _t.Any]:
    """Return the options of a group from the `locals()` of a constructor, which has no variables but its parameters."""
def put(dst: _Tensor, value: _Tensor) -> _Tensor:
    """Write a value into a parameter or a state."""
def register_optimizer_step_post_hook(hook: _t.Any) -> _RemovableHandle:
    """Call hook(optimizer, args, kwargs) after each step of any optimizer."""
def register_optimizer_step_pre_hook(hook: _t.Any) -> _RemovableHandle:
    """Call hook(optimizer, args, kwargs) before each step of any optimizer; args begin with the optimizer."""
def set_scalar(t: _Tensor, value: _t.Any) -> None:
    """Write a number, or a tensor of one, into a scalar state."""
def step_hooks(optimizer: _Optimizer) -> _b.tuple[_b.list[_t.Any], _b.list[_t.Any]]:
    """Return (hooks before a step, hooks after it)."""
def why_empty(params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]]) -> _t.Any:
    """Return a function that tells why an iterable gave no parameters."""
def zeros_like(p: _Tensor) -> _Tensor:
    """Return zeros like a parameter; an optimizer made inside a recorded function gets new zeros at each call."""

class _Required:
    ...
