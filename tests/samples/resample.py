"""Samples of resampling, borders and grids of points."""

import itertools

import numpy as np

from . import Sample, samples

SIZES = [((5,), (8,)), ((7,), (3,)), ((4, 5), (7, 9)), ((6, 7), (3, 4)), ((3, 3), (3, 3)), ((3, 4, 2), (5, 2, 4)),
         ((1, 5), (4, 1))]
MODES = ("nearest", "nearest-exact", "linear", "cubic", "area", "linear-smooth", "cubic-smooth")


@samples("resample")
def _resample(rng):
    for (sizes, out), mode in itertools.product(SIZES, MODES):
        params = {"size": out, "mode": mode, "align_corners": False, "scales": (None,) * len(out)}
        yield Sample((rng.standard_normal((2, 2, *sizes)),), params, tol=4)
    for mode in ("linear", "cubic"):
        yield Sample((rng.standard_normal((1, 2, 5, 4)),), {"size": (9, 1), "mode": mode, "align_corners": True,
                                                            "scales": (None, None)}, tol=4)
        yield Sample((rng.standard_normal((1, 2, 5)),), {"size": (7,), "mode": mode, "align_corners": False,
                                                         "scales": (1.5,)}, tol=4)
    yield Sample((rng.integers(0, 99, (1, 1, 4, 4)),), {"size": (2, 8), "mode": "nearest", "align_corners": False,
                                                        "scales": (None, None)}, dtypes=("int64",), grad=False)
    yield Sample((rng.standard_normal((0, 2, 5)),), {"size": (7,), "mode": "linear", "align_corners": False, "scales": (None,)})


@samples("resample_grad")
def _resample_grad(rng):
    for (sizes, out), mode in itertools.product(SIZES, MODES):
        params = {"size": sizes, "mode": mode, "align_corners": False, "scales": (None,) * len(out)}
        yield Sample((rng.standard_normal((2, 2, *out)),), params, tol=8)


BORDERS = [((1, 2, 5), (0, 0, 2), (0, 0, 1)), ((2, 4, 5), (0, 1, 3), (0, 2, 0)), ((2, 1, 4, 3), (0, 0, -1, 2), (0, 0, 3, -1)),
           ((1, 3, 3, 3), (0, 1, 1, 1), (0, 1, 1, 1))]


@samples("border_pad")
def _border_pad(rng):
    for (shape, low, high), mode in itertools.product(BORDERS, ("reflect", "replicate", "circular")):
        params = {"low": low, "high": high, "mode": mode}
        yield Sample((rng.standard_normal(shape),), params)
        yield Sample((rng.integers(0, 9, shape),), params, dtypes=("int64",), grad=False)


@samples("border_pad_grad")
def _border_pad_grad(rng):
    for (shape, low, high), mode in itertools.product(BORDERS, ("reflect", "replicate", "circular")):
        grown = tuple(n + lo + hi for n, lo, hi in zip(shape, low, high))
        yield Sample((rng.standard_normal(grown),), {"low": low, "high": high, "mode": mode}, tol=4)


@samples("grid_sample")
def _grid_sample(rng):
    settings = itertools.product(("nearest", "linear", "cubic"), ("zeros", "border", "reflection"), (False, True))
    for mode, padding_mode, align_corners in settings:
        params = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
        for sizes, points in (((4, 5), (3, 2)), ((3, 3, 4), (2, 2, 1))):
            if mode == "cubic" and len(sizes) == 3:
                continue
            grid = rng.uniform(-1.3, 1.3, (2, *points, len(sizes)))
            yield Sample((rng.standard_normal((2, 2, *sizes)), grid), params, tol=16, dtypes=("float32", "float64"))


def _weighted_elements(rng):
    """Places of planes of two sizes, some outside, some met twice; and weights for them."""
    for channels, size, points, count in ((2, (4, 5), (3, 2), 4), (1, (7,), (20,), 1), (3, (2, 2, 3), (1, 1, 5), 8),
                                         (17, (6,), (3,), 2)):
        indices = rng.integers(-1, np.prod(size), (2, count, *points)).astype(np.int32)
        values = rng.standard_normal((2, channels, *points))
        yield rng.standard_normal((2, channels, *size)), indices, rng.standard_normal(indices.shape), values, size


@samples("taps_take")
def _taps_take(rng):
    for x, indices, weights, _, _ in _weighted_elements(rng):
        yield Sample((x, indices, weights), tol=16)
        yield Sample((x, indices, None), tol=16)
        yield Sample((x, indices.astype(np.int64), weights), tol=16, dtypes=("float32",))


@samples("taps_put")
def _taps_put(rng):
    for _, indices, weights, y, size in _weighted_elements(rng):
        yield Sample((y, indices, weights), {"size": size}, tol=16)
        yield Sample((y, indices, None), {"size": size}, tol=16)


@samples("taps_dots")
def _taps_dots(rng):
    for x, indices, _, y, _ in _weighted_elements(rng):
        yield Sample((x, y, indices), tol=16)
