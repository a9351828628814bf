"""Ready parametrisations: weight norm, spectral norm, orthogonal matrices."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor

class PowerIteration:
    """The largest singular value of a weight, by power iteration that continues as the weight trains."""
    dim: _b.int | _c.Sequence[_b.int]
    eps: _t.Any
    n: _t.Any
    v_first: _b.bool
    def __init__(self, dim: _b.int | _c.Sequence[_b.int], n_power_iterations: _t.Any, eps: _t.Any,
                 v_first: _b.bool = False) -> None: ...
    def iterate(self, matrix: _t.Any, u: _t.Any, v: _t.Any, n: _t.Any) -> None:
        """Improve u and v in place."""
    def matrix(self, weight: _Tensor) -> _t.Any:
        """Return the weight with `dim` as rows and everything else as columns."""
    def scaled(self, weight: _Tensor, u: _t.Any, v: _t.Any, training: _t.Any) -> _t.Any:
        """Return the weight divided by its largest singular value."""
    def start(self, weight: _Tensor) -> _b.tuple[_t.Any, ...]:
        """Return random unit vectors (u, v), after some iterations."""
    def unit(self, v: _t.Any) -> _t.Any:
        """Return v scaled to length 1."""

def norm_except(v: _t.Any, dim: _b.int | _c.Sequence[_b.int]) -> _t.Any:
    """Return the norm over all dimensions but `dim` (over all for None)."""
def orthogonal(module: _t.Any, name: _b.str = 'weight', orthogonal_map: _t.Any = None, *,
               use_trivialization: _b.bool = True) -> _t.Any:
    """Keep a matrix, or a batch of them, orthogonal: its columns, or its rows if it is wide."""
def spectral_norm(module: _t.Any, name: _b.str = 'weight', n_power_iterations: _t.Any = 1,
                  eps: _b.float = 1e-12, dim: _b.int | _c.Sequence[_b.int] | None = None) -> _t.Any:
    """Divide a weight by its largest singular value."""
def weight_norm(module: _t.Any, name: _b.str = 'weight', dim: _b.int | _c.Sequence[_b.int] = 0) -> _t.Any:
    """Split a weight into its norm (original0) and direction (original1). State dicts of the older `nn.utils.weight_norm`,
    with the names weight_g and weight_v, load too."""
def weight_of(v: _t.Any, g: _t.Any, dim: _b.int | _c.Sequence[_b.int]) -> _t.Any:
    """Return v scaled to the norm g."""
