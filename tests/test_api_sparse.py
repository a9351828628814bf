"""Sparse tensors against dense ones: values, gradients, repeated entries, errors."""

import numpy as np
import pytest

import ingot


def random_entries(seed):
    rng = np.random.default_rng(seed)
    m, k, n, entries = (int(v) for v in rng.integers(1, 7, 4))
    places = np.stack([rng.integers(0, m, 2 * entries), rng.integers(0, k, 2 * entries)])
    return rng, (m, k, n), places, rng.standard_normal(2 * entries)


def dense_of(places, values, shape):
    a = np.zeros(shape)
    np.add.at(a, tuple(places), values)
    return a


@pytest.mark.parametrize("seed", range(20))
def test_products_and_conversions_agree_with_dense(seed):
    rng, (m, k, n), places, values = random_entries(seed)
    x = rng.standard_normal((k, n))
    want = dense_of(places, values, (m, k))
    s = ingot.sparse_coo_tensor(ingot.tensor(places), ingot.tensor(values), (m, k))
    np.testing.assert_allclose(s.to_dense().numpy(), want, atol=1e-12)
    np.testing.assert_allclose((s @ ingot.tensor(x)).numpy(), want @ x, atol=1e-12)
    np.testing.assert_allclose(ingot.mm(s, ingot.tensor(x)).numpy(), want @ x, atol=1e-12)
    np.testing.assert_allclose(ingot.matmul(s, ingot.tensor(x)).numpy(), want @ x, atol=1e-12)
    np.testing.assert_allclose((s @ ingot.tensor(x[:, 0])).numpy(), want @ x[:, 0], atol=1e-12)
    np.testing.assert_allclose((ingot.tensor(x.T) @ s.t()).numpy(), x.T @ want.T, atol=1e-12)
    np.testing.assert_allclose(ingot.sparse.mm(s, s.t()).to_dense().numpy(), want @ want.T, atol=1e-12)
    c = s.coalesce()
    assert c.indices().tolist() == np.unique(places, axis=1).tolist(), f"seed {seed}"
    np.testing.assert_allclose(c.values().numpy(), want[tuple(c.indices().numpy())], atol=1e-12)
    np.testing.assert_allclose((s * 2 + s.t().t()).to_dense().numpy(), 3 * want, atol=1e-12)
    np.testing.assert_allclose(ingot.sparse.sum(s, 0).to_dense().numpy(), want.sum(0), atol=1e-12)
    np.testing.assert_allclose(s.sum().item(), want.sum(), atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_gradients_agree_with_dense(seed):
    rng, (m, k, n), places, values = random_entries(seed)
    at, x = ingot.tensor(places), ingot.tensor(rng.standard_normal((k, n)), requires_grad=True)
    v = ingot.tensor(values, requires_grad=True)
    w = ingot.tensor(values, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    dense = ingot.zeros(m, k, dtype=ingot.float64).index_put((at[0], at[1]), w, accumulate=True)
    s = ingot.sparse_coo_tensor(at, v, (m, k))
    ((s @ x) ** 2).sum().backward()
    (ingot.sparse.mm(s, s.t()).to_dense() ** 2 + s.coalesce().to_dense() @ s.to_dense().t()).sum().backward()
    ((dense @ y) ** 2).sum().backward(retain_graph=True)
    ((dense @ dense.t()) ** 2 + dense @ dense.t()).sum().backward()
    np.testing.assert_allclose(v.grad.numpy(), w.grad.numpy(), atol=1e-10, err_msg=f"seed {seed}")
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), atol=1e-10, err_msg=f"seed {seed}")


def test_leaves_collect_gradients():
    s = ingot.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), requires_grad=True)
    (s @ ingot.ones(2, 1)).sum().backward()
    assert s.requires_grad and s.is_leaf and s.grad.to_dense().tolist() == [[0, 1], [1, 0]]


def test_from_dense_and_dense_dimensions():
    x = ingot.tensor([[[1.0, 0], [0, 0]], [[0, 0], [3, 4]]])
    s = x.to_sparse(2)
    assert (s.sparse_dim(), s.dense_dim(), s._nnz()) == (2, 1, 2) and ingot.equal(s.to_dense(), x)
    assert x.to_sparse()._nnz() == 3 and x.to_dense() is x and not x.is_sparse and s.is_sparse
    assert ingot.sparse_coo_tensor([[0, 2]], [1.0, 2.0]).shape == (3,)


def test_printing():
    s = ingot.tensor([[0.0, 2.0]]).to_sparse()
    assert repr(s) == ("tensor(indices=tensor([[0],\n               [1]]),\n       values=tensor([2.]),\n"
                       "       size=(1, 2), nnz=1, layout=ingot.sparse_coo)")


@pytest.mark.parametrize("call, error, words", [
    (lambda s: s.indices(), RuntimeError, "coalesce"),
    (lambda s: s @ ingot.ones(3, 3), RuntimeError, "inner sizes"),
    (lambda s: s @ ingot.ones(2, 2, dtype=ingot.float64), TypeError, "one dtype"),
    (lambda s: ingot.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,)), IndexError, "index 5 is out of range"),
    (lambda s: ingot.sparse_coo_tensor([[0, 1]], [1.0], (3,)), RuntimeError, "one value for each entry"),
    (lambda s: s + s.t() @ ingot.ones(2, 2).to_sparse() + ingot.sparse_coo_tensor([[0]], [1.0], (1,)), RuntimeError, "added"),
])
def test_errors(call, error, words):
    s = ingot.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2))
    with pytest.raises(error, match=words):
        call(s)
