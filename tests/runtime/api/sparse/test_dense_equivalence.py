"""Sparse tensors against dense ones: values, gradients, repeated entries, errors."""

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir.errors import AutogradError


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
    for product in (ingot.mm, ingot.matmul, ingot.spmm):
        out = ingot.empty(0, dtype=ingot.float64)
        assert product(s, ingot.tensor(x), out=out) is out
        np.testing.assert_allclose(out.numpy(), want @ x, atol=1e-12)
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


def test_matrices_of_a_batch_are_transposed():
    x = ingot.tensor(np.arange(12.0).reshape(2, 2, 3) % 4)
    assert x.to_sparse().mT.to_dense().equal(x.mT) and x[0].to_sparse().mT.to_dense().equal(x[0].T)
    assert x.to_sparse(1).mT.to_dense().equal(x.mT)
    with pytest.raises(IndexError, match="sparse dimensions"):
        _ = x.to_sparse(2).mT


def test_leaves_collect_gradients():
    s = ingot.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), requires_grad=True)
    (s @ ingot.ones(2, 1)).sum().backward()
    assert s.ndimension() == 2 and s.requires_grad and s.is_leaf and s.grad.to_dense().tolist() == [[0, 1], [1, 0]]


class SparseProduct(ingot.autograd.Function):
    """Product of a sparse matrix with a dense one; forward makes the sparse one, and saves it for backward."""

    @staticmethod
    def forward(ctx, places, values, size, x, compressed):
        s = ingot.sparse_coo_tensor(places, values, size).coalesce()
        ctx.save_for_backward(s.to_sparse_csr() if compressed else s, None, places, x)
        return s @ x

    @staticmethod
    def backward(ctx, g):
        s, nothing, places, x = ctx.saved_tensors
        assert nothing is None and s.is_sparse_csr != s.is_sparse
        return None, (g @ x.t())[tuple(places)], None, s.to_dense().t() @ g, None


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("trace", [False, True])
def test_functions_keep_sparse_tensors(compressed, trace):
    places = ingot.tensor([[0, 1, 1], [1, 0, 2]])

    def product(values, x):
        return SparseProduct.apply(places, values, (2, 3), x, compressed)

    def gradients(values, x):
        y = (jit.trace(product) if trace else product)(values, x)
        return ingot.autograd.grad((y * y).sum(), (values, x))

    v, x = ingot.tensor([1.0, 2.0, 3.0], requires_grad=True), ingot.arange(6.0).view(3, 2).requires_grad_()
    dense = ingot.zeros(2, 3).index_put(tuple(places), v)
    want = ingot.autograd.grad(((dense @ x) ** 2).sum(), (v, x))
    for _ in range(3):
        assert [g.tolist() for g in gradients(v, x)] == [g.tolist() for g in want]


def test_a_saved_sparse_tensor_that_is_overwritten_raises():
    values = ingot.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = SparseProduct.apply(ingot.tensor([[0, 1, 1], [1, 0, 2]]), values, (2, 3), x := ingot.ones(3, 2), False)
    x.zero_()
    with pytest.raises(AutogradError, match="SparseProduct"):
        y.sum().backward()


def test_types_by_their_old_names():
    places, values = ingot.tensor([[0, 1], [1, 0]]), ingot.tensor([1.0, 2.0])
    for made in (ingot.sparse.FloatTensor(places, values, ingot.Size([2, 2])), ingot.sparse.FloatTensor(places, values)):
        assert made.to_dense().tolist() == [[0, 1], [2, 0]] and isinstance(made, ingot.sparse.FloatTensor)
        assert not isinstance(made, (ingot.sparse.DoubleTensor, ingot.FloatTensor))
    for empty, shape in ((ingot.sparse.LongTensor(2, 3), (2, 3)), (ingot.sparse.LongTensor(ingot.Size([2, 3])), (2, 3)),
                         (ingot.sparse.LongTensor(), (0,))):
        assert empty.shape == shape and empty.dtype is ingot.int64 and empty._nnz() == 0
    assert not isinstance(ingot.zeros(2), ingot.sparse.FloatTensor)


