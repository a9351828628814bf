"""The names of `ingot.masked.maskedtensor.reductions`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

import builtins
from typing import overload

from ...runtime.core.tensor import Tensor as Tensor
from ...runtime.masked.masked_reductions import logaddexp as logaddexp
from ...runtime.masked.masked_reductions import logsumexp as logsumexp
from ...runtime.masked.masked_reductions import mean as mean
from ...runtime.masked.masked_reductions import median as median
from ...runtime.masked.masked_reductions import norm as norm
from ...runtime.masked.masked_reductions import normalize as normalize
from ...runtime.masked.masked_reductions import prod as prod
from ...runtime.masked.masked_reductions import softmin as softmin
from ...runtime.masked.masked_reductions import std as std
from ...runtime.masked.masked_reductions import sum as sum
from ...runtime.masked.masked_reductions import var as var

def amax(input, dim=None, *, keepdim: builtins.bool = False, dtype=None, mask=None, axis=None,
         keepdims: builtins.bool = False) -> Tensor:
    """Return the largest of the selected elements over some dimensions (all by default)."""
def amin(input, dim=None, *, keepdim: builtins.bool = False, dtype=None, mask=None, axis=None,
         keepdims: builtins.bool = False) -> Tensor:
    """Return the smallest of the selected elements over some dimensions (all by default)."""
def argmax(input, dim=None, *, keepdim: builtins.bool = False, dtype=None, mask=None, axis=None,
           keepdims: builtins.bool = False) -> Tensor:
    """Return the index of the largest selected element along a dimension (among all by default)."""
def argmin(input, dim=None, *, keepdim: builtins.bool = False, dtype=None, mask=None, axis=None,
           keepdims: builtins.bool = False) -> Tensor:
    """Return the index of the smallest selected element along a dimension (among all by default)."""
@overload
def cumprod(input, dim, *, dtype=None, mask=None) -> Tensor:
    """Return running products of the selected elements along a dimension."""
@overload
def cumprod(input, *, axis, dtype=None, mask=None) -> Tensor:
    """Return running products of the selected elements along a dimension."""
@overload
def cumsum(input, dim, *, dtype=None, mask=None) -> Tensor:
    """Return running sums of the selected elements along a dimension."""
@overload
def cumsum(input, *, axis, dtype=None, mask=None) -> Tensor:
    """Return running sums of the selected elements along a dimension."""
@overload
def log_softmax(input, dim, *, dtype=None, mask=None) -> Tensor:
    """Return the logarithm of `softmax`."""
@overload
def log_softmax(input, *, axis, dtype=None, mask=None) -> Tensor:
    """Return the logarithm of `softmax`."""
@overload
def softmax(input, dim, *, dtype=None, mask=None) -> Tensor:
    """Return the softmax of the selected elements along a dimension, and zeros; nan if nothing is selected."""
@overload
def softmax(input, *, axis, dtype=None, mask=None) -> Tensor:
    """Return the softmax of the selected elements along a dimension, and zeros; nan if nothing is selected."""
