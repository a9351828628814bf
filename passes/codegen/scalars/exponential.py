"""exp, log, powers and roots.

exp: x = n ln2 + r with |r| <= ln2/2, a polynomial in r, then the exponent in two steps, so that results round once into the
subnormal range. log: x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m-1)/(m+1). pow carries the logarithm
as an unevaluated sum of two numbers, because the exponent multiplies its error; for float32, plain float64 is precise enough
(`_single_log2`). Zeros, infinities, nan and negative bases take a branch of their own.
"""

from ....ir import dtype as dt
from . import coefficients as C
from . import constants as K
from . import special_function_units
from .integers import integer_pow

INF, NAN = float("inf"), float("nan")


def _clamp(s, x, low, high):
    x = s.select(x > high, high, x)
    return s.select(x < low, low, x)


def _magic(s, dtype):
    return (K.MAGIC_64, dt.float64) if dtype is dt.float64 else (K.MAGIC_32, dt.float32)


def round_to_int(s, x):
    """Return (n, i): the nearest integer of |x| < 2**21 as a float and as an integer of the same size."""
    magic, kind = _magic(s, x.dtype)
    t = x + magic
    return t - magic, t.bits() - s.const(kind, magic).bits()


def _reduce(s, x):
    """Return (r, c, n, i): x = n ln2 + r + c, with a correction c far below r; i is n as an integer."""
    magic, kind = _magic(s, x.dtype)
    t = s.fma(x, K.LOG2E, magic)
    n, i = t - magic, t.bits() - s.const(kind, magic).bits()
    short, rest = (K.LN2_SHORT_64, K.LN2_REST_64) if kind is dt.float64 else (K.LN2_SHORT_32, K.LN2_REST_32)
    high = s.fma(n, -short, x)
    low = n * rest
    r = high - low
    return r, (high - r) - low, n, i


def _exp_poly(s, r):
    """exp(r) - 1 - r of the reduced argument."""
    return (r * r) * s.poly(r, C.EXP64 if r.dtype is dt.float64 else C.EXP32)


def exp_parts(s, x, low, extra=0):
    """exp(x + low) * 2**extra for x in range; `low` is a small correction of x."""
    r, c, n, i = _reduce(s, x)
    tail = _exp_poly(s, r)
    correction = c + low
    y = (s.fma(correction, r + tail, correction) + tail) + r + 1.0
    return s.scale(y, n + float(extra), i + extra)


def exp(s, x):
    """e**x."""
    if x.dtype is dt.float32:
        return (special_function_units.exp if s.by_units(x) else _exp32)(s, x)
    return exp_parts(s, _clamp(s, x, -746.0, 710.0), 0.0)


def _split_single(s, x):
    t = s.fma(x, K.LOG2E, K.MAGIC_32)
    n, i = t - K.MAGIC_32, t.bits() - s.const(dt.float32, K.MAGIC_32).bits()
    return s.fma(n, -K.LN2_REST_32, s.fma(n, -K.LN2_SHORT_32, x)), n, i


def reduce_single(s, x):
    """Return (r, i) with x = i ln2 + r, in float32."""
    r, _, i = _split_single(s, x)
    return r, i


def _exp32(s, x):
    r, n, i = _split_single(s, _clamp(s, x, -104.0, 89.0))
    return s.scale(s.fma(r, s.fma(r, s.poly(r, C.EXP32), 1.0), 1.0), n, i)


def exp_below(s, x):
    """e**x for x <= 0 in a sum of at least 1: negligible terms and nan give about 2**-124."""
    if x.dtype is not dt.float32:
        return exp(s, s.select(x > -700.0, x, -700.0))
    if s.by_units(x):
        return special_function_units.exp_below(s, x)
    r, _, i = _split_single(s, s.select(x > -86.0, x, -86.0))
    y = s.fma(r, s.fma(r, s.poly(r, C.EXP32), 1.0), 1.0)
    return (y.bits() + (i << 23)).as_(dt.float32)


