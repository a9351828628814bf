"""Fast paths of eager mode against NumPy and tracing: what they skip must not be visible."""

import itertools

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir.errors import DimError, DTypeError, ShapeError
from ingot.ir.opdef.op import OPS
from ingot.ir.ops.linalg import products
from ingot.ir.ops.nn.embedding import embedding
from ingot.runtime.api.math import python_operators
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.graph import eager
from ingot.runtime.cpu.loops import scalars

F = ingot.nn.functional
X = np.array([[-0.0, 0.0, 1.5], [np.nan, -np.inf, np.inf]], np.float32)


def bits(t):
    return t.dtype, tuple(t.shape), t.detach().numpy().tobytes()


@pytest.mark.parametrize("fn", [
    lambda x: x.clamp(0.0, 1.0), lambda x: x.clamp(min=0), lambda x: x.clamp(max=-0.0), lambda x: x.clamp(2.0, 1.0),
    lambda x: x.clamp(-np.inf, np.inf), lambda x: x.clamp(float("nan"), 1.0), lambda x: 1 - x, lambda x: 2.0 / x,
    lambda x: 3 * x, lambda x: x.abs(), lambda x: x.relu(), lambda x: x.round(), lambda x: x ** 2, lambda x: x.amax(),
    lambda x: x.amin(1), lambda x: x.any(), lambda x: x.all(1), lambda x: ingot.where(x > 0, x, -1.0), lambda x: x.tril(),
    lambda x: x.triu(1), lambda x: x.tril(-5), lambda x: x.mean(0), lambda x: x[0], lambda x: x[:, 1:], lambda x: x[1, ::2],
    lambda x: x.flatten().dot(x.flatten()),
], ids=range(26))
def test_fast_paths_give_the_bits_of_the_general_path(fn):
    plain, taped = ingot.tensor(X), ingot.tensor(X).requires_grad_()
    want = bits(jit.trace(fn)(plain))
    assert bits(fn(plain)) == want
    assert bits(fn(taped)) == want
    assert bits(fn(ingot.tensor(X.T.copy()).T)) == want


@pytest.mark.parametrize("n", [3, -1, 2**53 + 1, -2**61])
def test_int64_beside_numbers(n):
    x = ingot.tensor([2**53 + 1, 3, -2**61])
    a = x.numpy()
    assert (x == n).tolist() == (a == n).tolist()
    assert (x - 5).tolist() == (a - 5).tolist()
    assert (x / 2).dtype is ingot.float32


BOUNDS = [(0.0, 1.0), (0, None), (None, -0.0), (2.0, 1.0), (-np.inf, 1.0), (None, np.inf), (float("nan"), 1.0)]


@pytest.mark.parametrize("times", [1, 300, 30_000])      # over numpy's loops, rules that come often, and kernels
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.bfloat16], ids=str)
@pytest.mark.parametrize("low, high", BOUNDS)
def test_the_gradient_of_clamp_is_zero_at_and_outside_the_bounds(low, high, dtype, times):
    """A missing limit excludes only nan, and later writes do not change the gradient."""
    values = np.concatenate([np.tile(X, (1, times)), np.ones((2, 1), np.float32)], axis=1)
    above, below = low is None or values > low, high is None or values < high
    inside = above & below & ~np.isnan(values)

    def pulled(write):
        x = ingot.tensor(values).to(dtype).requires_grad_()
        h = x * 1
        y = h.clamp_(low, high) if write == "itself" else h.clamp(low, high)
        if write == "argument":
            h.mul_(2)
        if write == "result":
            y.mul_(2)
        y.backward(ingot.full_like(y, 3))
        return x.grad

    for write, factor in (("", 1), ("itself", 1), ("argument", 1), ("result", 2)):
        for _ in range(1 if times != 1 else 200):
            assert np.array_equal(pulled(write).float().numpy(), np.where(inside, 3.0 * factor, 0.0)), write
    assert bits(jit.trace(pulled)("")) == bits(pulled(""))


def test_the_gradient_of_dot_to_order_2():
    x, y = ingot.tensor([1.0, 2.0, 3.0], requires_grad=True), ingot.tensor([4.0, 5.0, 6.0], requires_grad=True)
    (gx, gy) = ingot.autograd.grad(x @ y * 2, (x, y), create_graph=True)
    assert gx.tolist() == [8, 10, 12]
    assert gy.tolist() == [2, 4, 6]
    assert ingot.autograd.grad(gx.sum(), y)[0].tolist() == [2, 2, 2]


def test_a_write_names_the_users_line():
    x = ingot.ones(3, requires_grad=True) * 1
    y = x.exp()
    for write in (lambda: y.add_(1), lambda: y.zero_(), lambda: y.__setitem__(0, 2.0), lambda: y.copy_(x)):
        write()
        _, file, line = y._storage.writer
        assert file == __file__
        assert line == write.__code__.co_firstlineno
    z = y * y
    y.zero_()
    with pytest.raises(ingot.IngotError, match=r"zero_ at .*test_eager"):
        z.sum().backward()


