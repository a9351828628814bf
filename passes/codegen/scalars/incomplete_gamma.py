"""Incomplete gamma functions, and the derivative of gamma numbers by their concentration.

Below a + 1 they sum a series, above a continued fraction (Steed), until a term no longer counts. The derivative integrates the
density's derivative over the lower or the upper tail, whichever does not cancel: ten Gauss-Legendre nodes in each of ten
pieces.
"""

import math
import struct

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.math import gamma
from .erf_gamma import digamma, erfc, lgamma
from .exponential import exp, expm1, log, log1p

INF, NAN = float("inf"), float("nan")
TURNS = 10000
_LEFT = {dt.float32: 2.0 ** -34, dt.float64: 2.0 ** -56}        # share of a sum below which the last term was added


def _series(s, live, a, x, left):
    """The sum of x^n / ((a+1) ... (a+n)), for x below a + 1."""

    def step(term, total, below):
        term = term * x / below
        total, below = total + term, below + 1.0
        return term * x > total * below * left, term, total, below

    first = s.const(x.dtype, 1.0)
    return s.iterate(TURNS, live, (first, first, a + 1.0), step)[1]


def _fraction(s, live, a, x, left):
    """Gamma(a, x) / (x^a e^-x) for x of a + 1 and more."""

    def step(n, b, d, change, total):
        b = b + 2.0
        d = 1.0 / (d * ((a - n) * n) + b)
        change = change * (b * d - 1.0)
        total = total + change
        return abs(change) > abs(total) * left, n + 1.0, b, d, change, total

    b = x + 1.0 - a
    first = 1.0 / b
    return s.iterate(TURNS, live, (s.const(x.dtype, 1.0), b, first, first, first), step)[4]


def _rest_of_small(s, a, x):
    """Q(a, x) as -expm1(log P), where 1 - P would lose all digits."""
    power = a * log(s, x) - a * gamma.horner(gamma.LOG_GAMMA, a)
    term = total = None
    for n in range(1, gamma.SMALL_TERMS):
        term = -x if term is None else term * x * (-1.0 / n)
        total = term / (a + float(n)) if total is None else total + term / (a + float(n))
    return -expm1(s, power) - exp(s, power) * a * total


def _of_large(s, a, x, upper):
    """P or Q by Temme's expansion around x = a, where sums would be too long."""
    off = (x - a) / a
    off = s.select(off > gamma.NEAR, gamma.NEAR, s.select(off < -gamma.NEAR, -gamma.NEAR, off))
    bend = off * off * gamma.horner(gamma.OFF_LOG, off)
    eta = off * s.sqrt(2.0 * gamma.horner(gamma.OFF_LOG, off))
    side = exp(s, -a * bend) / s.sqrt(a * (2.0 * math.pi)) * (gamma.horner(gamma.TEMME, eta) - 1.0 / (a * 540.0))
    at = eta * s.sqrt(a * 0.5)
    return erfc(s, at) * 0.5 + side if upper else erfc(s, -at) * 0.5 - side


def _shares(s, a, x, upper):
    """P(a, x) or Q(a, x); float32 computes in float64."""
    left = _LEFT[x.dtype]
    if x.dtype is dt.float32:
        return _in_double(s, a.to(dt.float64), x.to(dt.float64), left, upper).to(dt.float32)
    return _in_double(s, a, x, left, upper)


def _in_double(s, a, x, left, upper):
    valid = (a > 0) & (x > 0) & (a < INF) & (x < INF)
    large, some = valid & (a > gamma.LARGE), valid & (a <= gamma.LARGE)
    low = some & (x < a + 1.0)
    high = some & (x >= a + 1.0)
    of_low = _series(s, low, s.select(low, a, 1.0), s.select(low, x, 1.0), left)
    of_high = _fraction(s, high, s.select(high, a, 1.0), s.select(high, x, 2.0), left)
    a_, x_ = s.select(valid, a, 1.0), s.select(valid, x, 1.0)
    share = s.select(low, of_low, of_high * a_) * exp(s, a_ * log(s, x_) - x_ - lgamma(s, a_ + 1.0))
    share = s.select(high if upper else low, share, 1.0 - share)
    if upper:
        small = low & (a < gamma.SMALL)
        share = s.select(small, _rest_of_small(s, s.select(small, a, gamma.SMALL), s.select(small, x, 1.0)), share)
    share = s.select(large, _of_large(s, s.select(large, a, gamma.LARGE), s.select(large, x, gamma.LARGE), upper), share)
    share = s.select(share > 1.0, 1.0, s.select(share < 0.0, 0.0, share))
    none, whole = (1.0, 0.0) if upper else (0.0, 1.0)
    beyond = (a.eq(0) & (x > 0)) | ((a > 0) & (a < INF) & x.eq(INF))
    before = (a > 0) & (x.eq(0) | (a.eq(INF) & (x > 0) & (x < INF)))
    edge = s.select(before, none, s.select(beyond, whole, s.const(x.dtype, NAN)))
    return s.select(valid, share, edge)


def gammainc(s, a, x):
    """The regularised lower incomplete gamma function P(a, x)."""
    return _shares(s, a, x, False)


def gammaincc(s, a, x):
    """The regularised upper incomplete gamma function Q(a, x)."""
    return _shares(s, a, x, True)


def _words(numbers) -> tuple:
    return tuple(struct.unpack(f"{len(numbers)}Q", np.asarray(numbers, np.float64).tobytes()))


_HALVES, _MIDDLES = _words(gamma.HALVES), _words(gamma.MIDDLES)
_NODES, _WEIGHTS = _words(gamma.NODES), _words(gamma.WEIGHTS)


def gamma_slope(s, a, x):
    """The derivative of a gamma number x by its concentration a, at a fixed quantile."""
    lower = x <= s.select(a > 1.0, a, 1.0)
    of_low = s.maximum(1.0 - x / a, 1.0 / s.sqrt(2.0 * a + 1.0))
    scale = 1.0 / s.select(lower, of_low, s.maximum(1.0 - (a - 1.0) / x, 1.0 / s.sqrt(2.0 * x)))
    base = log(s, x) - digamma(s, a)
    inner, power = s.select(lower, -1.0 / a, 1.0 / x), a - 1.0

    def in_piece(piece, total):
        half, middle = (s.lookup(table, piece).as_(dt.float64) for table in (_HALVES, _MIDDLES))

        def at_node(node, total):
            v = scale * s.fma(half, s.lookup(_NODES, node).as_(dt.float64), middle)
            log_term = log1p(s, s.select(lower, 0.0, v * inner))
            exponent = s.select(lower, v * inner, log_term)
            density = exp(s, s.select(lower, -x * expm1(s, s.select(lower, exponent, 0.0)), power * exponent) - v)
            weight = half * s.lookup(_WEIGHTS, node).as_(dt.float64)
            return (total + density * (base + exponent) * weight,)

        return s.repeat(len(_NODES), (total,), at_node, numbered=True)

    total, = s.repeat(len(_HALVES), (s.select(lower, 0.0, s.const(x.dtype, 0.0)),), in_piece, numbered=True)
    return scale * total * s.select(lower, -(x / a), 1.0)
