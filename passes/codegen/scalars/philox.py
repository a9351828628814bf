"""Philox-4x32-10 and the numbers drawn from it, as `ir/reference/philox.py` defines.

Arguments: element index, seed and call, all i64.
"""

from ....ir import dtype as dt
from ....ir.reference.philox import M0, M1, ROUNDS, W0, W1
from . import coefficients as C
from . import constants as K
from .exponential import log
from .trigonometric import sin_near


def _halves(s, x):
    bits = x.as_(dt.uint64)
    return bits.to(dt.uint32), (bits >> 32).to(dt.uint32)


def _mul(s, constant, x):
    m = s.const(dt.uint32, constant)
    return s.emit("mulhi", dt.uint32, (m, x)), m * x


def philox(s, b, seed, call):
    """Return the four words of block `b`."""
    (c0, c1), (c2, c3), (k0, k1) = _halves(s, b), _halves(s, call), _halves(s, seed)
    for r in range(ROUNDS):
        if r:
            k0, k1 = k0 + W0, k1 + W1
        h0, l0 = _mul(s, M0, c0)
        h1, l1 = _mul(s, M1, c2)
        c0, c1, c2, c3 = h1 ^ c1 ^ k0, l1, h0 ^ c3 ^ k1, l0
    return c0, c1, c2, c3


def _pair(s, index, seed, call):
    a, b, c, d = philox(s, (index.as_(dt.uint64) >> 1).as_(dt.int64), seed, call)
    first = (index & 1).eq(0)
    return s.select(first, a, c), s.select(first, b, d)


def random_bits(s, index, seed, call):
    """Return word i, u32."""
    a, b, c, d = philox(s, (index.as_(dt.uint64) >> 2).as_(dt.int64), seed, call)
    even, low = (index & 1).eq(0), (index & 2).eq(0)
    return s.select(low, s.select(even, a, b), s.select(even, c, d))


def random_uniform(s, index, seed, call):
    """Uniform in [0, 1), f32."""
    return uniform_of(s, random_bits(s, index, seed, call))


def uniform_of(s, word):
    """Uniform in [0, 1), f32, from a word."""
    return (word >> 8).as_(dt.int32).to(dt.float32) * 2.0**-24


def _to_double(word):
    return word.to(dt.int64).to(dt.float64)


def random_uniform_double(s, index, seed, call):
    """Uniform in [0, 1), f64."""
    return uniform_double_of(s, *_pair(s, index, seed, call))


def uniform_double_of(s, a, b):
    """Uniform in [0, 1), f64, from two words."""
    return (_to_double(a >> 5) * 2.0**26 + _to_double(b >> 6)) * 2.0**-53


def random_normal_double(s, index, seed, call):
    """Standard normal, f64."""
    a, b, c, d = philox(s, (index.as_(dt.uint64) >> 1).as_(dt.int64), seed, call)
    back = s.select((index & 1).eq(0), s.const(dt.float64, 0.0), 0.25)
    return _radius_double(s, a, b) * _cos_turns_double(s, uniform_double_of(s, c, d) - back)


def normals_double_of(s, a, b, c, d):
    """Two standard normal numbers, f64, from four words."""
    radius, turns = _radius_double(s, a, b), uniform_double_of(s, c, d)
    return radius * _cos_turns_double(s, turns), radius * _cos_turns_double(s, turns - 0.25)


def _radius_double(s, a, b):
    """sqrt(-2 log(1 - u)) of a uniform number u given by two words."""
    return s.sqrt(-2.0 * log(s, 1.0 - uniform_double_of(s, a, b)))


def _cos_turns_double(s, turns):
    """cos(2 pi turns) for turns from -1/4 to 1, by the sine of at most a quarter turn."""
    quarters = 1.0 - 4.0 * abs(s.select(turns < 0.5, turns, turns - 1.0))
    return sin_near(s, quarters * (0.5 * K.PI))


_QUARTER = 1 << 30      # of a turn, in words


def random_normal(s, index, seed, call):
    """Standard normal, f32."""
    a, b, c, d = philox(s, (index.as_(dt.uint64) >> 2).as_(dt.int64), seed, call)
    first = (index & 2).eq(0)
    back = s.select((index & 1).eq(0), s.const(dt.uint32, 0), _QUARTER)
    return _radius(s, s.select(first, a, c)) * _cos_turns(s, s.select(first, b, d) - back)


def normals_of(s, a, b):
    """Two standard normal numbers, f32, from two words."""
    radius = _radius(s, a)
    return radius * _cos_turns(s, b), radius * _cos_turns(s, b - _QUARTER)


def _radius(s, word):
    """sqrt(-2 log(1 - u)), f32, for u = 1 - word 2**-32; the logarithm of the distance to 1 is accurate below 0.3."""
    left = ~word
    rest = s.fma((left >> 16).as_(dt.int32).to(dt.float32), 65536.0, (left & 0xFFFF).as_(dt.int32).to(dt.float32) + 1.0)
    bits = rest.bits()
    exponent = (bits - 0x3F3504F3) >> 23                        # of 1 - u = 2**(exponent - 32) (1 + f), 1 + f above sqrt(1/2)
    f = (bits - (exponent << 23)).as_(dt.float32) - 1.0
    f = s.select(exponent.eq(32), word.as_(dt.int32).to(dt.float32) * -(2.0**-32), f)
    k, z = (exponent - 32).to(dt.float32), f * f
    tail = s.fma(z * f, s.poly(f, C.LOG32), s.fma(k, K.LN2_REST_32, z * -0.5))
    return s.sqrt(-2.0 * s.fma(k, K.LN2_SHORT_32, f + tail))


def _cos_turns(s, word):
    """cos(2 pi word 2**-32), f32, by the sine of at most a quarter turn."""
    signed = word.as_(dt.int32)
    below = signed >> 31                                        # -1 where it is below 0
    quarters = ((_QUARTER + below) - (signed ^ below)).to(dt.float32) * (1.0 / _QUARTER)        # 1 - 4 |turns|
    return quarters * s.poly(quarters * quarters, C.SIN_QUARTER_TURN32)


def random_below(s, index, seed, call, span):
    """Integers in [0, span), i64. The span counts modulo 2^64; 0 means all 64-bit integers."""
    a, b = _pair(s, index, seed, call)
    return below_of(s, a, b, span)


def below_of(s, a, b, span):
    """An integer in [0, span), i64, from two words. The span counts modulo 2^64; 0 means all 64-bit integers."""
    a, b = a.to(dt.uint64), b.to(dt.uint64)
    s0, s1 = (w.to(dt.uint64) for w in _halves(s, span))
    s1 = s.select(span.eq(0), 1 << 32, s1)
    middle = a * s0 + (b * s0 >> 32)
    upper = b * s1 + (middle & 0xFFFFFFFF)
    return (a * s1 + (middle >> 32) + (upper >> 32)).as_(dt.int64)