def test_pieces_follow_writes_into_their_base():
    x = ingot.zeros(6, 2, requires_grad=True) * 1
    first, second = x.split(3)
    third = x.unbind(1)[1]
    x.mul_(3)
    second.add_(1)
    (first.sum() + second.sum() * 2 + third.sum() * 4).backward()
    assert second.tolist() == [[1, 1]] * 3
    assert third.tolist() == [0, 0, 0, 1, 1, 1]


def test_a_class_or_index_out_of_range_is_named():
    x = ingot.zeros(2, 3)
    for bad in (3, -1):
        with pytest.raises(IndexError, match=str(bad)):
            x.gather(1, ingot.tensor([[0], [bad]]))
        with pytest.raises(IndexError, match=str(bad)):
            ingot.nn.functional.nll_loss(x, ingot.tensor([0, bad]))


@pytest.mark.parametrize("fn", [
    lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x / 3, lambda x, y: 1 - x, lambda x, y: 2.0 / x, lambda x, y: x < y,
    lambda x, y: x >= 0, lambda x, y: x - y[0], lambda x, y: x[0] * y, lambda x, y: x.T + y.T, lambda x, y: x * y[:, :1],
    lambda x, y: x.relu(), lambda x, y: ingot.where(x > 0, x, y), lambda x, y: -x, lambda x, y: ingot.maximum(x, y),
], ids=range(15))
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.int64], ids=str)
def test_operators_on_large_arrays(fn, dtype, monkeypatch):
    rng = np.random.default_rng(4)
    x, y = (ingot.tensor(rng.standard_normal((300, 200)) * 4).to(dtype) for _ in range(2))
    first, found, traced = fn(x, y), fn(x, y), jit.trace(fn)(x, y)
    assert bits(first) == bits(found) == bits(traced)
    if dtype.is_floating_point:
        x.requires_grad_()
        taped = fn(x, y)
        assert bits(taped) == bits(found) and taped.requires_grad == (found.dtype is not ingot.bool)
    with pytest.raises(ShapeError):
        x + y[:, :7]
    for module in (python_operators, eager, scalars):
        monkeypatch.setattr(module, "LARGE", 1 << 60)
    monkeypatch.setattr(scalars, "_MANY", 1 << 60)
    assert bits(fn(x, y)) == bits(found), "as numpy has it"


@pytest.mark.parametrize("name", ["relu", "neg", "abs", "sqrt", "floor", "sign", "square", "sin", "exp"])
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.float16, ingot.int64], ids=str)
def test_functions_of_one_array_of_any_size(name, dtype):
    rng = np.random.default_rng(7)
    x = ingot.tensor(np.concatenate([rng.standard_normal(1200) * 9, [-0.0, 0.0, 3.0]])).to(dtype)
    if dtype.is_floating_point:
        x[5:8] = ingot.tensor([np.nan, -np.inf, np.inf])
    fn = getattr(ingot, name)
    whole = fn(x).numpy()
    assert whole.tobytes() == np.concatenate([fn(x[:600]).numpy(), fn(x[600:]).numpy()]).tobytes()
    assert fn(x.reshape(3, 401)).numpy().tobytes() == whole.tobytes()
    assert fn(x.reshape(3, 401).T).numpy().tobytes() == whole.reshape(3, 401).T.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", "float16", "complex64"])
@pytest.mark.parametrize("shapes, dim", [
    ([(5000, 1), (5000, 1)], 1), ([(5000, 2), (5000, 3), (5000, 0), (5000, 7)], -1), ([(70, 9, 20), (70, 2, 20)], 1),
    ([(3, 900, 2), (3, 900, 2)], 2), ([(5000, 200), (5000, 1)], 1)])
def test_joins_of_short_rows(shapes, dim, dtype):
    parts = [(np.random.default_rng(len(s)).standard_normal(s) * 9).astype(dtype) for s in shapes]
    tensors = [ingot.from_numpy(p) for p in parts]
    want = bits(ingot.from_numpy(np.concatenate(parts, dim)))
    assert bits(ingot.cat(tensors, dim)) == want
    assert bits(ingot.cat([tensors[0], ingot.from_numpy(np.asfortranarray(parts[1])), *tensors[2:]], dim)) == want


ONES = {"float32": ingot.float32, "float64": ingot.float64, "int64": ingot.int64}


