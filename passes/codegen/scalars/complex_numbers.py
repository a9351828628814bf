"""Scalar functions of complex numbers: a complex value is a pair of real values (`Builder.re_im`).

Functions of more than a few instructions compute in float64 for complex64 too: intermediate results then do not overflow, and
cancellation leaves enough digits. Infinities and nan give the results of numpy (C's Annex G).

Private functions take and return real and imaginary parts, in float64 unless stated. Public ones take complex values.
"""

from ....ir import dtype as dt
from . import constants as K
from . import exponential as ex
from . import hyperbolic as hy
from . import trigonometric as tr

INF, NAN = float("inf"), float("nan")
LARGE = 2.0 ** 500        # from here on 1 + z is z
MOST_WHOLE = 100          # whole powers below it are products


def _wide(fn):
    """Turn a function of the float64 parts of one or two complex values into one of complex values."""

    def of_parts(s, *args):
        kind = dt.PARTS[args[0].dtype]
        parts = [s.cast(x, dt.float64) for z in args for x in s.re_im(z)]
        return s.whole(*[s.cast(x, kind) for x in fn(s, *parts)])

    return (lambda s, z, w: of_parts(s, z, w)) if fn.__code__.co_argcount == 5 else (lambda s, z: of_parts(s, z))


def _is_finite(x):
    return abs(x) < INF


def _quotient(s, ar, ai, br, bi):
    """Divide by the ratio of the divisor's parts (Smith), so that no step overflows."""
    first = abs(br) >= abs(bi)
    big, small = s.select(first, br, bi), s.select(first, bi, br)
    ratio = small / big
    scale = 1.0 / (big + small * ratio)
    along, across = s.select(first, ar, ai), s.select(first, ai, ar)
    rotated = across - along * ratio
    re, im = (along + across * ratio) * scale, s.select(first, rotated, -rotated) * scale
    nothing = abs(br).eq(0) & abs(bi).eq(0)
    return s.select(nothing, ar / abs(br), re), s.select(nothing, ai / abs(br), im)


def _product(ar, ai, br, bi):
    return ar * br - ai * bi, ar * bi + ai * br


def _root(s, x, y):
    """The square root whose real part is not negative."""
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
    signed_zero = s.select(y.ne(y), y, s.copysign(s.const(x.dtype, 0.0), y))
    re = s.select(endless, s.select(left, abs(signed_zero), x), re)
    im = s.select(endless, s.select(left, s.copysign(s.const(x.dtype, INF), y), signed_zero), im)
    re, im = s.select(x.ne(x), x, re), s.select(x.ne(x), x, im)
    return s.select(s.is_inf(y), INF, re), s.select(s.is_inf(y), y, im)


def _exp(s, x, y):
    """exp(z) in two halves, so that a small sine or cosine can keep the result finite."""
    half = ex.exp(s, x * 0.5)
    re, im = (half * tr.cos(s, y)) * half, (half * tr.sin(s, y)) * half
    lost = s.is_inf(x) & ~_is_finite(y)
    re = s.select(lost, s.select(x < 0, s.const(x.dtype, 0.0), INF), re)
    im = s.select(lost, s.select(x < 0, s.const(x.dtype, 0.0), NAN), im)
    flat = y.eq(0)
    return s.select(flat, half * half, re), s.select(flat, y, im)


def _log_modulus(s, x, y):
    """log |x + iy|; near 1 by log1p of |x + iy|^2 - 1."""
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
    return _log_modulus(s, x, y), tr.atan2(s, y, x)


def _log1p(s, x, y):
    """log(1 + z), near 0 without adding the 1."""
    near = (abs(x) < 0.5) & (abs(y) < 0.5)
    small, other = s.select(near, x, 0.0), s.select(near, y, 0.0)
    close = 0.5 * ex.log1p(s, small * (2.0 + small) + other * other)
    return s.select(near, close, _log_modulus(s, x + 1.0, y)), tr.atan2(s, y, x + 1.0)


def _times(s, a, b):
    return s.select(b.eq(0), b, a * b)


