"""Random numbers by rejection. Arguments: element index, seed and call, all i64, then float64 parameters.

Each element has a stream of its own, and each attempt the seed of `of_round` (ir/ops/core/random.py). A number therefore
depends neither on its neighbours nor on how many attempts they take.
"""

import struct

from ....ir import dtype as dt
from ....ir.ops.core.random import LOG_FACTORIALS, MOST_ROUNDS, ROUND
from . import constants as K
from .erf_gamma import lgamma
from .exponential import exp, log, log1p, pow
from .philox import random_normal_double, random_uniform_double

_MOST_STEPS = (1 << 31) - 1
_SMALL = tuple([struct.unpack("Q", struct.pack("d", x))[0] for x in LOG_FACTORIALS])


def _of_round(s, seed, turn):
    return seed ^ (turn * s.const(dt.int64, ROUND))


def _log_factorial(s, k):
    """log k! of whole numbers: a table below 10, Stirling's series from there."""
    few = k < len(_SMALL)
    n = s.select(few, len(_SMALL) - 1.0, k) + 1.0
    cube = n * n * n
    series = (n - 0.5) * log(s, n) - n + K.HALF_LOG_TWO_PI
    series = series + 1.0 / (12.0 * n) - 1.0 / (360.0 * cube) + 1.0 / (1260.0 * (cube * n * n))
    return s.select(few, s.lookup(_SMALL, s.select(few & (k > 0), k, 0.0).to(dt.int64)).as_(dt.float64), series)


def _counts_of_small_rates(s, index, seed, call, rate):
    """Count how many uniform numbers multiply to a product not below exp(-rate), for rates below 10."""
    bound = exp(s, -rate)

    def step(turn, product, count):
        product = product * random_uniform_double(s, index, _of_round(s, seed, turn), call)
        goes_on = product > bound
        return goes_on, turn + 1, product, s.select(goes_on, count + 1.0, count)

    begin = s.const(dt.int64, 1), s.const(dt.float64, 1.0), s.const(dt.float64, 0.0)
    return s.iterate(MOST_ROUNDS, (rate > 0) & (rate < 10), begin, step)[2]


def _counts_of_large_rates(s, index, seed, call, rate):
    """Hoermann's transformed rejection (PTRS), for rates from 10 on."""
    b = 0.931 + 2.53 * s.sqrt(rate)
    a = -0.059 + 0.02483 * b
    quick_to, slope, log_rate = 0.9277 - 3.6224 / (b - 2.0), 1.1239 + 1.1328 / (b - 3.4), log(s, rate)

    def step(turn, result):
        u, v = (random_uniform_double(s, index, _of_round(s, seed, turn + turn + i), call) for i in (0, 1))
        u = u - 0.5
        us = 0.5 - abs(u)
        k = s.floor((2.0 * a / us + b) * u + rate + 0.43)
        quick = (us >= 0.07) & (v <= quick_to)
        level = log(s, v) + log(s, slope) - log(s, a / (us * us) + b)
        likely = level <= k * log_rate - rate - _log_factorial(s, s.select(k > 0, k, 0.0))
        done = quick | ((k >= 0) & ~((us < 0.013) & (v > us)) & likely)
        return ~done, turn + 1, s.select(done, k, result)

    return s.iterate(MOST_ROUNDS, rate >= 10, (s.const(dt.int64, 1), s.const(dt.float64, 0.0)), step)[1]


def random_poisson(s, index, seed, call, rate):
    """Counts of a Poisson process, for rates from 0 on."""
    large = rate >= 10
    few = _counts_of_small_rates(s, index, seed, call, s.select(large, 0.0, rate))
    return s.rare(large, few, lambda: _counts_of_large_rates(s, index, seed, call, s.select(large, rate, 10.0)))


def random_gamma(s, index, seed, call, alpha):
    """Gamma numbers of a positive concentration by Marsaglia and Tsang's rejection. Below 1, a number of concentration + 1 is
    multiplied by a uniform number to the power 1 / concentration."""
    small = alpha < 1
    d = s.select(small, alpha + 1.0, alpha) - 1 / 3
    c = 1.0 / s.sqrt(9.0 * d)

    def step(turn, result):
        x = random_normal_double(s, index, _of_round(s, seed, turn + turn), call)
        u = random_uniform_double(s, index, _of_round(s, seed, turn + turn + 1), call)
        t = 1.0 + c * x
        v = t * t * t
        done = (v > 0) & (log(s, u) < 0.5 * x * x + d * (1.0 - v + log(s, s.select(v > 1e-300, v, 1e-300))))
        return ~done, turn + 1, s.select(done, d * v, result)

    begin = s.const(dt.int64, 1), s.const(dt.float64, 0.0)
    drawn = s.iterate(MOST_ROUNDS, alpha > 0, begin, step)[1]

    def scaled():
        u = 1.0 - random_uniform_double(s, index, _of_round(s, seed, s.const(dt.int64, 1)), call)
        return drawn * pow(s, u, 1.0 / alpha)

    return s.rare(small, drawn, scaled)


def random_binomial(s, index, seed, call, n, p):
    """Successes in n trials: inversion that adds probabilities from the likeliest count outwards until they reach a uniform
    number."""
    mode = s.floor((n + 1.0) * p)
    mode = s.select(mode > n, n, s.select(mode < 0, 0.0, mode))
    size = lgamma(s, n + 1.0) - lgamma(s, mode + 1.0) - lgamma(s, n - mode + 1.0)
    size = size + s.select(mode > 0, mode * log(s, p), 0.0) + s.select(n - mode > 0, (n - mode) * log1p(s, -p), 0.0)
    weight = exp(s, size)
    rest = 1.0 - p
    odds = p / s.select(rest > 1e-300, rest, 1e-300)
    left = random_uniform_double(s, index, seed, call) - weight

    def step(steps, up, down, left, result):
        at = mode + steps
        up = s.select(at <= n, up * ((n - at + 1.0) / at * odds), 0.0)
        left = left - up
        reached = left < 0
        result = s.select(reached, at, result)
        at = mode - steps
        down = s.select(at >= 0, down * ((at + 1.0) / (n - at) / odds), 0.0)
        left = s.select(reached, left, left - down)
        result = s.select(reached | (left >= 0), result, at)
        return (left >= 0) & ((up > 0) | (down > 0)), steps + 1.0, up, down, left, result

    begin = s.const(dt.float64, 1.0), weight, weight, left, mode
    return s.iterate(_MOST_STEPS, left >= 0, begin, step)[4]
