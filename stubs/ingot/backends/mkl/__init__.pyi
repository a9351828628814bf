"""`ingot.backends.mkl`, `openmp` and `opt_einsum`: libraries that ingot does not use."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b

enabled: _b.bool
strategy: _b.str
def get_opt_einsum() -> None:
    """Return None in place of the package."""
def is_available() -> _b.bool:
    """Return False."""
