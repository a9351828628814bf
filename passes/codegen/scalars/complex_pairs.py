"""Functions of complex numbers on pairs of real values, the real part and the imaginary one; float64 unless said.

Infinities and nan give what numpy gives (C's Annex G).
"""

import functools

from ....ir import dtype as dt
from . import constants as K
from . import exponential as ex
from . import hyperbolic as hy
from . import trigonometric as tr

INF, NAN = float("inf"), float("nan")
LARGE = 2.0 ** 500        # from here on 1 beside a number counts for nothing
MOST_WHOLE = 100          # below it whole powers are products


def wide(fn):
    """A function of (real, imaginary) pairs of float64 as one of complex values."""

    @functools.wraps(fn)
    def of_complex(s, *args):
        kind = dt.PARTS[args[0].dtype]
        pairs = [tuple([s.cast(x, dt.float64) for x in s.parts(z)]) for z in args]
        return s.whole(*[s.cast(x, kind) for x in fn(s, *pairs)])

    return of_complex


def is_finite(x):
    """Whether a part is a number."""
    return abs(x) < INF


# Arithmetic.


def quotient(s, ar, ai, br, bi):
    """By the ratio of the divisor's parts, so that nothing overflows on the way (Smith)."""
    first = abs(br) >= abs(bi)
    big, small = s.select(first, br, bi), s.select(first, bi, br)
    ratio = small / big
    scale = 1.0 / (big + small * ratio)
    along, across = s.select(first, ar, ai), s.select(first, ai, ar)
    turned = across - along * ratio
    re, im = (along + across * ratio) * scale, s.select(first, turned, -turned) * scale
    nothing = abs(br).eq(0) & abs(bi).eq(0)
    return s.select(nothing, ar / abs(br), re), s.select(nothing, ai / abs(br), im)


def product(ar, ai, br, bi):
    """As numpy multiplies."""
    return ar * br - ai * bi, ar * bi + ai * br


# Roots, exponentials, logarithms.


def root(s, x, y):
    """The square root with a real part that is not negative."""
    one, size = s.const(x.dtype, 1.0), s.maximum(abs(x), abs(y))
    large, small = size > 2.0 ** 1000, size < 2.0 ** -900
    a, b = (p * s.select(large, 0.0625, s.select(small, 2.0 ** 108, one)) for p in (x, y))
    t = s.sqrt((abs(a) + ex.hypot(s, a, b)) * 0.5)
    other = b / (2.0 * s.select(t.eq(0), 1.0, t))
    right = a >= 0
    re, im = s.select(right, t, abs(other)), s.select(right, other, s.copysign(t, b))
    back = s.select(large, 4.0, s.select(small, 2.0 ** -54, one))
    re, im = re * back, im * back
    zero, endless = x.eq(0) & y.eq(0), s.is_inf(x)
    re, im = s.select(zero, 0.0, re), s.select(zero, y, im)
    left = endless & (x < 0)
    straight = s.select(y.ne(y), y, s.copysign(s.const(x.dtype, 0.0), y))
    re = s.select(endless, s.select(left, abs(straight), x), re)
    im = s.select(endless, s.select(left, s.copysign(s.const(x.dtype, INF), y), straight), im)
    re, im = s.select(x.ne(x), x, re), s.select(x.ne(x), x, im)
    return s.select(s.is_inf(y), INF, re), s.select(s.is_inf(y), y, im)


def exp(s, x, y):
    """In two halves, so that a sine can keep the result finite."""
    half = ex.exp(s, x * 0.5)
    re, im = (half * tr.cos(s, y)) * half, (half * tr.sin(s, y)) * half
    lost = s.is_inf(x) & ~is_finite(y)
    re = s.select(lost, s.select(x < 0, s.const(x.dtype, 0.0), INF), re)
    im = s.select(lost, s.select(x < 0, s.const(x.dtype, 0.0), NAN), im)
    flat = y.eq(0)
    return s.select(flat, half * half, re), s.select(flat, y, im)


def log_size(s, x, y):
    """log |x + iy|: near 1 from what |x + iy| squared is more than that."""
    a, b = abs(x), abs(y)
    big, small = s.select(a > b, a, b), s.select(a > b, b, a)
    huge = big > 2.0 ** 1000
    factor = s.select(huge, s.const(x.dtype, 0.5), 1.0)
    far = ex.log(s, ex.hypot(s, x * factor, y * factor)) + s.select(huge, s.const(x.dtype, K.LN2), 0.0)
    near = (big > 0.5) & (big < 2.0)
    big, small = s.select(near, big, 1.0), s.select(near, small, 0.0)
    (p, p_low), (q, q_low) = s.two_product(big, big), s.two_product(small, small)
    more, low = s.two_sum(p - 1.0, q)
    return s.select(near, 0.5 * ex.log1p(s, more + (low + p_low + q_low)), far)


def log(s, x, y):
    """The logarithm: of the size, and the angle."""
    return log_size(s, x, y), tr.atan2(s, y, x)


# Circular and hyperbolic functions: those of iz are i times those of z.


def log1p(s, x, y):
    """log(1 + z), of what is near 0 without adding the 1."""
    near = (abs(x) < 0.5) & (abs(y) < 0.5)
    small, other = s.select(near, x, 0.0), s.select(near, y, 0.0)
    close = 0.5 * ex.log1p(s, small * (2.0 + small) + other * other)
    return s.select(near, close, log_size(s, x + 1.0, y)), tr.atan2(s, y, x + 1.0)