def _sinh(s, x, y):
    lost = ~_is_finite(y) & (s.is_inf(x) | x.eq(0))
    return s.select(lost, abs(x), _times(s, hy.sinh(s, x), tr.cos(s, y))), _times(s, hy.cosh(s, x), tr.sin(s, y))


def _cosh(s, x, y):
    lost = ~_is_finite(y) & s.is_inf(x)
    flat = x.eq(0) & ~_is_finite(y)
    im = hy.sinh(s, x) * s.select(flat, 0.0, tr.sin(s, y))
    return s.select(lost, INF, hy.cosh(s, x) * tr.cos(s, y)), s.select(y.eq(0), s.select(x.ne(x), 0.0, s.copysign(y, x)), im)


def _tanh(s, x, y):
    far = abs(x) > 22.0
    t, sh = tr.tan(s, y), hy.sinh(s, s.select(far, 0.0, x))
    slope = 1.0 + t * t
    below = 1.0 + slope * sh * sh
    sides = slope * s.sqrt(1.0 + sh * sh) * sh
    upright = s.is_inf(slope)            # (tangents of float64 are finite, their squares may not be)
    re, im = s.select(upright, 1.0 / sh, sides / below), s.select(upright, 0.0, t / below)
    one, decay = s.const(x.dtype, 1.0), ex.exp(s, -abs(x))
    distant = 4.0 * tr.sin(s, y) * tr.cos(s, y) * decay * decay
    re = s.select(far, s.copysign(one, x), re)
    im = s.select(far, s.select(s.is_inf(x) & ~_is_finite(y), 0.0, distant), im)
    re = s.select(x.eq(0) & ~_is_finite(y), x, re)
    return s.select(x.ne(x), x, re), s.select(y.eq(0), y, im)


def _circular(fn):
    """Return the function -i fn(iz): circular functions from hyperbolic ones."""

    def circular(s, x, y):
        re, im = fn(s, -y, x)
        return im, -re

    return circular


def _one_minus_plus(s, x, y):
    """Return the roots of 1 - z and 1 + z, and whether z is so large that the 1 is lost (Kahan)."""
    large = ~((abs(x) < LARGE) & (abs(y) < LARGE))
    x, y = s.select(large, 0.0, x), s.select(large, 0.0, y)
    return _root(s, 1.0 - x, -y), _root(s, 1.0 + x, y), large


def _asin(s, x, y):
    (ar, ai), (br, bi), large = _one_minus_plus(s, x, y)
    re, im = tr.atan2(s, x, ar * br - ai * bi), hy.asinh(s, ar * bi - ai * br)
    size = s.copysign(_log_modulus(s, x, y) + K.LN2, y)
    re = s.select(large, tr.atan2(s, x, abs(y)), re)
    return s.select(x.eq(0), x, re), s.select(large, size, im)


def _acos(s, x, y):
    (ar, ai), (br, bi), large = _one_minus_plus(s, x, y)
    re, im = 2.0 * tr.atan2(s, ar, br), hy.asinh(s, br * ai - bi * ar)
    size = s.copysign(_log_modulus(s, x, y) + K.LN2, -y)
    re = s.select(large, tr.atan2(s, abs(y), x), re)
    return s.select(x.eq(0), K.PI / 2, re), s.select(large, size, im)


def _atanh(s, x, y):
    large = ~((abs(x) < LARGE) & (abs(y) < LARGE))
    a, b = s.select(large, 0.0, x), s.select(large, 0.0, y)
    less = 1.0 - abs(a)
    below = less * less + b * b
    re = s.copysign(0.25 * ex.log1p(s, 4.0 * abs(a) / below), x)
    im = 0.5 * tr.atan2(s, 2.0 * b, less * (1.0 + abs(a)) - b * b)
    gone = s.select(s.is_inf(y) | _is_finite(x) | s.is_inf(x), s.copysign(s.const(x.dtype, 0.0), x), x)
    re, im = s.select(large, gone, re), s.select(large, s.copysign(s.const(x.dtype, K.PI / 2), y), im)
    lost = y.ne(y) & ~s.is_inf(x)
    return s.select(lost & x.ne(0), NAN, re), s.select(y.ne(y) | (x.ne(x) & _is_finite(y)), NAN, im)


