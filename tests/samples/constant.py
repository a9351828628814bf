"""Samples of literal arrays."""

import numpy as np

from ingot.ir import dtype as dt

from . import Sample, samples


@samples("constant")
def _(rng):
    like = np.zeros(())
    yield Sample((like,), {"values": (1.0, -0.0, float("inf")), "shape": (3,), "dtype": dt.float32}, grad=False)
    yield Sample((like,), {"values": (1, 2, 3, 4, 5, 6), "shape": (2, 3), "dtype": dt.int64}, grad=False)
    yield Sample((like,), {"values": (0.1,), "shape": (), "dtype": dt.bfloat16}, grad=False)
    yield Sample((like,), {"values": (), "shape": (2, 0), "dtype": dt.bool_}, grad=False)
