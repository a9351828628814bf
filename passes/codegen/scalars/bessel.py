"""Bessel functions of orders 0 and 1, and Airy's Ai, by Chebyshev series (`bessel_series.py`, from tools/fit_bessel.py).

Near 0 the series approximate the entire part, without the logarithm and the first zeros of J. Far away they approximate the
slowly varying factors of exponentials or waves. Beyond its first two zeros, a wave is accurate to the last places of its
amplitude. float32 computes in float64, with polynomials as long as its results need (`short`).
"""

import functools

from ....ir import dtype as dt
from . import bessel_series as B
from .exponential import exp, log
from .trigonometric import sin, sin_cos

INF, NAN = float("inf"), float("nan")
TWO_OVER_PI, INV_SQRT_PI = 0.6366197723675814, 0.5641895835477563
AIRY_FROM, AIRY_DECAY_FROM = 16 / 3, 2 / 3 * 2 ** 1.5


def _for_both(fn):
    """Turn `fn(s, x, short)` of float64 numbers into a function of both widths."""

    @functools.wraps(fn)
    def run(s, x):
        if x.dtype is dt.float32:
            return fn(s, x.to(dt.float64), True).to(dt.float32)
        return fn(s, x, False)

    return run


def _of_orders(name, fn, *options) -> list:
    """Return the functions `name` + "0" and "1" that call fn(s, x, order, *options, short)."""
    found = []
    for order in range(2):
        def of_order(s, x, short, order=order):
            return fn(s, x, order, *options, short)

        of_order.__name__ = f"{name}{order}"
        found.append(_for_both(of_order))
    return found


def _series(s, t, table, short):
    """Evaluate a Chebyshev series at t (Clenshaw), or the shorter polynomial."""
    if short:
        return s.poly(t, table[1])
    coefficients = table[0]
    twice = t + t
    b, after = s.const(t.dtype, coefficients[-1]), s.const(t.dtype, 0.0)
    for c in coefficients[-2:0:-1]:
        b, after = s.fma(twice, b, c - after), b
    return s.fma(t, b, coefficients[0] - after)


def _between(s, x, low, high, table, short):
    """Evaluate a series of x in [low, high]; elsewhere the result is any value."""
    inside = s.select(x < low, low, s.select(x > high, high, x))
    return _series(s, (inside - (low + high) / 2) * (2 / (high - low)), table, short)


def _beyond(s, x, start, table, short):
    """Evaluate a series of 1 / x for x >= start."""
    return _series(s, s.select(x < start, 1.0, 2 * start / x - 1.0), table, short)


def _beyond_squared(s, x, start, table, short):
    ratio = s.select(x < start, 1.0, start / x)
    return _series(s, s.fma(2.0 * ratio, ratio, -1.0), table, short)


def _root_inverse(s, x, start):
    """1 / sqrt(x) for x >= start, 0 at infinity."""
    return 1.0 / s.sqrt(s.select(x < start, start, x))


def _even_i(s, a, near, far, short):
    """exp(-a) times I0(a), or times I1(a) / a where a <= 8 and I1(a) beyond."""
    return s.rare(a > 8.0, _between(s, a, 0.0, 8.0, near, short),
                  lambda: _beyond(s, a, 8.0, far, short) * _root_inverse(s, a, 8.0))


def _i0e(s, x, short):
    y = _even_i(s, abs(x), B.I0_NEAR, B.I0_FAR, short)
    return s.select(x.ne(x), x, y)


def _i1e(s, x, short):
    a = abs(x)
    y = _even_i(s, a, B.I1_NEAR, B.I1_FAR, short)
    y = s.select(a > 8.0, s.copysign(y, x), y * x)
    return s.select(x.ne(x), x, y)


@_for_both
def i0e(s, x, short):
    """exp(-|x|) I0(x)"""
    return _i0e(s, x, short)


@_for_both
def i1e(s, x, short):
    """exp(-|x|) I1(x)"""
    return _i1e(s, x, short)


def _times_exp(s, y, a):
    """y exp(a), where exp(a) alone may overflow."""
    half = exp(s, a * 0.5)
    return s.select(a.eq(INF), s.copysign(s.const(y.dtype, INF), y), y * half * half)


@_for_both
def i0(s, x, short):
    """The modified Bessel function of the first kind, order 0."""
    return _times_exp(s, _i0e(s, x, short), abs(x))


@_for_both
def i1(s, x, short):
    """The modified Bessel function of the first kind, order 1."""
    return _times_exp(s, _i1e(s, x, short), abs(x))


def _k_near(s, x, order, short):
    """K for 0 < x <= 2."""
    inside = s.select(x > 2.0, 2.0, s.select(x > 0, x, 2.0))
    left = _between(s, inside * inside, 0.0, 4.0, (B.K0_NEAR, B.K1_NEAR)[order], short)
    growth = log(s, inside * 0.5)
    if order:
        return left / inside + growth * (_between(s, inside, 0.0, 8.0, B.I1_NEAR, short) * inside * exp(s, inside))
    return left - growth * (_between(s, inside, 0.0, 8.0, B.I0_NEAR, short) * exp(s, inside))


