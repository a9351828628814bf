"""Functions of sampled data, against numpy."""

import numpy as np
import pytest

import ingot

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("shape", [(7,), (4, 5), (2, 3, 3)])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("spacing", [1.0, 0.25])
def test_gradient_with_equal_steps(shape, order, spacing):
    if min(shape) <= order:
        pytest.skip("too few elements for this order")
    a = RNG.standard_normal(shape)
    got = ingot.gradient(ingot.tensor(a), spacing=spacing, edge_order=order)
    want = np.gradient(a, spacing, edge_order=order)
    for g, w in zip(got, want if isinstance(want, (list, tuple)) else [want], strict=True):
        np.testing.assert_allclose(g.numpy(), w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_gradient_at_given_places(order):
    a, x, y = RNG.standard_normal((5, 6)), np.cumsum(RNG.uniform(0.5, 2, 5)), np.cumsum(RNG.uniform(0.5, 2, 6))
    got = ingot.gradient(ingot.tensor(a), spacing=(ingot.tensor(x), ingot.tensor(y)), edge_order=order)
    for g, w in zip(got, np.gradient(a, x, y, edge_order=order), strict=True):
        np.testing.assert_allclose(g.numpy(), w, rtol=1e-10, atol=1e-10)


def test_gradient_refuses_too_few_elements():
    with pytest.raises(ingot.IngotError, match="needs at least"):
        ingot.gradient(ingot.ones(1))
    with pytest.raises(ingot.IngotError, match="edge_order"):
        ingot.gradient(ingot.ones(5), edge_order=3)


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("bins", [5, np.array([-1.0, -0.2, 0.3, 1.5])])
@pytest.mark.parametrize("weighted", [False, True])
def test_histogram(bins, density, weighted):
    a, w = RNG.standard_normal(200), RNG.uniform(0, 2, 200)
    edges = ingot.tensor(bins) if isinstance(bins, np.ndarray) else bins
    got = ingot.histogram(ingot.tensor(a), edges, weight=ingot.tensor(w) if weighted else None, density=density)
    want, at = np.histogram(a, bins, weights=w if weighted else None, density=density)
    np.testing.assert_allclose(got.hist.numpy(), want, rtol=1e-12)
    np.testing.assert_allclose(got.bin_edges.numpy(), at, rtol=1e-12)


def test_angle_and_renorm():
    np.testing.assert_array_equal(ingot.angle(ingot.tensor([1.0, -2.0, 0.0, float("nan")])).numpy(),
                                  np.angle(np.array([1.0, -2.0, 0.0, np.nan], np.float32)))
    x = RNG.standard_normal((3, 4))
    norms = np.linalg.norm(ingot.renorm(ingot.tensor(x), 2, 0, 1.0).numpy(), axis=1)
    assert (norms <= 1.0 + 1e-9).all()
    np.testing.assert_array_equal(ingot.renorm(ingot.tensor(x), 2, 0, 1e9).numpy(), x)


def test_unravel_index():
    shape, flat = (3, 4, 5), np.array([[0, 59], [17, 33]])
    for g, w in zip(ingot.unravel_index(ingot.tensor(flat), shape), np.unravel_index(flat, shape), strict=True):
        np.testing.assert_array_equal(g.numpy(), w)
