"""Sparse tensors of all layouts: programs give what they give of the dense tensor, gradients reach the values, the rest is
refused."""

import copy
import io
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.ir.errors import IngotError
from ingot.nn import functional as F

RNG = np.random.default_rng(0)
DENSE = ((RNG.random((4, 6)) < 0.5) * RNG.integers(-40, 40, (4, 6)) / 16)
DENSE[2] = 0
X, Y = RNG.standard_normal((6, 3)), RNG.standard_normal((3, 4))
LAYOUTS = {
    "coo": lambda d: d.to_sparse(),
    "repeated": lambda d: repeated(d),
    "csr": lambda d: d.to_sparse_csr(),
    "csc": lambda d: d.to_sparse_csc(),
    "bsr": lambda d: d.to_sparse_bsr((2, 3)),
    "bsc": lambda d: d.to_sparse_bsc((2, 2)),
}


def repeated(d):
    """Coordinates in another order, each twice, with halves of the numbers."""
    s = d.to_sparse()
    at, v = s.indices().flip(1), s.values().flip(0)
    return ingot.sparse_coo_tensor(ingot.cat([at, at], 1), ingot.cat([v * 0.25, v * 0.75]), d.shape)


def dense(a):
    return a.to_dense() if isinstance(a, ingot.Tensor) else a


x, y = ingot.tensor(X), ingot.tensor(Y)
# What holds for all layouts: name -> a program of the matrix.
PROGRAMS = {
    "neg": lambda a: -a,
    "abs": lambda a: a.abs(),
    "relu": lambda a: ingot.relu(a),
    "F.relu": lambda a: F.relu(a),
    "sin": lambda a: a.sin(),
    "tanh": lambda a: ingot.tanh(a),
    "square": lambda a: ingot.square(a),
    "expm1": lambda a: a.expm1(),
    "sign": lambda a: ingot.sign(a),
    "gelu": lambda a: F.gelu(a),
    "isnan": lambda a: a.isnan(),
    "power": lambda a: a ** 2,
    "scaled": lambda a: a * 2.5 / 3,
    "scaled on the left": lambda a: 2 * a,
    "by a 0-d tensor": lambda a: a * ingot.tensor(2.0, dtype=ingot.float64),
    "times dense": lambda a: a * (x @ y).t().mT.t()[:4].sum() * ingot.arange(24.0, dtype=ingot.float64).reshape(4, 6),
    "dense times": lambda a: ingot.arange(24.0, dtype=ingot.float64).reshape(4, 6) * a,
    "times a row": lambda a: a * ingot.arange(6.0, dtype=ingot.float64),
    "times itself": lambda a: a * a.abs(),
    "plus itself": lambda a: a + a.sin(),
    "minus": lambda a: ingot.sub(a, a.square(), alpha=2),
    "dense plus": lambda a: ingot.ones(4, 6, dtype=ingot.float64) + a,
    "plus dense": lambda a: a + ingot.ones(4, 6, dtype=ingot.float64),
    "minus dense": lambda a: a - ingot.ones(4, 6, dtype=ingot.float64),
    "dense minus": lambda a: ingot.ones(4, 6, dtype=ingot.float64) - a,
    "dense in place": lambda a: ingot.ones(4, 6, dtype=ingot.float64).add_(a, alpha=3),
    "dense += ": lambda a: iadd(ingot.ones(4, 6, dtype=ingot.float64), a),
    "sum": lambda a: a.sum(),
    "mean": lambda a: a.mean(),
    "sum of columns": lambda a: a.sum(0),
    "sum of rows, kept": lambda a: a.sum(1, keepdim=True),
    "sum of both": lambda a: ingot.sum(a, (0, 1)),
    "norm": lambda a: a.norm(),
    "any": lambda a: a.any(),
    "matmul": lambda a: a @ x,
    "ingot.matmul": lambda a: ingot.matmul(a, x),
    "mm": lambda a: ingot.mm(a, x),
    "sparse.mm": lambda a: a @ x if a.layout == ingot.strided else ingot.sparse.mm(a, x),
    "vector": lambda a: a @ x[:, 0],
    "mv": lambda a: a.mv(x[:, 0]),
    "dense first": lambda a: y @ a,
    "vector first": lambda a: y[0] @ a,
    "transposed": lambda a: a.t() @ y.t(),
    "dense first, transposed": lambda a: x.t() @ a.T,
    "with itself": lambda a: a @ a.t(),
    "its square": lambda a: a.mT @ a,
    "one for all of a batch": lambda a: a @ ingot.stack([x, 2 * x]),
    "addmm": lambda a: ingot.addmm(ingot.ones(4, 3, dtype=ingot.float64), a, x, beta=2, alpha=3),
    "addmm, sparse last": lambda a: ingot.addmm(ingot.ones(3, 6, dtype=ingot.float64), y, a),
    "linear": lambda a: F.linear(x.t(), a, ingot.ones(4, dtype=ingot.float64)),
    "transpose": lambda a: a.transpose(0, 1),
    "permute": lambda a: a.permute(1, 0),
    "row": lambda a: a[1],
    "number": lambda a: a[0, 1],
    "column": lambda a: a[:, 1],
    "rows": lambda a: a[1:3],
    "narrow": lambda a: a.narrow(1, 2, 3),
    "select": lambda a: ingot.select(a, 1, -1),
    "index_select": lambda a: a.index_select(0, ingot.tensor([3, 0, 0])),
    "index_select of columns": lambda a: ingot.index_select(a, 1, ingot.tensor([5, 1, 1])),
    "chosen rows": lambda a: a[ingot.tensor([1, 1, 3])],
    "cat": lambda a: ingot.cat([a, a * 2]),
    "cat of columns": lambda a: ingot.cat([a, a * 2], 1),
    "unbind": lambda a: a.unbind(0)[1],
    "split": lambda a: a.split(2)[1],
    "clone": lambda a: a.clone(),
    "double": lambda a: (a * 64).float().double(),
    "to": lambda a: (a * 64).to(ingot.float16).to(a.dtype),
    "zeros_like": lambda a: ingot.zeros_like(a),
    "sparse_mask": lambda a: a.sparse_mask(ingot.eye(4, 6).to_sparse()) if a.layout != ingot.strided else a * ingot.eye(4, 6),
    "in place": lambda a: a.clone().mul_(2).neg_().add_(a),
    "copied": lambda a: a.clone().zero_().copy_(a * 2),
    "back and forth": lambda a: a.to_sparse().to_sparse_csc().to_sparse_bsr((2, 2)).to_sparse_csr().to_sparse_coo(),
}
# What has coordinates alone.
COORDINATES = {
    "unsqueeze": lambda a: a.unsqueeze(0),
    "unsqueeze behind": lambda a: a.unsqueeze(-1),
    "squeeze": lambda a: a.unsqueeze(1).squeeze(1),
    "stack": lambda a: ingot.stack([a, a * 2], 1),
    "batch of products": lambda a: ingot.bmm(ingot.stack([a, a * 2]), ingot.stack([x, x])),
    "iterated": lambda a: [*a][3],
}
ROUGH = {"abs", "relu", "F.relu", "sign", "isnan", "any", "norm", "zeros_like", "to", "double", "in place", "copied"}


