"""`ingot.utils.module_tracker`: names of the modules that run, in forward and backward."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

class ModuleTracker:
    """A context with the names of running modules of this thread in `parents`, such as "Net.layer1.0" (outermost class and
    path), and "Global"."""
    parents: _b.set[_t.Any]
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *exc: _t.Any) -> None: ...
    def __init__(self) -> None: ...
    @_b.property
    def is_bw(self) -> _b.bool:
        """Return whether this thread runs a backward."""
