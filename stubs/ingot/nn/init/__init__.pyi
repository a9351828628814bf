"""Initialisation of parameters, in place and without history."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Generator as _Generator
from ingot import Tensor as _Tensor

def calculate_gain(nonlinearity: _b.str, param: _t.Any = None) -> _b.float:
    """Return the factor that keeps the variance through a nonlinearity."""
def constant(*args: _t.Any, **kwargs: _t.Any) -> _Tensor:
    """Call constant_(), under its old name."""
def constant_(tensor: _Tensor, val: _t.Any) -> _Tensor:
    """Fill with one value."""
def dirac(*args: _t.Any, **kwargs: _t.Any) -> _Tensor:
    """Call dirac_(), under its old name."""
def dirac_(tensor: _Tensor, groups: _b.int = 1) -> _Tensor:
    """Fill with the convolution kernel that returns its input."""
def eye(*args: _t.Any, **kwargs: _t.Any) -> _Tensor:
    """Call eye_(), under its old name."""
def eye_(tensor: _Tensor) -> _Tensor:
    """Fill with the identity matrix."""
def kaiming_normal(*args: _t.Any, **kwargs: _t.Any) -> _Tensor:
    """Call kaiming_normal_(), under its old name."""
def kaiming_normal_(tensor: _Tensor, a: _t.Any = 0, mode: _b.str = 'fan_in',
                    nonlinearity: _b.str = 'leaky_relu', generator: _Generator | None = None) -> _Tensor:
    """Fill with normal values of variance gain^2 / fan."""
def kaiming_uniform(*args: _t.Any, **kwargs: _t.Any) -> _Tensor:
    """Call kaiming_uniform_(), under its old name."""
def kaiming_uniform_(tensor: _Tensor, a: _t.Any = 0, mode: _b.str = 'fan_in',
                     nonlinearity: _b.str = 'leaky_relu', generator: _Generator | None = None) -> _Tensor:
    """Fill with uniform values of variance gain^2 / fan."""
def normal(*args: _t.Any, **kwargs: _t.Any) -> _Tensor:
    """Call normal_(), under its old name."""
def normal_(tensor: _Tensor, mean: _b.float = 0.0, std: _b.float = 1.0, generator: _Generator | None = None) -> _Tensor:
    """Fill with normal values of a mean and standard deviation."""
def ones_(tensor: _Tensor) -> _Tensor:
    """Fill with ones."""
def orthogonal(*args: _t.Any, **kwargs: _t.Any) -> _Tensor:
    """Call orthogonal_(), under its old name."""
def orthogonal_(tensor: _Tensor, gain: _t.Any = 1, generator: _Generator | None = None) -> _Tensor:
    """Fill with a (semi-)orthogonal matrix; dimensions after the first count as one."""
def sparse(*args: _t.Any, **kwargs: _t.Any) -> _Tensor:
    """Call sparse_(), under its old name."""
def sparse_(tensor: _Tensor, sparsity: _t.Any, std: _b.float = 0.01, generator: _Generator | None = None) -> _Tensor:
    """Fill with normal values, and set a fraction `sparsity` of each column to zero."""
def trunc_normal_(tensor: _Tensor, mean: _b.float = 0.0, std: _b.float = 1.0, a: _b.float = -2.0,
                  b: _b.float = 2.0, generator: _Generator | None = None) -> _Tensor:
    """Fill with normal values truncated to [a, b]."""
def uniform(*args: _t.Any, **kwargs: _t.Any) -> _Tensor:
    """Call uniform_(), under its old name."""
def uniform_(tensor: _Tensor, a: _b.float = 0.0, b: _b.float = 1.0, generator: _Generator | None = None) -> _Tensor:
    """Fill with uniform values in [a, b)."""
def uniform_around_zero(tensor: _Tensor, fan: _t.Any, generator: _Generator | None = None) -> _Tensor:
    """Fill with uniform values in +-1/sqrt(fan)."""
def xavier_normal(*args: _t.Any, **kwargs: _t.Any) -> _Tensor:
    """Call xavier_normal_(), under its old name."""
def xavier_normal_(tensor: _Tensor, gain: _b.float = 1.0, generator: _Generator | None = None) -> _Tensor:
    """Fill with normal values of variance gain^2 * 2 / (fan_in + fan_out)."""
def xavier_uniform(*args: _t.Any, **kwargs: _t.Any) -> _Tensor:
    """Call xavier_uniform_(), under its old name."""
def xavier_uniform_(tensor: _Tensor, gain: _b.float = 1.0, generator: _Generator | None = None) -> _Tensor:
    """Fill with uniform values of variance gain^2 * 2 / (fan_in + fan_out)."""
def zeros_(tensor: _Tensor) -> _Tensor:
    """Fill with zeros."""
