"""Multi-head attention as a module, and the choice of attention kernels."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import device as _device
from ingot import dtype as _dtype
from ingot.nn import MultiheadAttention as MultiheadAttention
from ingot.nn.attention import bias as bias
from ingot.nn.attention import flex_attention as flex_attention
import enum as _enum

class SDPBackend(_enum.IntEnum):
    """Names of attention kernels. One kernel serves all, so the choice changes no result."""
    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

def causal_mask(size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                device: _device | _b.str | _b.int | None = None) -> _t.Any:
    """Return zeros where a step may attend (itself and before), -inf elsewhere."""
def sdpa_kernel(backends: _t.Any, set_priority: _b.bool = False) -> _t.Any:
    """Accept a choice of kernels, without effect: attention is always computed in blocks, without a score matrix."""
