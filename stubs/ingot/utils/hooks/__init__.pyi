"""`ingot.utils.hooks`: parts for libraries with hooks of their own."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

class RemovableHandle:
    """Handle that removes a hook; also a context manager."""
    id: _t.Any
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *exc: _t.Any) -> None: ...
    def __init__(self, hooks: _b.dict[_t.Any, _t.Any], *marks: _b.set[_t.Any], extra_dict: _t.Any = None) -> None: ...
    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""

def unserializable_hook(f: _t.Any) -> _t.Any:
    """Mark a hook that is lost when its tensor or module is pickled."""
def warn_if_has_hooks(tensor: _t.Any) -> None:
    """Warn about a tensor whose hooks are lost when it is pickled."""