def _times(s, a, b):
    """a * b where a may be infinite and b is 0: then 0."""
    return s.select(b.eq(0), b, a * b)


def sinh(s, x, y):
    """Hyperbolic sine."""
    lost = ~is_finite(y) & (s.is_inf(x) | x.eq(0))
    return s.select(lost, abs(x), _times(s, hy.sinh(s, x), tr.cos(s, y))), _times(s, hy.cosh(s, x), tr.sin(s, y))


def cosh(s, x, y):
    """Hyperbolic cosine."""
    lost = ~is_finite(y) & s.is_inf(x)
    flat = x.eq(0) & ~is_finite(y)
    im = hy.sinh(s, x) * s.select(flat, 0.0, tr.sin(s, y))
    return s.select(lost, INF, hy.cosh(s, x) * tr.cos(s, y)), s.select(y.eq(0), s.select(x.ne(x), 0.0, s.copysign(y, x)), im)


def tanh(s, x, y):
    """Hyperbolic tangent."""
    far = abs(x) > 22.0
    t, sh = tr.tan(s, y), hy.sinh(s, s.select(far, 0.0, x))
    slope = 1.0 + t * t
    below = 1.0 + slope * sh * sh
    sides = slope * s.sqrt(1.0 + sh * sh) * sh
    upright = s.is_inf(slope)            # (of no float64 is the tangent infinite, but its square may be)
    re, im = s.select(upright, 1.0 / sh, sides / below), s.select(upright, 0.0, t / below)
    one, decay = s.const(x.dtype, 1.0), ex.exp(s, -abs(x))
    distant = 4.0 * tr.sin(s, y) * tr.cos(s, y) * decay * decay
    re = s.select(far, s.copysign(one, x), re)
    im = s.select(far, s.select(s.is_inf(x) & ~is_finite(y), 0.0, distant), im)
    re = s.select(x.eq(0) & ~is_finite(y), x, re)
    return s.select(x.ne(x), x, re), s.select(y.eq(0), y, im)


def turned(fn):
    """-i fn(iz)."""

    def circular(s, x, y):
        re, im = fn(s, -y, x)
        return im, -re

    return circular


# Their inverses (Kahan).


def _sides(s, x, y):
    """The roots of 1 - z and 1 + z, and whether z is so large that they are those of -z and z."""
    large = ~((abs(x) < LARGE) & (abs(y) < LARGE))
    x, y = s.select(large, 0.0, x), s.select(large, 0.0, y)
    return root(s, 1.0 - x, -y), root(s, 1.0 + x, y), large


def asin(s, x, y):
    """Inverse sine."""
    (ar, ai), (br, bi), large = _sides(s, x, y)
    re, im = tr.atan2(s, x, ar * br - ai * bi), hy.asinh(s, ar * bi - ai * br)
    size = s.copysign(log_size(s, x, y) + K.LN2, y)
    re = s.select(large, tr.atan2(s, x, abs(y)), re)
    return s.select(x.eq(0), x, re), s.select(large, size, im)


def acos(s, x, y):
    """Inverse cosine."""
    (ar, ai), (br, bi), large = _sides(s, x, y)
    re, im = 2.0 * tr.atan2(s, ar, br), hy.asinh(s, br * ai - bi * ar)
    size = s.copysign(log_size(s, x, y) + K.LN2, -y)
    re = s.select(large, tr.atan2(s, abs(y), x), re)
    return s.select(x.eq(0), K.PI / 2, re), s.select(large, size, im)


def atanh(s, x, y):
    """log((1 + z) / (1 - z)) / 2."""
    large = ~((abs(x) < LARGE) & (abs(y) < LARGE))
    a, b = s.select(large, 0.0, x), s.select(large, 0.0, y)
    less = 1.0 - abs(a)
    below = less * less + b * b
    re = s.copysign(0.25 * ex.log1p(s, 4.0 * abs(a) / below), x)
    im = 0.5 * tr.atan2(s, 2.0 * b, less * (1.0 + abs(a)) - b * b)
    gone = s.select(s.is_inf(y) | is_finite(x) | s.is_inf(x), s.copysign(s.const(x.dtype, 0.0), x), x)
    re, im = s.select(large, gone, re), s.select(large, s.copysign(s.const(x.dtype, K.PI / 2), y), im)
    lost = y.ne(y) & ~s.is_inf(x)
    return s.select(lost & x.ne(0), NAN, re), s.select(y.ne(y) | (x.ne(x) & is_finite(y)), NAN, im)


# Others.


def logistic(s, x, y):
    """1 / (1 + exp(-z))."""
    re, im = exp(s, -x, -y)
    one = s.const(dt.float64, 1.0)
    return quotient(s, one, one - 1.0, 1.0 + re, im)


def whole_power(s, x, y, n):
    """The power n, a whole number below `MOST_WHOLE` in size, by repeated squaring."""

    def step(re, im, ar, ai, left):
        half = s.floor(left * 0.5)
        odd = half.ne(left * 0.5)
        by = product(re, im, ar, ai)
        return s.select(odd, by[0], re), s.select(odd, by[1], im), *product(ar, ai, ar, ai), half

    one = s.const(dt.float64, 1.0) + x * 0.0
    re, im, *_ = s.repeat(MOST_WHOLE.bit_length(), (one, one - 1.0, x, y, abs(n)), step)
    inverse = quotient(s, one, one - 1.0, re, im)
    return s.choose(n < 0, inverse, (re, im))
