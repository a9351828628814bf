"""Sparse matrices of all layouts: dtypes, batches, dense dims, parts that do not fit, functions of their own."""

import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

import ingot
from ingot.ir.errors import IngotError
from tests.runtime.api.sparse.test_sparse_tensor import DENSE, LAYOUTS, RNG, X, dense, like_with, repeated, x


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.bfloat16, ingot.float16, ingot.int64, ingot.int32, ingot.complex64,
                                   ingot.complex128])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_of_all_dtypes(dtype, layout):
    whole = ingot.tensor((DENSE * 4).round())
    a = (LAYOUTS[layout](whole) * 4).to(dtype)
    b = ingot.tensor((X * 4).round()).to(dtype)
    got = a @ b
    assert got.dtype is dtype
    np.testing.assert_array_equal(got.to(ingot.complex128).numpy(), (DENSE * 4).round() * 4 @ (X * 4).round())
    assert (a + a).to_dense().equal(whole.to(dtype) * 8) and (a * a).dtype is dtype


@pytest.mark.parametrize("shape, depth", list(itertools.product([(0, 3), (3, 0), (0, 0), (4, 6)], [None])))
@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_matrices_without_entries(shape, depth, layout):
    a = LAYOUTS[layout](ingot.zeros(shape, dtype=ingot.float64))
    assert a._nnz() == 0 and a.to_dense().equal(ingot.zeros(shape, dtype=ingot.float64)) and "nnz=0" in repr(a)
    b = ingot.ones(shape[1], 2, dtype=ingot.float64)
    assert (a @ b).equal(ingot.zeros(shape[0], 2, dtype=ingot.float64)) and (a @ a.t()).shape == (shape[0], shape[0])
    for found in (a + a, a * a, a.relu(), a.t().t(), ingot.cat([a, a])[:shape[0]], a.clone(), a.abs().neg()):
        assert found.to_dense().equal(ingot.zeros(shape, dtype=ingot.float64))
    assert a.sum().item() == 0 and a.sum(0).to_dense().tolist() == [0] * shape[1]


