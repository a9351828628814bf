"""Elementwise functions of a few instructions: arithmetic, comparison, logic, classification."""

import operator

from ....ir import dtype as dt
from . import constants as K
from .builder import Val, sign_mask
from .exponential import exp, exp2, log, log1p, log_edges, wide_exp, wide_exp2, wide_log, wide_log1p
from .trigonometric import sin

INF, NAN = float("inf"), float("nan")


def _of_one(function):
    return lambda s, x: function(x)


def _of_two(function):
    return lambda s, a, b: function(a, b)


def _by_kind(of_bools, of_numbers):
    return lambda s, a, b: (of_bools if a.dtype is dt.bool_ else of_numbers)(a, b)


def _of_truth(function):
    return lambda s, a, b: function(a.to(dt.bool_), b.to(dt.bool_))


sub, div, neg = _of_two(operator.sub), _of_two(operator.truediv), _of_one(operator.neg)
bitwise_and, bitwise_or, bitwise_xor = _of_two(operator.and_), _of_two(operator.or_), _of_two(operator.xor)
bitwise_not, positive, copy = _of_one(operator.invert), _of_one(lambda x: x), _of_one(lambda x: x)
logical_and, logical_or, logical_xor = _of_truth(operator.and_), _of_truth(operator.or_), _of_truth(operator.xor)
add, mul = _by_kind(operator.or_, operator.add), _by_kind(operator.and_, operator.mul)
eq, ne = _by_kind(lambda a, b: ~(a ^ b), Val.eq), _by_kind(operator.xor, Val.ne)
lt, le = _by_kind(lambda a, b: ~a & b, operator.lt), _by_kind(lambda a, b: ~a | b, operator.le)
gt, ge = _by_kind(lambda a, b: a & ~b, operator.gt), _by_kind(lambda a, b: a | ~b, operator.ge)


def fma(s, a, b, c):
    """a * b + c, rounded once."""
    return s.fma(a, b, c)


def add_scaled(s, x, y, n):
    """x + y * n, rounded twice."""
    return x + y * n


def blend(s, x, y, n, m):
    """x * n + y * m, each step rounded."""
    return x * n + y * m


def add_product(s, x, y, z, n):
    """x + y * z * n, each step rounded."""
    return x + y * z * n


def add_quotient(s, x, y, z, n):
    """x + y / z * n, each step rounded."""
    return x + y / z * n


def abs_(s, x):
    return abs(x) if x.dtype.is_signed else x


def sqrt(s, x):
    return s.sqrt(x)


def square(s, x):
    return x * x


def reciprocal(s, x):
    return 1.0 / x


def _rounding(method):
    def rounded(s, x):
        return getattr(s, method)(x) if x.dtype.is_floating_point else x

    return rounded


floor, ceil, trunc, round_ = (_rounding(m) for m in ("floor", "ceil", "trunc", "round"))


def frac(s, x):
    return x - s.trunc(x)


def sign(s, x):
    """-1, 0 or 1; 0 for nan."""
    if x.dtype is dt.bool_:
        return x
    up = s.select(x > 0, s.const(x.dtype, 1), 0)
    return s.select(x < 0, s.const(x.dtype, -1), up) if x.dtype.is_signed else up


def maximum(s, a, b):
    return a | b if a.dtype is dt.bool_ else s.maximum(a, b)


def minimum(s, a, b):
    return a & b if a.dtype is dt.bool_ else s.minimum(a, b)


def fmax(s, a, b):
    """The larger value; a number is preferred to nan."""
    return s.select((a >= b) | b.ne(b), a, b)


def fmin(s, a, b):
    """The smaller value; a number is preferred to nan."""
    return s.select((a <= b) | b.ne(b), a, b)


def clamp(s, x, low, high):
    return s.minimum(s.maximum(x, low), high)


def copysign(s, x, y):
    return s.copysign(x, y)


def where(s, cond, a, b):
    return s.select(cond, a, b)


def logical_not(s, x):
    return ~x.to(dt.bool_)


def _in_range(s, b):
    width = 8 * b.dtype.itemsize
    return (b >= 0) & (b < width) if b.dtype.is_signed else b < width


def bitwise_left_shift(s, a, b):
    """a << b; 0 for counts outside of the width."""
    ok = _in_range(s, b)
    return s.select(ok, a << s.select(ok, b, 0), 0)


def bitwise_right_shift(s, a, b):
    """a >> b with the sign kept; counts outside of the width shift all bits out."""
    ok = _in_range(s, b)
    last = 8 * a.dtype.itemsize - 1
    shifted = a >> s.select(ok, b, last)
    return shifted if a.dtype.is_signed else s.select(ok, shifted, 0)


def isnan(s, x):
    return x.ne(x) if x.dtype.is_floating_point else s.const(dt.bool_, False)


def isinf(s, x):
    return s.is_inf(x) if x.dtype.is_floating_point else s.const(dt.bool_, False)


def isfinite(s, x):
    return abs(x) < INF if x.dtype.is_floating_point else s.const(dt.bool_, True)


def isposinf(s, x):
    return x.eq(INF) if x.dtype.is_floating_point else s.const(dt.bool_, False)


