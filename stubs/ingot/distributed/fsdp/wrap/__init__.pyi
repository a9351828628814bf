"""Policies for wrapping modules into units, the base of wrappers, and queries about units."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t

class CustomPolicy:
    """Policy that makes modules units if lambda_fn(module) is True, or a dict of options."""
    def __init__(self, lambda_fn: _t.Any) -> None: ...
    def options_for(self, module: _t.Any) -> _t.Any: ...

class ModuleWrapPolicy:
    """Policy that makes modules of some classes units. `args` and `kwargs` are ignored: every policy gets the size, too."""
    module_classes: _b.set[_t.Any]
    def __call__(self, module: _t.Any, recurse: _t.Any, *args: _t.Any, **kwargs: _t.Any) -> _t.Any: ...
    def __init__(self, module_classes: _t.Any) -> None: ...
    def options_for(self, module: _t.Any) -> _b.bool: ...

def always_wrap_policy(*args: _t.Any, **kwargs: _t.Any) -> _b.bool:
    """Make every module a unit."""
def enable_wrap(*, wrapper_cls: _t.Any, **wrapper_kwargs: _t.Any) -> _t.Any:
    """Make `wrap(module)` return wrapper_cls(module, **options) inside."""
def lambda_auto_wrap_policy(module: _t.Any, recurse: _b.bool, nonwrapped_numel: _b.int,
                            lambda_fn: _c.Callable[..., _t.Any]) -> _b.bool:
    """Make modules units if lambda_fn(module). `nonwrapped_numel` is ignored: every policy gets it, and this asks the
    function alone."""
def size_based_auto_wrap_policy(module: _t.Any, recurse: _b.bool, nonwrapped_numel: _b.int,
                                min_num_params: _b.int = 100000000, force_leaf_modules: _t.Any = None,
                                exclude_wrap_modules: _t.Any = None) -> _b.bool:
    """Make modules units if they have at least `min_num_params` numbers outside of other units."""
def transformer_auto_wrap_policy(module: _t.Any, recurse: _b.bool, nonwrapped_numel: _b.int,
                                 transformer_layer_cls: _t.Any) -> _b.bool:
    """Make modules of some classes units. `nonwrapped_numel` is ignored: every policy gets it, and this looks at classes
    alone."""
def wrap(module: _t.Any, **wrap_overrides: _t.Any) -> _t.Any:
    """Return the module as a unit, inside enable_wrap; elsewhere unchanged."""