def iadd(a, b):
    a += b
    return a


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_they_give_of_the_dense_matrix(name, layout):
    d = ingot.tensor(DENSE)
    got, want = (PROGRAMS[name](a) for a in (LAYOUTS[layout](d), d))
    assert got.shape == want.shape and got.dtype is want.dtype
    np.testing.assert_allclose(dense(got).numpy(), dense(want).numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("layout", ["coo", "repeated"])
@pytest.mark.parametrize("name", COORDINATES)
def test_programs_of_coordinates(name, layout):
    d = ingot.tensor(DENSE)
    got, want = (COORDINATES[name](a) for a in (LAYOUTS[layout](d), d))
    assert got.shape == want.shape
    np.testing.assert_allclose(dense(got).numpy(), dense(want).numpy(), rtol=1e-12)


def like_with(a, values):
    """The sparse tensor with other values, by its constructor."""
    if a.layout == ingot.sparse_coo:
        return ingot.sparse_coo_tensor(a._indices(), values, a.shape, is_coalesced=a.is_coalesced())
    by_rows = a.layout in (ingot.sparse_csr, ingot.sparse_bsr)
    parts = (a.crow_indices(), a.col_indices()) if by_rows else (a.ccol_indices(), a.row_indices())
    return ingot.sparse_compressed_tensor(*parts, values, a.shape, layout=a.layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - ROUGH))
def test_gradients_reach_the_values(name, layout):
    a = LAYOUTS[layout](ingot.tensor(DENSE))
    assert ingot.autograd.gradcheck(lambda v: dense(PROGRAMS[name](like_with(a, v))), (a._values().clone().requires_grad_(),))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["relu", "times a row", "plus itself", "matmul", "dense first", "its square", "sum of columns",
                                  "addmm", "row", "cat", "in place"])
