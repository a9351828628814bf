"""`ingot.cuda.profiler`: start and stop the recording of an NVIDIA profiler that follows this process."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
import contextlib as _contextlib

def profile() -> _contextlib._GeneratorContextManager[_t.Any]:
    """Record the work inside."""
def start() -> None:
    """Start the recording."""
def stop() -> None:
    """Stop the recording."""