def exp2(s, x):
    """2**x."""
    if s.by_units(x):
        return special_function_units.exp2(s, x)
    if x.dtype is dt.float32:
        x = _clamp(s, x, -151.0, 129.0)
        n, i = round_to_int(s, x)
        r = x - n
        high = s.fma(r, K.LN2_32, 1.0)
        y = high + s.fma(r * r, s.poly(r, C.EXP2_32), s.fma(r, K.LN2_32, -(high - 1.0)))
        return s.scale(y, n, i)
    x = _clamp(s, x, -1077.0, 1025.0)
    n, i = round_to_int(s, x)
    r = x - n
    high = r * K.LN2
    low = s.fma(r, K.LN2, -high) + r * K.LN2_LO
    return s.scale((_exp_poly(s, high) + low) + high + 1.0, n, i)


def expm1(s, x):
    """e**x - 1 without cancellation near 0."""
    if s.by_units(x):
        return special_function_units.expm1(s, x)
    clamped = _clamp(s, x, -50.0, 710.0)
    r, c, _, i = _reduce(s, clamped)
    em = r + (c + _exp_poly(s, r))
    low = i > 1000
    i = s.select(low, i - 1, i)
    two_n = s.power_of_two(i)
    y = s.fma(two_n, em, two_n - 1.0)
    y = s.select(low, y * 2.0, y)
    return s.select(abs(x) < 1e-300, x, y)


def split(s, x):
    """Return (k, m): x = 2**k m with m in [sqrt(1/2), sqrt(2)), for positive finite x, subnormals included; k is a float."""
    wide = x.dtype is dt.float64
    shift, tiny, lift = (52, 2.2250738585072014e-308, 54) if wide else (23, 1.1754943508222875e-38, 25)
    small = x < tiny
    bits = s.select(small, x * float(2**lift), x).bits()
    offset = 0x3FE6A09E667F3BCD if wide else 0x3F3504F3
    k = (bits - offset) >> shift
    m = (bits - (k << shift)).as_(x.dtype)
    magic, kind = _magic(s, x.dtype)
    as_float = (k + s.const(kind, magic).bits()).as_(kind) - magic
    return s.select(small, as_float - float(lift), as_float), m


def log_edges(s, x, y):
    """Return the logarithm at the ends of its domain; y elsewhere."""
    y = s.select(x.eq(INF), INF, y)
    y = s.select(x.eq(0), -INF, y)
    return s.select(x < 0, NAN, s.select(x.ne(x), x, y))


def log_small(s, f):
    """Return (f, low) with log(1 + f) = f + low, for sqrt(1/2) <= 1 + f < sqrt(2), in float64."""
    q = f / (f + 2.0)
    z = q * q
    half = 0.5 * f * f
    return f, q * (half + z * s.poly(z, C.LOG64)) - half


def log(s, x):
    """Natural logarithm."""
    k, m = split(s, x)
    f = m - 1.0
    if x.dtype is dt.float32:
        z = f * f
        y = s.fma(z * f, s.poly(f, C.LOG32), s.fma(k, K.LN2_REST_32, z * -0.5))
        return log_edges(s, x, s.fma(k, K.LN2_SHORT_32, f + y))
    high, low = log_small(s, f)
    return log_edges(s, x, s.fma(k, K.LN2_SHORT_64, high + s.fma(k, K.LN2_REST_64, low)))


def log_pair(s, x):
    """Return (high, low) with log(x) = high + low to about 2**-66 relative, for positive finite x in float64."""
    k, m = split(s, x)
    f, g = m - 1.0, m + 1.0
    q = f / g
    # s = f / g as a pair: the remainder of the division, and g's own rounding.
    q_low = (s.fma(-q, g, f) - q * (m - (g - 1.0))) / g
    z = q * q
    z_low = s.fma(q, q, -z) + 2.0 * q * q_low
    cube, cube_low = s.two_product(q, z)
    cube_low = cube_low + s.fma(q, z_low, q_low * z)
    third, third_low = s.two_product(cube, 2 / 3)
    third_low = third_low + s.fma(cube_low, 2 / 3, cube * 3.700743415417188e-17)
    tail = cube * z * s.poly(z, C.LOG64_TAIL)
    high, low = s.two_sum(k * K.LN2_SHORT_64, 2.0 * q)
    rest, rest_low = s.two_sum(k * K.LN2_REST_64, third)
    high, carry = s.two_sum(high, rest)
    low = low + carry + (2.0 * q_low + third_low + rest_low + s.fma(k, 1.1612227229362532e-26, tail))
    return s.fast_two_sum(high, low)


