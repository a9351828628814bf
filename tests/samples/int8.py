"""Samples of products with weights of int8."""

import numpy as np

from . import Sample, samples
from .recurrent import cases

SINGLE = ("float32",)


def whole(rng, *shape):
    return rng.integers(-127, 128, shape).astype(np.int8)


@samples("linear_int8")
def _linear(rng):
    for shape, outs in (((3,), 2), ((2, 3), 4), ((2, 2, 70), 5), ((0, 3), 2), ((2, 0), 3), ((2, 3), 0)):
        x, scale = rng.standard_normal(shape), rng.random(outs) / 127
        for bias in (None, rng.standard_normal(outs)):
            yield Sample((x, whole(rng, outs, shape[-1]), scale, bias), grad=False, dtypes=SINGLE)


@samples("recurrent_int8")
def _recurrent(rng):
    for layer, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        for z, mask, reverse in cases(rng, gates):
            c = rng.standard_normal((2, 2)) if layer == "lstm" else None
            bias = rng.standard_normal(6) if layer == "gru" and reverse else None
            yield Sample((z, mask, rng.standard_normal((2, 2)), c, whole(rng, 2 * gates, 2), rng.random(2 * gates) / 127, bias),
                         {"layer": layer, "reverse": reverse}, grad=False, dtypes=SINGLE, tol=16)