def test_types_of_sparse_tensors_are_read_and_converted():
    x = ingot.eye(2).to_sparse()
    assert x.type() == "ingot.sparse.FloatTensor" and ingot.Tensor.type.__name__ == "type"
    for kind in (ingot.float64, "ingot.DoubleTensor"):
        assert x.type(kind).dtype is ingot.float64 and x.type(kind).to_dense().tolist() == [[1, 0], [0, 1]]
    assert x.dtype is ingot.float32


@pytest.mark.parametrize("layout", [None, "sparse_coo", "sparse_csr"])
def test_conversions_to_a_layout(layout):
    dense = ingot.tensor([[0.0, 2.0], [3.0, 0.0]])
    kind = None if layout is None else getattr(ingot, layout)
    for x in (dense, dense.to_sparse()):
        found = x.to_sparse(layout=kind)
        assert found.layout == (kind or ingot.sparse_coo) and ingot.equal(found.to_dense(), dense)
        assert found.is_cpu and not found.is_cuda
    with pytest.raises(ValueError, match="layout must be"):
        dense.to_sparse(layout=ingot.jagged)


@pytest.mark.parametrize("int32", [False, True])
def test_rows_by_where_they_begin(int32):
    rows, columns = ingot.tensor([0, 0, 2]), ingot.tensor([1, 3, 0])
    starts = ingot._convert_indices_from_coo_to_csr(rows, 4, out_int32=int32)
    assert starts.tolist() == [0, 2, 2, 3, 3] and starts.dtype is (ingot.int32 if int32 else ingot.int64)
    back = ingot._convert_indices_from_csr_to_coo(starts, columns, out_int32=int32)
    assert back.tolist() == [[0, 0, 2], [1, 3, 0]] and back.dtype is starts.dtype
    assert ingot._convert_indices_from_csr_to_coo(starts, columns, transpose=True).tolist() == [[1, 3, 0], [0, 0, 2]]


def test_from_dense_and_dense_dimensions():
    x = ingot.tensor([[[1.0, 0], [0, 0]], [[0, 0], [3, 4]]])
    s = x.to_sparse(2)
    assert (s.sparse_dim(), s.dense_dim(), s._nnz()) == (2, 1, 2) and ingot.equal(s.to_dense(), x)
    assert x.to_sparse()._nnz() == 3 and x.to_dense() is x and not x.is_sparse and s.is_sparse
    assert ingot.sparse_coo_tensor([[0, 2]], [1.0, 2.0]).shape == (3,)


def test_printing():
    s = ingot.tensor([[0.0, 2.0]]).to_sparse()
    assert repr(s) == ("tensor(indices=tensor([[0],\n                       [1]]),\n       values=tensor([2.]),\n"
                       "       size=(1, 2), nnz=1, layout=ingot.sparse_coo)")
    places = ingot.tensor([0, 1, 2]), ingot.tensor([0, 1])
    blocks = ingot.sparse_bsr_tensor(*places, ingot.tensor([[[1.0, 2]], [[3, 4]]], dtype=ingot.float64))
    assert repr(blocks) == ("tensor(crow_indices=tensor([0, 1, 2]),\n       col_indices=tensor([0, 1]),\n"
                            "       values=tensor([[[1., 2.]],\n\n                      [[3., 4.]]]), size=(2, 4), nnz=2, "
                            "dtype=ingot.float64,\n"
                            "       layout=ingot.sparse_bsr)")
    nothing = ingot.zeros(2).to_sparse()
    assert repr(nothing) == ("tensor(indices=tensor([], size=(1, 0)),\n       values=tensor([], size=(0,)),\n"
                             "       size=(2,), nnz=0, layout=ingot.sparse_coo)")


