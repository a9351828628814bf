"""`ingot.backends.mps`: Apple GPUs."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b

def is_available() -> _b.bool:
    """Return whether there is an Apple GPU that ingot can use."""
def is_built() -> _b.bool:
    """Return whether a backend for Apple GPUs is loaded."""
