"""Samples of the normal distribution's functions and of entropy."""

import numpy as np

from . import Sample, samples


@samples("ndtri")
def _ndtri(rng):
    for shape in ((7,), (2, 3), (), (0,)):
        yield Sample((np.asarray(rng.uniform(0.02, 0.98, shape)),), tol=10)
    edges = [0.0, 1.0, 1e-30, 1e-10, 0.001, 0.1353, 0.1354, 0.5, 0.9, 0.999, -1.0, 2.0, np.nan]
    yield Sample((np.array(edges),), grad=False, tol=10)


@samples("entr")
def _entr(rng):
    for shape in ((7,), (2, 3), (), (0,)):
        yield Sample((np.asarray(rng.uniform(0.1, 4, shape)),))
    yield Sample((np.array([-1.0, 0.0, -0.0, 1.0, np.inf, np.nan]),), grad=False, dtypes=("float32", "float64"))


for _name in ("ndtr", "log_ndtr"):
    @samples(_name)
    def _(rng):
        for shape in ((7,), (2, 3), (), (0,)):
            yield Sample((np.asarray(rng.uniform(-4, 4, shape)),), tol=10)
        yield Sample((np.array([-1e5, -40.0, -12.0, -1.0, 0.0, 5.0, np.inf, np.nan]),), grad=False, tol=10,
                     dtypes=("float32", "float64"))
