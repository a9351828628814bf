"""sinh, cosh, tanh and their inverses, on exp, expm1, log and log1p."""

from ....ir import dtype as dt
from . import coefficients as C
from . import constants as K
from . import special_function_units
from .exponential import exp, exp_parts, expm1, log, log1p, wide_log1p

INF, NAN = float("inf"), float("nan")


def _half_exp(s, a):
    """exp(a) / 2 for a >= 0, finite as long as the result is."""
    return exp_parts(s, s.select(a > 712.0, 712.0, a), 0.0, extra=-1)


def sinh(s, x):
    """Hyperbolic sine."""
    a = abs(x)
    e = expm1(s, s.select(a > 30.0, 30.0, a))
    y = s.select(a > 22.0, _half_exp(s, a), 0.5 * (e + e / (e + 1.0)))
    return s.copysign(s.select(a < 1e-150, a, y), x)


def cosh(s, x):
    """Hyperbolic cosine."""
    a = abs(x)
    e = exp(s, s.select(a > 30.0, 30.0, a))
    return s.select(a > 22.0, _half_exp(s, a), 0.5 * e + 0.5 / e)


def tanh(s, x):
    """Hyperbolic tangent."""
    if s.by_units(x):
        return special_function_units.tanh(s, x)
    a = abs(x)
    if x.dtype is dt.float32:
        z = x * x
        near = s.fma(x * z, s.poly(s.select(a < 0.7, z, 0.0), C.TANH32), x)
        e = exp(s, 2.0 * s.select(a > 10.0, 10.0, a))
        return s.copysign(s.select(a < 0.6, near, 1.0 - 2.0 / (e + 1.0)), x)
    e = expm1(s, 2.0 * s.select(a > 20.0, 20.0, a))
    y = s.select(a > 0.6, 1.0 - 2.0 / (e + 2.0), e / (e + 2.0))
    return s.copysign(s.select(a < 1e-150, a, y), x)


def asinh(s, x):
    """Inverse hyperbolic sine."""
    a = abs(x)
    big = a > 1e9
    t = s.select(big, 1.0, a)
    z = t * t
    near = log1p(s, t + z / (1.0 + s.sqrt(z + 1.0)))
    y = s.select(big, log(s, a) + K.LN2, near)
    return s.copysign(s.select(a < 1e-150, a, y), x)


def acosh(s, x):
    """Inverse hyperbolic cosine."""
    big = x > 1e9
    t = s.select(big, 1.0, x) - 1.0
    y = s.select(big, log(s, x) + K.LN2, log1p(s, t + s.sqrt(s.fma(t, t, 2.0 * t))))
    return s.select(x < 1.0, NAN, s.select(x.ne(x), x, y))


def atanh(s, x):
    """Inverse hyperbolic tangent."""
    if x.dtype is dt.float32:
        a = abs(x.to(dt.float64))
        inside = s.select(a < 1.0, a, 0.0)
        y = (0.5 * wide_log1p(s, 2.0 * inside / (1.0 - inside))).to(dt.float32)
        y = s.select(abs(x).eq(1.0), INF, y)
        return s.select(abs(x) > 1.0, NAN, s.select(x.ne(x), x, s.copysign(y, x)))
    a = abs(x)
    y = 0.5 * log1p(s, s.select(a < 0.5, 2.0 * a + (2.0 * a) * a / (1.0 - a), 2.0 * (a / (1.0 - a))))
    return s.select(a > 1.0, NAN, s.copysign(s.select(a < 1e-150, a, y), x))
