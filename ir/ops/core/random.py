"""Random operators: pure functions of a key, the uint64 pair (seed, call counter), as `ir/reference/philox.py` defines them.

The key is an argument, so a graph takes a fresh one at every run. Element i of a result, row-major, is element i of the stream.
"""

import math
from functools import lru_cache

import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, DTypeError, ShapeError
from ...opdef.aval import Aval
from ...opdef.op import NO_GRAD, Host, Template, op
from ...opdef.param_checks import check_dtype, check_int, check_number, check_sizes
from ...process_state import ignore_float_errors
from ...reference import philox
from ...reference.scalar_functions import lgamma
from .batching import all_repeated
from .elementwise import cast, mul, round_
from .elementwise_rules import check_pair
from .shape import cat, full


def stream(key) -> tuple[int, int]:
    """Return (seed, call) of a key."""
    seed, call = key.tolist()
    return seed, call


def size_of(shape) -> int:
    """Return the number of elements of a shape."""
    return math.prod(shape)


_PIECE = 1 << 14   # elements drawn at a time, so that what is between stays in cache


def drawn(draw, key, shape, dtype):
    """Fill an array of `shape` by draw(seed, call, count, start), piece by piece."""
    out = np.empty(shape, dtype)
    flat, (seed, call) = out.reshape(-1), stream(key)
    for start in range(0, flat.size, _PIECE):
        piece = flat[start:start + _PIECE]
        piece[...] = draw(seed, call, piece.size, start)
    return out


def check_key(name, key):
    """Raise unless `key` is the aval of a key."""
    if key.shape != (2,) or key.dtype is not dt.uint64:
        raise ShapeError(f"{name} takes a key u64[2] of (seed, call), got {key}; draw one with Generator.key()")


def _infer_float(name):
    def infer(key, *, shape, dtype):
        check_key(name, key)
        check_sizes(shape)
        if not check_dtype(dtype).is_floating_point:
            raise DTypeError(f"{name} makes floating point numbers, got dtype {dtype.name}; use randint for integers")
        return Aval(shape, dtype)

    return infer


_LOW_BITS = {dt.float16: 11, dt.bfloat16: 8}   # of a word that a 16-bit float holds exactly, so that 1 is never reached


def _uniform(key, *, shape, dtype):
    bits = _LOW_BITS.get(dtype)
    if bits is None:
        return drawn(lambda seed, call, n, start: philox.uniform01(seed, call, n, dtype.np, start), key, shape, dtype.np)
    scale = np.float32(2.0 ** -bits)
    return drawn(lambda *at: (philox.bits(*at) >> np.uint32(32 - bits)).astype(np.float32) * scale, key, shape, dtype.np)


def _normal(key, *, shape, dtype):
    kind = np.float64 if dtype is dt.float64 else np.float32
    return drawn(lambda seed, call, n, start: philox.normal(seed, call, n, kind, start), key, shape, dtype.np)


uniform = op("uniform", infer=_infer_float("uniform"), ref=_uniform, vjp=NO_GRAD, lower=Template("random"),
             traits=("random", "exact"),
             doc="Floats uniform in [0, 1): philox.uniform01; in 16-bit floats as many leading bits of the word as they hold.")
normal = op("normal", infer=_infer_float("normal"), ref=_normal, vjp=NO_GRAD, lower=Template("random"),
            traits=("random",),
            doc="Floats of mean 0 and deviation 1: philox.normal; 16-bit floats are the float32 numbers, rounded.")


def _infer_randint(key, *, shape, low, high, dtype):
    check_key("randint", key)
    check_sizes(shape)
    check_dtype(dtype)
    for bound, name in ((low, "low"), (high, "high")):
        check_int(bound, name, -2 ** 63, 2 ** 63)
    if not -2 ** 63 <= low < high <= 2 ** 63:
        raise ArgumentError(f"randint takes low < high within the int64 range, got low={low} and high={high}")
    return Aval(shape, dtype)


randint = op("randint", infer=_infer_randint, vjp=NO_GRAD, lower=Template("random"), traits=("random", "exact"),
             ref=lambda key, *, shape, low, high, dtype: drawn(
                 lambda seed, call, n, start: philox.randint(seed, call, n, low, high, start), key, shape, dtype.np),
             doc="Integers uniform in [low, high).")


def _infer_mask(key, *, shape, p):
    check_key("bernoulli_mask", key)
    check_sizes(shape)
    check_number(p, "a probability", 0, 1)
    return Aval(shape, dt.bool_)


def _mask(key, *, shape, p):
    threshold = np.uint64(round(p * 2 ** 32))
    return drawn(lambda *at: philox.bits(*at) < threshold, key, shape, np.bool_)


