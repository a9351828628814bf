"""Samples of binomial numbers and of mantissas."""

import numpy as np

from . import Sample, samples

KEY = np.array([3, 7], np.uint64)


@samples("binomial")
def _(rng):
    yield Sample((KEY, np.array([[0.0, 1, 7, 40], [3, 20, 100, 9]]), rng.uniform(0, 1, (2, 4))), dtypes=("float32", "float64"))
    yield Sample((KEY, np.array([5.0, 5, 6]), np.array([0.0, 1, 0.5])))
    yield Sample((KEY, np.zeros((0, 2)), np.zeros((0, 2))))


@samples("frexp")
def _(rng):
    yield Sample((rng.standard_normal((3, 4)) * 100,))
    yield Sample((rng.standard_normal((5, 6)).T[::2],))
    yield Sample((np.array(0.3),))
    yield Sample((np.array([0.0, -0.0, 1, -2, 1e-30, 3e4]),), grad=False)
    yield Sample((np.zeros((0, 3)),))
