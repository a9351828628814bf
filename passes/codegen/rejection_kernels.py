"""Random numbers by rejection as expressions of a KernelBuilder: what kernels of the CPU and of devices are made of. Arguments:
element index, seed and call, then the parameters, whose dtype is that of the result."""

import numpy as np

from ...ir import dtype as dt


def _drawn(k, name, place, given):
    return k.append(name, dt.float64, (*place, *[v.to(dt.float64) for v in given]))


def poisson(k, index, seed, call, rate):
    """Counts of a Poisson process."""
    return _drawn(k, "random_poisson", (index, seed, call), (rate,)).to(rate.dtype)


def standard_gamma(k, index, seed, call, alpha):
    """Gamma numbers, none of which is 0."""
    tiny = float(np.finfo(np.float64 if alpha.dtype is dt.float64 else np.float32).tiny)
    return k.call("maximum", _drawn(k, "random_gamma", (index, seed, call), (alpha,)), tiny).to(alpha.dtype)


def binomial(k, index, seed, call, count, prob):
    """How many of `count` trials succeed."""
    return _drawn(k, "random_binomial", (index, seed, call), (count, prob)).to(count.dtype)