def _infer_below(words, *, shape):
    if words.shape != (4,) or words.dtype is not dt.uint64:
        raise ShapeError(f"mask_below takes four words u64[4], got {words}")
    check_sizes(shape)
    return Aval(shape, dt.bool_)


def _below(words, *, shape):
    return drawn(lambda *at: philox.bits(*at) < words[2], words[:2], shape, np.bool_)


mask_below = op("mask_below", infer=_infer_below, ref=_below, vjp=NO_GRAD, lower=Template("random"),
                traits=("random", "exact"),
                doc="Bools: which words are below a number; the operand holds the key (seed, call), that number, and 0.")


def _mask_by_number(key, *, shape, p):
    """bernoulli_mask with the probability as an operand."""
    whole = full(key, shape=(1,), value=2.0 ** 32, dtype=dt.float64)
    bound = cast(round_(mul(whole, p)), dtype=dt.uint64)
    return mask_below(cat(key, bound, full(key, shape=(1,), value=0, dtype=dt.uint64), dim=0), shape=shape)


bernoulli_mask = op("bernoulli_mask", infer=_infer_mask, vjp=NO_GRAD, lower=Template("random"), traits=("random", "exact"),
                    numbers=("p",), by_operand=_mask_by_number, ref=_mask,
                    doc="Bools, true with probability p (word < round(p * 2**32)): what dropout keeps.")

# Rejection sampling: each element has a stream of its own, so it does not depend on other draws.

MOST_ROUNDS = 999                   # rounds of rejection per element; none needs as many
ROUND = 0x9E3779B97F4A7C15          # times the number of a round is what its seed is changed by


def of_round(seed, turn) -> int:
    """Return the seed of one round of a rejection, far from seeds that people choose."""
    return seed ^ (turn * ROUND % 2 ** 64)


def uniforms(seed, call, live, count, start):
    """Return float64 uniforms of the elements `live` among start .. start + count - 1."""
    return philox.uniform01(seed, call, count, np.float64, start)[live]


def normals(seed, call, live, count, start):
    """Return float64 normal numbers of the elements `live` among start .. start + count - 1."""
    return philox.normal(seed, call, count, np.float64, start)[live]


def by_pieces(draw, out, *arrays):
    """Fill an array by draw(start, *pieces of the arrays), piece by piece."""
    for start in range(0, out.size, _PIECE):
        out[start:start + _PIECE] = draw(start, *[a[start:start + _PIECE] for a in arrays])
    return out


def _infer_poisson(key, rate):
    check_key("poisson", key)
    if not rate.dtype.is_floating_point:
        raise DTypeError(f"poisson takes floating point rates, got {rate}")
    return rate


def _poisson_small(seed, call, rate, start):
    """For rates below 10: count the uniform factors that keep a product above exp(-rate)."""
    count = np.zeros(rate.shape)
    live = np.flatnonzero(rate > 0)
    product, bound = np.ones(live.size), np.exp(-rate[live])
    for turn in range(1, MOST_ROUNDS + 1):
        product = product * uniforms(of_round(seed, turn), call, live, rate.size, start)
        on = product > bound
        live, product, bound = live[on], product[on], bound[on]
        if not live.size:
            break
        count[live] += 1
    return count


def _poisson_large(seed, call, rate, start):
    """For rates of 10 and more: Hoermann's transformed rejection (PTRS)."""
    out = np.zeros(rate.shape)
    live = np.flatnonzero(rate >= 10)
    for turn in range(1, MOST_ROUNDS + 1):
        if not live.size:
            break
        lam = rate[live]
        b = 0.931 + 2.53 * np.sqrt(lam)
        a = -0.059 + 0.02483 * b
        u, v = (uniforms(of_round(seed, 2 * turn + i), call, live, rate.size, start) for i in (0, 1))
        u = u - 0.5
        us = 0.5 - np.abs(u)
        k = np.floor((2 * a / us + b) * u + lam + 0.43)
        quick = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        level = np.log(v) + np.log(1.1239 + 1.1328 / (b - 3.4)) - np.log(a / (us * us) + b)
        likely = (k >= 0) & ~((us < 0.013) & (v > us)) & (level <= k * np.log(lam) - lam - _log_factorial(np.maximum(k, 0)))
        done = quick | likely
        out[live[done]] = k[done]
        live = live[~done]
    return out


LOG_FACTORIALS = np.log(np.cumprod(np.r_[1.0, np.arange(1, 10)])).tolist()      # of 0 to 9


