"""Top-level functions with older argument orders give the values of nn.functional."""

import numpy as np
import pytest

import ingot
from ingot.nn import functional as F


def normal(*shape, seed=0):
    return ingot.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


ROWS = ingot.tensor([1, 3, 0, 1])
SIGNS = ingot.tensor([1, -1, 1, -1])
X, Y = normal(4), normal(4, seed=1)
A, B, C = (normal(4, 3, seed=s) for s in (2, 3, 4))
IMAGE, CHANNELS, SHIFT = normal(2, 3, 5), normal(3, seed=5), normal(3, seed=6)
LOGS, LABELS = normal(10, 2, 5).log_softmax(2), ingot.tensor([[1, 2, 3], [2, 2, 4]])
THETA = normal(2, 2, 3)

SAME = {
    "dropout": (lambda: ingot.dropout(A, 0.5, False), lambda: A),
    "dropout_all": (lambda: ingot.dropout(A, 1.0, True), lambda: A * 0),
    "alpha_dropout": (lambda: ingot.alpha_dropout(A, 0.5, False), lambda: A),
    "feature_dropout": (lambda: ingot.feature_dropout(IMAGE, 1.0, True), lambda: IMAGE * 0),
    "feature_alpha_dropout": (lambda: ingot.feature_alpha_dropout(IMAGE, 0.5, False), lambda: IMAGE),
    "rrelu": (lambda: ingot.rrelu(X, 0.2, 0.4), lambda: F.leaky_relu(X, 0.3)),
    "hardshrink": (lambda: ingot.hardshrink(X, 0.7), lambda: F.hardshrink(X, 0.7)),
    "embedding": (lambda: ingot.embedding(A, ROWS), lambda: A[ROWS]),
    "embedding_padding": (lambda: ingot.embedding(A, ROWS, 1), lambda: A[ROWS]),
    "bilinear": (lambda: ingot.bilinear(A, B, normal(5, 3, 3)), lambda: F.bilinear(A, B, normal(5, 3, 3))),
    "batch_norm": (lambda: ingot.batch_norm(IMAGE, CHANNELS, SHIFT, None, None, True, 0.1, 1e-5, False),
                   lambda: F.batch_norm(IMAGE, None, None, CHANNELS, SHIFT, True)),
    "instance_norm": (lambda: ingot.instance_norm(IMAGE, CHANNELS, SHIFT, None, None, True, 0.1, 1e-5, False),
                      lambda: F.instance_norm(IMAGE, None, None, CHANNELS, SHIFT)),
    "affine_grid_generator": (lambda: ingot.affine_grid_generator(THETA, [2, 3, 4, 5], True),
                              lambda: F.affine_grid(THETA, (2, 3, 4, 5), True)),
    "ctc_loss": (lambda: ingot.ctc_loss(LOGS, LABELS, [10, 9], [3, 2], 0, 2),
                 lambda: F.ctc_loss(LOGS, LABELS, [10, 9], [3, 2], reduction="sum")),
    "hinge": (lambda: ingot.hinge_embedding_loss(X, SIGNS, 0.5, 0),
              lambda: F.hinge_embedding_loss(X, SIGNS, 0.5, reduction="none")),
    "mean_by_default": (lambda: ingot.hinge_embedding_loss(X, SIGNS), lambda: F.hinge_embedding_loss(X, SIGNS)),
    "logits": (lambda: ingot.binary_cross_entropy_with_logits(X, Y.sigmoid(), None, Y.abs(), 2),
               lambda: F.binary_cross_entropy_with_logits(X, Y.sigmoid(), pos_weight=Y.abs(), reduction="sum")),
    "kl_div": (lambda: ingot.kl_div(X, Y, 0, log_target=True), lambda: F.kl_div(X, Y, reduction="none", log_target=True)),
    "poisson": (lambda: ingot.poisson_nll_loss(X, Y.abs(), True, True, 1e-8, 1),
                lambda: F.poisson_nll_loss(X, Y.abs(), True, True)),
    "ranking": (lambda: ingot.margin_ranking_loss(X, Y, SIGNS, 0.3, 2),
                lambda: F.margin_ranking_loss(X, Y, SIGNS, 0.3, reduction="sum")),
    "cosine": (lambda: ingot.cosine_embedding_loss(A, B, SIGNS, 0.1, 0),
               lambda: F.cosine_embedding_loss(A, B, SIGNS, 0.1, reduction="none")),
    "triplet": (lambda: ingot.triplet_margin_loss(A, B, C, 0.5, 1.0, 1e-6, True, 0),
                lambda: F.triplet_margin_loss(A, B, C, 0.5, 1.0, 1e-6, True, reduction="none")),
}


@pytest.mark.parametrize("name", SAME)
def test_twins_have_the_values_of_nn_functional(name):
    twin, other = (call() for call in SAME[name])
    assert twin.shape == other.shape
    np.testing.assert_allclose(twin.numpy(), other.numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name, args", [("dropout_", (1.0, True)), ("alpha_dropout_", (0.5, False)), ("celu_", (0.7,)),
                                        ("feature_dropout_", (0.0, True)), ("feature_alpha_dropout_", (0.5, False)),
                                        ("selu_", ()), ("rrelu_", (0.1, 0.1)), ("threshold_", (0.1, 9.0))])
def test_the_forms_in_place_write_into_their_argument(name, args):
    x = normal(3, 4, 5)
    expected = getattr(ingot, name[:-1])(x.clone(), *args)
    assert getattr(ingot, name)(x, *args) is x
    np.testing.assert_array_equal(x.numpy(), expected.numpy())


def test_embedding_renorm_scales_only_rows_that_are_named():
    table = A.clone() * 10
    assert ingot.embedding_renorm_(table, ROWS, 1.0, 2.0) is table
    assert (table[[0, 1, 3]].norm(dim=1) <= 1.0001).all()
    np.testing.assert_array_equal(table[2].numpy(), (A[2] * 10).numpy())


def test_unknown_reductions_are_refused():
    with pytest.raises(ValueError, match="reduction"):
        ingot.kl_div(X, Y, 3)
