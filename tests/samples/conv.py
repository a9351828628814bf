"""Samples of convolutions and of windows as columns."""

import itertools
import math

from . import Sample, samples

GEOMETRIES = [   # spatial sizes, kernel, stride, padding, dilation, channels in, channels out, groups
    ((7,), (3,), (1,), ((0, 0),), (1,), 3, 4, 1),
    ((9,), (3,), (2,), ((1, 2),), (2,), 4, 6, 2),
    ((6, 5), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 2, 3, 1),
    ((7, 6), (3, 2), (2, 1), ((0, 1), (1, 0)), (1, 2), 4, 4, 4),
    ((5, 6), (1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 3, 5, 1),
    ((5, 6), (1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1), 3, 2, 1),
    ((4, 5), (2, 2), (1, 1), ((-1, 0), (0, -1)), (1, 1), 2, 4, 2),
    ((4, 4), (3, 3), (3, 3), ((0, 0), (0, 0)), (1, 1), 2, 4, 2),
    ((5, 4, 4), (2, 3, 2), (1, 2, 1), ((0, 1), (1, 1), (0, 0)), (2, 1, 1), 2, 2, 1),
    ((8, 8), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 3, 6, 3),
]


def window_counts(sizes, kernel, stride, padding, dilation):
    return tuple((n + lo + hi - d * (k - 1) - 1) // s + 1
                 for n, k, s, (lo, hi), d in zip(sizes, kernel, stride, padding, dilation))


def _geometry(row):
    sizes, kernel, stride, padding, dilation, c, o, groups = row
    counts = window_counts(sizes, kernel, stride, padding, dilation)
    params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return sizes, kernel, counts, c, o, groups, params


@samples("conv")
def _conv(rng):
    for (row, n), bias in zip(itertools.product(GEOMETRIES, (2, 1)), itertools.cycle((True, False, False, True))):
        sizes, kernel, _, c, o, groups, params = _geometry(row)
        x = rng.standard_normal((*sizes[::-1], c, n)).transpose()
        w = rng.standard_normal((o, c // groups, *kernel))
        yield Sample((x, w, rng.standard_normal(o) if bias else None), params, tol=4)
    empty = {"stride": (1,), "padding": ((1, 1),), "dilation": (1,), "groups": 1}
    yield Sample((rng.standard_normal((0, 2, 5)), rng.standard_normal((3, 2, 3)), None), empty)
    yield Sample((rng.integers(-4, 5, (2, 2, 5)), rng.integers(-4, 5, (3, 2, 3)), None), empty, dtypes=("int64",), grad=False)


@samples("conv_input_grad")
def _conv_input_grad(rng):
    for row in GEOMETRIES:
        sizes, kernel, counts, c, o, groups, params = _geometry(row)
        args = (rng.standard_normal((2, o, *counts)), rng.standard_normal((o, c // groups, *kernel)))
        yield Sample(args, {**params, "size": sizes}, tol=4)


@samples("conv_weight_grad")
def _conv_weight_grad(rng):
    for row in GEOMETRIES:
        sizes, kernel, counts, c, o, _, params = _geometry(row)
        args = (rng.standard_normal((2, c, *sizes)), rng.standard_normal((2, o, *counts)))
        yield Sample(args, {**params, "size": kernel}, tol=8)
    params = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1, "size": (3, 3)}
    yield Sample((rng.standard_normal((0, 2, 4, 4)), rng.standard_normal((0, 3, 4, 4))), params)


COLUMNS = [((7,), (3,), (2,), ((1, 1),), (1,)), ((5, 6), (2, 3), (1, 2), ((1, 1), (0, 0)), (2, 1)),
           ((4, 4), (1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1))]


@samples("im2col")
def _im2col(rng):
    for sizes, kernel, stride, padding, dilation in COLUMNS:
        params = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        yield Sample((rng.standard_normal((2, 3, *sizes)),), params)
        yield Sample((rng.integers(0, 9, (2, 1, *sizes)),), params, dtypes=("int64",), grad=False)


@samples("col2im")
def _col2im(rng):
    for sizes, kernel, stride, padding, dilation in COLUMNS:
        elements, windows = math.prod(kernel), math.prod(window_counts(sizes, kernel, stride, padding, dilation))
        params = {"size": sizes, "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        yield Sample((rng.standard_normal((2, 3 * elements, windows)),), params, tol=4)