def _sigmoid(s, x, y):
    re, im = _exp(s, -x, -y)
    one = s.const(dt.float64, 1.0)
    return _quotient(s, one, one - 1.0, 1.0 + re, im)


def _whole_power(s, x, y, n):
    """z^n by repeated squaring, for whole |n| below `MOST_WHOLE`."""

    def step(re, im, ar, ai, left):
        half = s.floor(left * 0.5)
        odd = half.ne(left * 0.5)
        by = _product(re, im, ar, ai)
        return s.select(odd, by[0], re), s.select(odd, by[1], im), *_product(ar, ai, ar, ai), half

    one = s.const(dt.float64, 1.0) + x * 0.0
    re, im, *_ = s.repeat(MOST_WHOLE.bit_length(), (one, one - 1.0, x, y, abs(n)), step)
    inverse = _quotient(s, one, one - 1.0, re, im)
    return s.choose(n < 0, inverse, (re, im))


# Parts.


def real(s, z):
    return s.re_im(z)[0]


def imag(s, z):
    return s.re_im(z)[1]


def complex(s, re, im):
    return s.whole(re, im)


def conj(s, z):
    re, im = s.re_im(z)
    return s.whole(re, -im)


def modulus(s, z):
    return ex.hypot(s, *s.re_im(z))


def copy(s, z):
    return z


def cast(s, x, dtype):
    """Convert to or from a complex dtype: an imaginary part is 0, or dropped; bool tests both parts."""
    if not x.dtype.is_complex:
        re = s.cast(x, dt.PARTS[dtype])
        return s.whole(re, s.const(re.dtype, 0.0))
    re, im = s.re_im(x)
    if dtype is dt.bool_:
        return re.ne(0) | im.ne(0)
    if dtype.is_complex:
        return s.whole(*[s.cast(p, dt.PARTS[dtype]) for p in (re, im)])
    return s.cast(re, dtype)


# Arithmetic in the steps of numpy.


def add(s, a, b):
    return s.whole(*[x + y for x, y in zip(s.re_im(a), s.re_im(b))])


def sub(s, a, b):
    return s.whole(*[x - y for x, y in zip(s.re_im(a), s.re_im(b))])


def neg(s, z):
    return s.whole(*[-x for x in s.re_im(z)])


def mul(s, a, b):
    (ar, ai), (br, bi) = s.re_im(a), s.re_im(b)
    return s.whole(*_product(ar, ai, br, bi))


def square(s, z):
    return mul(s, z, z)


def div(s, a, b):
    """Divide by Smith's method."""
    (ar, ai), (br, bi) = s.re_im(a), s.re_im(b)
    return s.whole(*_quotient(s, ar, ai, br, bi))


def reciprocal(s, z):
    re, im = s.re_im(z)
    first = abs(re) >= abs(im)
    big, small = s.select(first, re, im), s.select(first, im, re)
    ratio = small / big
    scale = big + small * ratio
    one = s.const(re.dtype, 1.0)
    return s.whole(s.select(first, one, ratio) / scale, -s.select(first, ratio, one) / scale)


# Comparisons, choice, classification.


def eq(s, a, b):
    (ar, ai), (br, bi) = s.re_im(a), s.re_im(b)
    return ar.eq(br) & ai.eq(bi)


def ne(s, a, b):
    return ~eq(s, a, b)


def where(s, cond, a, b):
    return s.select(cond, a, b)


def isnan(s, z):
    re, im = s.re_im(z)
    return re.ne(re) | im.ne(im)


def isinf(s, z):
    re, im = s.re_im(z)
    return s.is_inf(re) | s.is_inf(im)


def isfinite(s, z):
    re, im = s.re_im(z)
    return _is_finite(re) & _is_finite(im)


def isposinf(s, z):
    re, im = s.re_im(z)
    return re.eq(INF) & im.eq(0)


def isneginf(s, z):
    re, im = s.re_im(z)
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


def exp(s, z):
    return s.whole(*_exp(s, *s.re_im(z)))


@_wide
def rsqrt(s, x, y):
    one = s.const(dt.float64, 1.0)
    return _quotient(s, one, one - 1.0, *_root(s, x, y))


