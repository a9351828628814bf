"""`ingot.compile` and `ingot.compiler`: PyTorch's names for `jit.trace`."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import compile as compile

_Decorated = _t.TypeVar("_Decorated", bound=_c.Callable[..., _t.Any])

def allow_in_graph(fn: _t.Any) -> _t.Any:
    """Return the function itself: all that is called is recorded."""
def cudagraph_mark_step_begin() -> None:
    """Do nothing: results are never in memory that a later call uses."""
def disable(fn: _t.Any = None, recursive: _b.bool = True, *, reason: _t.Any = None) -> _t.Any:
    """Keep a function out of traces: they call it at every replay (`jit.host`). Where gradients are recorded it is traced
    like all other code, so that they flow through it."""
def get_default_backend() -> _b.str:
    """Return the default compiler of `compile`."""
def is_compiling() -> _b.bool:
    """Return whether a function is being recorded, or run to be compared with its export."""
def is_exporting() -> _b.bool:
    """Return whether a function is recorded for a file."""
def list_backends(exclude_tags: _t.Any = ()) -> _b.list[_t.Any]:
    """Return the names that `compile` takes for ingot's compiler. `exclude_tags` is ignored: they have no tags."""
def reset() -> None:
    """Drop the recordings of all functions made by `compile`."""

class set_stance:
    """Set how traced functions of this thread run from now on, or inside of `with`: "force_eager" uncompiled, "default"
    compiled."""
    STANCES: _b.tuple[_t.Any, ...]
    def __init__(self, stance: _b.str = 'default', *, skip_guard_eval_unsafe: _b.bool = False,
                 force_backend: _t.Any = None) -> None: ...
    def around(self) -> _b.tuple[_t.Any, ...]: ...
    def __call__(self, fn: _Decorated) -> _Decorated: ...
    def __enter__(self) -> _t.Any: ...
    def __exit__(self, *error: _t.Any) -> None: ...

assume_constant_result = allow_in_graph
nested_compile_region = allow_in_graph
