"""Powers and roots of numbers, with the bits of compiled steps.

An eager update computes with Python numbers, a traced one in its graph. Sums and products agree, but Python's powers come from
the C library, so these use the kernel. Parameters of one step share the results.
"""

import functools

import numpy as np

from ...ir import dtype as dt
from ...ir.ops.core.elementwise import pow_
from ...ir.symbols.number_functions import sqrt
from ..api.register.register import FUNCTIONS
from ..core.dispatch import kernel_of
from ..core.tensor import Tensor
from ..state.mode import tls


def power(base, exponent):
    """Return base ** exponent; either may be a tensor of one number."""
    if isinstance(base, Tensor) or isinstance(exponent, Tensor):
        return FUNCTIONS["pow"](base, exponent)
    return _power(float(base), float(exponent))


@functools.lru_cache(256)
def _power(base, exponent):
    return float(kernel_of(pow_)(np.array(base), np.array(exponent)))


def number_in(t):
    """Return the current value of a step count: a Python float, or a tensor under a recorder and on a device."""
    t = t.detach()
    return float(t.item()) if tls.m.recorder is None and t._a.__class__ is np.ndarray else t.to(dt.float64, copy=True)


def fitted(x, t):
    """Return a number cast for use beside a tensor: a tensor number takes its dtype."""
    return x.to(t.dtype) if isinstance(x, Tensor) else x


def root(x):
    """Return the square root."""
    return FUNCTIONS["sqrt"](x) if isinstance(x, Tensor) else sqrt(x)
