"""Samples of the incomplete gamma functions."""

import numpy as np

from . import Sample, samples

for _name in ("gammainc", "gammaincc"):
    @samples(_name)
    def _(rng):
        yield Sample((np.array([0.1, 0.7, 1.0, 3.5, 20.0]), np.array([0.3, 0.2, 2.0, 3.5, 26.0])), order2=False)
        yield Sample((np.array(2.5), np.array(1.5)), order2=False)
        yield Sample((np.array([0.5, 0.5, 2.0, 0.0, -1.0]), np.array([0.0, np.inf, 1e6, 1.0, 1.0])), grad=False,
                     dtypes=("float32", "float64"))
        yield Sample((np.zeros((0, 2)), np.zeros((0, 2))))
