"""Samples of lookups in tables."""

import numpy as np

from . import Sample, samples


@samples("embedding")
def _embedding(rng):
    for shape in ((), (4,), (2, 3), (0,)):
        for padding, frequency in ((None, False), (1, False), (2, True)):
            yield Sample((rng.standard_normal((5, 3)), rng.integers(0, 5, shape)),
                         {"padding_idx": padding, "by_frequency": frequency}, grad=padding is None)


@samples("row_sums")
def _row_sums(rng):
    for shape in ((4,), (2, 3), (0,), ()):
        yield Sample((rng.standard_normal((*shape, 3)), rng.integers(0, 5, shape)), {"rows": 5}, tol=8)


@samples("row_scale")
def _row_scale(rng):
    yield Sample((rng.standard_normal(3), rng.integers(0, 5, (2, 3))))


@samples("bag_of")
def _bag_of(rng):
    yield Sample((np.array([0, 2, 2, 5]),), {"size": 7}, dtypes=("int64",))
    yield Sample((np.array([0]),), {"size": 0}, dtypes=("int64",))


@samples("bag_sums")
def _bag_sums(rng):
    for width, index, offsets in ((3, 7, [0, 2, 2, 5]), (1, 4, [0]), (150, 9, [0, 9, 9]), (2, 3, [0, 1, 2]), (3, 0, [0, 0])):
        yield Sample((rng.standard_normal((5, width)), rng.integers(0, 5, index), np.array(offsets)), tol=8)


@samples("scaled_bag_sums")
def _scaled_bag_sums(rng):
    for width, index, offsets in ((3, 7, [0, 2, 2, 5]), (1, 4, [0]), (150, 9, [0, 9, 9]), (2, 3, [0, 1, 2]), (3, 0, [0, 0])):
        table, scales = rng.standard_normal((5, width)), rng.standard_normal(index)
        yield Sample((table, rng.integers(0, 5, index), np.array(offsets), scales), tol=8)