def test_entries_of_several_numbers():
    d = ingot.tensor(RNG.standard_normal((3, 4, 2))) * (ingot.tensor(DENSE[:3, :4]) != 0).unsqueeze(-1)
    a = d.to_sparse(2)
    assert (a.sparse_dim(), a.dense_dim()) == (2, 1)
    for program in (lambda t: t * 2, ingot.sin, lambda t: t.sum(2), lambda t: t.sum((0, 2)), lambda t: t.sum(0), lambda t: t[1],
                    lambda t: t[..., 1], lambda t: t.transpose(0, 1), lambda t: t.narrow(2, 0, 1), lambda t: t * t.abs(),
                    lambda t: t.index_select(2, ingot.tensor([1, 0, 1])), lambda t: ingot.cat([t, t], 2),
                    lambda t: t.unsqueeze(-1), lambda t: t.unsqueeze(0), lambda t: t + t,
                    lambda t: t.permute(1, 0, 2), lambda t: t.sum()):
        np.testing.assert_allclose(dense(program(a)).numpy(), program(d).numpy(), rtol=1e-12)
    rows = d.to_sparse_csr(dense_dim=1)
    assert rows.dense_dim() == 1 and rows.to_dense().equal(d) and rows.to_sparse_csc().to_dense().equal(d)
    assert (rows * 2).to_dense().equal(d * 2)


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_batches(layout):
    d = ingot.stack([ingot.tensor(DENSE), ingot.tensor(DENSE).flip(0)])
    a = LAYOUTS[layout](d)
    assert a.shape == (2, 4, 6) and a.to_dense().equal(d) and a.to_sparse().to_dense().equal(d) and a.sparse_dim() == 2
    b = ingot.stack([x, 2 * x])
    for product in (a @ b, ingot.bmm(a, b), ingot.matmul(a, b)):
        np.testing.assert_allclose(product.numpy(), (d @ b).numpy(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose((a @ x).numpy(), (d @ x).numpy(), rtol=1e-12, atol=1e-14)
    assert a.mT.to_dense().equal(d.mT) and (a * 2 + a).to_dense().equal(d * 3) and a[1].to_dense().equal(d[1])
    assert a.to_sparse_csr().to_dense().equal(d) and pickle.loads(pickle.dumps(a)).equal(a)


@pytest.mark.parametrize("kind", [ingot.int32, ingot.int64])
def test_indices_keep_their_dtype_where_rows_are_compressed(kind):
    starts, columns = ingot.tensor([0, 1, 3], dtype=kind), ingot.tensor([1, 0, 2], dtype=kind)
    a = ingot.sparse_csr_tensor(starts, columns, ingot.tensor([1.0, 2, 3]))
    assert a.crow_indices().dtype is a.col_indices().dtype is kind and (a * 2).t().ccol_indices().dtype is kind
    assert (a @ ingot.ones(3, 1)).tolist() == [[1], [5]] and a.to_dense().tolist() == [[0, 1, 0], [2, 0, 3]]


@pytest.mark.parametrize("make, message", [
    (lambda: ingot.sparse_csc_tensor([0, 2, 1], [0, 1], [1.0, 2.0]), "ccol_indices must rise"),
    (lambda: ingot.sparse_csc_tensor([0, 2], [1, 0], [1.0, 2.0]), "row_indices must rise within each column"),
    (lambda: ingot.sparse_bsr_tensor([0, 1], [0], [1.0]), "a block"),
    (lambda: ingot.sparse_bsr_tensor([0, 1], [3], [[[1.0, 2.0]]], (1, 4)), "out of range"),
    (lambda: ingot.sparse_compressed_tensor([0, 1], [0], [1.0], layout=ingot.sparse_coo), "layout must be"),
    (lambda: ingot.ones(3, 3).to_sparse_bsr((2, 2)), "multiples of the blocksize"),
    (lambda: ingot.ones(3).to_sparse_csr(), "takes a matrix"),
    (lambda: ingot.ones(2, 2, 2).to_sparse().to_sparse_csr(), "3 sparse dimensions"),
    (lambda: ingot.tensor([[[1.0, 0]], [[1.0, 1]]]).to_sparse_csr(), "equally many entries"),
    (lambda: ingot.sparse_coo_tensor(ingot.tensor([[0.5]]), [1.0]), "integers"),
    (lambda: ingot.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True, check_invariants=True), "not sorted"),
    (lambda: ingot.ones(2, 2).ccol_indices(), "this one is dense"),
    (lambda: ingot.eye(2).to_sparse_csr().ccol_indices(), "has crow_indices and col_indices"),
    (lambda: ingot.eye(2).to_sparse_csr().coalesce(), "to_sparse_coo"),
])
def test_parts_that_do_not_fit(make, message):
    with pytest.raises((IngotError, IndexError), match=message):
        make()


# Functions of sparse tensors.


def test_sums_of_a_sparse_matrix_and_products():
    a = repeated(ingot.tensor(DENSE))
    whole = DENSE @ X
    np.testing.assert_allclose(dense(ingot.smm(a, x)).numpy(), whole, rtol=1e-12)
    np.testing.assert_allclose(dense(ingot.hspmm(a, x)).numpy(), whole, rtol=1e-12)
    assert (ingot.hspmm(a, x).sparse_dim(), ingot.hspmm(a, x).dense_dim()) == (1, 1)
    plus = ingot.sspaddmm(ingot.eye(4, 3, dtype=ingot.float64).to_sparse(), a, x, beta=2, alpha=3)
    np.testing.assert_allclose(dense(plus).numpy(), 2 * np.eye(4, 3) + 3 * whole, rtol=1e-12)
    assert dense(ingot.hsmm(a, x)).equal(dense(ingot.hspmm(a, x)))
    assert dense(ingot.saddmm(ingot.eye(4, 3, dtype=ingot.float64).to_sparse(), a, x, beta=2, alpha=3)).equal(dense(plus))
    both = ingot.sparse.addmm(ingot.ones(4, 3, dtype=ingot.float64), a, x, alpha=2)
    np.testing.assert_allclose(both.numpy(), 1 + 2 * whole, rtol=1e-12)


@pytest.mark.parametrize("reduce, of", [("mean", np.mean), ("amax", np.max), ("amin", np.min), ("max", np.max),
                                        ("min", np.min)])
def test_reductions_of_products(reduce, of):
    a = ingot.tensor(DENSE).to_sparse_csr()
    want = [of(DENSE[i][DENSE[i] != 0][:, None] * X[DENSE[i] != 0], 0) if DENSE[i].any() else np.zeros(3) for i in range(4)]
    np.testing.assert_allclose(ingot.sparse.mm(a, x, reduce).numpy(), want, rtol=1e-12)
    assert ingot.autograd.gradcheck(lambda v, f: ingot.sparse.mm(like_with(a, v), f, reduce),
                                    (a.values().requires_grad_(), x.clone().requires_grad_()))


def test_sparse_products_are_written_into_out():
    a, some = ingot.tensor(DENSE).to_sparse(), ingot.eye(4, 3, dtype=ingot.float64).to_sparse()
    out = ingot.zeros(4, 3, dtype=ingot.float64).to_sparse()
    for name, arguments in (("hspmm", (a, x)), ("hsmm", (a, x)), ("sspaddmm", (some, a, x)), ("saddmm", (some, a, x))):
        want = getattr(ingot, name)(*arguments)
        assert getattr(ingot, name)(*arguments, out=out) is out and dense(out).equal(dense(want)), name
    rows = LAYOUTS["csr"](ingot.tensor(DENSE))
    out, p, q = rows.clone(), ingot.ones(4, 3).double(), ingot.ones(3, 6).double()
    assert ingot.sparse.sampled_addmm(rows, p, q, out=out) is out
    assert out.to_dense().equal(ingot.sparse.sampled_addmm(rows, p, q).to_dense())
    with pytest.raises(TypeError, match="gives a sparse tensor"):
        ingot.hspmm(a, x, out=ingot.zeros(4, 3).double())


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_some_numbers_of_a_product(layout):
    a = LAYOUTS[layout](ingot.tensor(DENSE))
    p, q = ingot.tensor(RNG.standard_normal((4, 3))), ingot.tensor(RNG.standard_normal((3, 6)))
    got = ingot.sparse.sampled_addmm(a, p, q, beta=2, alpha=3)
    want = (2 * DENSE + 3 * (p @ q).numpy()) * (DENSE != 0)
    assert got.layout == a.layout
    np.testing.assert_allclose(got.to_dense().numpy(), want, rtol=1e-12)
    assert ingot.autograd.gradcheck(lambda p, q: ingot.sparse.sampled_addmm(a, p, q).to_dense(),
                                    (p.requires_grad_(), q.requires_grad_()))


@pytest.mark.parametrize("layout", [None, ingot.sparse_csr, ingot.sparse_csc])
def test_diagonals(layout):
    rows, offsets = RNG.standard_normal((4, 5)), [0, 2, -1, -7]
    for shape in ((5, 5), (3, 6), (6, 3)):
        want = np.zeros(shape)
        for row, shift in zip(rows, offsets):
            for j, value in enumerate(row):
                if 0 <= j - shift < shape[0] and j < shape[1]:
                    want[j - shift, j] = value
        got = ingot.sparse.spdiags(ingot.tensor(rows), ingot.tensor(offsets), shape, layout)
        assert got.layout == (layout or ingot.sparse_coo)
        np.testing.assert_array_equal(got.to_dense().numpy(), want)


def test_sizes_in_place():
    a = ingot.tensor(DENSE).to_sparse()
    assert a.clone().sparse_resize_((5, 7), 2, 0).to_dense()[:4, :6].equal(a.to_dense())
    empty = a.clone().sparse_resize_and_clear_((2, 2, 3), 1, 2)
    assert empty.shape == (2, 2, 3) and empty._nnz() == 0 and (empty.sparse_dim(), empty.dense_dim()) == (1, 2)
    assert a.clone().zero_().resize_as_sparse_(empty).shape == (2, 2, 3)
    with pytest.raises(IngotError, match="sizes grow"):
        a.clone().sparse_resize_((2, 2), 2, 0)


def test_checks_are_a_switch_and_a_context():
    checks = ingot.sparse.check_sparse_tensor_invariants
    assert not checks.is_enabled()
    with checks():
        assert checks.is_enabled()
        with checks(False):
            ingot.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True)
        with pytest.raises(IngotError, match="not sorted"):
            ingot.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True)
    checks.enable()
    assert checks.is_enabled()
    checks.disable()
    assert checks(True)(checks.is_enabled)() and not checks.is_enabled()


