"""Samples of distances between rows."""

import math

import numpy as np

from . import Sample, samples


@samples("distances")
def _distances(rng):
    for lead, m, n, k in (((), 3, 4, 2), ((2,), 1, 3, 5), ((), 2, 2, 1), ((), 0, 3, 2)):
        x, y = (np.asarray(rng.standard_normal((*lead, *shape))) for shape in ((m, k), (k, n)))
        for order in (2.0, 1.0, 3.0, 0.0, math.inf):
            yield Sample((x, y), {"ord": order}, grad=order > 0, tol=20)
    x = np.array([[1.0, 2], [3, 4]])
    yield Sample((x, x.T.copy()), {"ord": 2.0}, grad=False)


@samples("distances_grad")
def _distances_grad(rng):
    for lead, m, n, k in (((), 3, 4, 2), ((2,), 1, 3, 5), ((), 2, 2, 1), ((), 0, 3, 2)):
        x, y = (np.asarray(rng.standard_normal((*lead, *shape))) for shape in ((m, k), (k, n)))
        size = np.abs(x[..., :, :, None] - y[..., None, :, :])
        for order in (2.0, 1.0, 3.0, 0.0):
            far = (size ** order).sum(-2) ** (1 / order) if order else np.ones((*lead, m, n)) * k
            yield Sample((rng.standard_normal(far.shape), far, x, y), {"ord": order}, grad=order >= 2, order2=False, tol=20)
    x = np.array([[1.0, 2], [3, 5]])
    for order, far in ((2.0, math.sqrt(13)), (math.inf, 3)):
        yield Sample((np.ones((2, 2)), far * (1 - np.eye(2)), x, x.T.copy()), {"ord": order}, grad=False)


@samples("pair_distances")
def _pair_distances(rng):
    for n, k in ((4, 3), (2, 1), (7, 2)):
        x, pairs = rng.standard_normal((n, k)), np.flatnonzero(np.triu(np.ones((n, n)), 1))
        for order in (2.0, 1.0, 3.0, 0.0, math.inf):
            yield Sample((x, pairs), {"ord": order}, grad=order > 0, tol=20)
    x = np.array([[1.0, 2], [3, 4], [1, 2]])
    yield Sample((x, np.array([1, 2, 5])), {"ord": 2.0}, grad=False)


@samples("euclidean_distances")
def _euclidean_distances(rng):
    for lead, m, n, k in (((), 3, 4, 2), ((2,), 1, 3, 5), ((2, 1), 2, 2, 1), ((), 30, 7, 9)):
        yield Sample(tuple(np.asarray(rng.standard_normal((*lead, *shape))) for shape in ((m, k), (n, k))), tol=20)
    for m, n, k in ((0, 3, 2), (2, 0, 3), (2, 3, 0)):
        yield Sample((np.ones((m, k)), np.ones((n, k))), grad=False)
    x = np.array([[1.0, 2], [3, 4]])
    yield Sample((x, x.copy()), grad=False)
