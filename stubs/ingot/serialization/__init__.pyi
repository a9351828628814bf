"""Files: `save` and `load`, and the classes that `load` may build from a PyTorch file (`ingot.serialization`)."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import PyTorchFileReader as PyTorchFileReader
from ingot import load as load
from ingot import save as save

_Decorated = _t.TypeVar("_Decorated", bound=_c.Callable[..., _t.Any])

class SourceChangeWarning(_b.Warning):
    """PyTorch's warning for changed code of a class in a file. Files of ingot hold no code."""

def add_safe_globals(safe_globals: _b.list[_t.Any]) -> None:
    """Allow files to refer to these classes and functions, or pairs with the name in the file. Loading a file may call them
    with any arguments, so allow only what is harmless however it is called."""
def clear_safe_globals() -> None:
    """Remove all that add_safe_globals allowed."""
def default_restore_location(storage: _t.Any, location: _b.str) -> _t.Any:
    """Return the tensor that a function of `map_location` receives, on a device."""
def get_safe_globals() -> _b.list[_t.Any]:
    """Return the classes and functions that add_safe_globals allowed."""
def get_unsafe_globals_in_checkpoint(f: _t.Any) -> _b.list[_t.Any]:
    """Return the full names of classes and functions in a file of `ingot.save` or `torch.save` that `load` would refuse."""

class safe_globals:
    """Context manager that allows classes and functions."""
    safe_globals: _b.list[_t.Any]
    def __init__(self, safe_globals: _b.list[_t.Any]) -> None: ...
    def around(self) -> _t.Any: ...
    def __call__(self, fn: _Decorated) -> _Decorated: ...
    def __enter__(self) -> _t.Any: ...
    def __exit__(self, *error: _t.Any) -> None: ...
