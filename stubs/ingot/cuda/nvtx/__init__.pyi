"""`ingot.cuda.nvtx`: marks for NVIDIA's profilers, which have no effect; scripts that set them run unchanged."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

def mark(msg: _b.str) -> None:
    """Mark a moment."""
def range(msg: _b.str, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Return a context manager and decorator for a range."""
def range_end(range_id: _b.int) -> None:
    """End a range of `range_start`."""
def range_pop() -> _b.int:
    """End the innermost range; return the number of open ones left."""
def range_push(msg: _b.str) -> _b.int:
    """Begin a nested range; return the number of open ones before."""
def range_start(msg: _b.str) -> _b.int:
    """Begin a range that may end anywhere; return its number."""
