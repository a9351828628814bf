"""Scalar functions of complex numbers, in the real ones: a complex value is a pair of real values (`Builder.parts`).

What is more than a few instructions is computed in float64 for complex64 as well: nothing overflows then that has a result,
and what cancels cancels behind the digits that count. Infinities and nan give what numpy gives (C's Annex G).
"""

import functools

from ....ir import dtype as dt
from . import constants as K
from . import exponential as ex
from . import hyperbolic as hy
from . import trigonometric as tr

INF, NAN = float("inf"), float("nan")
LARGE = 2.0 ** 500        # from here on 1 beside a number counts for nothing
_MOST_WHOLE = 100         # below it whole powers are products


def _wide(fn):
    """A function of (real, imaginary) pairs of float64 as one of complex values."""

    @functools.wraps(fn)
    def of_complex(s, *args):
        kind = dt.PARTS[args[0].dtype]
        pairs = [tuple([s.cast(x, dt.float64) for x in s.parts(z)]) for z in args]
        return s.whole(*[s.cast(x, kind) for x in fn(s, *pairs)])

    return of_complex


# Parts.


def real(s, z):
    return s.parts(z)[0]


def imag(s, z):
    return s.parts(z)[1]


def complex(s, re, im):
    return s.whole(re, im)


def conj(s, z):
    re, im = s.parts(z)
    return s.whole(re, -im)


def modulus(s, z):
    return ex.hypot(s, *s.parts(z))


def copy(s, z):
    return z


def cast(s, x, dtype):
    """To or from a complex dtype: a missing imaginary part is 0, one that has no place is dropped, and counts for a bool."""
    if not x.dtype.is_complex:
        re = s.cast(x, dt.PARTS[dtype])
        return s.whole(re, s.const(re.dtype, 0.0))
    re, im = s.parts(x)
    if dtype is dt.bool_:
        return re.ne(0) | im.ne(0)
    if dtype.is_complex:
        return s.whole(*[s.cast(p, dt.PARTS[dtype]) for p in (re, im)])
    return s.cast(re, dtype)


# Arithmetic, step by step as numpy does it.


def add(s, a, b):
    return s.whole(*[x + y for x, y in zip(s.parts(a), s.parts(b))])


def sub(s, a, b):
    return s.whole(*[x - y for x, y in zip(s.parts(a), s.parts(b))])


def neg(s, z):
    return s.whole(*[-x for x in s.parts(z)])


def mul(s, a, b):
    (ar, ai), (br, bi) = s.parts(a), s.parts(b)
    return s.whole(ar * br - ai * bi, ar * bi + ai * br)


def square(s, z):
    return mul(s, z, z)


def div(s, a, b):
    """By the ratio of the divisor's parts, so that nothing overflows on the way (Smith)."""
    (ar, ai), (br, bi) = s.parts(a), s.parts(b)
    return s.whole(*_quotient(s, ar, ai, br, bi))


def _quotient(s, ar, ai, br, bi):
    first = abs(br) >= abs(bi)
    big, small = s.select(first, br, bi), s.select(first, bi, br)
    ratio = small / big
    scale = 1.0 / (big + small * ratio)
    along, across = s.select(first, ar, ai), s.select(first, ai, ar)
    turned = across - along * ratio
    re, im = (along + across * ratio) * scale, s.select(first, turned, -turned) * scale
    nothing = abs(br).eq(0) & abs(bi).eq(0)
    return s.select(nothing, ar / abs(br), re), s.select(nothing, ai / abs(br), im)


def reciprocal(s, z):
    re, im = s.parts(z)
    first = abs(re) >= abs(im)
    big, small = s.select(first, re, im), s.select(first, im, re)
    ratio = small / big
    scale = big + small * ratio
    one = s.const(re.dtype, 1.0)
    return s.whole(s.select(first, one, ratio) / scale, -s.select(first, ratio, one) / scale)


# Comparisons, choice, classification.


def eq(s, a, b):
    (ar, ai), (br, bi) = s.parts(a), s.parts(b)
    return ar.eq(br) & ai.eq(bi)


def ne(s, a, b):
    return ~eq(s, a, b)


def where(s, cond, a, b):
    return s.select(cond, a, b)


def isnan(s, z):
    re, im = s.parts(z)
    return re.ne(re) | im.ne(im)


def isinf(s, z):
    re, im = s.parts(z)
    return s.is_inf(re) | s.is_inf(im)


def isfinite(s, z):
    re, im = s.parts(z)
    return (abs(re) < INF) & (abs(im) < INF)


def isposinf(s, z):
    re, im = s.parts(z)
    return re.eq(INF) & im.eq(0)


def isneginf(s, z):
    re, im = s.parts(z)
    return re.eq(-INF) & im.eq(0)


def logical_and(s, a, b):
    return cast(s, a, dt.bool_) & cast(s, b, dt.bool_)


def logical_or(s, a, b):
    return cast(s, a, dt.bool_) | cast(s, b, dt.bool_)


