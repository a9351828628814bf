"""Sparse tensors of all layouts: programs agree with dense tensors, gradients reach the values, other functions raise."""

import copy
import io
import pickle

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
    """Return coordinates in another order, each twice, with halves of the numbers."""
    s = d.to_sparse()
    at, v = s.indices().flip(1), s.values().flip(0)
    return ingot.sparse_coo_tensor(ingot.cat([at, at], 1), ingot.cat([v * 0.25, v * 0.75]), d.shape)


def dense(a):
    return a.to_dense() if isinstance(a, ingot.Tensor) else a


x, y = ingot.tensor(X), ingot.tensor(Y)
# Programs for all layouts: name -> a program of the matrix.
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
# Functions of coordinates alone.
COORDINATES = {
    "unsqueeze": lambda a: a.unsqueeze(0),
    "unsqueeze behind": lambda a: a.unsqueeze(-1),
    "squeeze": lambda a: a.unsqueeze(1).squeeze(1),
    "squeeze of dims": lambda a: a.unsqueeze(1).unsqueeze(-1).squeeze(1, 3),
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
def test_programs_agree_with_the_dense_matrix(name, layout):
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
    """Return the sparse tensor with other values, from its constructor."""
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


# Functions without a sparse form raise.

ALLOWED = {"is_tensor", "save", "typename", "as_tensor", "asarray", "tensor", "is_storage", "get_device", "cond", "while_loop"}


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_functions_without_a_sparse_form_refuse_by_name(layout):
    """Every public function and method either raises, or agrees with the dense tensor."""
    d = ingot.tensor(DENSE)
    refused = 0
    for name in sorted(n for n in ingot.runtime.api.register.register.FUNCTIONS if n[0] != "_" and n not in ALLOWED):
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


@pytest.mark.parametrize("call, message", [
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
def test_errors_name_the_alternative(call, message):
    with pytest.raises((IngotError, IndexError, BufferError), match=message):
        call(ingot.tensor(DENSE).to_sparse())


# Sparse tensors are tensors.


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_tensors_are_tensors_of_another_layout(layout):
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


class Weighted(nn.Module):
    def __init__(self, layout):
        super().__init__()
        self.weight = nn.Parameter(LAYOUTS[layout](ingot.tensor(DENSE)))

    def forward(self):
        return self.weight.to_dense().square().sum()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_traced_module_has_sparse_parameters(layout):
    module = Weighted(layout)
    traced = ingot.jit.trace(module)
    for _ in range(3):
        assert traced().equal(module())



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
def test_gradients_of_leaves_and_results(layout):
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
    """Sparse matrix times a number, and times a dense one."""

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