@pytest.mark.parametrize("call, error, words", [
    (lambda s: s.indices(), RuntimeError, "coalesce"),
    (lambda s: s @ ingot.ones(3, 3), RuntimeError, "inner sizes"),
    (lambda s: s @ ingot.ones(2, 2, dtype=ingot.float64), TypeError, "one dtype"),
    (lambda s: ingot.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,)), IndexError, "index 5 is out of range"),
    (lambda s: ingot.sparse_coo_tensor([[0, 1]], [1.0], (3,)), RuntimeError, "one value for each entry"),
    (lambda s: s + s.t() @ s + ingot.sparse_coo_tensor([[0]], [1.0], (1,)), RuntimeError, "one shape"),
])
def test_errors(call, error, words):
    s = ingot.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2))
    with pytest.raises(error, match=words):
        call(s)


# Softmax of entries.


@pytest.mark.parametrize("shape, depth", [((5,), 1), ((4, 6), 2), ((3, 4, 5), 3), ((3, 4, 2), 2), ((6, 2, 3), 1)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_entries_is_that_of_a_dense_tensor_of_minus_infinity(name, shape, depth):
    rng = np.random.default_rng(len(shape) + depth)
    places = rng.integers(0, np.array(shape[:depth])[:, None], (depth, 9))
    values = 3 * rng.standard_normal((9, *shape[depth:])) + 500
    there = np.zeros(shape[:depth], bool)
    there[tuple(places)] = True
    for dim in (*range(len(shape)), -1):
        v, w = [ingot.tensor(values).requires_grad_() for _ in range(2)]
        s = ingot.sparse_coo_tensor(ingot.tensor(places), v, shape)
        got = getattr(ingot.sparse, name)(s, dim)
        assert got.is_sparse and got.shape == shape and got.dtype is ingot.float64
        dense = ingot.sparse_coo_tensor(ingot.tensor(places), w, shape).to_dense()
        mask = ingot.tensor(there.reshape(there.shape + (1,) * (len(shape) - depth))).expand(shape)
        want = getattr(ingot, name)(ingot.where(mask, dense, -np.inf), dim)
        want = ingot.where(mask, want, 0.0)
        np.testing.assert_allclose(got.to_dense().detach().numpy(), want.detach().numpy(), rtol=1e-10, atol=1e-14)
        weight = ingot.tensor(rng.standard_normal(shape))
        (got.to_dense() * weight).sum().backward()
        rows = np.where(there.reshape(mask.shape[:depth] + (1,) * (len(shape) - depth)), want.detach().numpy(), 0)
        g = np.where(mask.numpy(), weight.numpy(), 0)
        p = rows if name == "softmax" else np.where(mask.numpy(), np.exp(rows), 0)
        inner = (g * p).sum(dim, keepdims=True) if name == "softmax" else g.sum(dim, keepdims=True)
        expected = p * (g - inner) if name == "softmax" else g - p * inner
        np.testing.assert_allclose(v.grad.numpy(), expected[tuple(places)], rtol=1e-9, atol=1e-12)


def test_softmax_of_entries_of_other_kinds():
    whole = ingot.sparse_coo_tensor([[0, 1]], [1, 2], (3,))
    assert ingot.sparse.softmax(whole, 0, dtype=ingot.float32).dtype is ingot.float32
    none = ingot.sparse_coo_tensor(ingot.zeros(2, 0, dtype=ingot.int64), ingot.zeros(0), (2, 2))
    assert ingot.sparse.log_softmax(none, 1).to_dense().tolist() == [[0.0, 0.0]] * 2
    with pytest.raises(ingot.IngotError, match="floating"):
        ingot.sparse.softmax(whole, 0)
    with pytest.raises(ingot.IngotError, match="to_sparse"):
        ingot.sparse.softmax(ingot.ones(2), 0)
    with pytest.raises(IndexError):
        ingot.sparse.softmax(none, 2)
