"""Error functions and the gamma family: erf, erfc, erfcx, erfinv, lgamma, digamma and trigamma.

In float64, erf is x + x P(x^2) below one. Beyond, erfc is exp(-x^2) times a polynomial in (x-4)/(x+4), with the square of x in
two parts. lgamma is a polynomial about 2 on [1.5, 2.5], reached by the recurrence from both sides, Stirling's series from 8,
and reflection below 1/2; near its negative zeros only the absolute error is small.

float32 computes in plain float64 within 2**-31: no pairs, no iterations, as few divisions as possible. erf is -expm1 of log
erfc; erfc is 1 - x P(x^2) near 0. erfinv is x times a polynomial in a root of -log(1 - x^2). lgamma is a polynomial about 2 and
log x on [1/2, 2.5], and Stirling's formula with a polynomial of 1/x beyond. digamma and trigamma are Stirling's series at x +
6, less six steps of the recurrence in one ratio of polynomials in x^2 + 5x. All three reflect.
"""

from ....ir import dtype as dt
from . import coefficients as C
from . import constants as K
from .exponential import exp, exp_parts, log, log1p, reduce_single, wide_exp, wide_log, wide_log1p
from .trigonometric import cos, sin

INF, NAN = float("inf"), float("nan")
STIRLING = (0.08333333333333333, -0.002777777777777778, 0.0007936507936507937, -0.0005952380952380953,
            0.0008417508417508417, -0.0019175269175269176, 0.00641025641025641, -0.029550653594771242)
STIRLING_FROM = 8


def _erf_near(s, x):
    """erf for |x| < 1, in float64."""
    return s.fma(x, s.poly(x * x, C.ERF64), x)


def _erf32(s, x):
    """erf as -expm1(log erfc |x|): one polynomial and one short exp, accurate from 0 to saturation."""
    a = abs(x)
    t = s.select(a > 4.0, 4.0, a)
    log_erfc = -s.fma(t, s.poly(t, C.ERF_LOG32), t)
    r, i = reduce_single(s, log_erfc)
    two_n = s.power_of_two(i)
    minus = s.fma(two_n, s.fma(r * r, s.poly(r, C.EXP32), r), two_n - 1.0)
    return s.copysign(minus, x)


def _scaled_erfc(s, a):
    """exp(a^2) erfc(a) for 0.9 <= a <= 28, in float64."""
    t = (a - CENTRE) / (a + CENTRE)
    return s.poly(t, C.ERFCX64) / s.fma(2.0, a, 1.0)


def _erfc_far(s, a):
    """erfc for 0.9 <= a <= 28, in float64."""
    square, low = s.two_product(a, a)
    e = exp_parts(s, -s.select(square > 746.0, 746.0, square), -low)
    return e * _scaled_erfc(s, a)


def erf(s, x):
    """The error function."""
    a = abs(x)
    if x.dtype is dt.float32:
        return _erf32(s, x)
    far = 1.0 - _erfc_far(s, s.select(a < 1.0, 1.0, s.select(a > 6.0, 6.0, a)))
    y = s.select(a < 1.0, _erf_near(s, x), s.copysign(far, x))
    return s.select(x.ne(x), x, y)


def erfc(s, x):
    """1 - erf(x), accurate in the upper tail."""
    if x.dtype is dt.float32:
        return _erfc32(s, x)
    a = abs(x)
    far = _erfc_far(s, s.select(a < 0.9, 1.0, s.select(a > 28.0, 28.0, a)))
    far = s.select(x < 0, 2.0 - far, far)
    y = s.select(a < 0.9, 1.0 - _erf_near(s, x), far)
    return s.select(x.ne(x), x, y)