def _log_times(s, x, factor, factor_low):
    """log(x) * (factor + factor_low), rounded once or nearly so."""
    high, low = log_pair(s, x)
    p, e = s.two_product(high, factor)
    return p + (e + s.fma(low, factor, high * factor_low))


def _wide_split(s, x):
    """`split` of a normal float64."""
    bits = x.bits()
    k = (bits - 0x3FE6A09E667F3BCD) >> 52
    magic = s.const(dt.float64, K.MAGIC_64)
    return (k + magic.bits()).as_(dt.float64) - magic, (bits - (k << 52)).as_(dt.float64)


def _near_one(s, f, coefficients=C.LOG_SHORT):
    """log(1 + f) for sqrt(1/2) <= 1 + f < sqrt(2), in float64 within 2**-37."""
    q = f / (f + 2.0)
    return q * s.poly(q * q, coefficients)


def wide_log(s, x):
    """log of positive normal float64 numbers, within 2**-36."""
    k, m = _wide_split(s, x)
    return s.fma(k, K.LN2, _near_one(s, m - 1.0))


def wide_log1p(s, x):
    """log(1 + x) in float64 within 2**-36, for x >= -1 in float32's range; undefined at -1 and infinity."""
    k, m = _wide_split(s, x + 1.0)
    return s.fma(k, K.LN2, _near_one(s, s.select(k.eq(0), x, m - 1.0)))


_LOG2_SHORT = tuple(c * K.LOG2E for c in C.LOG_SHORT)


def _single_log2(s, x):
    """log2 of positive finite float32 numbers in float64, within 2**-36; exact at powers of two."""
    k, m = _wide_split(s, x.to(dt.float64))
    return k + _near_one(s, m - 1.0, _LOG2_SHORT)


def log2(s, x):
    """Base-2 logarithm; exact at powers of two."""
    if x.dtype is dt.float32:
        return log_edges(s, x, _single_log2(s, x).to(dt.float32))
    k, m = split(s, x)
    high, low = log_pair(s, m)
    p, e = s.two_product(high, K.LOG2E)
    p, e = s.fast_two_sum(p, e + s.fma(low, K.LOG2E, high * K.LOG2E_LO))
    total, rest = s.two_sum(k, p)
    return log_edges(s, x, total + (rest + e))


def log10(s, x):
    """Base-10 logarithm."""
    if x.dtype is dt.float32:
        return log_edges(s, x, (wide_log(s, x.to(dt.float64)) * K.LOG10E).to(dt.float32))
    return log_edges(s, x, _log_times(s, x, K.LOG10E, K.LOG10E_LO))


def log1p(s, x):
    """log(1 + x) without cancellation near 0."""
    if x.dtype is dt.float32:
        y = wide_log1p(s, x.to(dt.float64)).to(dt.float32)
        return s.select(x.eq(-1.0), -INF, s.select(x < -1.0, NAN, s.select(x.eq(0) | x.eq(INF) | x.ne(x), x, y)))
    u, c = s.two_sum(x, s.const(x.dtype, 1.0))
    big = s.select(u.eq(INF), s.const(x.dtype, 1.0), u)
    y = log(s, big) + s.select(u.eq(INF), 0.0, c / u)
    small = (x > -0.2928) & (x < 0.4142)
    high, low = log_small(s, s.select(small, x, 0.0))
    y = s.select(small, high + low, y)
    y = s.select(abs(x) < 1e-300, x, y)
    return s.select(x.eq(-1.0), -INF, s.select(x < -1.0, NAN, s.select(x.eq(INF), INF, y)))


def wide_exp2(s, x):
    """2**x for |x| <= 1000, in float64 within 2**-33."""
    t = x + K.MAGIC_64
    r = x - (t - K.MAGIC_64)
    y = s.fma(r, s.poly(r, C.EXP2_SHORT), 1.0)
    return (y.bits() + (t.bits() << 52)).as_(dt.float64)


def wide_exp(s, x):
    """e**x for |x| <= 600, in float64 within 2**-33."""
    return wide_exp2(s, x * K.LOG2E)


def _single_power(s, x, y):
    """x**y of float32 numbers, x positive and finite."""
    p = _single_log2(s, x) * y.to(dt.float64)
    return wide_exp2(s, _clamp(s, p, -200.0, 200.0)).to(dt.float32)