def test_traces_take_close_over_and_return_them(name, layout):
    a = LAYOUTS[layout](ingot.tensor(DENSE))
    taken, closed, made = jit.trace(PROGRAMS[name]), jit.trace(lambda: dense(PROGRAMS[name](a))), jit.trace(
        lambda v: dense(PROGRAMS[name](like_with(a, v))))
    for factor in (1.0, 2.0, 3.0):
        b = a * factor
        want = PROGRAMS[name](b)
        got = taken(b)
        assert got.layout == want.layout
        np.testing.assert_allclose(dense(got).numpy(), dense(want).numpy(), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(made(b._values()).numpy(), dense(want).numpy(), rtol=1e-12, atol=1e-13)
        a.copy_(b) if factor > 1 else None
        np.testing.assert_allclose(closed().numpy(), dense(PROGRAMS[name](a)).numpy(), rtol=1e-12, atol=1e-13)
        a.div_(factor)


# What is not there is refused.

ALLOWED = {"is_tensor", "save", "typename", "as_tensor", "asarray", "tensor", "is_storage", "get_device", "cond", "while_loop"}


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_functions_without_a_sparse_form_refuse_by_name(layout):
    """Every public function and method either refuses, or gives what it gives of the dense tensor."""
    d = ingot.tensor(DENSE)
    refused = 0
    for name in sorted(n for n in ingot.runtime.api.register.FUNCTIONS if n[0] != "_" and n not in ALLOWED):
        fn = getattr(ingot, name, None)
        if not callable(fn) or isinstance(fn, type):
            continue
        for count in (1, 2):
            try:
                got = fn(*[LAYOUTS[layout](d) for _ in range(count)])
            except (IngotError, TypeError, AttributeError, NotImplementedError, ValueError) as e:
                refused += isinstance(e, IngotError)
                continue
            if isinstance(got, ingot.Tensor) and name not in ("empty_like", "dropout", "hspmm"):
                want = fn(*[d] * count)
                np.testing.assert_allclose(dense(got).numpy(), dense(want).numpy(), rtol=1e-12, err_msg=name)
    assert refused > 400


@pytest.mark.parametrize("call, said", [
    (lambda a: a.cos(), "cos does not take sparse tensors; call to_dense()"),
    (lambda a: a + 1, "and a number is not sparse"),
    (lambda a: a == a, "eq does not take sparse"),
    (lambda a: a / ingot.ones(4, 6), "a number as its divisor"),
    (lambda a: a ** -1, "above 0 as exponent"),
    (lambda a: a.numpy(), r"to_dense\(\)"),
    (lambda a: np.asarray(a), r"to_dense\(\)"),
    (lambda a: a.__dlpack__(), r"to_dense\(\)"),
    (lambda a: a.storage(), "storage does not take sparse"),
    (lambda a: a.data_ptr(), "data_ptr does not take sparse"),
    (lambda a: a.view(24), "view does not take sparse"),
    (lambda a: a.reshape(24), "reshape does not take sparse"),
    (lambda a: a.nbytes, "has no nbytes"),
    (lambda a: bool(a), "ambiguous"),
    (lambda a: a.softmax(1), "sparse.softmax"),
    (lambda a: ingot.stack([a, ingot.ones(4, 6)]), "no dense ones"),
    (lambda a: a @ ingot.ones(3, 3, dtype=ingot.float64), "inner sizes"),
    (lambda a: a @ ingot.ones(6, 3), "one dtype"),
    (lambda a: a[::2], "steps of 1"),
    (lambda a: a[7], "out of range"),
    (lambda a: a.fill_(1), "fill_ does not take sparse"),
    (lambda a: a.to(ingot.int64).mul_(1.5), "cannot hold"),
    (lambda a: a.copy_(ingot.ones(4, 6)), "does not go between layouts"),
    (lambda a: ingot.add(a, a, out=ingot.ones(4, 6)), "no out"),
])
def test_what_is_refused_says_what_to_do(call, said):
    with pytest.raises((IngotError, IndexError, BufferError), match=said):
        call(ingot.tensor(DENSE).to_sparse())


# They are tensors.


@pytest.mark.parametrize("layout", LAYOUTS)
def test_they_are_tensors_of_another_layout(layout):
    a = LAYOUTS[layout](ingot.tensor(DENSE))
    name = {"repeated": "coo"}.get(layout, layout)
    assert isinstance(a, ingot.Tensor) and ingot.is_tensor(a) and a.layout == getattr(ingot, f"sparse_{name}")
    assert a.is_sparse is (name == "coo") and a.is_sparse_csr is (name == "csr")
    assert (a.ndim, a.dim(), len(a), a.numel(), a.size(1), a.sparse_dim(), a.dense_dim()) == (2, 2, 4, 24, 6, 2, 0)
    assert a.is_floating_point() and not a.is_complex() and a.element_size() == 8 and not a.is_contiguous() and a.is_cpu
    assert a.dtype is ingot.float64 and a.device.type == "cpu" and a.is_leaf and not a.requires_grad and a.grad is None
    for part in (f"layout=ingot.sparse_{name}", "values=", "size=(4, 6)", f"nnz={a._nnz()}"):
        assert part in repr(a)
    assert f"{a}" == repr(a) and hash(a) == id(a) and str(a.layout) == f"torch.sparse_{name}" != str(ingot.strided)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_and_files(layout, tmp_path):
    a = LAYOUTS[layout](ingot.tensor(DENSE)).requires_grad_()
    file = io.BytesIO()
    ingot.save({"a": a, "shared": [a, a._values()]}, file)
    file.seek(0)
    loaded = ingot.load(file)
    assert loaded["a"] is loaded["shared"][0]
    for made in (copy.deepcopy(a), pickle.loads(pickle.dumps(a)), loaded["a"], a.clone().detach().requires_grad_()):
        assert made.layout == a.layout and made.requires_grad and made.equal(a) and made._values() is not a._values()
    twin = copy.copy(a)
    assert twin is not a and twin._values() is a._values()


class Propagate(nn.Module):
    def __init__(self, adjacency):
        super().__init__()
        self.register_buffer("adjacency", adjacency)
        self.linear = nn.Linear(3, 2, dtype=ingot.float64)

    def forward(self, features):
        return self.adjacency @ self.linear(features)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_modules_keep_them_as_buffers(layout, tmp_path):
    a = LAYOUTS[layout](ingot.tensor(DENSE))
    net, other = Propagate(a), Propagate(LAYOUTS[layout](ingot.tensor(DENSE * 0)))
    ingot.save(net.state_dict(), tmp_path / "net")
    other.load_state_dict(ingot.load(tmp_path / "net"))
    assert other.adjacency.equal(a) and other(x).equal(net(x)) and dict(net.named_buffers())["adjacency"] is net.adjacency
    twin = copy.deepcopy(net).float()
    assert twin.adjacency.dtype is ingot.float32 and twin.adjacency.layout == a.layout and net.adjacency.dtype is ingot.float64
    assert twin.to("meta").adjacency.is_meta
    step = jit.trace(lambda f: net(f).square().mean())
    for _ in range(3):
        assert step(x).item() == pytest.approx(net(x).square().mean().item())
    net.adjacency.zero_()
    assert step(x).item() == 0 and net(x).abs().sum().item() == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_parameters_are_trained_by_their_values(layout, tmp_path):
    net = nn.Module()
    net.weight = nn.Parameter(LAYOUTS[layout](ingot.tensor(DENSE)))
    assert isinstance(net.weight, nn.Parameter) and net.weight.layout == LAYOUTS[layout](ingot.tensor(DENSE)).layout
    assert repr(net.weight).startswith("Parameter containing:\ntensor(") and net.weight.is_leaf and net.weight.requires_grad
    assert not isinstance(net.weight * 2, nn.Parameter) and [*dict(net.named_parameters())] == ["weight"]
    before = net.weight.to_dense().detach()
    optimizer = ingot.optim.SGD(net.parameters(), lr=0.1)
    (net.weight @ x).sum().backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1e9)
    gradient = net.weight.grad.to_dense()
    optimizer.step()
    optimizer.zero_grad()
    assert net.weight.grad is None
    np.testing.assert_allclose(net.weight.to_dense().detach().numpy(), (before - 0.1 * gradient).numpy(), rtol=1e-12)
    ingot.save(net, tmp_path / "net")
    ingot.save({"weight": net.weight}, tmp_path / "weight")
    for twin in (copy.deepcopy(net).weight, pickle.loads(pickle.dumps(net)).weight, ingot.load(tmp_path / "net").weight,
                 ingot.load(tmp_path / "weight")["weight"]):
        assert isinstance(twin, nn.Parameter) and twin.requires_grad and twin.equal(net.weight) and twin is not net.weight
    weight = net.weight
    net.load_state_dict({"weight": LAYOUTS[layout](ingot.tensor(DENSE * 2))})
    assert net.weight is weight and weight.is_leaf and weight.requires_grad
    assert weight.equal(LAYOUTS[layout](ingot.tensor(DENSE * 2)))
    net.float()
    assert weight.dtype is ingot.float32 and weight.requires_grad and weight.is_leaf


