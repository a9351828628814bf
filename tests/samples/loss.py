"""Samples of losses over classes."""

import numpy as np

from ingot.ir import dtype as dt

from . import Sample, samples

SHAPES = ((4, 3), (2, 5, 3), (1, 3, 2, 2), (3, 1))


def targets(rng, shape, low=0):
    return rng.integers(low, shape[1], (shape[0], *shape[2:]))


@samples("take_class")
def _take(rng):
    for shape in SHAPES:
        yield Sample((rng.standard_normal(shape), targets(rng, shape, -1)))
    yield Sample((np.zeros((0, 3)), np.zeros(0, np.int64)))


@samples("put_class")
def _put(rng):
    for shape in SHAPES:
        target = targets(rng, shape, -1)
        yield Sample((rng.standard_normal(target.shape), target), {"classes": shape[1]})


@samples("class_weight")
def _class_weight(rng):
    for shape in SHAPES:
        for weight in (None, rng.random(shape[1])):
            yield Sample((targets(rng, shape), weight),
                         {"ignore_index": 0, "classes": shape[1], "dtype": dt.float64}, dtypes=("float64",))


@samples("class_index")
def _class_index(rng):
    for shape in SHAPES:
        yield Sample((targets(rng, shape),), {"classes": shape[1], "ignore_index": -100})
    target = targets(rng, SHAPES[0])
    target[0] = -100
    yield Sample((target,), {"classes": 3, "ignore_index": -100})


@samples("class_share")
def _class_share(rng):
    for shape in SHAPES:
        for reduction in ("none", "mean", "sum"):
            for ignore_index in (0, -100):
                target = targets(rng, shape)
                g = rng.standard_normal(target.shape if reduction == "none" else ())
                yield Sample((g, target), {"ignore_index": ignore_index, "classes": shape[1], "reduction": reduction}, tol=8)


@samples("nll_loss")
def _nll(rng):
    for shape in SHAPES:
        for weight in (None, rng.random(shape[1]) + 0.1):
            for reduction in ("none", "mean", "sum"):
                target = targets(rng, shape)
                target.reshape(-1)[0] = shape[1] - 1
                yield Sample((rng.standard_normal(shape), target, weight),
                             {"ignore_index": 0 if shape[1] > 1 else -100, "reduction": reduction}, tol=8)


@samples("softmax_minus_onehot")
def _softmax_minus_onehot(rng):
    for shape in SHAPES:
        target = targets(rng, shape, -1)
        rows = [rng.standard_normal(target.shape) for _ in range(3)]
        yield Sample((rng.standard_normal(shape), *rows, target), tol=16)


@samples("cross_entropy_grad")
def _cross_entropy_grad(rng):
    for shape in SHAPES:
        for reduction, ignore_index in (("none", 0), ("mean", -100), ("sum", -100), ("mean", 0)):
            target = targets(rng, shape)
            target.reshape(-1)[0] = shape[1] - 1
            x = rng.standard_normal(shape)
            g = rng.standard_normal(target.shape if reduction == "none" else ())
            yield Sample((g, x, np.log(np.exp(x).sum(1)), target),
                         {"ignore_index": ignore_index if shape[1] > 1 else -100, "reduction": reduction}, tol=16)


@samples("cross_entropy")
def _cross_entropy(rng):
    for shape in SHAPES:
        for weight in (None, rng.random(shape[1]) + 0.1):
            for reduction, smoothing in (("none", 0.0), ("mean", 0.0), ("sum", 0.2), ("mean", 0.1)):
                target = targets(rng, shape)
                target.reshape(-1)[0] = shape[1] - 1
                yield Sample((rng.standard_normal(shape) * 2, target, weight),
                             {"ignore_index": 0 if shape[1] > 1 else -100, "label_smoothing": smoothing,
                              "reduction": reduction}, tol=16)
    yield Sample((np.zeros((0, 3)), np.zeros(0, np.int64), None),
                 {"ignore_index": -100, "label_smoothing": 0.0, "reduction": "sum"})


LENGTHS = np.array([6, 4, 5, 2]), np.array([3, 2, 1, 0])


def log_probs(rng, steps=6, batch=4, classes=4):
    x = rng.standard_normal((steps, batch, classes))
    return x - np.log(np.exp(x).sum(2, keepdims=True))


@samples("ctc_loss")
def _ctc(rng):
    for blank, labels in ((0, [[1, 2, 2], [3, 1, 0], [2, 0, 0], [0, 0, 0]]), (0, [1, 2, 2, 3, 1, 2]),
                          (3, [[0, 1, 0], [0, 1, 0], [2, 0, 0], [0, 0, 0]])):
        yield Sample((log_probs(rng), np.array(labels), *LENGTHS), {"blank": blank}, order2=False, tol=8)


@samples("ctc_loss_grad")
def _ctc_grad(rng):
    labels = np.array([[1, 2, 2], [3, 1, 0], [2, 0, 0], [0, 0, 0]])
    yield Sample((rng.standard_normal(4), log_probs(rng), labels, *LENGTHS), {"blank": 0}, grad=False, tol=16)
