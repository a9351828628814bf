"""`ingot.backends.cpu`: the instruction set of the CPU."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b

def get_cpu_capability() -> _b.str:
    """Return the vector instructions of compiled kernels: DEFAULT, AVX2, AVX512 or NEON."""
