"""Samples of pools. Values are distinct, so that maxima have one winner and a gradient."""

import numpy as np

from ingot.ir.ops.nn import pool as ops

from . import Sample, samples


def distinct(rng, shape):
    """Shuffled numbers further apart than a difference quotient reaches."""
    return rng.permutation(int(np.prod(shape))).reshape(shape) * 0.125 - 2.0


@samples("plane_take")
def _plane_take(rng):
    yield Sample((rng.standard_normal((2, 3, 4, 5)), rng.integers(0, 20, (2, 3, 2, 2))))
    yield Sample((rng.standard_normal((1, 2, 6)), rng.integers(0, 6, (1, 2, 9))))
    yield Sample((rng.standard_normal((1, 2, 3)), np.zeros((1, 2, 0), np.int64)))


@samples("plane_put")
def _plane_put(rng):
    indices = rng.integers(0, 20, (2, 3, 2, 4))
    yield Sample((rng.standard_normal((2, 3, 2, 4)), indices), {"size": (4, 5), "accumulate": True}, tol=4)
    unique = np.stack([rng.permutation(12)[:6] for _ in range(4)]).reshape(2, 2, 6)
    yield Sample((rng.standard_normal((2, 2, 6)), unique), {"size": (12,), "accumulate": False})
    yield Sample((rng.standard_normal((0, 2, 6)), np.zeros((0, 2, 6), np.int64)), {"size": (12,), "accumulate": True})


POOLS = [((8,), (2,), (2,), ((0, 0),), (1,)), ((7,), (3,), (1,), ((1, 1),), (2,)),
         ((6, 5), (2, 2), (2, 2), ((0, 0), (0, 1)), (1, 1)), ((6, 7), (3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1)),
         ((9, 9), (9, 9), (9, 9), ((0, 0), (0, 0)), (1, 1)), ((10, 9), (9, 9), (1, 1), ((1, 1), (1, 1)), (1, 1)),
         ((4, 5, 4), (2, 2, 2), (2, 1, 2), ((0, 0), (1, 1), (0, 0)), (1, 1, 1))]


@samples("max_pool_grad")
def _max_pool_grad(rng):
    for sizes, kernel, stride, padding, dilation in POOLS:
        params = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        out, indices = ops.max_pool.ref(distinct(rng, (2, 3, *sizes)), **params)
        yield Sample((rng.standard_normal(out.shape), indices), {"size": sizes} | params, tol=4)
    window = {"kernel": (2,), "stride": (2,), "padding": ((0, 0),), "dilation": (1,)}
    yield Sample((np.zeros((0, 2, 2)), np.zeros((0, 2, 2), np.int64)), {"size": (4,)} | window)


@samples("max_pool")
def _max_pool(rng):
    for sizes, kernel, stride, padding, dilation in POOLS:
        params = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        yield Sample((distinct(rng, (2, 3, *sizes)),), params)
        yield Sample((rng.integers(-9, 9, (1, 2, *sizes)),), params, dtypes=("int64",), grad=False)
    params = {"kernel": (2,), "stride": (1,), "padding": ((1, 1),), "dilation": (1,)}
    for row in ([-np.inf, -np.inf, 1.0], [np.nan, 2.0, np.nan]):
        yield Sample((np.array(row).reshape(1, 1, 3),), params, grad=False)
    yield Sample((np.zeros((0, 2, 4)),), params)


@samples("adaptive_max_pool")
def _adaptive_max_pool(rng):
    for sizes, out in (((7,), (3,)), ((6, 5), (2, 3)), ((5, 4, 3), (2, 4, 1)), ((3, 3), (5, 5))):
        yield Sample((distinct(rng, (2, 2, *sizes)),), {"size": out})


@samples("fractional_max_pool")
def _fractional_max_pool(rng):
    for sizes, kernel, out in (((9, 8), (2, 3), (4, 3)), ((6, 7), (2, 2), (1, 6)), ((5, 6, 7), (2, 2, 2), (2, 3, 3))):
        samples_ = rng.random((2, 2, len(sizes))).astype(np.float32)
        yield Sample((distinct(rng, (2, 2, *sizes)), samples_), {"kernel": kernel, "size": out})


AVERAGES = [((8,), (2,), (2,), ((0, 0),), ((0, 0),), None), ((7,), (3,), (2,), ((1, 2),), ((1, 1),), None),
            ((6, 5), (3, 2), (2, 2), ((1, 1), (0, 1)), ((0, 0), (0, 0)), None),
            ((6, 5), (3, 2), (1, 2), ((1, 1), (0, 1)), ((1, 1), (0, 0)), 5),
            ((7, 7), (7, 7), (7, 7), ((0, 0), (0, 0)), ((0, 0), (0, 0)), None),
            ((4, 5, 4), (2, 2, 3), (2, 1, 2), ((0, 0), (1, 1), (1, 1)), ((0, 0), (1, 1), (1, 1)), None)]


def _average_params(kernel, stride, padding, counted, divisor):
    return {"kernel": kernel, "stride": stride, "padding": padding, "counted": counted, "divisor": divisor}


@samples("avg_pool")
def _avg_pool(rng):
    for sizes, *rest in AVERAGES:
        yield Sample((rng.standard_normal((2, 3, *sizes)),), _average_params(*rest))
        yield Sample((rng.integers(-20, 20, (1, 2, *sizes)),), _average_params(*rest), dtypes=("int64",), grad=False)


@samples("avg_pool_grad")
def _avg_pool_grad(rng):
    for sizes, *rest in AVERAGES:
        kernel, stride, padding = rest[:3]
        counts = [(n + lo + hi - k) // s + 1 for n, k, s, (lo, hi) in zip(sizes, kernel, stride, padding)]
        yield Sample((rng.standard_normal((2, 3, *counts)),), {"size": sizes, **_average_params(*rest)}, tol=2)