@pytest.mark.parametrize("op, params, shapes", [
    *[(products.linear, {}, s) for s in [((2, 3), (4, 3), (4,)), ((2, 3), (4, 2), (4,)), ((3,), (4, 3), (3,)),
                                            ((), (4, 3), None),
                                            ((2, 3), (3,), None), ((2, 3), (4, 3, 1), None)]],
    *[(embedding, {"padding_idx": None, "by_frequency": False}, s) for s in [((5, 3), (2,)), ((5,), (2,)), ((5, 3, 2), (2,))]]])
def test_kernels_with_own_checks_raise_the_errors_of_shape_rules(op, params, shapes):
    def outcome(run):
        try:
            return tuple(run().shape)
        except (ShapeError, DTypeError) as error:
            return type(error), str(error)

    for kinds in itertools.product(ONES.values(), repeat=len(shapes)):
        args = [None if s is None else ingot.ones(s, dtype=d) for s, d in zip(shapes, kinds)]
        want = outcome(lambda args=args: op.infer(*[None if x is None else x.aval for x in args], **params))
        assert outcome(lambda args=args: op(*args, **params)) == want, kinds


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool", "float16"])
@pytest.mark.parametrize("shape, dim", [((700, 800), 0), ((700, 800), 1), ((30, 40, 500), 1), ((2, 600_000), 1)])
def test_joins_of_large_arrays(shape, dim, dtype):
    a = (np.random.default_rng(2).standard_normal(shape) * 9).astype(dtype)
    turned = np.asfortranarray(a[::-1])
    nothing = a[tuple([slice(0, 0) if d == dim else slice(None) for d in range(a.ndim)])]
    parts = [a, turned, nothing, a[tuple([slice(0, 5) if d == dim else slice(None) for d in range(a.ndim)])]]
    found = ingot.cat([ingot.from_numpy(p) for p in parts], dim)
    assert bits(found)[1:] == bits(ingot.from_numpy(np.concatenate(parts, dim)))[1:]
    with pytest.raises(ShapeError):
        ingot.cat([found, found[1:, 1:]], dim)


@pytest.mark.parametrize("shape, dim", [((1, 3, 1), 0), ((1, 3, 1), -1), ((1, 3, 1), 1), ((), 0), ((), -1), ((1,), 0)])
def test_squeeze_along_one_dim(shape, dim):
    want = np.zeros(shape) if not shape or shape[dim] != 1 else np.zeros(shape).squeeze(dim)
    assert tuple(ingot.zeros(shape).squeeze(dim).shape) == want.shape
    with pytest.raises(DimError):
        ingot.zeros(shape).squeeze(5)


def with_some(x, mask, value):
    """Return a copy of x with a value where the mask says so."""
    y = x.clone()
    y[mask] = value
    return y


@pytest.mark.parametrize("fn", [
    lambda x, y: ingot.where(x > 0, x, y), lambda x, y: ingot.where(x > 0, -0.0, y), lambda x, y: ingot.where(x > y, x, 7),
    lambda x, y: x.copysign(y), lambda x, y: x.copysign(-1), lambda x, y: x.nextafter(y), lambda x, y: F.leaky_relu(x, 0.3),
    lambda x, y: x.clamp(-1.5, 2), lambda x, y: x.masked_fill(x > y, float("nan")), lambda x, y: with_some(x, x > 1, 3),
    lambda x, y: with_some(x, y > 1, ingot.tensor(-0.0, dtype=x.dtype)), lambda x, y: with_some(x.T, y.T > 0, 2.5).T,
    lambda x, y: x.clone().masked_fill_(y > x, 0.0), lambda x, y: x.clone().clamp_(max=1.0)], ids=range(14))
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.float16, ingot.int32], ids=str)
def test_functions_that_choose_on_arrays_of_any_size(fn, dtype):
    """Kernels take arrays of some thousand elements, NumPy smaller ones."""
    rng = np.random.default_rng(9)
    x, y = (ingot.tensor(rng.standard_normal((12, 600)) * 3).to(dtype) for _ in range(2))
    if dtype.is_floating_point:
        x[0, 5:9], y[0, 7:11] = ingot.tensor([np.nan, -np.inf, -0.0, 0.0]), ingot.tensor([-0.0, np.nan, np.inf, 0.0])

    def result(a, b):
        try:
            return bits(fn(a, b))
        except ingot.IngotError as error:
            return type(error)

    whole, rows = result(x, y), [result(x[i:i + 1], y[i:i + 1]) for i in range(len(x))]
    if type(whole) is type:
        assert set(rows) == {whole}
    else:
        assert whole == (rows[0][0], tuple(x.shape), b"".join([row[2] for row in rows]))


def test_numbers_may_replace_arrays_from_call_to_call():
    x, blend = np.arange(9, dtype=np.float32), OPS["blend"]
    kernel = kernel_of(blend)
    for args in ((x, x, 2.0, -2.0), (x, x, x, -2.0), (x, x, 2.0, -2.0)):
        np.testing.assert_allclose(kernel(*args), blend.ref(*args), rtol=1e-6)
