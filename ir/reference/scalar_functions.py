"""Scalar functions that numpy lacks, in plain numpy; the compiled kernels are tested against them."""

import math
from functools import wraps

import numpy as np

from ..dim_order import inverse, order_of
from ..errors import ArgumentError
from ..process_state import ignore_float_errors
from . import float8


def copied(a, dtype=None):
    """Return a dense copy (in another dtype) in the array's own memory order."""
    kind = a.dtype if dtype is None else dtype
    if 0 not in a.strides:
        return a.astype(kind, order="K")
    order = order_of(a)     # (numpy would put dimensions that are expanded last)
    return a.astype(kind, order="C") if order is None else a.transpose(order).astype(kind, order="C").transpose(inverse(order))


def as_kind(a: np.ndarray, kind: np.dtype, order="K") -> np.ndarray:
    """Return a copy in another dtype."""
    if a.dtype is not kind and (kind in float8.KINDS or a.dtype in float8.KINDS):
        a = float8.converted(a, kind)
    return a.astype(kind, order=order)


def is_uniform(a: np.ndarray) -> bool:
    """Return whether all elements (at least one) have the same bits."""
    if a.size < 2:
        return a.size == 1
    raw = np.ascontiguousarray(a).reshape(-1).view(np.uint8).reshape(a.size, -1)
    return bool((raw == raw[0]).all())


def in_double(fn):
    """Compute in float64 and round once to the argument's type."""

    @wraps(fn)
    def wide(x, *rest):
        x = np.asarray(x)
        out = fn(x.astype(np.float64), *(np.asarray(r, np.float64) for r in rest))
        return np.asarray(out).astype(x.dtype)

    return wide


def _each(fn):
    """Lift a function of one Python float to arrays."""

    def vectorised(x):
        flat = np.fromiter((fn(v) for v in x.ravel().tolist()), np.float64, x.size)
        return flat.reshape(x.shape)

    return vectorised


def _lgamma_one(v):
    try:
        return math.inf if v <= 0 and v == math.floor(v) else math.lgamma(v)
    except OverflowError:       # of either, for a number that is infinite or too large
        return math.inf


erf = in_double(_each(math.erf))
erfc = in_double(_each(math.erfc))


def _erfcx_one(x):
    """Return the product where neither factor vanishes, else a continued fraction, from its end."""
    if x < -26.7:
        return math.inf
    if x <= 2:
        return math.exp(x * x) * math.erfc(x)
    fraction = x
    for k in range(100, 0, -1):
        fraction = x + k / 2 / fraction
    return 1 / (fraction * math.sqrt(math.pi))


erfcx = in_double(_each(_erfcx_one))
lgamma = in_double(_each(_lgamma_one))


def _erfinv_one(y):
    """Start from Giles' approximation, then take Halley steps on erf."""
    if y != y or abs(y) > 1:
        return math.nan
    if abs(y) == 1:
        return math.copysign(math.inf, y)
    if y == 0:
        return y
    w = math.log1p(-y * y)
    a = 2 / (math.pi * 0.147) + w / 2
    x = math.copysign(math.sqrt(math.sqrt(a * a - w / 0.147) - a), y)
    side = math.copysign(1.0, y)
    for _ in range(4):
        err = math.erf(x) - y if abs(y) < 0.5 else side * ((1 - abs(y)) - math.erfc(abs(x)))
        slope = 2 / math.sqrt(math.pi) * math.exp(-x * x)
        if slope == 0:
            break
        step = err / slope
        x -= step / (1 + x * step)
    return x


erfinv = in_double(_each(_erfinv_one))


@in_double
@ignore_float_errors
def digamma(x):
    """Return the derivative of log gamma: recurrence up to 12, asymptotic series above, reflection below zero."""
    pole = (x <= 0) & (x == np.floor(x))
    low = x < 0
    y = np.where(low, 1 - x, x)
    total = np.zeros_like(y)
    for _ in range(13):
        small = y < 12
        total = np.where(small, total - 1 / y, total)
        y = np.where(small, y + 1, y)
    inv2 = 1 / (y * y)
    tail = np.zeros_like(y)
    for k in range(6, 0, -1):
        tail = inv2 * (BERNOULLI[k - 1] / (2 * k) + tail)
    out = np.log(y) - 0.5 / y - tail + total
    out = np.where(low, out - np.pi / np.tan(np.pi * (x - np.rint(x))), out)
    out = np.where(pole, np.where(x == 0, np.copysign(np.inf, -x), np.nan), out)
    return np.where(np.isposinf(x), np.inf, out)


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


MOST_TERMS = 10_000     # that are added up by themselves


