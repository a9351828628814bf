"""sin, cos, tan and their inverses.

Arguments are reduced to r in [-pi/4, pi/4] and a quadrant: below 2**30 by three-part Cody-Waite with fma, above it by integer
multiplication with the relevant bits of 2/pi (Payne and Hanek). float32 computes in float64 with shorter polynomials; its sin
and cos reduce to [-pi/2, pi/2], where one polynomial and a sign suffice. About one result in a million is not correctly rounded
(one in a hundred thousand for atan and atan2).
"""

from ....ir import dtype as dt
from . import coefficients as C
from . import constants as K

INF, NAN = float("inf"), float("nan")
LARGE = 2.0**30


def _quadrant(s, x):
    """Return (r, low, q): x = q pi/2 + r + low."""
    t = s.fma(x, K.TWO_OVER_PI_64, K.MAGIC_64)
    n, q = t - K.MAGIC_64, t.bits()
    a = s.fma(n, -K.PIO2_1, x)
    h, l = s.two_product(n, s.const(dt.float64, K.PIO2_2))
    r, e = s.two_sum(a, -h)
    low = e - l - n * K.PIO2_3
    return *s.fast_two_sum(r, low), q & 3


def _multiply_words(s, m, words):
    """Return the low 192 bits of m (below 2**53) times (w2, w1, w0) as three u64 words, highest first."""
    mask = 0xFFFFFFFF
    m_low, m_high = m & mask, m >> 32
    limbs = [part for w in reversed(words) for part in (w & mask, w >> 32)]
    out, carry = [], s.const(dt.uint64, 0)
    previous = s.const(dt.uint64, 0)
    for limb in limbs:
        low = m_low * limb
        total = (low & mask) + (previous & mask) + carry
        out.append(total & mask)
        # carry to the next limb: the upper halves, plus m_high times this limb
        carry = (low >> 32) + (previous >> 32) + (total >> 32)
        previous = m_high * limb
    return tuple(out[i] | (out[i + 1] << 32) for i in (4, 2, 0))


