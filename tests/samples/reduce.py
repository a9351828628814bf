"""Samples of the reductions and of the composites made of them."""

import math

import numpy as np

from . import Sample, samples

SPECIAL = np.array([[0.0, -0.0, 1.0, np.inf], [np.nan, 2.0, -1.0, 3.0], [-np.inf, 5.0, 5.0, -np.inf]])


def spread(rng, *shape):
    """Values well apart from each other and from zero, in random order."""
    n = int(np.prod(shape))
    return rng.permutation((np.arange(n) - n / 2 + 0.3) * 0.37).reshape(shape)


def forms(rng):
    """(array, dims) over ranks, single and several dims, and layouts that are not contiguous."""
    yield spread(rng, 3, 4), (1,)
    yield spread(rng, 3, 4), (0, 1)
    yield spread(rng, 2, 3, 4), (0, 2)
    yield spread(rng, 4, 5).T[::2], (0,)
    yield spread(rng), ()


@samples("require")
def _(rng):
    yield Sample((np.array(True),), {"message": "it is false"})


@samples("sum")
def _(rng):
    for x, dim in forms(rng):
        for keepdim in (False, True):
            yield Sample((x,), {"dim": dim, "keepdim": keepdim}, dtypes="number")
    yield Sample((np.zeros((3, 0)),), {"dim": (1,), "keepdim": False})
    yield Sample((SPECIAL,), {"dim": (1,), "keepdim": False}, grad=False)
    yield Sample((np.full(3000, 1.0),), {"dim": (0,), "keepdim": False})


@samples("nansum")
def _(rng):
    for x, dim in forms(rng):
        yield Sample((x,), {"dim": dim, "keepdim": x.ndim == 3})
    yield Sample((SPECIAL,), {"dim": (1,), "keepdim": False}, grad=False)


@samples("prod")
def _(rng):
    for x, dim in forms(rng):
        yield Sample((x,), {"dim": dim, "keepdim": x.ndim == 3}, tol=30)
    for zeros in (1, 2):
        x = spread(rng, 3, 4)
        x[1, :zeros] = 0.0
        yield Sample((x,), {"dim": (1,), "keepdim": False})
        yield Sample((x,), {"dim": (0, 1), "keepdim": False})
    yield Sample((np.zeros((3, 0)),), {"dim": (1,), "keepdim": False})
    yield Sample((rng.integers(-3, 4, (3, 4)),), {"dim": (0,), "keepdim": True}, grad=False)


@samples("amax", "amin")
def _(rng):
    for x, dim in forms(rng):
        for keepdim in (False, True):
            yield Sample((x,), {"dim": dim, "keepdim": keepdim}, dtypes="number")
    yield Sample((SPECIAL,), {"dim": (1,), "keepdim": False}, grad=False)
    yield Sample((np.zeros((0, 3)),), {"dim": (1,), "keepdim": False})


@samples("argmax", "argmin")
def _(rng):
    for x, dim in forms(rng):
        for keepdim in (False, True):
            yield Sample((x,), {"dim": dim, "keepdim": keepdim}, dtypes="number")
    yield Sample((SPECIAL,), {"dim": (1,), "keepdim": False})
    yield Sample((np.ones((2, 3)),), {"dim": (0, 1), "keepdim": True}, dtypes="any")
    yield Sample((np.array([[3.0, 2, 1], [1, 4, 1]]),), {"dim": (1, 0), "keepdim": False}, dtypes="number")


@samples("any", "all")
def _(rng):
    for x, dim in forms(rng):
        yield Sample((np.where(x > 0, x, 0.0),), {"dim": dim, "keepdim": x.ndim == 3}, dtypes="any")
    yield Sample((SPECIAL,), {"dim": (0,), "keepdim": False})
    yield Sample((np.zeros((3, 0)),), {"dim": (1,), "keepdim": False}, dtypes="any")


@samples("int_sum")
def _(rng):
    for x, dim in forms(rng):
        for keepdim in (False, True):
            yield Sample((np.asarray(x * 3, np.int64),), {"dim": dim, "keepdim": keepdim}, dtypes="integral")
    yield Sample((np.full((40, 1000), 120, np.int8),), {"dim": (0, 1), "keepdim": False}, dtypes=("int8", "uint8", "bool"))
    yield Sample((np.zeros((3, 0), np.int64),), {"dim": (1,), "keepdim": False}, dtypes="integral")


@samples("mean")
def _(rng):
    for x, dim in forms(rng):
        for keepdim in (False, True):
            yield Sample((x,), {"dim": dim, "keepdim": keepdim})
    yield Sample((np.zeros((3, 0)),), {"dim": (1,), "keepdim": False})
    yield Sample((np.full(3000, 40.0),), {"dim": (0,), "keepdim": False})


@samples("logsumexp")
def _(rng):
    for x, dim in forms(rng):
        yield Sample((x,), {"dim": dim, "keepdim": x.ndim == 3})
    yield Sample((SPECIAL,), {"dim": (1,), "keepdim": False}, grad=False)
    yield Sample((np.array([[1e3, 1e3], [-1e3, -1e3], [-np.inf, -np.inf]]),), {"dim": (1,), "keepdim": False}, grad=False)
    yield Sample((np.zeros((3, 0)),), {"dim": (1,), "keepdim": False})


@samples("var", "std")
def _(rng):
    for x, dim in forms(rng):
        for correction in (0, 1):
            yield Sample((x,), {"dim": dim, "correction": correction, "keepdim": x.ndim == 3}, grad=dim != ())
    yield Sample((spread(rng, 2, 5),), {"dim": (1,), "correction": 1.5, "keepdim": False})
    yield Sample((spread(rng, 2, 1),), {"dim": (1,), "correction": 1, "keepdim": False}, grad=False)
    yield Sample((np.zeros((3, 0)),), {"dim": (1,), "correction": 1, "keepdim": False})


@samples("norms")
def _(rng):
    shapes = ((2, 3), (), (5,), (1, 2, 2), (0, 3))
    for ord in (0.0, 1.0, 2.0, 3.0, math.inf):
        arrays = [rng.standard_normal(s) for s in (shapes if ord < math.inf else shapes[:4])]
        yield Sample(tuple(arrays), {"ord": ord}, grad=False, tol=20)
    yield Sample((SPECIAL,), {"ord": 2.0}, grad=False)


@samples("all_finite")
def _(rng):
    yield Sample((rng.standard_normal((2, 3)), np.zeros((4, 1, 2))), {}, grad=False)
    for wrong in (math.inf, -math.inf, math.nan):
        yield Sample((np.ones((3,)), np.array([[0.0, wrong], [1.0, 2.0]])), {}, grad=False)


@samples("vector_norm")
def _(rng):
    for ord in (0.0, 0.5, 1.0, 2.0, 3.0, 2.5, -1.0, math.inf, -math.inf):
        for x, dim in forms(rng):
            yield Sample((x,), {"ord": ord, "dim": dim, "keepdim": x.ndim == 3}, grad=ord != 0, tol=20)
    yield Sample((np.zeros((2, 3)),), {"ord": 2.0, "dim": (1,), "keepdim": False}, grad=False)
    yield Sample((SPECIAL,), {"ord": 2.0, "dim": (1,), "keepdim": False}, grad=False)
    yield Sample((np.zeros((3, 0)),), {"ord": 1.0, "dim": (1,), "keepdim": False})
