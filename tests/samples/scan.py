"""Samples of the scans."""

import numpy as np

from . import Sample, samples
from .reduce import SPECIAL, spread


def rows(rng):
    """(array, dim) over ranks and layouts."""
    yield spread(rng, 5), 0
    yield spread(rng, 3, 4), 1
    yield spread(rng, 3, 4, 2), 1
    yield spread(rng, 4, 6).T[::2], 0
    yield np.zeros((3, 0)), 1
    yield np.zeros((0, 3)), 1


@samples("cumsum")
def _(rng):
    for x, dim in rows(rng):
        yield Sample((x,), {"dim": dim}, dtypes="number")
    yield Sample((SPECIAL,), {"dim": 1}, grad=False)


def _products(rng):
    """Also of elements that are zero, beside which gradients must not divide."""
    for x, dim in rows(rng):
        yield Sample((x,), {"dim": dim}, tol=10)
    x = spread(rng, 3, 5)
    x[1, 2] = x[2, 0] = x[2, 3] = 0.0
    yield Sample((x,), {"dim": 1})
    yield Sample((spread(rng, 6, 12),), {"dim": 0})
    yield Sample((SPECIAL,), {"dim": 1}, grad=False)


samples("cumprod")(_products)
samples("products_of_others")(_products)


@samples("logcumsumexp")
def _(rng):
    for x, dim in rows(rng):
        yield Sample((x,), {"dim": dim})
    yield Sample((SPECIAL,), {"dim": 1}, grad=False)
    yield Sample((np.array([-np.inf, -np.inf, 1.0, -np.inf, 700.0, 2.0]),), {"dim": 0}, grad=False)


@samples("cummax", "cummin")
def _(rng):
    for x, dim in rows(rng):
        yield Sample((x,), {"dim": dim}, dtypes="number")
    yield Sample((SPECIAL,), {"dim": 1}, grad=False)
    yield Sample((np.array([1.0, 3.0, 3.0, 1.0, 1.0, 3.0]),), {"dim": 0}, grad=False, dtypes="any")


@samples("linear_scan")
def _(rng):
    for b, dim in rows(rng):
        yield Sample((rng.uniform(-1, 1, b.shape), b), {"dim": dim}, tol=5)
    yield Sample((rng.uniform(-1, 1, (7, 12)), spread(rng, 7, 12)), {"dim": 0}, tol=5)