@pytest.mark.parametrize("layout", LAYOUTS)
def test_leaves_and_what_is_computed_of_them(layout):
    a = LAYOUTS[layout](ingot.tensor(DENSE)).requires_grad_()
    (a @ x).sum().backward()
    want = X.sum(1) * np.ones((4, 1))
    there = dense(a.detach()).numpy() != 0
    assert a.grad.layout == a.layout and a.is_leaf and a.grad_fn is None
    np.testing.assert_allclose(dense(a.grad).numpy()[there], (want * (2 if layout == "repeated" else 1))[there], rtol=1e-12)
    b = a * 2
    assert b.requires_grad and not b.is_leaf and "grad_fn" in repr(b) and not b.detach().requires_grad
    g, = ingot.autograd.grad((b @ x).sum(), a)
    assert g.layout == a.layout
    np.testing.assert_allclose(dense(g).numpy(), 2 * dense(a.grad).numpy(), rtol=1e-12)
    with pytest.raises(IngotError, match="leaf"):
        a.mul_(2)
    with ingot.no_grad():
        a.mul_(2)
    b.backward(b.detach())
    values = ingot.ones(3, requires_grad=True)
    made = ingot.sparse_coo_tensor([[0, 1, 2]], values, (3,))
    assert not made.is_leaf and made.requires_grad
    (made * 3).sum().backward()
    assert values.grad.tolist() == [3, 3, 3]