def _quadrant_large(s, x):
    """`_quadrant` for 2**30 <= |x| < inf."""
    bits = x.ubits()
    exponent = ((bits >> 52) & 0x7FF).to(dt.int64) - 1075
    m = (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000
    finite = exponent < 972
    p = s.select(finite, exponent, 0) + 62  # the window starts two bits above the point, after 64 bits of zeros
    index, shift = p >> 6, (p & 63).to(dt.uint64)
    back = (64 - shift) & 63
    raw = [s.lookup(C.TWO_OVER_PI, index + i) for i in range(4)]
    whole = shift.eq(0)
    words = [(raw[i] << shift) | s.select(whole, s.const(dt.uint64, 0), raw[i + 1] >> back) for i in range(3)]
    top, middle, _ = _multiply_words(s, m, words)
    quarter = 1 << 61
    q = ((top + quarter) >> 62).to(dt.int64) & 3
    fraction = (top << 2).as_(dt.int64)  # two's complement: the nearest multiple is gone
    fraction = fraction + (middle >> 62).as_(dt.int64)
    after = middle << 2
    scale = 2.0**-64
    high = (fraction >> 32).to(dt.float64) * (scale * 2.0**32)
    mid = (fraction & 0xFFFFFFFF).to(dt.float64) * scale
    low = (after >> 32).as_(dt.int64).to(dt.float64) * (scale * 2.0**-32)
    h, e = s.two_sum(high, mid)
    low = low + (after & 0xFFFFFFFF).as_(dt.int64).to(dt.float64) * (scale * 2.0**-64)
    h, e = s.two_sum(h, e + low)
    r, l = s.two_product(h, s.const(dt.float64, K.PIO2_1))
    r, l = s.fast_two_sum(r, l + s.fma(h, K.PIO2_2, e * K.PIO2_1))
    negative = x < 0
    q = s.select(negative, (0 - q) & 3, q)
    return s.select(negative, -r, r), s.select(negative, -l, l), q


def reduce(s, x):
    """Return (r, low, quadrant) of any finite x in float64."""
    large = abs(x) >= LARGE
    usual = _quadrant(s, s.select(large, 0.0, x))
    return s.rare(large, usual, _quadrant_large, x)


def _sin_poly(s, r, low, short):
    z = r * r
    if short:
        return s.fma(r * z, s.poly(z, C.SIN_SHORT), r)
    tail = z * s.poly(z, C.SIN64)
    return r + (s.fma(r, tail, low) - 0.5 * z * low)


def _cos_poly(s, r, low, short):
    z = r * r
    if short:
        return s.fma(z * z, s.poly(z, C.COS_SHORT), s.fma(z, -0.5, 1.0))
    half = 0.5 * z
    w = 1.0 - half
    return w + ((1.0 - w) - half + (z * z * s.poly(z, C.COS64) - r * low))


def _circular(s, x, advance):
    """sin(x + advance pi/2) in float64."""
    y = _from_quadrant(s, reduce(s, x), advance, False)
    if advance == 0:
        y = s.select(abs(x) < 1e-300, x, y)
    return s.select(abs(x) < INF, y, NAN)


def sin_near(s, x):
    """sin of float64 numbers below 2**30."""
    return _from_quadrant(s, _quadrant(s, x), 0, False)


def _from_quadrant(s, reduced, advance, short):
    """sin(x + advance pi/2) of a reduced x = (r, low, quadrant)."""
    r, low, q = reduced
    q = q + advance
    y = s.select((q & 1).eq(0), _sin_poly(s, r, low, short), _cos_poly(s, r, low, short))
    return s.select((q & 2).eq(0), y, -y)


def _circular32(s, x, advance):
    """sin(x + advance pi/2) of float32: below 2**30 none is within 2**-32 of pi/2 k, k not 0, so pi in two parts suffices."""
    wide, shift = x.to(dt.float64), 0.5 * advance
    t = s.fma(wide, K.INV_PI, shift) + K.MAGIC_64 if advance else s.fma(wide, K.INV_PI, K.MAGIC_64)
    turns = t - K.MAGIC_64 - shift if advance else t - K.MAGIC_64
    r = s.fma(turns, -K.PI_LO, s.fma(turns, -K.PI, wide))
    y = r * s.poly(r * r, (1.0, *C.SIN_HALF_TURN))
    y = (y.ubits() ^ (t.ubits() << 63)).as_(dt.float64)         # the sign changes with each half turn

    return s.rare(abs(x) >= LARGE, y, (_far_sine, _far_cosine)[advance], wide).to(dt.float32)


def _far_sine(s, x, advance=0):
    """sin(x + advance pi/2) to float32's precision, for 2**30 <= |x|."""
    return s.select(abs(x) < INF, _from_quadrant(s, _quadrant_large(s, x), advance, True), NAN)


def _far_cosine(s, x):
    return _far_sine(s, x, 1)


def sin_cos(s, x, short):
    """sin and cos of finite float64 numbers; `short` limits the precision to float32's."""
    r, low, q = reduce(s, x)
    parts, odd = (_sin_poly(s, r, low, short), _cos_poly(s, r, low, short)), (q & 1).ne(0)
    sine, cosine = s.select(odd, parts[1], parts[0]), s.select(odd, parts[0], parts[1])
    return s.select((q & 2).eq(0), sine, -sine), s.select(((q + 1) & 2).eq(0), cosine, -cosine)


def sin(s, x):
    """Sine."""
    return (_circular32 if x.dtype is dt.float32 else _circular)(s, x, 0)


def cos(s, x):
    """Cosine."""
    return (_circular32 if x.dtype is dt.float32 else _circular)(s, x, 1)


def tan(s, x):
    """Tangent."""
    r, low, q = reduce(s, x)
    a, b = _sin_poly(s, r, low, False), _cos_poly(s, r, low, False)
    odd = (q & 1).ne(0)
    y = s.select(odd, -b, a) / s.select(odd, a, b)
    y = s.select(abs(x) < 1e-300, x, y)
    return s.select(abs(x) < INF, y, NAN)


def _asin_tail(s, z):
    """(asin(x) - x) / x as a function of z = x*x <= 1/4."""
    return z * s.poly(z, C.ASIN64)


def _half_angle(s, a):
    """Return (root, low) with root + low = sqrt((1 - a) / 2), and its square, for a >= 1/2."""
    z = 0.5 - 0.5 * a
    root = s.sqrt(z)
    low = s.fma(-root, root, z) / (2.0 * s.select(root > 0, root, 1.0))
    return root, low, z


def asin(s, x):
    """Arc sine."""
    a = abs(x)
    big = a > 0.5
    root, low, z = _half_angle(s, a)
    tail = s.fma(root, _asin_tail(s, z), low)
    outer = K.PIO4 - ((2.0 * tail - K.PIO2_2) - (K.PIO4 - 2.0 * root))
    small = s.fma(a, _asin_tail(s, s.select(big, 0.0, a * a)), a)
    y = s.select(big, outer, small)
    return s.select(a > 1.0, NAN, s.copysign(y, x))


def acos(s, x):
    """Arc cosine."""
    a = abs(x)
    root, low, z = _half_angle(s, a)
    near = 2.0 * (s.fma(root, _asin_tail(s, z), low) + root)
    far = 2.0 * (K.PIO2_1 - ((s.fma(root, _asin_tail(s, z), low) - K.PIO2_2) + root))
    zs = s.select(a > 0.5, 0.0, x * x)
    middle = K.PIO2_1 - (x - (K.PIO2_2 - x * _asin_tail(s, zs)))
    y = s.select(a > 0.5, s.select(x > 0, near, far), middle)
    return s.select(a > 1.0, NAN, s.select(x.ne(x), x, y))


def _atan_ratio(s, a, b):
    """Return (high, low) of atan(a / b) for a, b >= 0, both finite, not both 0."""
    swap = a > b
    n, d = s.select(swap, b, a), s.select(swap, a, b)
    is_reduced = n > 0.41421356237309503 * d
    top = s.select(is_reduced, n - d, n)
    bottom, bottom_low = s.two_sum(d, s.select(is_reduced, n, 0.0))
    top_low = s.select(is_reduced, (n - (top + d)), 0.0)
    q = top / bottom
    q_low = (s.fma(-q, bottom, top) + (top_low - q * bottom_low)) / bottom
    z = q * q
    low = s.fma(q * z, s.poly(z, C.ATAN64), q_low)
    base = s.select(is_reduced, s.const(dt.float64, K.PIO4), 0.0)
    base_low = s.select(is_reduced, s.const(dt.float64, K.PIO4_LO), 0.0)
    high, e = s.fast_two_sum(base, q)
    low = low + e + base_low
    other, e = s.fast_two_sum(s.const(dt.float64, K.PIO2_1), -high)
    return s.select(swap, other, high), s.select(swap, e - low + K.PIO2_2, low)


def _angle(s, a, b):
    """atan(a / b) for a, b >= 0 in float64 that are not both infinite, within 2**-35; 0 where both are 0."""
    swap = a > b
    large = s.select(swap, a, b)
    q = s.select(swap, b, a) / s.select(large > 0, large, 1.0)
    z = q * q
    r = s.fma(q * z, s.poly(z, C.ATAN_SHORT), q)
    return s.select(swap, K.PIO2_1 - r, r)


def atan(s, x):
    """Arc tangent."""
    if x.dtype is dt.float32:
        wide = x.to(dt.float64)
        y = s.copysign(_angle(s, abs(wide), s.const(dt.float64, 1.0)), wide)
        return s.select(x.ne(x), x, y.to(dt.float32))
    a = abs(x)
    huge = a > 1e18
    high, low = _atan_ratio(s, s.select(huge, s.const(dt.float64, 1.0), a), s.select(huge, s.const(dt.float64, 0.0), 1.0))
    y = s.select(a < 1e-160, a, high + low)
    return s.select(x.ne(x), x, s.copysign(y, x))


def _balanced(s, a, b):
    """Scale a and b by one power of two so that their ratio neither overflows nor loses bits."""
    big = s.maximum(a, b)
    factor = s.select(big > 1e150, s.const(dt.float64, 2.0**-500), 1.0)
    factor = s.select(big < 1e-150, s.const(dt.float64, 2.0**500), factor)
    return a * factor, b * factor


def _atan2_of_single(s, y, x):
    a, b = abs(y.to(dt.float64)), abs(x.to(dt.float64))
    both = a.eq(INF) & b.eq(INF)
    r = _angle(s, s.select(both, 1.0, a), s.select(both, 1.0, b))
    r = s.select(x.bits() < 0, K.PI - r, r).to(dt.float32)
    return s.select(x.ne(x) | y.ne(y), NAN, s.copysign(r, y))


def atan2(s, y, x):
    """The angle of the point (x, y)."""
    if x.dtype is dt.float32:
        return _atan2_of_single(s, y, x)
    a, b = abs(y), abs(x)
    both = s.is_inf(y) & s.is_inf(x)
    one = s.const(dt.float64, 1.0)
    zero = s.const(dt.float64, 0.0)
    a, b = (s.select(both, one, v) for v in (a, b))
    top, right = s.is_inf(a), s.is_inf(b)
    a, b = s.select(top, one, s.select(right, zero, a)), s.select(right, one, s.select(top, zero, b))
    a, b = _balanced(s, a, b)
    origin = a.eq(0)
    high, low = _atan_ratio(s, a, s.select(origin & b.eq(0), one, b))
    high, low = s.select(origin, zero, high), s.select(origin, zero, low)
    left = x.bits() < 0
    r = s.select(left, (K.PI - high) + (K.PI_LO - low), high + low)
    r = s.copysign(r, y)
    return s.select(x.ne(x) | y.ne(y), NAN, r)