def logical_xor(s, a, b):
    return cast(s, a, dt.bool_) ^ cast(s, b, dt.bool_)


def logical_not(s, z):
    return ~cast(s, z, dt.bool_)


# Roots, exponentials, logarithms.


def _finite(x):
    return abs(x) < INF


def _root(s, x, y):
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


def _product(ar, ai, br, bi):
    return ar * br - ai * bi, ar * bi + ai * br


@_wide
def sqrt(s, z):
    return _root(s, *z)


@_wide
def rsqrt(s, z):
    one = s.const(dt.float64, 1.0)
    return _quotient(s, one, one - 1.0, *_root(s, *z))


def exp(s, z):
    re, im = s.parts(z)
    return s.whole(*_exp(s, re, im))


def _exp(s, x, y):
    """In two halves, so that a sine can keep the result finite."""
    half = ex.exp(s, x * 0.5)
    re, im = (half * tr.cos(s, y)) * half, (half * tr.sin(s, y)) * half
    lost = s.is_inf(x) & ~_finite(y)
    re = s.select(lost, s.select(x < 0, s.const(x.dtype, 0.0), INF), re)
    im = s.select(lost, s.select(x < 0, s.const(x.dtype, 0.0), NAN), im)
    flat = y.eq(0)
    return s.select(flat, half * half, re), s.select(flat, y, im)


@_wide
def exp2(s, z):
    return _exp(s, z[0] * K.LN2, z[1] * K.LN2)


@_wide
def expm1(s, z):
    x, y = z
    half = tr.sin(s, y * 0.5)
    less = ex.expm1(s, x)
    re, im = less * tr.cos(s, y) - 2.0 * half * half, ex.exp(s, x) * tr.sin(s, y)
    turning, flat = s.is_inf(x) & ~_finite(y), y.eq(0)
    im = s.select(turning, s.select(x > 0, s.const(x.dtype, NAN), 0.0), im)
    return s.select(flat | turning, less, re), s.select(flat, y, im)


def _log_size(s, x, y):
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


def _log(s, x, y):
    return _log_size(s, x, y), tr.atan2(s, y, x)


@_wide
def log(s, z):
    return _log(s, *z)


@_wide
def log2(s, z):
    return tuple([p * K.LOG2E for p in _log(s, *z)])


@_wide
def log10(s, z):
    return tuple([p * K.LOG10E for p in _log(s, *z)])


@_wide
def log1p(s, z):
    x, y = z
    near = (abs(x) < 0.5) & (abs(y) < 0.5)
    small, other = s.select(near, x, 0.0), s.select(near, y, 0.0)
    close = 0.5 * ex.log1p(s, small * (2.0 + small) + other * other)
    return s.select(near, close, _log_size(s, x + 1.0, y)), tr.atan2(s, y, x + 1.0)


# Circular and hyperbolic functions: those of iz are i times those of z.


def _times(s, a, b):
    """a * b where a may be infinite and b is 0: then 0."""
    return s.select(b.eq(0), b, a * b)


def _sinh(s, x, y):
    lost = ~_finite(y) & (s.is_inf(x) | x.eq(0))
    return s.select(lost, abs(x), _times(s, hy.sinh(s, x), tr.cos(s, y))), _times(s, hy.cosh(s, x), tr.sin(s, y))


def _cosh(s, x, y):
    lost = ~_finite(y) & s.is_inf(x)
    flat = x.eq(0) & ~_finite(y)
    im = hy.sinh(s, x) * s.select(flat, 0.0, tr.sin(s, y))
    return s.select(lost, INF, hy.cosh(s, x) * tr.cos(s, y)), s.select(y.eq(0), s.select(x.ne(x), 0.0, s.copysign(y, x)), im)


def _tanh(s, x, y):
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
    im = s.select(far, s.select(s.is_inf(x) & ~_finite(y), 0.0, distant), im)
    re = s.select(x.eq(0) & ~_finite(y), x, re)
    return s.select(x.ne(x), x, re), s.select(y.eq(0), y, im)


def _turned(fn):
    """-i fn(iz)."""

    def circular(s, x, y):
        re, im = fn(s, -y, x)
        return im, -re

    return circular


@_wide
def sin(s, z):
    re, im = _turned(_sinh)(s, *z)
    return re, s.select(~_finite(z[0]) & s.is_inf(z[1]), INF, im)


@_wide
def cos(s, z):
    x, y = z
    return _cosh(s, -y, x)


@_wide
def tan(s, z):
    return _turned(_tanh)(s, *z)


@_wide
def sinh(s, z):
    return _sinh(s, *z)


@_wide
def cosh(s, z):
    return _cosh(s, *z)


@_wide
def tanh(s, z):
    return _tanh(s, *z)


# Their inverses (Kahan).


def _sides(s, x, y):
    """The roots of 1 - z and 1 + z, and whether z is so large that they are those of -z and z."""
    large = ~((abs(x) < LARGE) & (abs(y) < LARGE))
    x, y = s.select(large, 0.0, x), s.select(large, 0.0, y)
    return _root(s, 1.0 - x, -y), _root(s, 1.0 + x, y), large


