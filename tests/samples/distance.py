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
