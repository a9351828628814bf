"""`ingot.quasirandom`: Sobol sequences, points that fill a cube more evenly than random ones; the same as PyTorch's."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Tensor as _Tensor
from ingot import dtype as _dtype

class SobolEngine:
    """Sobol sequence of points in the unit cube of up to 21201 dimensions, drawn in order."""
    dimension: _b.int
    num_generated: _t.Any
    quasi: _Tensor
    scramble: _b.bool
    seed: _t.Any
    shift: _Tensor
    sobolstate: _Tensor
    MAXBIT: _b.int
    MAXDIM: _b.int
    def __init__(self, dimension: _t.Any, scramble: _b.bool = False, seed: _t.Any = None) -> None: ...
    def draw(self, n: _b.int = 1, out: _Tensor | None = None, dtype: _dtype | None = None) -> _Tensor:
        """Return the next n points, as rows of a tensor of float32 or float64 (the default dtype)."""
    def draw_base2(self, m: _b.int, out: _Tensor | None = None, dtype: _dtype | None = None) -> _Tensor:
        """Return the next 2**m points; then all drawn points must be a power of 2, as only these are balanced."""
    def fast_forward(self, n: _b.int) -> SobolEngine:
        """Skip the next n points."""
    def reset(self) -> SobolEngine:
        """Restart with the first point."""
