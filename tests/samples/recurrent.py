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


@samples("lstm_sequence")
def _lstm(rng):
    for z, mask, reverse in cases(rng, 4):
        c = rng.standard_normal((2, 2))
        yield Sample((z, mask, rng.standard_normal((2, 2)), c, rng.standard_normal((8, 2)), None), {"reverse": reverse}, tol=16)
        yield Sample((z, mask, rng.standard_normal((2, 1)), c, rng.standard_normal((8, 1)), rng.standard_normal((1, 2))),
                     {"reverse": reverse}, tol=16)


@samples("gru_sequence")
def _gru(rng):
    for z, mask, reverse in cases(rng, 3):
        for bias in (None, rng.standard_normal(6)):
            yield Sample((z, mask, rng.standard_normal((2, 2)), rng.standard_normal((6, 2)), bias), {"reverse": reverse},
                         tol=16)
