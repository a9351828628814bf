"""Gamma functions: gamma random numbers and their derivative by concentration, regularised incomplete gamma functions."""

import numpy as np

from ...errors import ArgumentError, DTypeError
from ...opdef.op import Host, op
from ...reference.scalar_functions import digamma, erfc, lgamma
from ..core import elementwise as ew
from ..core.elementwise_rules import elementwise
from ..core.random import MOST_ROUNDS, batch_drawn, by_pieces, check_key, normals, of_round, stream, uniforms


def _infer_gamma(key, alpha):
    check_key("standard_gamma", key)
    if not alpha.dtype.is_floating_point:
        raise DTypeError(f"standard_gamma takes floating point concentrations, got {alpha}")
    return alpha


def _above_one(seed, call, alpha, start):
    """Marsaglia and Tsang's rejection for concentrations of 1 and more, all elements at once."""
    d = alpha - 1 / 3
    c = 1 / np.sqrt(9 * d)
    out = np.zeros(alpha.size)
    live = np.arange(alpha.size)
    for turn in range(1, MOST_ROUNDS + 1):
        if not live.size:
            break
        x = normals(of_round(seed, 2 * turn), call, live, alpha.size, start)
        u = uniforms(of_round(seed, 2 * turn + 1), call, live, alpha.size, start)
        v = (1 + c[live] * x) ** 3
        done = (v > 0) & (np.log(u) < 0.5 * x * x + d[live] * (1 - v + np.log(np.maximum(v, 1e-300))))
        out[live[done]] = (d[live] * v)[done]
        live = live[~done]
    return out


CONCENTRATIONS = "standard_gamma takes concentrations above 0"


def check_concentrations(alpha):
    """Raise unless all concentrations are above 0."""
    if not (alpha > 0).all():
        raise ArgumentError(CONCENTRATIONS)


def _standard_gamma(key, alpha):
    """Below 1, scale a sample of concentration + 1 by a uniform number to the power 1 / concentration."""
    check_concentrations(alpha)
    flat = alpha.astype(np.float64).reshape(-1)
    seed, call = stream(key)

    def numbers(start, alpha):
        small = alpha < 1
        drawn = _above_one(seed, call, np.where(small, alpha + 1, alpha), start)
        if small.any():
            u = 1 - uniforms(of_round(seed, 1), call, slice(None), alpha.size, start)
            drawn = np.where(small, drawn * u ** (1 / alpha), drawn)
        return drawn

    drawn = by_pieces(numbers, np.empty(flat.size), flat)
    tiny = np.finfo(np.float64 if alpha.dtype.itemsize == 8 else np.float32).tiny
    return np.maximum(drawn, tiny).astype(alpha.dtype).reshape(alpha.shape)


standard_gamma = op("standard_gamma", infer=_infer_gamma, ref=_standard_gamma,
                    vjp=(None, lambda g, out, key, alpha: ew.mul(g, gamma_slope(alpha, out))), lower=Host(),
                    traits=("random", "refuses"), batch=batch_drawn,
                    doc="Gamma numbers of the given concentrations and rate 1; never 0.")

# d sample / d concentration, from F(sample; concentration) = const: minus the concentration derivative of F over the density.

_ENDS = np.array([0, 0.001, 0.004, 0.015, 0.06, 0.25, 1, 3, 8, 20, 50.0])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)        # in each piece
HALVES = np.diff(_ENDS) / 2
MIDDLES = _ENDS[:-1] + HALVES
_AT = (MIDDLES[:, None] + HALVES[:, None] * NODES).reshape(-1)
_WEIGHT = (HALVES[:, None] * WEIGHTS).reshape(-1)


def _from_below(a, x):
    """Integrate over [0, x], in v with t = x * exp(-v / a), for samples in the lower part."""
    scale = 1 / np.maximum(1 - x / a, 1 / np.sqrt(2 * a + 1))
    v = scale[:, None] * _AT
    growth = np.exp(x[:, None] * -np.expm1(-v / a[:, None]) - v)
    slope = np.log(x)[:, None] - v / a[:, None] - digamma(a)[:, None]
    return -(x / a) * scale * ((growth * slope) @ _WEIGHT)


