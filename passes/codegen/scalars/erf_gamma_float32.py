"""erfc, erfcx, erfinv, lgamma, digamma and trigamma of float32 numbers, in plain float64 numbers within 2**-31: no pairs, no
steps that repeat, and as few divisions as there can be.

erfc: 1 - x P(x^2) near 0, exp(-x^2) times a polynomial in (x-4)/(x+4) beyond; erfcx the other way round.
erfinv: x times a polynomial in a root of -log(1 - x^2). lgamma: a polynomial about 2 and log x on [1/2, 2.5], Stirling's
formula and a polynomial of 1/x beyond. digamma and its derivative: Stirling's series at x + 6, less what six steps of the
recurrence are together, a ratio of polynomials in x^2 + 5x. All three reflect.
"""

from ....ir import dtype as dt
from . import coefficients as C
from . import constants as K
from .exponential import wide_exp, wide_log, wide_log1p

INF, NAN = float("inf"), float("nan")
STEPS = 6
CENTRE = 4.0    # of the rational map of the erfc polynomial; as in tools/fit_scalars.py


def _erfc_near(s, v):
    """erfc for |v| < 0.9."""
    return 1.0 - s.fma(v, s.poly(v * v, C.ERF_SHORT), v)


def _scaled_erfc(s, inside):
    """exp(x^2) erfc(x) for 0.9 <= x <= 10.5."""
    t = (inside - CENTRE) / (inside + CENTRE)
    return s.poly(t, C.ERFCX_SHORT) / s.fma(2.0, inside, 1.0)


def erfc32(s, x):
    """1 - erf(x)."""
    v = x.to(dt.float64)
    a = abs(v)

    def beyond():
        inside = s.select(a < 10.5, a, 10.5)
        far = wide_exp(s, -inside * inside) * _scaled_erfc(s, inside)
        return s.select(x < 0, 2.0 - far, far)

    return s.rare(a >= 0.9, _erfc_near(s, v), beyond).to(dt.float32)


def erfcx32(s, x):
    """exp(x^2) erfc(x)."""
    v = x.to(dt.float64)
    a = abs(v)
    bounded = s.select(a > 10.0, 10.0, a)       # where both exponentials are needed, or their place is infinity
    growth = wide_exp(s, bounded * bounded)

    def beyond():
        far = _scaled_erfc(s, s.select(a < 0.9, 0.9, bounded))
        far = s.select(a > 10.0, erfcx_tail(s, s.select(a > 10.0, a, 10.0)), far)
        return s.select(x < 0, s.select(x < -10.0, INF, s.fma(2.0, growth, -far)), far)

    return s.rare(a >= 0.9, growth * _erfc_near(s, v), beyond).to(dt.float32)


def erfcx_tail(s, x):
    """exp(x^2) erfc(x) for x >= 10, by its expansion at infinity."""
    w = 0.5 / (x * x)
    return s.poly(w, K.ERFCX_TAIL) * (K.INV_SQRT_PI / x)


def erfinv32(s, x):
    """The inverse error function."""
    v = x.to(dt.float64)
    left = s.fma(-v, v, 1.0)
    w = -wide_log(s, s.select(left > 0, left, 1.0))
    y = (v * s.poly(s.sqrt(w + 3.0) - 3.0, C.ERFINV_SHORT)).to(dt.float32)
    y = s.select(abs(x).eq(1.0), s.copysign(s.const(dt.float32, INF), x), y)
    return s.select(abs(x) > 1.0, NAN, y)


def _right(s, x):
    """log gamma for x >= 1/2."""
    far = x > 2.5
    log = wide_log1p(s, x - 1.0)
    low = x < 1.5
    z = s.select(low, x - 1.0, x - 2.0)
    z = s.select(far, 0.0, z)
    near = s.fma(z, s.poly(z, C.LGAMMA_SHORT), s.select(low, -log, 0.0))
    stirling = s.fma(x - 0.5, log - 1.0, (K.HALF_LOG_TWO_PI - 0.5) + s.poly(1.0 / x, C.STIRLING_SHORT))
    return s.select(far, stirling, near)


def lgamma32(s, x):
    """log |gamma(x)|."""
    v = x.to(dt.float64)
    left = v < 0.5
    right = _right(s, s.select(left, 1.0 - v, v))

    def reflected():
        f = v - s.round(v)
        sine = abs(f * s.poly(f * f, C.SIN_PI_SHORT))
        return (K.LOG_PI - wide_log(s, s.select(sine > 0, sine, 1.0))) - right

    y = s.rare(left, right, reflected).to(dt.float32)
    pole = (x <= 0) & s.floor(x).eq(x)
    return s.select(x.ne(x), x, s.select(pole | s.is_inf(x), INF, y))


def _digamma_right(s, x):
    """digamma for positive x."""
    t = x * (x + 5.0)
    steps = s.fma(2.0, x, 5.0) * s.poly(t, (24.0, 20.0, 3.0)) / (t * (t + 4.0) * (t + 6.0))     # 1/x + ... + 1/(x + 5)
    y = x + float(STEPS)
    r = 1.0 / y
    z = r * r
    return (wide_log(s, y) - s.fma(z, s.poly(z, K.DIGAMMA), 0.5 * r)) - steps


def digamma32(s, x):
    """The derivative of lgamma. nan at negative integers, -+inf at +-0."""
    v = x.to(dt.float64)
    left = v < 0
    right = _digamma_right(s, s.select(left, 1.0 - v, s.select(v > 0, v, 1.0)))

    def reflected():
        f = v - s.round(v)
        return right - s.poly(f * f, C.PI_COT_SHORT) / f

    y = s.rare(left, right, reflected).to(dt.float32)
    y = s.select((x < 0) & s.floor(x).eq(x), NAN, y)
    y = s.select(x.eq(0), s.copysign(s.const(dt.float32, INF), -x), y)
    return s.select(x.ne(x), x, s.select(x.eq(INF), INF, y))


def _trigamma_right(s, x):
    """trigamma for positive x."""
    far = x > 64.0
    v = s.select(far, 64.0, x)
    t = v * (v + 5.0)
    product = t * (t + 4.0) * (t + 6.0)
    steps = s.poly(t, (14400.0, 13152.0, 5480.0, 1208.0, 135.0, 6.0)) / (product * product)      # 1/x^2 + ... + 1/(x + 5)^2
    r = 1.0 / s.select(far, x, v + float(STEPS))
    z = r * r
    y = r + s.fma(0.5, z, r * (z * s.poly(z, K.TRIGAMMA)))
    return s.select(far, y, y + steps)


def trigamma32(s, x):
    """The second derivative of log gamma; inf at 0 and the negative integers."""
    v = x.to(dt.float64)
    left = v < 0
    right = _trigamma_right(s, s.select(left, 1.0 - v, s.select(v > 0, v, 1.0)))

    def reflected():
        f = v - s.round(v)
        return s.poly(f * f, C.PI_COSEC_SHORT) / (f * f) - right

    y = s.rare(left, right, reflected).to(dt.float32)
    pole = (x <= 0) & (x > -INF) & s.floor(x).eq(x)
    y = s.select(pole, INF, s.select(x.eq(INF), 0.0, y))
    return s.select(x.ne(x), x, y)