def isneginf(s, x):
    return x.eq(-INF) if x.dtype.is_floating_point else s.const(dt.bool_, False)


def signbit(s, x):
    return x.bits() < 0 if x.dtype.is_floating_point else x < 0


def lerp(s, a, b, w):
    """a + w (b - a), computed from the nearer end."""
    d = b - a
    return s.select(abs(w) < 0.5, s.fma(w, d, a), s.fma(w - 1.0, d, b))


def heaviside(s, x, at_zero):
    y = s.select(x > 0, s.const(x.dtype, 1), s.const(x.dtype, 0))
    return s.select(x.eq(0), at_zero, y)


def xlogy(s, x, y):
    """x log(y), 0 where x is 0 unless y is nan."""
    return s.select(y.ne(y), NAN, s.select(x.eq(0), 0.0, x * log(s, y)))


def logaddexp(s, a, b):
    """log(exp(a) + exp(b))."""
    return _log_sum(s, a, b, (exp, wide_exp), 1.0)


def logaddexp2(s, a, b):
    """log2(2^a + 2^b)."""
    return _log_sum(s, a, b, (exp2, wide_exp2), K.LOG2E)


def _log_sum(s, a, b, powers, factor):
    """The larger plus the share of the other; float32 computes in float64, to float32's precision."""
    wide, short = [x.to(dt.float64) for x in (a, b)], a.dtype is dt.float32
    top = s.maximum(*wide)
    gap = s.select(wide[0].eq(wide[1]), 0.0, -abs(wide[0] - wide[1]))
    if short:
        rest = wide_log1p(s, powers[1](s, s.select(gap < -200.0, -200.0, gap)))
    else:
        rest = log1p(s, powers[0](s, gap))
    return s.select(s.is_inf(top), top, top + rest * factor).to(a.dtype)


def ldexp(s, x, n):
    """x * 2^n for a whole number n of the dtype of x, rounded once."""
    wide = x.dtype is dt.float64
    limit = 1000.0 if wide else 120.0
    for _ in range(3):
        part = s.select(n > limit, limit, s.select(n < -limit, -limit, s.trunc(n)))
        part = s.select(n.ne(n), 0.0, part)
        x, n = x * s.power_of_two(part.to(dt.int64 if wide else dt.int32)), n - part
    return s.select(n.ne(n), NAN, x)


def logit(s, x):
    """log(x / (1 - x))."""
    if x.dtype is dt.float32:
        odds = x.to(dt.float64) / (1.0 - x.to(dt.float64))
        return log_edges(s, odds, wide_log(s, odds)).to(dt.float32)
    return log(s, x / (1.0 - x))


def sinc(s, x):
    """sin(pi x) / (pi x), 1 at 0."""
    y = x * K.PI
    return s.select(x.eq(0), 1.0, sin(s, y) / s.select(x.eq(0), 1.0, y))


def deg2rad(s, x):
    return x * (K.PI / 180.0)


def rad2deg(s, x):
    return x * (180.0 / K.PI)


def nextafter(s, a, b):
    """The next number after a in the direction of b, in the dtype of both, low precision included."""
    wide_a, wide_b = s.widen(a), s.widen(b)
    bits = a.bits()
    one = s.const(bits.dtype, 1)
    up = (wide_b > wide_a) ^ (bits < 0)
    tiny = one | (b.bits() & sign_mask(b.dtype))
    y = s.select(wide_a.eq(0), tiny, s.select(up, bits + one, bits - one))
    y = s.select(wide_a.eq(wide_b), b.bits(), y)
    nan = s.cast(s.const(wide_a.dtype, NAN), a.dtype).bits()
    return s.select(wide_a.ne(wide_a) | wide_b.ne(wide_b), nan, y).as_(a.dtype)


def _normal_parts(s, x):
    """Return (bits of x, scaled by a power of two where it is subnormal; mantissa width; that power; the largest biased
    exponent below 1; whether x is neither 0 nor infinite nor nan)."""
    wide = x.dtype is dt.float64
    mantissa, below_one = (52, 1022) if wide else (23, 126)
    tiny = abs(x) < 2.0 ** (1 - below_one)
    bits = s.select(tiny, x * 2.0 ** (mantissa + 2), x).bits()
    return bits, mantissa, s.select(tiny, s.const(bits.dtype, mantissa + 2), 0), below_one, x.ne(0) & (abs(x) < INF)


def frexp_mantissa(s, x):
    """The mantissa of x, in [0.5, 1) in size; 0, infinities and nan stay."""
    bits, mantissa, _, below_one, has_parts = _normal_parts(s, x)
    fraction = bits & (sign_mask(x.dtype) | ((1 << mantissa) - 1))
    return s.select(has_parts, (fraction | (below_one << mantissa)).as_(x.dtype), x)


def frexp_exponent(s, x):
    """The i32 exponent that turns the mantissa into x; 0 for 0, infinities and nan."""
    bits, mantissa, lifted, below_one, has_parts = _normal_parts(s, x)
    power = ((bits >> mantissa) & (2 * below_one + 3)) - lifted - below_one
    return s.select(has_parts, power, 0).to(dt.int32)