def _asin(s, x, y):
    (ar, ai), (br, bi), large = _sides(s, x, y)
    re, im = tr.atan2(s, x, ar * br - ai * bi), hy.asinh(s, ar * bi - ai * br)
    size = s.copysign(_log_size(s, x, y) + K.LN2, y)
    re = s.select(large, tr.atan2(s, x, abs(y)), re)
    return s.select(x.eq(0), x, re), s.select(large, size, im)


def _acos(s, x, y):
    (ar, ai), (br, bi), large = _sides(s, x, y)
    re, im = 2.0 * tr.atan2(s, ar, br), hy.asinh(s, br * ai - bi * ar)
    size = s.copysign(_log_size(s, x, y) + K.LN2, -y)
    re = s.select(large, tr.atan2(s, abs(y), x), re)
    return s.select(x.eq(0), K.PI / 2, re), s.select(large, size, im)


def _atanh(s, x, y):
    """log((1 + z) / (1 - z)) / 2."""
    large = ~((abs(x) < LARGE) & (abs(y) < LARGE))
    a, b = s.select(large, 0.0, x), s.select(large, 0.0, y)
    less = 1.0 - abs(a)
    below = less * less + b * b
    re = s.copysign(0.25 * ex.log1p(s, 4.0 * abs(a) / below), x)
    im = 0.5 * tr.atan2(s, 2.0 * b, less * (1.0 + abs(a)) - b * b)
    gone = s.select(s.is_inf(y) | _finite(x) | s.is_inf(x), s.copysign(s.const(x.dtype, 0.0), x), x)
    re, im = s.select(large, gone, re), s.select(large, s.copysign(s.const(x.dtype, K.PI / 2), y), im)
    lost = y.ne(y) & ~s.is_inf(x)
    return s.select(lost & x.ne(0), NAN, re), s.select(y.ne(y) | (x.ne(x) & _finite(y)), NAN, im)


@_wide
def asin(s, z):
    return _asin(s, *z)


@_wide
def acos(s, z):
    return _acos(s, *z)


@_wide
def atan(s, z):
    return _turned(_atanh)(s, *z)


@_wide
def asinh(s, z):
    return _turned(_asin)(s, *z)


@_wide
def acosh(s, z):
    """The arc cosine turned to where the real part is not negative."""
    x, y = z
    re, im = _acos(s, x, y)
    return abs(im), s.copysign(re, y)


@_wide
def atanh(s, z):
    return _atanh(s, *z)


# Others.


def _logistic(s, x, y):
    re, im = _exp(s, -x, -y)
    one = s.const(dt.float64, 1.0)
    return _quotient(s, one, one - 1.0, 1.0 + re, im)


@_wide
def sigmoid(s, z):
    return _logistic(s, *z)


@_wide
def silu(s, z):
    """z sigmoid(z)."""
    return _product(*z, *_logistic(s, *z))


@_wide
def sinc(s, z):
    """sin(pi z) / (pi z), 1 at 0."""
    zero = z[0].eq(0) & z[1].eq(0)
    x, y = (s.select(zero, n, p) * K.PI for p, n in zip(z, (1.0, 0.0)))
    re, im = _quotient(s, *_turned(_sinh)(s, x, y), x, y)
    return s.select(zero, 1.0, re), s.select(zero, 0.0, im)


@_wide
def pow(s, z, w):
    """e to the power of w log z; whole powers of a moderate size by products."""
    (x, y), (u, v) = z, w
    zero = x.eq(0) & y.eq(0)
    size, angle = _log(s, s.select(zero, 1.0, x), y)
    re, im = _exp(s, u * size - v * angle, v * size + u * angle)
    none = u.eq(0) & v.eq(0)
    re, im = (s.select(zero, s.select(u > 0, s.const(p.dtype, 0.0), NAN), p) for p in (re, im))
    whole = v.eq(0) & s.floor(u).eq(u) & (abs(u) < _MOST_WHOLE)

    def products():
        return _whole_power(s, x, y, s.select(whole, u, 1.0))

    re, im = s.rare(whole & ~zero, (re, im), products)
    return s.select(none, 1.0, re), s.select(none, 0.0, im)


def _whole_power(s, x, y, n):
    """The power n, a whole number below `_MOST_WHOLE` in size, by repeated squaring."""

    def step(re, im, ar, ai, left):
        half = s.floor(left * 0.5)
        odd = half.ne(left * 0.5)
        by = _product(re, im, ar, ai)
        return s.select(odd, by[0], re), s.select(odd, by[1], im), *_product(ar, ai, ar, ai), half

    one = s.const(dt.float64, 1.0) + x * 0.0
    re, im, *_ = s.repeat(_MOST_WHOLE.bit_length(), (one, one - 1.0, x, y, abs(n)), step)
    inverse = _quotient(s, one, one - 1.0, re, im)
    return s.choose(n < 0, inverse, (re, im))