def hurwitz_zeta(s, x):
    """Return sum over k >= 0 of (x + k)^-s, s a float or an array.

    The first terms are summed directly, the rest by Euler-Maclaurin; nan where there would be too many first ones.
    """
    shift = np.maximum(0, np.ceil(np.clip(s, 12, 1000) - x))
    shift = np.where(shift > MOST_TERMS, np.nan, shift)
    total = np.zeros_like(x)
    for k in range(int(np.nanmax(np.where(np.isfinite(shift), shift, 0), initial=0))):
        total = np.where(k < shift, total + (x + k) ** -s, total)
    y = x + shift
    out = total + y ** (1.0 - s) / (s - 1) + 0.5 * y ** -s
    factor = s
    for k, b in enumerate(BERNOULLI, 1):
        out = out + b / math.factorial(2 * k) * factor * y ** (-s - 2 * k + 1)
        factor = factor * (s + 2 * k - 1) * (s + 2 * k)
    return np.where(np.isposinf(x), 0.0, out)


@ignore_float_errors
def polygamma(x, *, n):
    """Return the n-th derivative of digamma, n >= 1; infinite at the poles 0, -1, -2 ..."""
    factor = (-1.0) ** (n + 1) * math.factorial(n)

    def of_doubles(v):
        pole = (v <= 0) & (v == np.floor(v)) & np.isfinite(v)
        return factor * np.where(pole, np.inf, hurwitz_zeta(n + 1.0, v))

    return in_double(of_doubles)(x)


def trigamma(x):
    """Return the first derivative of digamma."""
    return polygamma(x, n=1)


def sigmoid(x):
    """Return 1 / (1 + exp(-x)) without overflow on either side."""
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(x.dtype)


def sinc(x):
    """Return sin(pi x) / (pi x), 1 at 0."""
    y = (np.pi * np.where(x == 0, 1, x)).astype(x.dtype)
    return np.where(x == 0, 1, np.sin(y) / y).astype(x.dtype)


@ignore_float_errors
def logaddexp(a, b):
    """Return log(e^a + e^b); complex numbers add to the one with the larger real part."""
    if a.dtype.kind != "c":
        return np.logaddexp(a, b)
    a, b = np.broadcast_arrays(a, b)
    larger = a.real >= b.real
    high, low = np.where(larger, a, b), np.where(larger, b, a)
    sums = np.where(np.isneginf(high.real), low, high + np.log1p(np.exp(low - high)))
    sums = np.where(np.isposinf(low.real), np.log(np.exp(a) + np.exp(b)), sums)
    out = np.asarray(a + b)         # lies as they do
    out[...] = np.where(np.isnan(a) | np.isnan(b), complex(np.nan, np.nan), sums)
    return out


def logaddexp2(a, b):
    """Return log2(2^a + 2^b)."""
    return np.logaddexp2(a, b)


def fmax(a, b):
    """Return the larger number, the first of equal ones; the other one if one is nan. (NumPy's choice between zeros varies.)"""
    return np.where((a >= b) | (b != b), a, b)


def fmin(a, b):
    """Return the smaller number, the first of equal ones; the other one if one is nan."""
    return np.where((a <= b) | (b != b), a, b)


def nextafter(a, b):
    """Return the next number after a in the direction of b, and b if both are equal, also if they are zeros of two signs."""
    return np.where(a == b, b, np.nextafter(a, b))


def xlogy(x, y):
    """Return x * log(y), 0 where x is 0 (unless y is nan)."""
    return np.where(np.isnan(y), np.nan, np.where(x == 0, 0, x * np.log(y))).astype(np.result_type(x))


def logit(x):
    """Return log(x / (1 - x))."""
    return np.log(x / (1 - x))


def power(a, b):
    """Return a ** b. Integers to negative powers are rounded towards zero: 1 and -1 keep their size, all else gives 0."""
    if b.dtype.kind != "i" or not (b < 0).any():
        return np.power(a, b)
    ones = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0)).astype(a.dtype)
    return np.where(b < 0, ones, np.power(a, np.maximum(b, 0)))


def refuse_zero(name, a, b):
    """Raise for integers divided by zero, where floats would give inf or nan."""
    if b.dtype.kind in "iub" and a.size and not (b.all() if b.ndim else b):
        raise ArgumentError(f"{name}: integer division by zero; cast to a float first, or mask the zeros with where()")


def floor_divide(a, b):
    """Return the quotient rounded towards minus infinity."""
    refuse_zero("floor_divide", a, b)
    return np.floor_divide(a, b)


def remainder(a, b):
    """Return the remainder of floor_divide, which has the divisor's sign."""
    refuse_zero("remainder", a, b)
    return np.remainder(a, b)


def fmod(a, b):
    """Return the remainder of trunc_divide, which has the dividend's sign."""
    refuse_zero("fmod", a, b)
    return np.fmod(a, b)


def trunc_divide(a, b):
    """Return the quotient rounded towards zero."""
    if a.dtype.kind not in "iu":
        return np.trunc(np.true_divide(a, b))
    refuse_zero("trunc_divide", a, b)
    q = np.floor_divide(a, b)
    return q + ((q < 0) & (q * b != a)).astype(a.dtype)
