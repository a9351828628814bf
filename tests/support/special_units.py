"""Special units of GPUs on numpy: powers of two and reciprocals that flush what is subnormal, more or less exact."""

import numpy as np

from multiply_add import Builder

_TINY = np.finfo(np.float32).tiny


def flushed(x):
    """Without subnormal numbers."""
    return np.where(np.abs(x) < _TINY, np.copysign(np.float32(0), x), x)


def _unit(function, x, off):
    """Return the float64 result plus `off` units of the last place, rounded to float32."""
    exact = function(flushed(x).astype(np.float64))
    step = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    return flushed((exact + off * np.where(np.isfinite(step), step, 0)).astype(np.float32))


def power(x, off=0.0):
    """2**x, of 0 exactly."""
    return np.where(flushed(x) == 0, np.float32(1), _unit(np.exp2, x, off))


def reciprocal(x, off=0.0):
    """1 / x."""
    return _unit(np.reciprocal, x, off)


class Units(Builder):
    """A builder with special units that are `off` by so much of what they may be: 2 units of the last place, reciprocals 1, of
    which rounding to the nearest takes a half."""

    has_units = True

    def __init__(self, off=0):
        self.off = off

    def _power(self, dtype, a, attr):
        return power(a[0], 1.5 * self.off)

    def _reciprocal(self, dtype, a, attr):
        return reciprocal(a[0], 0.5 * self.off)

    def _smaller(self, dtype, a, attr):
        return np.fmin(*a)

    def _larger(self, dtype, a, attr):
        return np.fmax(*a)