def erfcx(s, x):
    """exp(x^2) erfc(x), which stays above 0 for large x."""
    if x.dtype is dt.float32:
        return _erfcx32(s, x)
    a = abs(x)
    square, low = s.two_product(*[s.select(a > 27.0, 27.0, a)] * 2)
    growth = exp_parts(s, s.select(square > 710.0, 710.0, square), low)

    def beyond():
        far = _scaled_erfc(s, s.select(a < 0.9, 1.0, s.select(a > 28.0, 28.0, a)))
        far = s.select(a > 28.0, erfcx_tail(s, s.select(a > 28.0, a, 28.0)), far)
        return s.select(x < 0, s.select(x < -26.7, INF, s.fma(2.0, growth, -far)), far)

    return s.rare(a >= 0.9, growth * (1.0 - _erf_near(s, x)), beyond)


def erfinv(s, x):
    """The inverse error function: a closed-form start and three Halley steps."""
    if x.dtype is dt.float32:
        return _erfinv32(s, x)
    a = abs(x)
    t = s.select(a < 1.0, a, 0.5)
    w = log1p(s, -t * t)
    b = 4.330746750799873 + 0.5 * w
    y = s.sqrt(s.sqrt(b * b - w * 6.802721088435375) - b)
    central = t < 0.5
    y = s.select(t < 1e-8, t * 0.886226925452758, y)
    for _ in range(3):
        miss = s.select(central, erf(s, y) - t, (1.0 - t) - erfc(s, y))
        step = miss / (2.0 * K.INV_SQRT_PI * exp(s, -y * y))
        y = y - step / s.fma(y, step, 1.0)
    y = s.select(a.eq(1.0), INF, y)
    y = s.select(a < 1e-300, a * 0.886226925452758, y)
    return s.select(a > 1.0, NAN, s.select(x.ne(x), x, s.copysign(y, x)))


def _sin_pi(s, x):
    """sin(pi x) for any finite x, exact at integers."""
    r = x - s.round(x)
    y = sin(s, r * K.PI)
    half = s.round(x) * 0.5
    return s.select(s.floor(half).eq(half), y, -y)


def _lgamma_right(s, x):
    """lgamma for x >= 1/2."""
    stirling = x >= float(STIRLING_FROM)
    y = s.select(stirling, 2.0, x)
    product = s.const(x.dtype, 1.0)
    for _ in range(STIRLING_FROM - 2):
        again = y > 2.5
        y = s.select(again, y - 1.0, y)
        product = product * s.select(again, y, 1.0)
    below = y < 1.5
    z = s.select(below, y - 1.0, y - 2.0)
    middle = s.select(below, s.poly(z, C.LGAMMA64) * z - log1p(s, z), s.poly(z, C.LGAMMA64) * z + log(s, product))
    big = s.select(stirling, x, 8.0)
    r = 1.0 / big
    tail = r * s.poly(r * r, STIRLING)
    return s.select(stirling, (big - 0.5) * (log(s, big) - 1.0) + ((K.HALF_LOG_TWO_PI - 0.5) + tail), middle)


def lgamma(s, x):
    """log |gamma(x)|."""
    if x.dtype is dt.float32:
        return _lgamma32(s, x)
    left = x < 0.5
    y = _lgamma_right(s, s.select(left, 1.0 - x, x))
    sine = abs(_sin_pi(s, s.select(left, x, 0.5)))
    y = s.select(left, (K.LOG_PI - log(s, sine)) - y, y)
    y = s.select(abs(x) < 1e-17, -log(s, abs(x)), y)
    pole = (x <= 0) & s.floor(x).eq(x)
    return s.select(x.ne(x), x, s.select(pole | s.is_inf(x) | (x > 2.5e305), INF, y))


def _moved_beyond_ten(s, x, step):
    """Return (whether x is reflected, x or its reflection moved to y >= 10, the sum of the steps, 1 / y, its square)."""
    left = x < 0
    y = s.select(left, 1.0 - x, x)
    total = s.const(x.dtype, 0.0)
    for _ in range(10):
        again = y < 10.0
        total = s.select(again, step(total, y), total)
        y = s.select(again, y + 1.0, y)
    r = 1.0 / y
    return left, y, total, r, r * r