def _pair_power(s, x, y):
    """x**y of float64 numbers, x positive and finite."""
    high, low = log_pair(s, x)
    yc = _clamp(s, y, -1e22, 1e22)
    p, e = s.two_product(high, yc)
    e = s.fma(low, yc, e)
    p_top = _clamp(s, p, -746.0, 710.0)
    return exp_parts(s, p_top, s.select(p_top.eq(p), e, 0.0))


def _parity(s, y):
    """Return (is integer, is odd)."""
    whole = s.floor(y).eq(y) & s.floor(y).ne(INF) & (abs(y) < INF)
    half = y * 0.5
    return whole, whole & s.floor(half).ne(half)


def pow(s, x, y):
    """x**y with C's special cases; integers by repeated squaring."""
    if not x.dtype.is_floating_point:
        return integer_pow(s, x, y)
    r = (_single_power if x.dtype is dt.float32 else _pair_power)(s, abs(x), y)
    usual = (x > 0) & (x < INF) & (abs(y) < INF)
    return s.rare(~usual, r, lambda: _power_edges(s, x, y, r))


def _power_edges(s, x, y, r):
    """x**y with special cases; r is |x|**y for finite |x| other than 0."""
    ax = abs(x)
    whole, odd = _parity(s, y)
    zero_or_inf = s.select((ax.eq(0)) ^ (y < 0), s.const(x.dtype, 0.0), s.const(x.dtype, INF))
    r = s.select(ax.eq(0) | ax.eq(INF), zero_or_inf, r)
    r = s.select(odd, s.copysign(r, x), r)
    r = s.select((x < 0) & ~whole & (ax < INF) & (abs(y) < INF), NAN, r)
    r = s.select(ax.eq(1.0) & s.is_inf(y), 1.0, r)
    r = s.select(x.ne(x) | y.ne(y), NAN, r)
    return s.select(y.eq(0) | x.eq(1.0), 1.0, r)


def cbrt(s, x):
    """Cube root with the sign of x."""
    a = abs(x)
    usual = (a > 0) & (a < INF)
    k, m = split(s, s.select(usual, a, 1.0))
    third = s.floor(k * (1 / 3) + 1e-9)
    rest = k - 3.0 * third
    m = m * s.select(rest.eq(0), s.const(x.dtype, 1.0), s.select(rest.eq(1.0), s.const(x.dtype, 2.0), 4.0))
    t = s.poly(m, (0.63110433, 0.42868225, -0.06673869, 0.00480587))
    for _ in range(3):
        cube = t * t * t
        t = t * ((cube + 2.0 * m) / (2.0 * cube + m))
    square, low = s.two_product(t, t)
    t = t - (s.fma(square, t, -m) + low * t) / (3.0 * square)
    _, i = round_to_int(s, third)
    return s.select(usual, s.copysign(s.scale(t, third, i), x), x + x)


def hypot(s, x, y):
    """sqrt(x*x + y*y) without intermediate overflow or underflow."""
    if x.dtype is dt.float32:
        a, b = x.to(dt.float64), y.to(dt.float64)
        r = s.sqrt(s.fma(a, a, b * b)).to(dt.float32)
        r = s.select(x.ne(x) | y.ne(y), NAN, r)
        return s.select(s.is_inf(x) | s.is_inf(y), INF, r)
    a, b = abs(x), abs(y)
    big, small = s.select(a > b, a, b), s.select(a > b, b, a)
    exponent = (big.bits() >> 52) - 1022
    up = s.select(exponent > 0, s.const(dt.int64, -600), s.const(dt.int64, 600))
    up = s.select(abs(exponent) < 400, s.const(dt.int64, 0), up)
    factor = s.power_of_two(up)
    big, small = big * factor, small * factor
    square, low = s.two_product(big, big)
    other, other_low = s.two_product(small, small)
    total, rest = s.fast_two_sum(square, other)
    root = s.sqrt(total)
    error = s.fma(-root, root, total) + (rest + low + other_low)
    root = s.select(total > 0, root + error / (2.0 * s.select(root > 0, root, 1.0)), root)
    r = s.select(total < INF, root, big) * s.power_of_two(s.const(dt.int64, 0) - up)
    r = s.select(x.ne(x) | y.ne(y), NAN, r)
    return s.select(s.is_inf(x) | s.is_inf(y), INF, r)


def rsqrt(s, x):
    """1 / sqrt(x)."""
    return 1.0 / s.sqrt(x)
