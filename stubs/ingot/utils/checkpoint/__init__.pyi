"""Checkpointing: values saved for backward are dropped and recomputed when backward needs them."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import IngotError as _IngotError
import contextlib as _contextlib
import enum as _enum

_R = _t.TypeVar("_R")

class CheckpointError(_IngotError, _b.RuntimeError):
    """The second run of a checkpointed function saved other tensors than the first."""

class CheckpointPolicy(_enum.Enum):
    """Policy for an operator's result: saved (SAVE), or recomputed (all others, offloading too)."""
    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5

class SelectiveCheckpointContext:
    """Argument of a policy beside the operator. `is_recompute` and `op_output`, the result, are kept for policies."""
    is_recompute: _t.Any
    op_output: _t.Any
    def __init__(self, *, is_recompute: _t.Any, op_output: _t.Any = None) -> None: ...

def check_backward_validity(inputs: _t.Any) -> None:
    """Warn if no tensor among the inputs requires a gradient."""

def checkpoint(function: _c.Callable[..., _R], *args: _t.Any, use_reentrant: _b.bool | None = None, context_fn: _c.Callable[[], _t.Any] = ...,
               determinism_check: _b.str = "default", debug: _b.bool = False, early_stop: _b.bool = True,
               preserve_rng_state: _b.bool = True, **kwargs: _t.Any) -> _R:
    """Return `function(*args, **kwargs)` without its saved values; backward runs the function again."""
def checkpoint_sequential(functions: _t.Any, segments: _t.Any, input: _t.Any, use_reentrant: _t.Any = None,
                          preserve_rng_state: _b.bool = True) -> _t.Any:
    """Run modules or functions one after the other in `segments` parts, each but the last one checkpointed."""
def create_selective_checkpoint_contexts(policy_fn_or_list: _t.Any,
                                         allow_cache_entry_mutation: _b.bool = False) -> _b.tuple[_t.Any, ...]:
    """Return the two contexts for `checkpoint(..., context_fn=...)`."""
def detach_variable(inputs: _t.Any) -> _b.tuple[_t.Any, ...]:
    """Return leaves over the memory of tensors, with their `requires_grad`; other objects as they are."""
def get_device_states(*args: _t.Any) -> _b.tuple[_b.list[_t.Any], _b.list[_t.Any]]:
    """Return (indices, random states) of the GPUs of the arguments."""
def noop_context_fn() -> _b.tuple[_t.Any, ...]:
    """Return the default `context_fn`: no context around either run."""
def set_checkpoint_debug_enabled(enabled: _b.bool | None) -> _t.Any:
    """Do nothing. `enabled` is ignored: errors always name the saved tensors that differ."""
def set_checkpoint_early_stop(enable: _b.bool) -> _contextlib._GeneratorContextManager[_t.Any]:
    """Set inside a `with` whether second runs end early, whatever `checkpoint` is told."""
def set_device_states(devices: _t.Any, states: _t.Any, *, device_type: _t.Any = None) -> None:
    """Restore random states that `get_device_states` returned. `devices` and `device_type` are ignored: one generator draws
    for all devices."""