def test_gradcheck_of_functions_of_sparse_tensors():
    check = ingot.sparse.as_sparse_gradcheck(ingot.autograd.gradcheck)
    for layout in ("coo", "csr", "bsc"):
        a = LAYOUTS[layout](ingot.tensor(DENSE)).requires_grad_()
        assert check(lambda s: (s * 2).sin(), a) and check(lambda s, f: s @ f, (a, x.clone().requires_grad_()))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_equality(layout):
    a = LAYOUTS[layout](ingot.tensor(DENSE))
    b = LAYOUTS[layout](ingot.tensor(DENSE * (1 + 1e-9)))
    assert ingot.equal(a, a.clone()) and a.equal(a.to_dense() if layout != "repeated" else a) and not ingot.equal(a, b)
    assert ingot.allclose(a, b) and a.isclose(b).all() and not ingot.allclose(a, b * 2) and not a.equal(a[:2])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_assert_close(layout):
    a = LAYOUTS[layout](ingot.tensor(DENSE))
    ingot.testing.assert_close(a, a.clone())
    ingot.testing.assert_close(a, a.to_dense(), check_layout=False)
    with pytest.raises(AssertionError, match="attribute 'layout'"):
        ingot.testing.assert_close(a, a.to_dense())
    with pytest.raises(AssertionError, match="not close"):
        ingot.testing.assert_close(a, a * 1.1)


