"""float32 functions on the special units of GPUs, which make powers of two and reciprocals by one instruction.

On a backend that has such units (`Builder.has_units`) these stand for the polynomials of `exponential`, `hyperbolic` and
`activations`, in half of the instructions or fewer. A power of two is within two units of the last place there, a reciprocal
within one, and what is subnormal may count as 0; so arguments are brought to where that does no harm, and exponents are added
apart.

Largest error in units of the last place, by units that round correctly and by units as far off as they may be
(tests/passes/codegen/scalars/test_special_function_units.py holds them):

    exp      1.0  2.6    sigmoid  2.3  5.2    gelu (a)        1.5  2.4
    exp2     0.8  2.1    silu     2.8  5.8    gelu_slope (b)  1.2  1.5
    tanh     1.5  2.7    softplus 1.5  4.3    gelu_tanh (a)   1.9  2.2
    expm1    1.5  1.5    mish     3.7  6.5    log_sigmoid     1.5  4.3

    (a) of max(|x|, |result|), (b) of max(1, |result|).

Numbers of 16 bits are computed by the same forms: memory takes longer for them than a chip for these instructions.
"""

from . import coefficients as C
from . import constants as K

# A number below 2**22, and this: the low bits of the sum are the nearest integer n with the bias of exponents.
_BIASED = K.MAGIC_32 + 127.0
_LOW, _HIGH = -126.0, 127.0     # the least and the largest n of which 2**n is normal
_LEAST = -86.0          # the logarithm of what is as good as nothing beside 1


def exp(s, x):
    """e**x."""
    return _from_parts(s, x, s.smaller(_biased(s, x), _BIASED + _HIGH))


def exp_negative(s, x):
    """e**x for x <= 0, which no n is too large for."""
    return _from_parts(s, x, _biased(s, x))


def _biased(s, x):
    """x / ln 2 rounded to an integer that is not too small, in the low bits; of nan any."""
    return s.larger(s.fma(x, K.LOG2E, _BIASED), _BIASED + _LOW)


def _from_parts(s, x, t):
    """2**r 2**n for x = (r + n) ln 2. Where n is at its end r goes on: the unit gives 0 or infinity there, or the product is
    rounded once to what is subnormal."""
    r = s.fma(x, K.LOG2E_REST_32, s.fma(x, K.LOG2E_32, _BIASED - t))
    return s.power(r) * (t.bits() << 23).as_(x.dtype)


def exp2(s, x):
    """2**x, in the same way."""
    t = s.smaller(s.larger(x + _BIASED, _BIASED + _LOW), _BIASED + _HIGH)
    return s.power(x + (_BIASED - t)) * (t.bits() << 23).as_(x.dtype)


def exp_below(s, x):
    """e**x for x <= 0 in a sum that is 1 at least (`exponential.exp_below`): 2**p of p = x / ln 2 as it was rounded, times
    e to what that has lost, which is next to nothing."""
    x = s.larger(x, _LEAST)
    p = x * K.LOG2E
    power = s.power(p)
    return s.fma(power, s.fma(p, -K.LN2_32, x), power)


def expm1(s, x):
    """e**x - 1 by the polynomial, whose arithmetic is in float32 here: twice (2**(n-1) (e**r - 1) + 2**(n-1) - 1/2), so that
    2**n may be infinity."""
    low = s.select(x < -20.0, -20.0, x)
    t = s.smaller(s.fma(low, K.LOG2E, _BIASED - 1.0), _BIASED + _HIGH)
    minus_n = (_BIASED - 1.0) - t
    r = s.fma(minus_n, K.LN2_REST_32, s.fma(minus_n, K.LN2_SHORT_32, low))
    half = (t.bits() << 23).as_(x.dtype)
    y = s.fma(half, s.fma(r * r, s.poly(r, C.EXP32), r), half - 0.5) * 2.0
    return s.select(abs(x) < 1e-20, x, y)


def sigmoid(s, x):
    """1 / (1 + exp(-x))."""
    e = exp_negative(s, -abs(x))
    return s.quotient(s.select(x >= 0, s.const(x.dtype, 1.0), e), e + 1.0)


def silu(s, x):
    """x * sigmoid(x)."""
    return x * sigmoid(s, x)


def tanh(s, x):
    """Hyperbolic tangent: a polynomial near 0, 1 - 2 e / (1 + e) for e = exp(-2 |x|) beyond."""
    z = x * x
    near = s.fma(x * z, s.poly(z, C.TANH32), x)
    e = exp_below(s, abs(x) * -2.0)
    far = s.fma(e * -2.0, s.reciprocal(e + 1.0), 1.0)
    return s.select(abs(x) > 0.6, s.copysign(far, x), near)


def gelu_tanh(s, x, u):
    """x / (1 + exp(u))."""
    return x * sigmoid(s, -u)


def _normal_below(s, a):
    """The normal distribution function at -a, for a >= 0: 2 to the power of a polynomial, which falls for ever."""
    return s.power(s.fma(a, s.poly(a, C.NORMAL_LOG2_32), -1.0))


def _normal(s, x):
    """The normal distribution function, within 2**-24 or so, and relatively to it down to x = -3."""
    below = _normal_below(s, abs(x))
    return s.select(x < 0, below, 1.0 - below)


def gelu(s, x):
    """x times the normal distribution function."""
    return x * _normal(s, x)


def gelu_slope(s, x):
    """The derivative of gelu: the normal distribution function plus x times its density."""
    density = s.power(s.fma(x * x, -0.5 * K.LOG2E, K.LOG2_DENSITY))
    return s.fma(x, density, _normal(s, x))