def digamma(s, x):
    """The derivative of lgamma; nan at negative integers, -+inf at +-0."""
    if x.dtype is dt.float32:
        return _digamma32(s, x)
    left, y, total, r, z = _moved_beyond_ten(s, x, lambda total, y: total - 1.0 / y)
    right = total + ((log(s, y) - 0.5 * r) - z * s.poly(z, K.DIGAMMA))
    f = x - s.round(x)
    g = f * K.PI
    y = s.select(left, right - K.PI * cos(s, g) / sin(s, g), right)
    y = s.select(left & s.floor(x).eq(x), NAN, y)
    y = s.select(x.eq(0), s.copysign(s.const(x.dtype, INF), -x), y)
    return s.select(x.ne(x), x, s.select(x.eq(INF), INF, y))


def trigamma(s, x):
    """The second derivative of log gamma; inf at 0 and the negative integers."""
    if x.dtype is dt.float32:
        return _trigamma32(s, x)
    left, _, total, r, z = _moved_beyond_ten(s, x, lambda total, y: total + 1.0 / (y * y))
    right = total + (r + (0.5 * z + r * (z * s.poly(z, K.TRIGAMMA))))
    sine = sin(s, (x - s.round(x)) * K.PI)
    y = s.select(left, (K.PI / sine) * (K.PI / sine) - right, right)
    pole = (x <= 0) & (x > -INF) & s.floor(x).eq(x)
    y = s.select(pole, INF, s.select(x.eq(INF), 0.0, y))
    return s.select(x.ne(x), x, y)


STEPS32 = 6
CENTRE = 4.0    # centre of the rational map of the erfc polynomial; the same in tools/fit_scalars.py


def _erfc_near32(s, v):
    """erfc for |v| < 0.9."""
    return 1.0 - s.fma(v, s.poly(v * v, C.ERF_SHORT), v)


def _scaled_erfc32(s, inside):
    """exp(x^2) erfc(x) for 0.9 <= x <= 10.5."""
    t = (inside - CENTRE) / (inside + CENTRE)
    return s.poly(t, C.ERFCX_SHORT) / s.fma(2.0, inside, 1.0)


def _erfc32(s, x):
    v = x.to(dt.float64)
    a = abs(v)

    def beyond():
        inside = s.select(a < 10.5, a, 10.5)
        far = wide_exp(s, -inside * inside) * _scaled_erfc32(s, inside)
        return s.select(x < 0, 2.0 - far, far)

    return s.rare(a >= 0.9, _erfc_near32(s, v), beyond).to(dt.float32)


def _erfcx32(s, x):
    v = x.to(dt.float64)
    a = abs(v)
    bounded = s.select(a > 10.0, 10.0, a)       # beyond it the result is a tail or infinity
    growth = wide_exp(s, bounded * bounded)

    def beyond():
        far = _scaled_erfc32(s, s.select(a < 0.9, 0.9, bounded))
        far = s.select(a > 10.0, erfcx_tail(s, s.select(a > 10.0, a, 10.0)), far)
        return s.select(x < 0, s.select(x < -10.0, INF, s.fma(2.0, growth, -far)), far)

    return s.rare(a >= 0.9, growth * _erfc_near32(s, v), beyond).to(dt.float32)


def erfcx_tail(s, x):
    """exp(x^2) erfc(x) for x >= 10, by its expansion at infinity."""
    w = 0.5 / (x * x)
    return s.poly(w, K.ERFCX_TAIL) * (K.INV_SQRT_PI / x)


def _erfinv32(s, x):
    v = x.to(dt.float64)
    left = s.fma(-v, v, 1.0)
    w = -wide_log(s, s.select(left > 0, left, 1.0))
    y = (v * s.poly(s.sqrt(w + 3.0) - 3.0, C.ERFINV_SHORT)).to(dt.float32)
    y = s.select(abs(x).eq(1.0), s.copysign(s.const(dt.float32, INF), x), y)
    return s.select(abs(x) > 1.0, NAN, y)


