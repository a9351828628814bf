"""`ingot.overrides`: helpers for classes with `__torch_function__`, and modes that intercept every function."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor

def get_default_nowrap_functions() -> _b.set[_t.Any]:
    """Return getters whose result is not wrapped: `t.grad is t.grad` for every class of `t`."""
def get_testing_overrides() -> _b.dict[_c.Callable[..., _t.Any], _c.Callable[..., _t.Any]]:
    """Return, for each overridable function, a function with the same parameters that returns -1."""

class BaseTorchFunctionMode(TorchFunctionMode):
    """Mode that calls the function unchanged."""

class TorchFunctionMode:
    """Mode that intercepts every function of a thread inside a `with` block, before classes do. A mode is inactive while it
    runs; the mode around it is not."""
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *exc: _t.Any) -> None: ...

def asks(cls: _t.Any) -> _Tensor:
    """Announce a class with `__torch_function__`, and start dispatch. Return the class, so this is a decorator. Only the
    first such class that does not derive from Tensor needs it."""
def enable_reentrant_dispatch() -> _Tensor:
    """Do nothing: dispatch does not depend on the caller."""
def get_ignored_functions() -> _b.set[_t.Any]:
    """Return the functions that never dispatch: they only inspect their arguments, or make a tensor from them."""
def get_overridable_functions() -> _b.dict[_t.Any, _b.list[_c.Callable[..., _t.Any]]]:
    """Return the functions that classes can override, by owner: a module, or Tensor."""
def handle_torch_function(public_api: _c.Callable[..., _t.Any], relevant_args: _t.Any, *args: _t.Any,
                          **kwargs: _t.Any) -> _t.Any:
    """Call the `__torch_function__` of the mode, then of each class, subclasses before their bases; return the first
    result."""
def has_torch_function(relevant_args: _t.Any) -> _b.bool:
    """Return whether a mode is active or an argument overrides `__torch_function__`. Plain tensors do not."""
def has_torch_function_unary(x: _t.Any) -> _b.bool:
    """Return whether a mode is active or the argument overrides `__torch_function__`."""
def has_torch_function_variadic(*args: _t.Any) -> _b.bool:
    """Return whether a mode is active or an argument overrides `__torch_function__`."""
def is_tensor_like(inp: _t.Any) -> _b.bool:
    """Return whether an object is a tensor or a tensor-like."""
def is_tensor_method_or_property(func: _t.Any) -> _b.bool:
    """Return whether a function belongs to Tensor."""
def redispatch_function(func: _c.Callable[..., _t.Any], types: _t.Any, args: _t.Any, kwargs: _t.Any) -> _t.Any:
    """Call a function without overrides at its top level; functions that it calls still dispatch. `types` is ignored: the
    function runs itself, whatever classes its arguments have."""
def resolve_name(f: _t.Any) -> _b.str | None:
    """Return the name of a function with its module."""
def wrap_torch_function(dispatcher: _c.Callable[..., _t.Any]) -> _Tensor:
    """Return a decorator that calls overrides found among the arguments that `dispatcher(*args, **kwargs)` returns."""
