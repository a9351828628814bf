"""Gamma random numbers and how they move with their concentration."""

import numpy as np

from ...errors import ArgumentError, DTypeError
from ...opdef.op import Host, op
from ...reference.scalar_functions import digamma
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
    """Raises unless all concentrations are above 0."""
    if not (alpha > 0).all():
        raise ArgumentError(CONCENTRATIONS)


def _standard_gamma(key, alpha):
    """Below 1 a number of concentration + 1 is scaled by a uniform to the power 1 / concentration."""
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
    """By the integral over [0, x], in v with t = x * exp(-v / a): for samples in the lower part."""
    scale = 1 / np.maximum(1 - x / a, 1 / np.sqrt(2 * a + 1))
    v = scale[:, None] * _AT
    growth = np.exp(x[:, None] * -np.expm1(-v / a[:, None]) - v)
    slope = np.log(x)[:, None] - v / a[:, None] - digamma(a)[:, None]
    return -(x / a) * scale * ((growth * slope) @ _WEIGHT)


def _from_above(a, x):
    """By the integral over [x, inf): for samples in the upper part, where the other one cancels."""
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
