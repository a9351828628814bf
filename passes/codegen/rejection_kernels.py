"""Random numbers by rejection, as expressions of a KernelBuilder for all backends.

Arguments are the element index, seed and call, then the parameters, whose dtype is the result's.
"""

import numpy as np

from ...ir import dtype as dt


def _draw(k, name, place, parameters):
    return k.append(name, dt.float64, (*place, *[v.to(dt.float64) for v in parameters]))


def poisson(k, index, seed, call, rate):
    """Return counts of a Poisson process."""
    return _draw(k, "random_poisson", (index, seed, call), (rate,)).to(rate.dtype)


def standard_gamma(k, index, seed, call, alpha):
    """Return gamma numbers, never 0."""
    tiny = float(np.finfo(np.float64 if alpha.dtype is dt.float64 else np.float32).tiny)
    return k.call("maximum", _draw(k, "random_gamma", (index, seed, call), (alpha,)), tiny).to(alpha.dtype)


def binomial(k, index, seed, call, count, prob):
    """Return how many of `count` trials succeed."""
    return _draw(k, "random_binomial", (index, seed, call), (count, prob)).to(count.dtype)
