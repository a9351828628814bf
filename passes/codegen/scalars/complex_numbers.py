"""Scalar functions of complex numbers, in the real ones: a complex value is a pair of real values (`Builder.parts`).

What is more than a few instructions is computed in float64 for complex64 as well: nothing overflows then that has a result,
and what cancels cancels behind the digits that count. Infinities and nan give what numpy gives (C's Annex G).
"""

from ....ir import dtype as dt
from . import complex_pairs as on
from . import constants as K
from . import exponential as ex
from . import trigonometric as tr

INF, NAN = float("inf"), float("nan")


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
    return s.whole(*on.quotient(s, ar, ai, br, bi))


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


@on.wide
def sqrt(s, z):
    return on.root(s, *z)


@on.wide
def rsqrt(s, z):
    one = s.const(dt.float64, 1.0)
    return on.quotient(s, one, one - 1.0, *on.root(s, *z))


def exp(s, z):
    re, im = s.parts(z)
    return s.whole(*on.exp(s, re, im))


@on.wide
def exp2(s, z):
    return on.exp(s, z[0] * K.LN2, z[1] * K.LN2)


@on.wide
def expm1(s, z):
    x, y = z
    half = tr.sin(s, y * 0.5)
    less = ex.expm1(s, x)
    re, im = less * tr.cos(s, y) - 2.0 * half * half, ex.exp(s, x) * tr.sin(s, y)
    turning, flat = s.is_inf(x) & ~on.is_finite(y), y.eq(0)
    im = s.select(turning, s.select(x > 0, s.const(x.dtype, NAN), 0.0), im)
    return s.select(flat | turning, less, re), s.select(flat, y, im)


@on.wide
def log(s, z):
    return on.log(s, *z)


@on.wide
def log2(s, z):
    return tuple([p * K.LOG2E for p in on.log(s, *z)])


@on.wide
def log10(s, z):
    return tuple([p * K.LOG10E for p in on.log(s, *z)])


@on.wide
def log1p(s, z):
    return on.log1p(s, *z)


@on.wide
def logaddexp(s, z, w):
    """The one with the larger real part, and what the other adds to it; of two that are both 0 or endless, by their sum."""
    (x, y), (u, v) = z, w
    larger = x >= u
    (a, b), (c, d) = [[s.select(larger, p, q) for p, q in pair] for pair in (((x, u), (y, v)), ((u, x), (v, y)))]
    er, ei = on.exp(s, c - a, d - b)
    re, im = on.log1p(s, er, ei)
    none, endless = a.eq(-INF), c.eq(INF)
    whole = on.log(s, *[p + q for p, q in zip(on.exp(s, x, y), on.exp(s, u, v))])
    re, im = s.select(none, a, re + a), s.select(none, d, im + b)
    unknown = x.ne(x) | y.ne(y) | u.ne(u) | v.ne(v)
    return tuple([s.select(unknown, NAN, s.select(endless, p, q)) for p, q in zip(whole, (re, im))])


# Circular and hyperbolic functions: those of iz are i times those of z.


@on.wide
def sin(s, z):
    re, im = on.turned(on.sinh)(s, *z)
    return re, s.select(~on.is_finite(z[0]) & s.is_inf(z[1]), INF, im)


@on.wide
def cos(s, z):
    x, y = z
    return on.cosh(s, -y, x)


@on.wide
def tan(s, z):
    return on.turned(on.tanh)(s, *z)


@on.wide
def sinh(s, z):
    return on.sinh(s, *z)


@on.wide
def cosh(s, z):
    return on.cosh(s, *z)


@on.wide
def tanh(s, z):
    return on.tanh(s, *z)


# Their inverses (Kahan).


@on.wide
def asin(s, z):
    return on.asin(s, *z)


@on.wide
def acos(s, z):
    return on.acos(s, *z)


@on.wide
def atan(s, z):
    return on.turned(on.atanh)(s, *z)


@on.wide
def asinh(s, z):
    return on.turned(on.asin)(s, *z)


@on.wide
def acosh(s, z):
    """The arc cosine turned to where the real part is not negative."""
    x, y = z
    re, im = on.acos(s, x, y)
    return abs(im), s.copysign(re, y)


@on.wide
def atanh(s, z):
    return on.atanh(s, *z)


# Others.


@on.wide
def sigmoid(s, z):
    return on.logistic(s, *z)


@on.wide
def silu(s, z):
    """z sigmoid(z)."""
    return on.product(*z, *on.logistic(s, *z))


@on.wide
def sinc(s, z):
    """sin(pi z) / (pi z), 1 at 0."""
    zero = z[0].eq(0) & z[1].eq(0)
    x, y = (s.select(zero, n, p) * K.PI for p, n in zip(z, (1.0, 0.0)))
    above, beside = on.turned(on.sinh)(s, x, y)
    re, im = on.quotient(s, above, beside, x, y)
    return s.select(zero, 1.0, re), s.select(zero, 0.0, im)


@on.wide
def pow(s, z, w):
    """e to the power of w log z; whole powers of a moderate size by products."""
    (x, y), (u, v) = z, w
    zero = x.eq(0) & y.eq(0)
    size, angle = on.log(s, s.select(zero, 1.0, x), y)
    re, im = on.exp(s, u * size - v * angle, v * size + u * angle)
    none = u.eq(0) & v.eq(0)
    re, im = (s.select(zero, s.select(u > 0, s.const(p.dtype, 0.0), NAN), p) for p in (re, im))
    whole = v.eq(0) & s.floor(u).eq(u) & (abs(u) < on.MOST_WHOLE)

    def products():
        return on.whole_power(s, x, y, s.select(whole, u, 1.0))

    re, im = s.rare(whole & ~zero, (re, im), products)
    return s.select(none, 1.0, re), s.select(none, 0.0, im)
