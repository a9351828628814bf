"""Activation functions of neural networks, in float32 and float64."""

from ....ir import dtype as dt
from . import constants as K
from . import special_function_units
from .erf_gamma import erf
from .exponential import exp, log1p


def sigmoid(s, x):
    """1 / (1 + exp(-x)), without overflow on either side."""
    if s.by_units(x):
        return special_function_units.sigmoid(s, x)
    e = exp(s, -abs(x))
    return s.select(x >= 0, s.const(x.dtype, 1.0), e) / (1.0 + e)


def _log1p_exp(s, x):
    """log(1 + exp(-|x|)) as 2 atanh(q) for q = e / (e + 2), corrected for the rounding of q."""
    e = exp(s, -abs(x))
    if x.dtype is dt.float64:
        return log1p(s, e)
    g = e + 2.0
    q = s.quotient(e, g)
    rest = s.fma(-q, g, e) + q * ((g - 2.0) - e)
    z = q * q
    tail = (q * z) * s.poly(z, tuple([2 / n for n in range(3, 19, 2)]))
    return s.fma(rest, s.fma(e, -1 / 3, 1.0), tail) + 2.0 * q


def softplus(s, x):
    """log(1 + exp(x))."""
    return s.maximum(x, s.const(x.dtype, 0.0)) + _log1p_exp(s, x)


def log_sigmoid(s, x):
    """log(sigmoid(x))."""
    return s.minimum(x, s.const(x.dtype, 0.0)) - _log1p_exp(s, x)


def silu(s, x):
    """x * sigmoid(x)."""
    if s.by_units(x):
        return special_function_units.silu(s, x)
    e = exp(s, -abs(x))
    return s.select(x >= 0, x, x * e) / (1.0 + e)


def mish(s, x):
    """x * tanh(softplus(x))."""
    e = exp(s, s.select(x > 20.0, 20.0, x))
    n = e * (e + 2.0)
    return s.select(x > 20.0, x, x * s.quotient(n, n + 2.0))


def gelu(s, x):
    """x times the normal distribution function."""
    if s.by_units(x):
        return special_function_units.gelu(s, x)
    return (0.5 * x) * (1.0 + erf(s, x * K.SQRT_HALF))


def gelu_slope(s, x):
    """The derivative of gelu: the normal distribution function plus x times its density."""
    if s.by_units(x):
        return special_function_units.gelu_slope(s, x)
    share = (erf(s, x * K.SQRT_HALF) + 1.0) * 0.5
    return share + x * (exp(s, (x * x) * -0.5) * K.DENSITY)


def gelu_tanh(s, x):
    """gelu by the usual tanh formula, written with one exp: x / (1 + exp(-2 u))."""
    x2 = x * x
    u = x * s.fma(x2, -2.0 * K.SQRT_2_OVER_PI * 0.044715, -2.0 * K.SQRT_2_OVER_PI)
    y = special_function_units.gelu_tanh(s, x, u) if s.by_units(x) else x / (1.0 + exp(s, u))
    return s.select(x.eq(float("-inf")), 0.0, y)


def relu(s, x):
    """max(x, 0); nan stays nan."""
    return s.maximum(x, s.const(x.dtype, 0))
