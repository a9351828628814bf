"""Samples of ranges that are followed, and of the steps that they are divided into."""

import numpy as np

from . import Sample, samples


def _ends(rng, shape):
    pair = np.sort(rng.standard_normal((2, *shape)) * 3, axis=0)
    return np.asarray(pair[0], np.float32), np.asarray(pair[1], np.float32)


@samples("followed_range")
def _followed(rng):
    for shape in ((), (5,), (0,)):
        for share in (1.0, 0.01):
            yield Sample((*_ends(rng, shape), *_ends(rng, shape)), {"share": share}, grad=False, dtypes=("float32",))
    fresh, found = np.array([np.inf, 1.0, np.nan]), np.array([0.5, np.nan, 2.0])
    yield Sample((found, found, fresh, -fresh), {"share": 0.25}, grad=False, dtypes=("float32",))


@samples("range_steps")
def _steps(rng):
    for kind in ("affine", "symmetric", "fitted", "floating"):
        for least, most, middle in ((0, 255, 128), (-128, 127, 0), (0, 15, 7)):
            params = {"least": least, "most": most, "kind": kind, "eps": 2.0 ** -23, "middle": middle}
            for shape in ((), (6,), (0,)):
                yield Sample((*_ends(rng, shape),), params, grad=False, dtypes=("float32",))
            low, high = np.array([0.0, -3.0, 1.0, np.nan, -1.0]), np.array([0.0, -1.0, 2.0, 1.0, np.inf])
            yield Sample((low, high), params, grad=False, dtypes=("float32",))