def _from_above(a, x):
    """Integrate over [x, inf), for samples in the upper part, where the other integral cancels."""
    scale = 1 / np.maximum(1 - (a - 1) / x, 1 / np.sqrt(2 * x))
    s = scale[:, None] * _AT
    density = np.exp((a - 1)[:, None] * np.log1p(s / x[:, None]) - s)
    slope = np.log(x[:, None] + s) - digamma(a)[:, None]
    return scale * ((density * slope) @ _WEIGHT)


def _gamma_slope(alpha, sample):
    alpha, sample = np.broadcast_arrays(alpha, sample)
    a, x = (v.astype(np.float64).reshape(-1) for v in (alpha, sample))
    out = np.empty(a.size)
    for start in range(0, a.size, 4096):
        part = slice(start, start + 4096)
        lower = x[part] <= np.maximum(a[part], 1)
        safe = np.where(lower, np.minimum(x[part], np.maximum(a[part], 1)), a[part])
        upper = np.where(lower, np.maximum(a[part], 1) * 2, x[part])
        out[part] = np.where(lower, _from_below(a[part], safe), _from_above(a[part], upper))
    return out.astype(sample.dtype).reshape(sample.shape)


gamma_slope = elementwise("gamma_slope", _gamma_slope, takes="real_float",
                          doc="How a gamma number moves with its concentration, its quantile held fixed.")


_TURNS = 10000
SMALL, SMALL_TERMS = 0.1, 22        # below which Q has a sum of its own, and how long that is
LARGE, NEAR = 1e6, 0.05             # above which there is an expansion; x further off, as a part of a, leaves nothing
# lgamma(1 + a) / a, by a: -Euler's constant, then (-1)^k zeta(k) / k.
LOG_GAMMA = (-0.5772156649015329, 0.8224670334241132, -0.40068563438653143, 0.27058080842778454, -0.20738555102867398,
             0.1695571769974082, -0.1440498967688461, 0.12550966952474304, -0.11133426586956469, 0.1000994575127818,
             -0.09095401714582904, 0.083353840546109, -0.0769325164113522, 0.07143294629536134, -0.06666870588242046,
             0.06250095514121304)
OFF_LOG = tuple([(-1) ** k / (k + 2) for k in range(14)])       # (off - log(1 + off)) / off^2
TEMME = (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515)
_CHECKED = 4        # turns of a sum between two looks at what is left of it
_LEFT = {4: 2.0 ** -34, 8: 2.0 ** -56}      # of a sum, below which a turn is the last one, by bytes of the results
_PIECE = 1 << 15    # elements that are worked on at a time, so that they stay in a cache


def _series(a, x, left):
    """Sum x^n / ((a+1) ... (a+n)), for x below a + 1."""
    term = np.ones_like(a)
    total, below = term.copy(), a + 1
    for n in range(1, _TURNS):
        term *= x
        term /= below
        total += term
        below += 1
        if n % _CHECKED == 0 and not (term * x > total * below * left).any():
            break
    return total


def _fraction(a, x, least):
    """Return a Gamma(a, x) / (x^a e^-x) for x >= a + 1 by a continued fraction (Steed); converged elements drop out."""
    scale = a
    out, left = np.empty(a.size), np.arange(a.size)
    b = x + 1 - a
    d = 1 / b
    change, total = d.copy(), d.copy()
    for n in range(1, _TURNS):
        b += 2
        d *= (a - n) * n
        d += b
        np.divide(1, d, d)
        change *= b * d - 1
        total += change
        if n % _CHECKED == 0:
            going = np.abs(change) > total * least
            count = np.count_nonzero(going)
            if 4 * count < 3 * going.size:
                out[left] = total
                if not count:
                    break
                a, b, d, change, total, left = (v[going] for v in (a, b, d, change, total, left))
    else:
        out[left] = total
    return out * scale


