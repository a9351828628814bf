"""Samples of activations, the softmax family and the linear layer."""

import numpy as np

from . import Sample, samples

PLAIN = ("relu", "softplus", "log_sigmoid", "silu", "mish", "gelu", "gelu_slope", "gelu_tanh", "hardsigmoid", "hardswish")
WITH_PARAMS = {
    "leaky_relu": ({"negative_slope": 0.01}, {"negative_slope": -0.5}),
    "elu": ({"alpha": 1.0, "scale": 1.0, "input_scale": 1.0}, {"alpha": 1.6, "scale": 1.05, "input_scale": 0.5}),
    "hardtanh": ({"min_val": -1.0, "max_val": 1.0}, {"min_val": 0.0, "max_val": 6.0}),
    "clamp": ({"min_val": -1.0, "max_val": 1.0}, {"min_val": 0.5, "max_val": float("inf")}),
    "hardshrink": ({"lambd": 0.5}, {"lambd": 0.0}),
    "softshrink": ({"lambd": 0.5}, {"lambd": 0.0}),
    "threshold": ({"threshold": 0.1, "value": 20.0},),
}


def inputs(rng):
    """Values of several shapes, the last one with extremes (no gradient check there)."""
    for shape in ((), (5,), (2, 3), (0, 3)):
        yield np.asarray(rng.standard_normal(shape) * 3), True
    yield rng.standard_normal((4, 3)).T * 3, True
    yield np.array([0.0, -0.0, 30.0, -30.0, 1e4, -1e4, np.inf]), False


@samples(*PLAIN)
def _plain(rng):
    for x, smooth in inputs(rng):
        yield Sample((x,), grad=smooth, tol=10)


def _with_params(name):
    def generate(rng):
        for params in WITH_PARAMS[name]:
            for x, smooth in inputs(rng):
                yield Sample((x,), params, grad=smooth, tol=10)

    return generate


for _name in WITH_PARAMS:
    samples(_name)(_with_params(_name))


@samples("softmax", "log_softmax")
def _softmax(rng):
    for shape, dim in (((5,), 0), ((2, 3), 0), ((2, 3), 1), ((2, 3, 4), 1), ((3, 0), 1), ((0, 3), 1), ((2, 1), 1)):
        yield Sample((rng.standard_normal(shape) * 3,), {"dim": dim}, tol=8)
    yield Sample((rng.standard_normal((4, 3)).T,), {"dim": 0}, tol=8)
    yield Sample((np.array([[1e4, 0.0, -1e4], [-np.inf, 0.0, 1.0]]),), {"dim": 1}, grad=False)


@samples("softmax_grad", "log_softmax_grad")
def _softmax_grad(rng):
    for shape, dim in (((5,), 0), ((2, 3), 0), ((2, 3, 4), 1), ((3, 0), 1), ((2, 1), 1)):
        yield Sample((rng.standard_normal(shape), rng.standard_normal(shape)), {"dim": dim}, tol=8)


@samples("linear")
def _linear(rng):
    for shape, outs in (((3,), 2), ((2, 3), 4), ((2, 2, 3), 1), ((0, 3), 2), ((2, 0), 3), ((2, 3), 0)):
        w = rng.standard_normal((outs, shape[-1]))
        yield Sample((rng.standard_normal(shape), w, rng.standard_normal(outs)), tol=8)
        yield Sample((rng.standard_normal(shape), w, None), tol=8)
    yield Sample((rng.standard_normal((3, 4)).T, rng.standard_normal((3, 2)).T, None), tol=8)


@samples("group")
def _group(rng):
    yield Sample((rng.standard_normal(3), rng.standard_normal((2, 2))))
    yield Sample((rng.standard_normal(3),))