def _log_factorial(k):
    """log k! by Stirling's series above 9, by table below."""
    table = np.array(LOG_FACTORIALS)
    n = np.maximum(k, 9.0) + 1
    series = (n - 0.5) * np.log(n) - n + 0.5 * np.log(2 * np.pi) + 1 / (12 * n) - 1 / (360 * n ** 3) + 1 / (1260 * n ** 5)
    return np.where(k < 10, table[np.fmin(k, 9).astype(np.int64)], series)


RATES = "poisson takes rates of at least 0"


def check_rates(rate):
    """Raise unless all rates are at least 0."""
    if not (rate >= 0).all():
        raise ArgumentError(RATES)


def _poisson(key, rate):
    check_rates(rate)
    flat = rate.astype(np.float64).reshape(-1)

    def counts(start, rate):
        small = np.where(rate < 10, rate, 0.0)
        return np.where(rate < 10, _poisson_small(*stream(key), small, start), _poisson_large(*stream(key), rate, start))

    out = by_pieces(counts, np.empty(flat.size), flat)
    return out.reshape(rate.shape).astype(rate.dtype)


def batch_drawn(size, op, args, held, params):
    """Apply a draw to a batch: each element of each sample is drawn independently."""
    key, *rest = args
    return op(key, *all_repeated(size, rest, held[1:]), **params)


poisson = op("poisson", infer=_infer_poisson, ref=_poisson, vjp=(None, lambda g, out, key, rate: mul(g, 0.0)), lower=Host(),
             traits=("random", "refuses"), batch=batch_drawn,
             doc="Counts of a Poisson process of the given rates.")


_MOST_KEPT = 1 << 16        # numbers whose factorials are kept


def _infer_binomial(key, count, prob):
    check_key("binomial", key)
    check_pair("binomial", count, prob)
    return count


@lru_cache(None)
def _factorials(count):
    return lgamma(np.arange(1.0, count + 1))


def _log_factorial_of(n):
    """log n! of whole numbers; small ones are looked up."""
    most = n.max(initial=0)
    return _factorials(1 << int(most).bit_length())[n.astype(np.int64)] if most < _MOST_KEPT else lgamma(n + 1)


@ignore_float_errors
def _mode_and_weight(n, p):
    mode = np.clip(np.floor((n + 1) * p), 0, n)
    size = _log_factorial_of(n) - _log_factorial_of(mode) - _log_factorial_of(n - mode)
    size = size + np.where(mode > 0, mode * np.log(p), 0) + np.where(n - mode > 0, (n - mode) * np.log1p(-p), 0)
    return mode, np.exp(size)


def _by_inversion(u, n, p):
    """The count at which probabilities, added up from the likeliest count outwards, exceed u."""
    mode, weight = _mode_and_weight(n, p)
    found, live = mode.copy(), np.arange(n.size)
    left, odds = u - weight, p / np.maximum(1 - p, 1e-300)
    up, down = weight.copy(), weight.copy()
    live = live[left >= 0]
    for step in range(1, int(n.max(initial=0)) + 1):
        for side, turn in ((up, 1), (down, -1)):
            at = mode[live] + turn * step
            ratio = (n[live] - at + 1) / at * odds[live] if turn > 0 else (at + 1) / (n[live] - at) / odds[live]
            side[live] = np.where((at >= 0) & (at <= n[live]), side[live] * ratio, 0)
            left[live] -= side[live]
            ready = live[left[live] < 0]
            found[ready] = mode[ready] + turn * step
            live = live[left[live] >= 0]
        live = live[(up[live] > 0) | (down[live] > 0)]
        if not live.size:
            break
    return found


TRIALS = "binomial takes finite whole counts of at least 0 and probabilities from 0 to 1"


def check_trials(count, prob):
    """Raise unless counts are whole, finite and at least 0, and probabilities from 0 to 1."""
    if not ((count >= 0) & (count < np.inf) & (count == np.floor(count))).all() or not ((prob >= 0) & (prob <= 1)).all():
        raise ArgumentError(TRIALS)


@ignore_float_errors
def _binomial(key, count, prob):
    check_trials(count, prob)
    n, p = count.astype(np.float64).reshape(-1), prob.astype(np.float64).reshape(-1)
    seed, call = stream(key)
    found = by_pieces(lambda start, n, p: _by_inversion(uniforms(seed, call, slice(None), n.size, start), n, p),
                      np.empty(n.size), n, p)
    return found.astype(count.dtype).reshape(count.shape)


binomial = op("binomial", infer=_infer_binomial, ref=_binomial, vjp=NO_GRAD, lower=Host(), traits=("random", "refuses"),
              batch=batch_drawn, doc="How many of `count` trials succeed, each with probability `prob`.")
