"""States of models and optimizers by parameter names without wrappers."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

class StateDictOptions:
    """Options of states. Models are whole on every rank, except in FullyShardedDataParallel: without `full_state_dict` each
    rank has pieces."""
    broadcast_from_rank0: _b.bool
    cpu_offload: _b.bool
    dsd_fqn_modifiers: _b.str
    flatten_optimizer_state_dict: _b.bool
    full_state_dict: _b.bool
    ignore_frozen_params: _b.bool
    keep_submodule_prefixes: _b.bool
    strict: _b.bool
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, full_state_dict: _b.bool = False, cpu_offload: _b.bool = False,
                 ignore_frozen_params: _b.bool = False, keep_submodule_prefixes: _b.bool = True,
                 strict: _b.bool = True, broadcast_from_rank0: _b.bool = False,
                 flatten_optimizer_state_dict: _b.bool = False, dsd_fqn_modifiers: _b.str = '_fqn_modifiers') -> None: ...

def get_model_state_dict(model: _t.Any, *, submodules: _t.Any = None, options: _t.Any = None) -> _b.dict[_t.Any, _t.Any]:
    """Return the model's state, under names without wrappers."""
def get_optimizer_state_dict(model: _t.Any, optimizers: _t.Any, *, submodules: _t.Any = None,
                             options: _t.Any = None) -> _b.dict[_t.Any, _t.Any]:
    """Return the states of optimizers by parameter names, of `submodules` if given; one without a step creates its state
    first."""
def get_state_dict(model: _t.Any, optimizers: _t.Any, *, submodules: _t.Any = None,
                   options: _t.Any = None) -> _b.tuple[_t.Any, ...]:
    """Return (the model's state, the optimizers' state)."""
def set_model_state_dict(model: _t.Any, model_state_dict: _t.Any, *, options: _t.Any = None) -> _t.Any:
    """Load a state under names without wrappers into a model; return the result of load_state_dict."""
def set_optimizer_state_dict(model: _t.Any, optimizers: _t.Any, optim_state_dict: _t.Any, *,
                             options: _t.Any = None) -> None:
    """Load the states of optimizers, by parameter names."""
def set_state_dict(model: _t.Any, optimizers: _t.Any, *, model_state_dict: _t.Any, optim_state_dict: _t.Any,
                   options: _t.Any = None) -> _t.Any:
    """Load the states of a model and its optimizers."""
