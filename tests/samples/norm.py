"""Samples of normalisations."""

import numpy as np

from . import Sample, samples

ROWS = [((5,), 1), ((3, 7), 1), ((2, 3, 4), 2), ((2, 3, 4), 3), ((2, 1, 6), 1), ((2, 1, 3, 4), 1), ((1, 2, 1, 2, 3), 2)]


@samples("layer_norm")
def _layer_norm(rng):
    for shape, dims in ROWS:
        x, w, b = rng.standard_normal(shape), rng.standard_normal(shape[-dims:]), rng.standard_normal(shape[-dims:])
        for affine in ((w, b), (w, None), (None, None), (None, b)):
            yield Sample((x, *affine), {"dims": dims, "eps": 1e-5}, tol=8)
    yield Sample((rng.standard_normal((6, 4)).T, None, None), {"dims": 1, "eps": 1e-3}, tol=8)
    yield Sample((np.zeros((0, 4)), np.ones(4), None), {"dims": 1, "eps": 1e-5})


@samples("layer_norm_grad")
def _layer_norm_grad(rng):
    for shape, dims in ROWS:
        for w in (rng.standard_normal(shape[-dims:]), None):
            yield Sample((rng.standard_normal(shape), rng.standard_normal(shape), w), {"dims": dims, "eps": 1e-1}, tol=16)


@samples("rms_norm")
def _rms_norm(rng):
    for shape, dims in ROWS:
        for w in (rng.standard_normal(shape[-dims:]), None):
            yield Sample((rng.standard_normal(shape), w), {"dims": dims, "eps": 1e-5}, tol=8)


@samples("rms_norm_grad")
def _rms_norm_grad(rng):
    for shape, dims in ROWS:
        for w in (rng.standard_normal(shape[-dims:]), None):
            yield Sample((rng.standard_normal(shape), rng.standard_normal(shape), w), {"dims": dims, "eps": 1e-1}, tol=16)


@samples("group_norm")
def _group_norm(rng):
    for shape, groups in (((2, 6), 2), ((2, 4, 5), 4), ((3, 4, 3, 2), 1), ((1, 6, 2, 2, 3), 3)):
        x, w, b = rng.standard_normal(shape), rng.standard_normal(shape[1]), rng.standard_normal(shape[1])
        for affine in ((w, b), (None, None), (w, None)):
            yield Sample((x, *affine), {"groups": groups, "eps": 1e-3}, tol=8)


BATCHES = [(6, 3), (2, 3, 4), (2, 2, 3, 3), (1, 2, 2, 2, 3)]


@samples("batch_norm")
def _batch_norm(rng):
    for shape in BATCHES:
        x, (w, b, mean) = rng.standard_normal(shape), rng.standard_normal((3, shape[1]))
        var = rng.random(shape[1]) + 0.5
        for affine in ((w, b), (None, None), (w, None)):
            yield Sample((x, *affine, mean, var), {"eps": 1e-5}, tol=8)


@samples("batch_norm_train", "batch_norm_relu_train")
def _batch_norm_train(rng):
    for shape in BATCHES:
        x, (w, b) = rng.standard_normal(shape), rng.standard_normal((2, shape[1]))
        for affine in ((w, b), (None, None), (w, None)):
            yield Sample((x, *affine), {"eps": 1e-2}, tol=8)


@samples("batch_norm_relu_grad")
def _batch_norm_relu_grad(rng):
    for sample in _batch_norm_grad(rng):
        g, *others = sample.args
        yield Sample((g, rng.standard_normal(g.shape), *others), sample.params, dtypes=sample.dtypes, tol=sample.tol)


@samples("batch_norm_grad")
def _batch_norm_grad(rng):
    for shape in BATCHES:
        x, g, (w, g_mean, g_var) = rng.standard_normal(shape), rng.standard_normal(shape), rng.standard_normal((3, shape[1]))
        mean, var = rng.standard_normal(shape[1]), rng.random(shape[1]) + 0.5
        for weight in (w, None):
            yield Sample((g, g_mean, g_var, x, weight, mean, var), {"eps": 1e-2}, dtypes=("float32", "float64"), tol=16)
