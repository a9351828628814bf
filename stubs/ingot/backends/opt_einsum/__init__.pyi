"""`ingot.backends.mkl`, `openmp` and `opt_einsum`: libraries that ingot does not use."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
from ingot.backends.mkl import get_opt_einsum as get_opt_einsum
from ingot.backends.mkl import is_available as is_available

enabled: _b.bool
strategy: _b.str
