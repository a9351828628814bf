"""Weight norm and spectral norm by forward hooks, under the names of older state dicts."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot.nn.utils import remove_spectral_norm as remove_spectral_norm
from ingot.nn.utils import remove_weight_norm as remove_weight_norm
from ingot.nn.utils import spectral_norm as spectral_norm
from ingot.nn.utils import weight_norm as weight_norm

class SpectralNorm:
    """The hook that computes module.weight from weight_orig before each forward."""
    name: _t.Any
    power: _t.Any
    def __call__(self, module: _t.Any, inputs: _t.Any) -> None: ...
    def __init__(self, name: _t.Any, power: _t.Any) -> None: ...
    def compute(self, module: _t.Any, training: _t.Any) -> _t.Any: ...

class WeightNorm:
    """The hook that computes module.weight from weight_g and weight_v before each forward."""
    dim: _t.Any
    name: _t.Any
    def __call__(self, module: _t.Any, inputs: _t.Any) -> None: ...
    def __init__(self, name: _t.Any, dim: _b.int | _c.Sequence[_b.int]) -> None: ...
    def compute(self, module: _t.Any) -> _t.Any: ...