def _lgamma_right32(s, x):
    """log gamma for x >= 1/2."""
    far = x > 2.5
    log = wide_log1p(s, x - 1.0)
    low = x < 1.5
    z = s.select(low, x - 1.0, x - 2.0)
    z = s.select(far, 0.0, z)
    near = s.fma(z, s.poly(z, C.LGAMMA_SHORT), s.select(low, -log, 0.0))
    stirling = s.fma(x - 0.5, log - 1.0, (K.HALF_LOG_TWO_PI - 0.5) + s.poly(1.0 / x, C.STIRLING_SHORT))
    return s.select(far, stirling, near)


def _lgamma32(s, x):
    v = x.to(dt.float64)
    left = v < 0.5
    right = _lgamma_right32(s, s.select(left, 1.0 - v, v))

    def reflected():
        f = v - s.round(v)
        sine = abs(f * s.poly(f * f, C.SIN_PI_SHORT))
        return (K.LOG_PI - wide_log(s, s.select(sine > 0, sine, 1.0))) - right

    y = s.rare(left, right, reflected).to(dt.float32)
    pole = (x <= 0) & s.floor(x).eq(x)
    return s.select(x.ne(x), x, s.select(pole | s.is_inf(x), INF, y))


def _digamma_right32(s, x):
    """digamma for positive x."""
    t = x * (x + 5.0)
    steps = s.fma(2.0, x, 5.0) * s.poly(t, (24.0, 20.0, 3.0)) / (t * (t + 4.0) * (t + 6.0))     # 1/x + ... + 1/(x + 5)
    y = x + float(STEPS32)
    r = 1.0 / y
    z = r * r
    return (wide_log(s, y) - s.fma(z, s.poly(z, K.DIGAMMA), 0.5 * r)) - steps


def _digamma32(s, x):
    v = x.to(dt.float64)
    left = v < 0
    right = _digamma_right32(s, s.select(left, 1.0 - v, s.select(v > 0, v, 1.0)))

    def reflected():
        f = v - s.round(v)
        return right - s.poly(f * f, C.PI_COT_SHORT) / f

    y = s.rare(left, right, reflected).to(dt.float32)
    y = s.select((x < 0) & s.floor(x).eq(x), NAN, y)
    y = s.select(x.eq(0), s.copysign(s.const(dt.float32, INF), -x), y)
    return s.select(x.ne(x), x, s.select(x.eq(INF), INF, y))


def _trigamma_right32(s, x):
    """trigamma for positive x."""
    far = x > 64.0
    v = s.select(far, 64.0, x)
    t = v * (v + 5.0)
    product = t * (t + 4.0) * (t + 6.0)
    steps = s.poly(t, (14400.0, 13152.0, 5480.0, 1208.0, 135.0, 6.0)) / (product * product)      # 1/x^2 + ... + 1/(x + 5)^2
    r = 1.0 / s.select(far, x, v + float(STEPS32))
    z = r * r
    y = r + s.fma(0.5, z, r * (z * s.poly(z, K.TRIGAMMA)))
    return s.select(far, y, y + steps)


def _trigamma32(s, x):
    v = x.to(dt.float64)
    left = v < 0
    right = _trigamma_right32(s, s.select(left, 1.0 - v, s.select(v > 0, v, 1.0)))

    def reflected():
        f = v - s.round(v)
        return s.poly(f * f, C.PI_COSEC_SHORT) / (f * f) - right

    y = s.rare(left, right, reflected).to(dt.float32)
    pole = (x <= 0) & (x > -INF) & s.floor(x).eq(x)
    y = s.select(pole, INF, s.select(x.eq(INF), 0.0, y))
    return s.select(x.ne(x), x, y)