class Scaled(ingot.autograd.Function):
    """A sparse matrix times a number, and times a dense one."""

    @staticmethod
    def forward(ctx, a, factor, other):
        ctx.save_for_backward(a, other)
        ctx.factor = factor
        return a * factor, a @ other

    @staticmethod
    def backward(ctx, g, product_g):
        a, other = ctx.saved_tensors
        assert g.layout == a.layout
        return (g * ctx.factor).to_dense() + product_g @ other.t(), None, a.t() @ product_g


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr"])
def test_functions_of_the_users_take_and_return_them(layout):
    a, f = LAYOUTS[layout](ingot.tensor(DENSE)).requires_grad_(), x.clone().requires_grad_()
    scaled, product = Scaled.apply(a, 3.0, f)
    assert scaled.layout == a.layout and scaled.equal(a * 3)
    (scaled.sin().sum() + product.square().sum()).backward()
    found = a.grad.to_dense(), f.grad
    a.grad = f.grad = None
    ((a * 3).sin().sum() + (a @ f).square().sum()).backward()
    for got, want in zip(found, (a.grad.to_dense(), f.grad), strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-12)


# Kinds of matrices.


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


@pytest.mark.parametrize("make, said", [
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
def test_parts_that_do_not_fit(make, said):
    with pytest.raises((IngotError, IndexError), match=said):
        make()


# Functions of their own.


def test_sums_of_a_sparse_matrix_and_products():
    a = repeated(ingot.tensor(DENSE))
    whole = DENSE @ X
    np.testing.assert_allclose(dense(ingot.smm(a, x)).numpy(), whole, rtol=1e-12)
    np.testing.assert_allclose(dense(ingot.hspmm(a, x)).numpy(), whole, rtol=1e-12)
    assert (ingot.hspmm(a, x).sparse_dim(), ingot.hspmm(a, x).dense_dim()) == (1, 1)
    plus = ingot.sspaddmm(ingot.eye(4, 3, dtype=ingot.float64).to_sparse(), a, x, beta=2, alpha=3)
    np.testing.assert_allclose(dense(plus).numpy(), 2 * np.eye(4, 3) + 3 * whole, rtol=1e-12)
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


WITHOUT_ENTRIES = {
    "mul": lambda a, b: (a.to_sparse() * b.to_sparse()).to_dense(),
    "mul, csr": lambda a, b: (a.to_sparse_csr() * b.to_sparse_csr()).to_dense(),
    "sparse_mask": lambda a, b: a.to_sparse().sparse_mask((b + 1).to_sparse()).to_dense(),
    "to_sparse_bsr": lambda a, b: a.to_sparse_bsr((1, 1)).to_dense(),
}


@pytest.mark.parametrize("name", WITHOUT_ENTRIES)
def test_results_without_entries_keep_their_history(name):
    """A batch may happen to have no edges: training goes on."""
    a, b = ingot.zeros(2, 2, requires_grad=True), ingot.zeros(2, 2)
    WITHOUT_ENTRIES[name](a, b).sum().backward()
    assert a.grad.tolist() == [[0, 0], [0, 0]]
