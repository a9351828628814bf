"""Powers and roots of numbers, with the bits that they have in compiled steps.

An eager update computes with Python's numbers what a traced one computes in its graph. Their sums and products are the same;
Python's powers are the C library's, so those here come from the kernel instead. Parameters of one step share them.
"""

import functools
import math

import numpy as np

from ...ir import dtype as dt
from ...ir.ops.core.elementwise import pow_
from ..api.register.register import FUNCTIONS
from ..core.dispatch import kernel_of
from ..core.state import tls
from ..core.tensor import Tensor


def power(base, exponent):
    """base ** exponent; either may be a tensor of one number."""
    if isinstance(base, Tensor) or isinstance(exponent, Tensor):
        return FUNCTIONS["pow"](base, exponent)
    return _power(float(base), float(exponent))


@functools.lru_cache(256)
def _power(base, exponent):
    return float(kernel_of(pow_)(np.array(base), np.array(exponent)))


def number_in(t):
    """What a tensor of one number holds now, as `count` gives steps: a Python float, or (while a recorder watches, and on a
    device) a tensor."""
    t = t.detach()
    return float(t.item()) if tls.m.recorder is None and t._a.__class__ is np.ndarray else t.to(dt.float64, copy=True)


def fitted(x, t):
    """A number beside a tensor: one that is a tensor itself does not make the result one of another dtype."""
    return x.to(t.dtype) if isinstance(x, Tensor) else x


def root(x):
    """The square root."""
    return FUNCTIONS["sqrt"](x) if isinstance(x, Tensor) else math.sqrt(x)
