"""Bessel and Airy functions in numpy: their integrals, and asymptotic series where those would need many points.

Slow and plain; the compiled kernels are tested against them.
"""

import math
from functools import lru_cache

import numpy as np

from ..process_state import ignore_float_errors
from .scalar_functions import in_double

_ANGLES = (np.arange(512) + 0.5) * np.pi / 512
_SERIES_FROM = 40.0
_TINY = 1e-8                        # below which the first term of a series is all


def _each(fn):
    """Lift a function of vectors to arrays, nan for nan, some thousand elements at a time."""

    @in_double
    @ignore_float_errors
    def whole(x):
        flat = x.reshape(-1)
        parts = [fn(flat[i:i + 1024]) for i in range(0, flat.size, 1024)]
        found = np.concatenate(parts) if parts else flat
        return np.where(np.isnan(flat), flat, found).reshape(x.shape)

    return whole


def _hankel(order, x, signs):
    """Return Hankel's asymptotic series: the sum of its even terms and that of its odd ones."""
    mu, term = 4 * order * order, np.ones_like(x)
    sums = [np.ones_like(x), np.zeros_like(x)]
    for k in range(1, 30):
        term = term * (mu - (2 * k - 1) ** 2) / (8 * k * x)
        sums[k % 2] += term * signs[k % 4]
    return sums


def _gauss(low, high):
    half = (high - low)[:, None] / 2
    nodes, weights = _nodes_and_weights()
    return low[:, None] + half * (1 + nodes), half * weights


@lru_cache(None)
def _nodes_and_weights():
    """Return as many Gauss points as make the integrals here exact; computed at first use, as it is an eigenvalue problem."""
    return np.polynomial.legendre.leggauss(400)


def _i_scaled(order, x):
    a = np.abs(x)
    inside = np.minimum(a, _SERIES_FROM)
    near = inside ** order * (np.exp(inside[:, None] * (np.cos(_ANGLES) - 1)) @ np.sin(_ANGLES) ** (2 * order)) / len(_ANGLES)
    even, odd = _hankel(order, np.maximum(a, _SERIES_FROM), (1, -1, 1, -1))
    y = np.where(a < _SERIES_FROM, near, (even + odd) / np.sqrt(2 * np.pi * np.maximum(a, _SERIES_FROM)))
    return np.where(x < 0, -y, y) if order else y


def _i(order, x):
    half = np.exp(np.abs(x) / 2)
    return np.where(np.isinf(x), np.where(x < 0, (-1.0) ** order, 1) * np.inf, _i_scaled(order, x) * half * half)


def _k_scaled(order, x):
    inside = np.where(x > 0, np.minimum(x, 1e300), 1.0)
    top = np.arccosh(1 + 750 / inside)
    t = np.arange(801) / 800 * top[:, None]
    heights = np.exp(-2 * inside[:, None] * np.sinh(t / 2) ** 2) * np.cosh(order * t)
    y = (heights.sum(1) - heights[:, 0] / 2) * top / 800
    first = math.gamma(order) / 2 * (2 / inside) ** order if order else math.log(2) - np.euler_gamma - np.log(inside)
    y = np.where(inside < _TINY, first * np.exp(inside), y)
    return np.where(x > 0, np.where(np.isinf(x), 0, y), np.where(x == 0, np.inf, np.nan))


def _waves(order, x):
    p, q = _hankel(order, np.maximum(x, _SERIES_FROM), (1, 1, -1, -1))
    sine, cosine = np.sin(x), np.cos(x)
    plus, minus = sine + cosine, sine - cosine
    along, across = (minus, -plus) if order else (plus, minus)
    return (p * along - q * across) / np.sqrt(np.pi * x), (p * across + q * along) / np.sqrt(np.pi * x)


def _j(order, x):
    a = np.abs(x)
    inside = np.minimum(a, _SERIES_FROM)
    near = inside ** order * (np.cos(inside[:, None] * np.cos(_ANGLES)) * np.sin(_ANGLES) ** (2 * order)).mean(1)
    y = np.where(a < _SERIES_FROM, near, np.where(np.isinf(a), 0, _waves(order, a)[0]))
    return np.where(x < 0, -y, y) if order else y


def _y(order, x):
    inside = np.where(x > 0, np.minimum(x, _SERIES_FROM), 1.0)
    angles, weights = _gauss(np.zeros_like(inside), np.full_like(inside, np.pi))
    waves = (np.sin(inside[:, None] * np.sin(angles) - order * angles) * weights).sum(1)
    t, weights = _gauss(np.zeros_like(inside), np.arcsinh(750 / inside))
    tail = ((np.exp(order * t) + (-1) ** order * np.exp(-order * t)) * np.exp(-inside[:, None] * np.sinh(t)) * weights).sum(1)
    y = (waves - tail) / np.pi
    first = -2 / np.pi / inside if order else 2 / np.pi * (np.log(inside) - math.log(2) + np.euler_gamma)
    y = np.where(inside < _TINY, first, y)
    y = np.where(x < _SERIES_FROM, y, np.where(np.isinf(x), 0, _waves(order, x)[1]))
    return np.where(x > 0, y, np.where(x == 0, -np.inf, np.nan))


def _airy(x):
    """By K of order 1/3 above 0, below by the integral of exp(i (t^3 / 3 + x t)) along 30 degrees, or the asymptotic series."""
    high = np.clip(x, 1e-3, 1e3)
    z = high ** 1.5 * 2 / 3
    right = np.sqrt(high / 3) / np.pi * _k_scaled(1 / 3, z) * np.exp(-z)
    low = np.clip(x, -9, 1e-3)
    turn = np.exp(1j * np.pi / 6)
    r, weights = _gauss(np.zeros_like(x), np.full_like(x, 8.0))
    left = (np.exp(-r ** 3 / 3 + 1j * low[:, None] * r * turn) * weights * turn).sum(1).real / np.pi
    return np.where(x < -9, _airy_wave(np.where(np.isinf(x), -10.0, np.minimum(x, -9))) * np.isfinite(x),
                    np.where(x > 1e-3, right, left))


def _airy_wave(x):
    z = (-x) ** 1.5 * 2 / 3
    term, sums = np.ones_like(z), [np.ones_like(z), np.zeros_like(z)]
    for k in range(1, 14):
        term = term * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)) / z
        sums[k % 2] += term * (1, 1, -1, -1)[k % 4]
    return (sums[0] * np.sin(z + np.pi / 4) - sums[1] * np.cos(z + np.pi / 4)) / (np.sqrt(np.pi) * (-x) ** 0.25)


i0, i1 = _each(lambda x: _i(0, x)), _each(lambda x: _i(1, x))
i0e, i1e = _each(lambda x: _i_scaled(0, x)), _each(lambda x: _i_scaled(1, x))
j0, j1 = _each(lambda x: _j(0, x)), _each(lambda x: _j(1, x))
y0, y1 = _each(lambda x: _y(0, x)), _each(lambda x: _y(1, x))
k0e, k1e = _each(lambda x: _k_scaled(0, x)), _each(lambda x: _k_scaled(1, x))
k0, k1 = _each(lambda x: _k_scaled(0, x) * np.exp(-x)), _each(lambda x: _k_scaled(1, x) * np.exp(-x))
airy_ai = _each(_airy)
spherical_j0 = _each(lambda x: np.where(np.isinf(x), 0, np.where(x == 0, 1, np.sin(x) / np.where(x == 0, 1, x))))
