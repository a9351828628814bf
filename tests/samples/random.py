"""Samples of the random operators: pure functions of their key."""

import numpy as np

from ingot.ir import dtype as dt

from . import Sample, samples

KEYS = [np.array(k, np.uint64) for k in ((0, 0), (1234, 7), (2 ** 64 - 1, 2 ** 40))]


@samples("uniform", "normal")
def _(rng):
    for d in dt.FLOATS:
        for shape in ((), (0, 3), (5,), (3, 7)):
            yield Sample((KEYS[1],), {"shape": shape, "dtype": d}, dtypes=("float32",))
    for key in KEYS:
        yield Sample((key,), {"shape": (9,), "dtype": dt.float32}, dtypes=("float32",))


@samples("randint")
def _(rng):
    for low, high, d in ((0, 10, dt.int64), (-5, 5, dt.int8), (-2 ** 63, 2 ** 63, dt.int64), (0, 2, dt.bool_),
                         (0, 9, dt.float32)):
        yield Sample((KEYS[2],), {"shape": (3, 5), "low": low, "high": high, "dtype": d}, dtypes=("float32",))


@samples("bernoulli_mask")
def _(rng):
    for p in (0.0, 0.3, 1.0):
        yield Sample((KEYS[0],), {"shape": (4, 5), "p": p}, dtypes=("float32",))


@samples("mask_below")
def _(rng):
    for bound in (0, 1 << 30, 1 << 32):
        yield Sample((np.array([*KEYS[0], bound, 0], np.uint64),), {"shape": (4, 5)}, dtypes=("float32",))


@samples("poisson")
def _(rng):
    yield Sample((KEYS[1], np.array([[0.0, 0.5, 3.0], [9.9, 10.0, 300.0]])), grad=False)
    yield Sample((KEYS[1], np.zeros((0, 2))), grad=False)


@samples("standard_gamma")
def _(rng):
    yield Sample((KEYS[1], np.array([[0.1, 0.5, 1.0], [2.5, 10.0, 300.0]])), grad=False)
    yield Sample((KEYS[1], np.array(0.7)), grad=False)
    yield Sample((KEYS[1], np.zeros((0, 2))), grad=False)


@samples("gamma_slope")
def _(rng):
    yield Sample((np.array([0.1, 0.5, 1.0, 2.5, 10.0]), np.array([0.01, 1.5, 1.0, 2.5, 14.0])), tol=10)
    yield Sample((np.zeros((0, 2)), np.zeros((0, 2))))