def test_the_first_one_of_a_process_may_be_made_in_a_trace():
    program = """
import ingot
from ingot import jit

@jit.trace
def f(i, v):
    return ingot.matmul(ingot.sparse_coo_tensor(i, v, (2, 2)), ingot.ones(2, 1))

for n in range(4):
    assert f(ingot.tensor([[0, 1], [1, 0]]), ingot.tensor([1.0, n])).tolist() == [[1], [n]]
assert f.stats()["compiles"] == 1, f.stats()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (3, 0), (2, 2, 3)])
@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_matrices_are_made_of_no_entries(layout, shape):
    *batch, rows, columns = shape
    starts = ingot.zeros(*batch, (rows if layout in ("csr", "bsr") else columns) + 1, dtype=ingot.int64)
    values = ingot.zeros(*batch, 0, *((1, 1) if layout[0] == "b" else ()))
    made = getattr(ingot, f"sparse_{layout}_tensor")(starts, ingot.zeros(*batch, 0, dtype=ingot.int64), values, shape)
    assert made._nnz() == 0 and made.to_dense().equal(ingot.zeros(shape))
    with pytest.raises(ValueError, match="must rise from 0 to the number of entries, 0"):
        getattr(ingot, f"sparse_{layout}_tensor")(starts + 1, ingot.zeros(*batch, 0, dtype=ingot.int64), values, shape)


@pytest.mark.parametrize("layout, names", [
    ("coo", ("indices", "values", "is_coalesced", "coalesce")), ("csr", ("crow_indices", "col_indices", "values")),
    ("csc", ("ccol_indices", "row_indices", "values"))])
def test_methods_are_also_called_as_functions_of_the_class(layout, names):
    a = LAYOUTS[layout](ingot.tensor(DENSE))
    for name in names:
        found, want = getattr(ingot.Tensor, name)(a), getattr(a, name)()
        assert dense(found).equal(dense(want)) if isinstance(want, ingot.Tensor) else found is want
        with pytest.raises(TypeError, match=f"{name}.. is a method of sparse tensors, and this one is dense"):
            getattr(ingot.Tensor, name)(x)


WITHOUT_ENTRIES = {
    "mul": lambda a, b: (a.to_sparse() * b.to_sparse()).to_dense(),
    "mul, csr": lambda a, b: (a.to_sparse_csr() * b.to_sparse_csr()).to_dense(),
    "sparse_mask": lambda a, b: a.to_sparse().sparse_mask((b + 1).to_sparse()).to_dense(),
    "to_sparse_bsr": lambda a, b: a.to_sparse_bsr((1, 1)).to_dense(),
}


@pytest.mark.parametrize("name", WITHOUT_ENTRIES)
def test_results_without_entries_keep_their_history(name):
    """A batch may have no edges: training continues."""
    a, b = ingot.zeros(2, 2, requires_grad=True), ingot.zeros(2, 2)
    WITHOUT_ENTRIES[name](a, b).sum().backward()
    assert a.grad.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
@pytest.mark.parametrize("columns", [0, 1, 3])
def test_complex_products_have_the_gradients_of_dense_ones(layout, columns):
    ingot.manual_seed(3)
    mask = ingot.rand(4, 5) < 0.5
    a, b = ingot.randn(4, 5, dtype=ingot.complex128) * mask, ingot.randn(5, columns, dtype=ingot.complex128)
    found = []
    for turned in (lambda x: getattr(x, layout)(), lambda x: x):
        x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
        out = turned(x) @ y
        out.abs().square().sum().backward()
        found.append((out.detach(), (x.grad.to_dense() if x.grad.layout != ingot.strided else x.grad) * mask, y.grad))
    for got, want in zip(*found):
        ingot.testing.assert_close(got, want)