@_wide
def exp2(s, x, y):
    return _exp(s, x * K.LN2, y * K.LN2)


@_wide
def expm1(s, x, y):
    half = tr.sin(s, y * 0.5)
    less = ex.expm1(s, x)
    re, im = less * tr.cos(s, y) - 2.0 * half * half, ex.exp(s, x) * tr.sin(s, y)
    turning, flat = s.is_inf(x) & ~_is_finite(y), y.eq(0)
    im = s.select(turning, s.select(x > 0, s.const(x.dtype, NAN), 0.0), im)
    return s.select(flat | turning, less, re), s.select(flat, y, im)


@_wide
def log2(s, x, y):
    return tuple([p * K.LOG2E for p in _log(s, x, y)])


@_wide
def log10(s, x, y):
    return tuple([p * K.LOG10E for p in _log(s, x, y)])


@_wide
def logaddexp(s, x, y, u, v):
    """The larger argument (by real part) plus log1p of the other's share; by the plain sum if both are 0 or infinite."""
    larger = x >= u
    (a, b), (c, d) = [[s.select(larger, p, q) for p, q in pair] for pair in (((x, u), (y, v)), ((u, x), (v, y)))]
    er, ei = _exp(s, c - a, d - b)
    re, im = _log1p(s, er, ei)
    none, endless = a.eq(-INF), c.eq(INF)
    whole = _log(s, *[p + q for p, q in zip(_exp(s, x, y), _exp(s, u, v))])
    re, im = s.select(none, a, re + a), s.select(none, d, im + b)
    unknown = x.ne(x) | y.ne(y) | u.ne(u) | v.ne(v)
    return tuple([s.select(unknown, NAN, s.select(endless, p, q)) for p, q in zip(whole, (re, im))])


sqrt, log, log1p, sigmoid = _wide(_root), _wide(_log), _wide(_log1p), _wide(_sigmoid)


# Circular and hyperbolic functions, and their inverses.


@_wide
def sin(s, x, y):
    re, im = _circular(_sinh)(s, x, y)
    return re, s.select(~_is_finite(x) & s.is_inf(y), INF, im)


@_wide
def cos(s, x, y):
    return _cosh(s, -y, x)


@_wide
def acosh(s, x, y):
    """The arc cosine, rotated to a real part that is not negative."""
    re, im = _acos(s, x, y)
    return abs(im), s.copysign(re, y)


sinh, cosh, tanh, tan = _wide(_sinh), _wide(_cosh), _wide(_tanh), _wide(_circular(_tanh))
asin, acos, atan = _wide(_asin), _wide(_acos), _wide(_circular(_atanh))
asinh, atanh = _wide(_circular(_asin)), _wide(_atanh)


# Others.


@_wide
def silu(s, x, y):
    """z sigmoid(z)."""
    return _product(x, y, *_sigmoid(s, x, y))


@_wide
def sinc(s, x, y):
    """sin(pi z) / (pi z), 1 at 0."""
    zero = x.eq(0) & y.eq(0)
    x, y = (s.select(zero, n, p) * K.PI for p, n in ((x, 1.0), (y, 0.0)))
    sin_re, sin_im = _circular(_sinh)(s, x, y)
    re, im = _quotient(s, sin_re, sin_im, x, y)
    return s.select(zero, 1.0, re), s.select(zero, 0.0, im)


@_wide
def pow(s, x, y, u, v):
    """exp(w log z); whole powers below `MOST_WHOLE` by products."""
    zero = x.eq(0) & y.eq(0)
    size, angle = _log(s, s.select(zero, 1.0, x), y)
    re, im = _exp(s, u * size - v * angle, v * size + u * angle)
    none = u.eq(0) & v.eq(0)
    re, im = (s.select(zero, s.select(u > 0, s.const(p.dtype, 0.0), NAN), p) for p in (re, im))
    whole = v.eq(0) & s.floor(u).eq(u) & (abs(u) < MOST_WHOLE)

    def products():
        return _whole_power(s, x, y, s.select(whole, u, 1.0))

    re, im = s.rare(whole & ~zero, (re, im), products)
    return s.select(none, 1.0, re), s.select(none, 0.0, im)
