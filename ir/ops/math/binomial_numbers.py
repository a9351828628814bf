"""Binomial numbers, and numbers taken apart into mantissa and exponent."""

from functools import lru_cache

import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, DTypeError
from ...opdef.batch_rules import LEADING
from ...opdef.op import NO_GRAD, Host, op
from ...reference.scalar_functions import lgamma
from ..core import elementwise as ew
from ..core.random import batch_drawn, by_pieces, check_key, stream, uniforms
from .incomplete_gamma import check_pair

_MOST_KEPT = 1 << 16        # numbers whose factorials are kept


def _infer_binomial(key, count, prob):
    check_key("binomial", key)
    check_pair("binomial", count, prob)
    return count


@lru_cache(None)
def _factorials(count):
    """The logarithms of 0!, 1!, ..."""
    return lgamma(np.arange(1.0, count + 1))


def _log_factorial(n):
    """log n! of whole numbers; small ones are looked up."""
    most = n.max(initial=0)
    return _factorials(1 << int(most).bit_length())[n.astype(np.int64)] if most < _MOST_KEPT else lgamma(n + 1)


def _mode_and_weight(n, p):
    """The likeliest count, and its probability."""
    mode = np.clip(np.floor((n + 1) * p), 0, n)
    with np.errstate(all="ignore"):
        size = _log_factorial(n) - _log_factorial(mode) - _log_factorial(n - mode)
        size = size + np.where(mode > 0, mode * np.log(p), 0) + np.where(n - mode > 0, (n - mode) * np.log1p(-p), 0)
    return mode, np.exp(size)


def _by_inversion(u, n, p):
    """The count at which the probabilities of the likeliest one, of its neighbours, of theirs and so on have added up to u."""
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


TRIALS = "binomial takes whole counts of at least 0 and probabilities from 0 to 1"


def check_trials(count, prob):
    """Raises unless counts are whole and at least 0, and probabilities from 0 to 1."""
    if not ((count >= 0) & (count == np.floor(count))).all() or not ((prob >= 0) & (prob <= 1)).all():
        raise ArgumentError(TRIALS)


def _binomial(key, count, prob):
    check_trials(count, prob)
    n, p = count.astype(np.float64).reshape(-1), prob.astype(np.float64).reshape(-1)
    seed, call = stream(key)
    with np.errstate(all="ignore"):
        found = by_pieces(lambda start, n, p: _by_inversion(uniforms(seed, call, slice(None), n.size, start), n, p),
                          np.empty(n.size), n, p)
    return found.astype(count.dtype).reshape(count.shape)


binomial = op("binomial", infer=_infer_binomial, ref=_binomial, vjp=NO_GRAD, lower=Host(), traits=("random", "refuses"),
              batch=batch_drawn, doc="How many of `count` trials succeed, each with probability `prob`.")


def _infer_frexp(x):
    if not x.dtype.is_floating_point:
        raise DTypeError(f"frexp takes floating point numbers, got {x}; cast with .to()")
    return x, x.with_dtype(dt.int32)


def _frexp(x):
    wide = x if x.dtype.kind == "f" else x.astype(np.float32)
    mantissa, exponent = np.frexp(wide)
    return np.asarray(mantissa).astype(x.dtype), np.asarray(exponent, np.int32)


def _frexp_vjp(g, out, x, *, needs):
    exponent = ew.cast(out[1], dtype=dt.of(x))
    return (ew.mul(g, ew.exp2(ew.neg(exponent))),)


frexp = op("frexp", infer=_infer_frexp, ref=_frexp, vjp=_frexp_vjp, saves=(0,), lower=Host(), batch=LEADING,
           doc="Mantissas with sizes in [0.5, 1), and the powers of two that they are multiplied by.")
