"""float32 functions on the special function units of GPUs, which compute 2**x and 1 / x in one instruction.

On a backend with such units (`Builder.has_units`) they replace the polynomials of `exponential`, `hyperbolic` and `activations`
in half of the instructions or fewer. A unit's power of two is within two ulp and its reciprocal within one, and it may flush
subnormals. So arguments are reduced to a safe range, and exponents are added separately.

Largest error in ulp, with units that round correctly and with units as inaccurate as permitted (checked by
tests/passes/codegen/scalars/test_special_function_units.py):

    exp      1.0  2.6    sigmoid  2.3  5.2    gelu (a)        1.5  2.4
    exp2     0.8  2.1    silu     2.8  5.8    gelu_slope (b)  1.2  1.5
    tanh     1.5  2.7    softplus 1.5  4.3    gelu_tanh (a)   1.9  2.2
    expm1    1.5  1.5    mish     3.7  6.5    log_sigmoid     1.5  4.3

    (a) of max(|x|, |result|), (b) of max(1, |result|).

16-bit numbers use the same functions: their memory traffic takes longer than these instructions.
"""

from . import coefficients as C
from . import constants as K

# Added to a number below 2**22, it leaves the nearest integer n plus the exponent bias in the low bits.
_BIASED = K.MAGIC_32 + 127.0
_LOW, _HIGH = -126.0, 127.0     # least and largest n with a normal 2**n
_LEAST = -86.0          # logarithm of a number negligible compared with 1


def exp(s, x):
    """e**x."""
    return _from_parts(s, x, s.smaller(_biased(s, x), _BIASED + _HIGH))


def exp_negative(s, x):
    """e**x for x <= 0, where n cannot be too large."""
    return _from_parts(s, x, _biased(s, x))


def _biased(s, x):
    """x / ln 2 rounded to an integer not below the least exponent, in the low bits; anything for nan."""
    return s.larger(s.fma(x, K.LOG2E, _BIASED), _BIASED + _LOW)


def _from_parts(s, x, t):
    """2**r 2**n for x = (r + n) ln 2. At n's limits r grows instead: to 0, infinity, or one rounding to a subnormal."""
    r = s.fma(x, K.LOG2E_REST_32, s.fma(x, K.LOG2E_32, _BIASED - t))
    return s.power(r) * (t.bits() << 23).as_(x.dtype)


def exp2(s, x):
    """2**x."""
    t = s.smaller(s.larger(x + _BIASED, _BIASED + _LOW), _BIASED + _HIGH)
    return s.power(x + (_BIASED - t)) * (t.bits() << 23).as_(x.dtype)


def exp_below(s, x):
    """e**x for x <= 0 in a sum of at least 1 (`exponential.exp_below`): 2**p for the rounded p = x / ln 2, corrected by the
    rounding error of p."""
    x = s.larger(x, _LEAST)
    p = x * K.LOG2E
    power = s.power(p)
    return s.fma(power, s.fma(p, -K.LN2_32, x), power)


def expm1(s, x):
    """e**x - 1 by the float32 polynomial, as 2 (2**(n-1) (e**r - 1) + 2**(n-1) - 1/2), because 2**n may be infinite."""
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
    """The normal distribution function at -a for a >= 0: 2 to the power of a polynomial that falls for all a."""
    return s.power(s.fma(a, s.poly(a, C.NORMAL_LOG2_32), -1.0))


def _normal(s, x):
    """The normal distribution function within about 2**-24, and with small relative error down to x = -3."""
    below = _normal_below(s, abs(x))
    return s.select(x < 0, below, 1.0 - below)


def gelu(s, x):
    """x times the normal distribution function."""
    return x * _normal(s, x)


def gelu_slope(s, x):
    """The derivative of gelu: the normal distribution function plus x times its density."""
    density = s.power(s.fma(x * x, -0.5 * K.LOG2E, K.LOG2_DENSITY))
    return s.fma(x, density, _normal(s, x))
