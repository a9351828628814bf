"""Linear modules."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import device as _device
from ingot import dtype as _dtype
from ingot.nn import Bilinear as Bilinear
from ingot.nn import Flatten as Flatten
from ingot.nn import Identity as Identity
from ingot.nn import LazyLinear as LazyLinear
from ingot.nn import Linear as Linear
from ingot.nn import Parameter as _Parameter
from ingot.nn import Unflatten as Unflatten
from ingot.nn.modules import NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear

def empty_parameter(shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                    device: _device | _b.str | _b.int | None = None,
                    dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _Parameter:
    """Return an uninitialised parameter."""
