"""Samples of recurrent layers."""

import numpy as np

from . import Sample, samples

MASK = np.array([[True, True], [True, True], [True, False]])


def cases(rng, gates, hidden=2):
    for steps in (1, 3):
        for reverse in (False, True):
            z = rng.standard_normal((steps, 2, gates * hidden))
            yield z, None, reverse
            yield z, MASK[:steps], reverse


@samples("rnn_sequence")
def _rnn(rng):
    for z, mask, reverse in cases(rng, 1):
        for activation in ("tanh", "relu"):
            yield Sample((z, mask, rng.standard_normal((2, 2)), rng.standard_normal((2, 2))),
                         {"activation": activation, "reverse": reverse}, tol=16)


@samples("lstm_sequence", "lstm_states")
def _lstm(rng):
    for z, mask, reverse in cases(rng, 4):
        c = rng.standard_normal((2, 2))
        yield Sample((z, mask, rng.standard_normal((2, 2)), c, rng.standard_normal((8, 2)), None), {"reverse": reverse}, tol=16)
        yield Sample((z, mask, rng.standard_normal((2, 1)), c, rng.standard_normal((8, 1)), rng.standard_normal((1, 2))),
                     {"reverse": reverse}, tol=16)


@samples("pack_recurrent")
def _pack(rng):
    yield Sample((rng.standard_normal((8, 2)),), {"kernel": ("lstm", 3), "size": 72}, grad=False)
    yield Sample((rng.standard_normal((2, 2)),), {"kernel": ("rnn_relu", 3), "size": 4}, grad=False)


@samples("recurrent_packed")
def _packed(rng):
    for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        for z, mask, reverse in cases(rng, gates):
            c = rng.standard_normal((2, 2)) if name == "lstm" else None
            for bias in (None, rng.standard_normal(6))[:1 + (name == "gru")]:
                yield Sample((z, mask, rng.standard_normal((2, 2)), c, rng.standard_normal(4 * gates + 3), bias),
                             {"kernel": (name, 3), "reverse": reverse}, tol=16, grad=False)


@samples("gru_sequence", "gru_states")
def _gru(rng):
    for z, mask, reverse in cases(rng, 3):
        for bias in (None, rng.standard_normal(6)):
            yield Sample((z, mask, rng.standard_normal((2, 2)), rng.standard_normal((6, 2)), bias), {"reverse": reverse},
                         tol=16)


def inside(rng, *shape):
    """Values of activated gates."""
    return 0.1 + 0.8 * rng.random(shape)


@samples("rnn_sequence_grad")
def _rnn_grad(rng):
    for y, mask, reverse in cases(rng, 1):
        for activation in ("tanh", "relu"):
            yield Sample((rng.standard_normal(y.shape), inside(rng, *y.shape), mask, inside(rng, 2, 2),
                          rng.standard_normal((2, 2))),
                         {"activation": activation, "reverse": reverse}, tol=16)


@samples("lstm_sequence_grad")
def _lstm_grad(rng):
    for z, mask, reverse in cases(rng, 4):
        for size in (2, 1):
            y, cells = (rng.standard_normal((*z.shape[:2], n)) for n in (size, 2))
            gy, gc, gg = (rng.standard_normal(a.shape) for a in (y, cells, z))
            projection = None if size == 2 else rng.standard_normal((1, 2))
            others = (y, cells, inside(rng, *z.shape), mask, rng.standard_normal((2, size)), rng.standard_normal((2, 2)),
                      rng.standard_normal((8, size)), projection)
            for given in ((gy, gc, gg), (gy, None, None), (None, gc, None)):
                yield Sample((*given, *others), {"reverse": reverse}, tol=32)


@samples("gru_sequence_grad")
def _gru_grad(rng):
    for z, mask, reverse in cases(rng, 4):
        y = rng.standard_normal((*z.shape[:2], 2))
        gy, gg = rng.standard_normal(y.shape), rng.standard_normal(z.shape)
        for bias in (None, rng.standard_normal(6)):
            others = (y, inside(rng, *z.shape), mask, rng.standard_normal((2, 2)), rng.standard_normal((6, 2)), bias)
            for given in ((gy, gg), (gy, None), (None, gg)):
                yield Sample((*given, *others), {"reverse": reverse}, tol=32)