def _k(s, x, order, scaled, short):
    far = _beyond(s, x, 2.0, (B.K0_FAR, B.K1_FAR)[order], short) * _root_inverse(s, x, 2.0)
    near = _k_near(s, x, order, short)
    inside = s.select(x > 2.0, 2.0, x)
    y = s.select(x > 2.0, far if scaled else far * exp(s, -x), near * exp(s, inside) if scaled else near)
    y = s.select(x > 0, y, s.select(x.eq(0), s.const(x.dtype, INF), NAN))
    return s.select(x.ne(x), x, y)


# Modified Bessel functions of the second kind, nan below 0; scaled by exp(x) to stay finite.
modified_bessel_k0, modified_bessel_k1 = _of_orders("modified_bessel_k", _k, False)
scaled_modified_bessel_k0, scaled_modified_bessel_k1 = _of_orders("scaled_modified_bessel_k", _k, True)


def _j_near(s, a, order, short):
    """J for 0 <= a <= 8, exact at its first two zeros."""
    inside = s.select(a > 8.0, 8.0, a)
    y = _between(s, inside * inside, 0.0, 64.0, (B.J0_NEAR, B.J1_NEAR)[order], short)
    for high, low in (B.J0_ZEROS, B.J1_ZEROS)[order]:
        y = y * ((inside - high) - low) * (inside + high)
    return y * inside if order else y


def _waves(s, a, order, short):
    """(P cos - Q sin, P sin + Q cos) sqrt(2 / pi a) at the phase a - (2 order + 1) pi / 4, for a >= 8."""
    inside = s.select(a < 8.0, 8.0, s.select(a.eq(INF), 8.0, a))
    p = _beyond_squared(s, inside, 8.0, (B.P0, B.P1)[order], short)
    q = _beyond_squared(s, inside, 8.0, (B.Q0, B.Q1)[order], short) / inside
    sine, cosine = sin_cos(s, inside, short)
    plus, minus = sine + cosine, sine - cosine
    along, across = (minus, -plus) if order else (plus, minus)
    size = INV_SQRT_PI * _root_inverse(s, inside, 8.0)
    size = s.select(a.eq(INF), 0.0, size)
    return size * (p * along - q * across), size * (p * across + q * along)


def _j(s, x, order, short):
    a = abs(x)
    y = s.rare(a > 8.0, _j_near(s, a, order, short), lambda: _waves(s, a, order, short)[0])
    y = s.select(x < 0, -y, y) if order else y
    return s.select(x.ne(x), x, y)


def _y(s, x, order, short):
    inside = s.select(x > 8.0, 8.0, s.select(x > 0, x, 8.0))
    left = _between(s, inside * inside, 0.0, 64.0, (B.Y0_NEAR, B.Y1_NEAR)[order], short)
    product = log(s, inside) * _j_near(s, inside, order, short)
    near = left * inside + TWO_OVER_PI * (product - 1.0 / inside) if order else left + TWO_OVER_PI * product
    y = s.rare(x > 8.0, near, lambda: _waves(s, x, order, short)[1])
    y = s.select(x > 0, y, s.select(x.eq(0), s.const(x.dtype, -INF), NAN))
    return s.select(x.ne(x), x, y)


# Bessel functions of the first kind, and of the second kind, nan below 0.
bessel_j0, bessel_j1 = _of_orders("bessel_j", _j)
bessel_y0, bessel_y1 = _of_orders("bessel_y", _y)


def spherical_bessel_j0(s, x):
    """sin(x) / x, 1 at 0."""
    y = s.select(x.eq(0), 1.0, sin(s, x) / s.select(x.eq(0), 1.0, x))
    return s.select(abs(x).eq(INF), 0.0, y)


def _airy_wave(s, x, short):
    """Airy's function for x <= -4."""
    a = s.select(x < -4.0, s.select(x.eq(-INF), 4.0, -x), 4.0)
    root = s.sqrt(a)
    z = a * root * (2 / 3)
    p = _beyond_squared(s, z, AIRY_FROM, B.AIRY_P, short)
    q = _beyond_squared(s, z, AIRY_FROM, B.AIRY_Q, short) / z
    sine, cosine = sin_cos(s, z, short)
    y = (p * (sine + cosine) - q * (cosine - sine)) * (INV_SQRT_PI * 0.7071067811865476) / s.sqrt(root)
    return s.select(x.eq(-INF), 0.0, y)


@_for_both
def airy_ai(s, x, short):
    """Airy's function Ai."""
    far = s.select(x > 2.0, s.select(x > 1e3, 1e3, x), 2.0)
    root = s.sqrt(far)
    z = far * root * (2 / 3)
    decay = _beyond(s, z, AIRY_DECAY_FROM, B.AIRY_DECAY, short) * exp(s, -z) * (0.5 * INV_SQRT_PI) / s.sqrt(root)
    inside = s.select(x > 0, s.select(x > 2.0, 2.0, x), 0.0)
    right = _between(s, inside, 0.0, 2.0, B.AIRY_RIGHT, short) * exp(s, -inside)
    left = _between(s, x, -4.0, 0.0, B.AIRY_LEFT, short)
    y = s.select(x > 2.0, decay, s.select(x > 0, right, s.select(x < -4.0, _airy_wave(s, x, short), left)))
    return s.select(x.ne(x), x, y)
