"""Samples of pointwise functions of several pieces."""

import numpy as np

from . import Sample, samples
from .nn import inputs

HUBERS = ({"bound": 1.0, "curve": 0.5, "slope": 1.0}, {"bound": 2.5, "curve": 0.5, "slope": 2.5},
          {"bound": 0.3, "curve": 0.5 / 0.3, "slope": 1.0})


@samples("huber")
def _huber(rng):
    for params in HUBERS:
        for x, smooth in inputs(rng):
            yield Sample((x, np.asarray(rng.standard_normal(x.shape))), params, grad=smooth, tol=10)


@samples("squared_gap", "gate")
def _pairs(rng):
    for x, smooth in inputs(rng):
        yield Sample((x, np.asarray(rng.standard_normal(x.shape) * 3)), grad=smooth, tol=10)


@samples("gate_slope")
def _gate_slope(rng):
    for x, smooth in inputs(rng):
        others = [np.asarray(rng.standard_normal(x.shape) * 3) for _ in range(2)]
        yield Sample((others[0], x, others[1]), grad=smooth, tol=10)


@samples("glu")
def _glu(rng):
    for shape, dim in (((4,), 0), ((2, 6), 1), ((4, 3), 0), ((2, 4, 3), 1), ((0, 4), 1), ((3, 0), 1)):
        yield Sample((rng.standard_normal(shape) * 3,), {"dim": dim}, tol=10)


@samples("glu_grad")
def _glu_grad(rng):
    for shape, dim in (((2, 6), 1), ((4, 3), 0), ((2, 4, 3), 1), ((3, 0), 1)):
        half = [n // 2 if d == dim else n for d, n in enumerate(shape)]
        yield Sample((rng.standard_normal(half), rng.standard_normal(shape) * 3), {"dim": dim}, tol=10)


@samples("drop")
def _drop(rng):
    for scale in (1.25, 1.0):
        for x, smooth in inputs(rng):
            yield Sample((x, np.asarray(rng.random(x.shape) < 0.6)), {"scale": scale}, grad=smooth)
    yield Sample((np.array([np.nan, np.inf, -np.inf, -0.0]), np.array([False, False, True, True])), {"scale": 2.0}, grad=False)


@samples("lerp")
def _lerp(rng):
    for weight in (0.3, 0.5, 1.0, -2.0):
        for x, smooth in inputs(rng):
            yield Sample((x, np.asarray(rng.standard_normal(x.shape))), {"weight": weight}, grad=smooth, tol=10)


@samples("lerp_by")
def _lerp_by(rng):
    for x, smooth in inputs(rng):
        others = [np.asarray(rng.standard_normal(x.shape)) for _ in range(2)]
        yield Sample((x, *others), grad=smooth, tol=10)
    yield Sample((np.array([1.0, 2, 3]), np.array([5.0, 7, 9]), np.array([0.0, 1, 0.5])), grad=False)


@samples("nan_to_num")
def _nan_to_num(rng):
    for params in ({"nan": 0.0, "posinf": 100.0, "neginf": -100.0}, {"nan": float("inf"), "posinf": 2.0, "neginf": 3.0}):
        for x, smooth in inputs(rng):
            yield Sample((x,), params, grad=smooth)
        yield Sample((np.array([[np.nan, np.inf], [-np.inf, 1.0]]),), params, grad=False)


@samples("prelu")
def _prelu(rng):
    for shape, weight in (((), ()), ((5,), (1,)), ((2, 3), (1, 3)), ((2, 3, 4), (1, 3, 1)), ((0, 3), (1, 3)), ((2, 3), (1, 1)),
                          ((2, 3), (2, 3))):
        yield Sample((np.asarray(rng.standard_normal(shape) * 3), np.asarray(rng.standard_normal(weight))), tol=10)


@samples("clamp_by")
def _clamp_by(rng):
    for low, high in ((True, True), (True, False), (False, True)):
        for x, smooth in inputs(rng):
            limits = [np.asarray(rng.standard_normal(x.shape)) if there else None for there in (low, high)]
            yield Sample((x, *limits), grad=smooth)
    nan = np.array([1.0, np.nan, 0.0, np.nan])
    yield Sample((nan, nan[::-1].copy(), np.array([0.0, 1.0, np.nan, -1.0])), grad=False)
    yield Sample((np.array([5, -5, 0]), np.array([-1, -1, 2]), np.array([1, 1, 1])), dtypes=("int32",), grad=False)


@samples("fake_quantize")
def _fake_quantize(rng):
    """The gradient is not the slope, which is zero: see tests/runtime/api/nn/test_quantize_dequantize.py."""
    for shape, sizes, low, high in (((), (), -8, 7), ((5,), (1,), 0, 15), ((2, 3), (1, 3), -2, 1), ((0, 3), (1, 3), 0, 3),
                                    ((2, 3, 4), (1, 3, 1), -128, 127), ((2, 3), (2, 3), -4, 3)):
        scale = np.asarray(2.0 ** rng.integers(-4, 1, sizes))
        zero = np.asarray(rng.integers(low, high + 1, sizes), float)
        x = np.asarray(rng.standard_normal(shape) * 3)
        limits = {"low": low, "high": high}
        yield Sample((x, np.asarray(1 / scale), scale, zero), {**limits, "whole": True}, grad=False)
        yield Sample((x, np.asarray(1 / scale), scale, np.asarray(zero + 0.25)), {**limits, "whole": False}, grad=False)
    one = np.ones(1)
    yield Sample((np.array([np.nan, np.inf, -np.inf, 0.5, 1.5, 2.5]), one, one, one), {"low": -4, "high": 3, "whole": True},
                 grad=False)


@samples("cross_entropy_of_probability")
def _of_probability(rng):
    for shape in ((7,), (2, 3), (), (0,)):
        yield Sample((np.asarray(rng.uniform(0.1, 0.9, shape)), np.asarray(rng.uniform(0.1, 0.9, shape))), tol=10)
    ends = np.array([0.0, 0.0, 1.0, 1.0, np.nan])
    yield Sample((ends, np.array([0.0, 1.0, 0.0, 1.0, 1.0])), grad=False, dtypes=("float32", "float64"))


@samples("cross_entropy_of_logit")
def _of_logit(rng):
    for shape in ((7,), (2, 3), (), (0,)):
        yield Sample((np.asarray(rng.uniform(-4, 4, shape)), np.asarray(rng.uniform(0.1, 0.9, shape))), tol=10)
    yield Sample((np.array([-1e4, 1e4, 0.0, np.nan]), np.array([0.0, 0.0, 1.0, 1.0])), grad=False,
                 dtypes=("float32", "float64"))
