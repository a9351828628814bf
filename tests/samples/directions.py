"""Samples of what goes by the direction of vectors."""

import math

import numpy as np

from . import Sample, samples

SHAPES = (((3, 4), (1,)), ((3, 4), (0,)), ((2, 3, 4), (0, 2)), ((5,), (0,)), ((0, 3), (1,)), ((3, 1), (1,)))


@samples("normalize")
def _normalize(rng):
    for shape, dim in SHAPES:
        x = np.asarray(rng.standard_normal(shape))
        for order in (2.0, 1.0, 3.0, math.inf):
            yield Sample((x,), {"ord": order, "dim": dim, "eps": 1e-3}, tol=20)
        yield Sample((x,), {"ord": 2.0, "dim": dim, "eps": 50.0}, tol=20)
    yield Sample((np.array([[0.0, 0], [3, 4]]),), {"ord": 2.0, "dim": (1,), "eps": 1e-12}, grad=False)


@samples("cosine_similarity")
def _cosine_similarity(rng):
    for shape, dim in SHAPES:
        x, y = (np.asarray(rng.standard_normal(shape)) for _ in range(2))
        for eps in (1e-8, 50.0):
            yield Sample((x, y), {"dim": dim, "eps": eps}, tol=20)
    x = np.array([[0.0, 0], [3, 4]])
    yield Sample((x, x.copy()), {"dim": (1,), "eps": 1e-8}, grad=False)
