"""Samples of sorting and searching."""

import numpy as np

from ingot.ir.ops.index.order_statistics import INTERPOLATIONS

from . import Sample, samples
from .reduce import SPECIAL, spread

TIES = np.array([[2.0, 1.0, 2.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]])


@samples("argsort")
def _(rng):
    for descending in (False, True):
        for x, dim in ((spread(rng, 7), 0), (spread(rng, 3, 5), 0), (spread(rng, 4, 6).T[::2], 1), (np.zeros((3, 0)), 1)):
            yield Sample((x,), {"dim": dim, "descending": descending}, dtypes="number")
        yield Sample((SPECIAL,), {"dim": 1, "descending": descending})
        yield Sample((TIES,), {"dim": 1, "descending": descending}, dtypes="any")


@samples("arg_topk")
def _(rng):
    for largest in (False, True):
        for x, k, dim in ((spread(rng, 20), 3, 0), (spread(rng, 30, 2), 5, 0), (spread(rng, 3, 5), 5, 1),
                          (spread(rng, 3, 5), 0, 1)):
            yield Sample((x,), {"k": k, "dim": dim, "largest": largest}, dtypes="number")
        yield Sample((SPECIAL,), {"k": 2, "dim": 1, "largest": largest})
        yield Sample((np.tile(TIES, 4),), {"k": 4, "dim": 1, "largest": largest}, dtypes="any")
        yield Sample((np.zeros((0, 4)),), {"k": 2, "dim": 1, "largest": largest})


@samples("searchsorted")
def _(rng):
    row = np.array([0.0, 1.0, 1.0, 3.0, 8.0])
    for right in (False, True):
        yield Sample((row, np.array([[0.0, 1.0, 2.0], [8.0, 9.0, 3.0]])), {"right": right}, dtypes="number")
        yield Sample((np.sort(spread(rng, 3, 6), axis=1), spread(rng, 3, 4)), {"right": right})
        yield Sample((np.array([-np.inf, 0.0, np.inf, np.nan]), SPECIAL), {"right": right})
        yield Sample((row, np.array(1.0)), {"right": right})
        yield Sample((np.zeros(0), spread(rng, 3)), {"right": right})


@samples("median_place")
def _(rng):
    for skip_nan in (False, True):
        for x, dim in ((spread(rng, 7), 0), (spread(rng, 4, 6), 1), (spread(rng, 4, 6).T[::2], 0)):
            yield Sample((x,), {"dim": dim, "skip_nan": skip_nan}, dtypes="number")
        yield Sample((SPECIAL,), {"dim": 1, "skip_nan": skip_nan})
        yield Sample((TIES,), {"dim": 1, "skip_nan": skip_nan}, dtypes="any")


@samples("found_in")
def _(rng):
    """The gradient is no slope: the function gives what it is told."""
    for x in (np.array([2.0, 1.0, 2.0, 3.0]), np.array([np.nan, 1.0, np.nan]), np.array([0.0])):
        yield Sample((x, np.asarray(x[0])), grad=False)


@samples("mode_place")
def _(rng):
    for dim in (0, 1):
        yield Sample((rng.integers(0, 3, (5, 8)).astype(np.float64),), {"dim": dim}, dtypes="number")
    yield Sample((spread(rng, 7),), {"dim": 0}, dtypes="number")
    yield Sample((TIES,), {"dim": 1}, dtypes="any")


@samples("run_starts")
def _(rng):
    for shape in ((9,), (6, 2), (1,), (0,)):
        yield Sample((rng.integers(0, 2, shape).astype(np.float64),), dtypes="any")


@samples("quantile")
def _(rng):
    levels = np.array([0.31, 0.77])
    for interpolation in INTERPOLATIONS:
        for x, dim in ((spread(rng, 8), 0), (spread(rng, 4, 6), 1), (spread(rng, 4, 3, 5), 1)):
            params = {"dim": dim, "interpolation": interpolation, "skip_nan": interpolation == "linear" and dim == 1}
            yield Sample((x, levels), params, dtypes=("float32", "float64"))
        yield Sample((spread(rng, 5), np.array([0.0, 1.0])), {"dim": 0, "interpolation": interpolation, "skip_nan": False},
                     grad=False, dtypes=("float32", "float64"))


@samples("bin_counts")
def _(rng):
    edges = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, np.nan, np.inf])
    for x, bins in ((spread(rng, 40), 5), (edges, 4), (edges, 1), (np.zeros(0), 3)):
        yield Sample((x,), {"bins": bins, "low": -1.0, "high": 1.0}, dtypes=("float32", "float64"))