def _rest_of_small(a, x):
    """Return Q(a, x) for a below `SMALL` and x below a + 1, where 1 - P would cancel: -expm1 of log P."""
    power = a * np.log(x) - a * horner(LOG_GAMMA, a)
    term, total = np.ones_like(x), np.zeros_like(x)
    for n in range(1, SMALL_TERMS):
        term = term * -x / n
        total += term / (a + n)
    return -np.expm1(power) - np.exp(power) * a * total


def _of_large(a, x, upper):
    """Return P or Q for a above `LARGE`, where sums would be too long: Temme's expansion around x = a."""
    off = np.clip((x - a) / a, -NEAR, NEAR)
    bend = off * off * horner(OFF_LOG, off)                # off - log(1 + off)
    eta = np.copysign(np.sqrt(2 * bend), off)
    side = np.exp(-a * bend) / np.sqrt(2 * np.pi * a) * (horner(TEMME, eta) - 1 / (540 * a))
    return 0.5 * erfc(eta * np.sqrt(a / 2)) + side if upper else 0.5 * erfc(-eta * np.sqrt(a / 2)) - side


def horner(coefficients, x):
    """Evaluate a polynomial by its coefficients, the constant one first."""
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def _both_kinds(upper):
    def ref(a, x):
        a, x = np.broadcast_arrays(a, x)
        kind, shape = a.dtype, a.shape
        a, x = (v.astype(np.float64).reshape(-1) for v in (a, x))
        out, left = np.empty(a.size), _LEFT.get(kind.itemsize, _LEFT[4])
        for start in range(0, a.size, _PIECE):
            part = slice(start, start + _PIECE)
            out[part] = _share(a[part], x[part], left, upper)
        return out.reshape(shape).astype(kind)

    return ref


def _share(a, x, left, upper):
    """Return P(a, x) or Q(a, x) of float64 numbers."""
    out = np.full(a.size, np.nan)
    valid = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    if not valid.all():
        out[(a > 0) & (x == 0)] = upper
        out[(a == 0) & (x > 0)] = not upper
        out[(a > 0) & np.isfinite(a) & np.isposinf(x)] = not upper
        out[np.isposinf(a) & (x > 0) & np.isfinite(x)] = upper
    large = valid & (a > LARGE)
    low = valid & ~large & (x < a + 1)
    for part, sums in ((low, _series), (valid & ~large & ~low, _fraction)):
        if part.any():
            a_, x_ = a[part], x[part]
            share = sums(a_, x_, left) * np.exp(a_ * np.log(x_) - x_ - lgamma(a_ + 1))
            out[part] = share if (sums is _fraction) is upper else 1 - share
    small = low & (a < SMALL)
    if upper and small.any():
        out[small] = _rest_of_small(a[small], x[small])
    if large.any():
        out[large] = _of_large(a[large], x[large], upper)
    return np.clip(out, 0, 1, out)


def _density(a, x):
    return ew.exp(ew.sub(ew.sub(ew.xlogy(ew.sub(a, 1.0), x), x), ew.lgamma(a)))


def _by_concentration(g, a, x):
    return ew.mul(g, ew.mul(_density(a, x), gamma_slope(a, x)))


gammainc = elementwise("gammainc", _both_kinds(False), (lambda g, out, a, x: ew.neg(_by_concentration(g, a, x)),
                                                        lambda g, out, a, x: ew.mul(g, _density(a, x))), takes="real_float",
                       doc="The regularised lower incomplete gamma function P(a, x); nan outside of a, x >= 0.")
gammaincc = elementwise("gammaincc", _both_kinds(True), (lambda g, out, a, x: _by_concentration(g, a, x),
                                                         lambda g, out, a, x: ew.neg(ew.mul(g, _density(a, x)))),
                        takes="real_float",
                        doc="The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x); nan outside of a, x >= 0.")
