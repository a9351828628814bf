"""Spellings of calls: other parameter names, omitted arguments, empty dims; and memory layouts of results."""

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F

X = ingot.tensor([[1.0, 2.0], [3.0, 4.5]])
V = ingot.tensor([1.0, 2.0, 3.0])

SAME = {
    "heaviside": (lambda: ingot.heaviside(input=X, values=X), lambda: ingot.heaviside(X, X)),
    "pow": (lambda: ingot.pow(self=2, exponent=X), lambda: 2 ** X),
    "det": (lambda: ingot.det(input=X), lambda: ingot.linalg.det(X)),
    "logdet": (lambda: ingot.logdet(input=X.T @ X), lambda: ingot.linalg.slogdet(X.T @ X)[1]),
    "norm": (lambda: ingot.norm(input=X, p=1, dim=1), lambda: X.sum(1)),
    "matrix_exp": (lambda: ingot.matrix_exp(input=X), lambda: ingot.linalg.matrix_exp(X)),
    "inverse": (lambda: ingot.inverse(input=X), lambda: ingot.linalg.inv(X)),
    "matrix_power": (lambda: ingot.matrix_power(input=X, n=2), lambda: X @ X),
    "pinverse": (lambda: ingot.pinverse(X, 1e-5), lambda: ingot.linalg.pinv(X, rtol=1e-5)),
    "arange": (lambda: ingot.arange(end=5), lambda: ingot.arange(5)),
    "split": (lambda: ingot.cat(X.split(split_size=1)), lambda: X),
    "tensor_split": (lambda: ingot.tensor_split(V, indices=(1,))[1], lambda: V[1:]),
    "repeat_interleave": (lambda: ingot.repeat_interleave(ingot.tensor([1, 0, 2])), lambda: ingot.tensor([0, 2, 2])),
    "vander": (lambda: ingot.vander(V), lambda: ingot.tensor([[1.0, 1, 1], [4, 2, 1], [9, 3, 1]])),
    "vander rising": (lambda: ingot.vander(V, 2, increasing=True), lambda: ingot.tensor([[1.0, 1], [1, 2], [1, 3]])),
    "qr": (lambda: ingot.matmul(*ingot.qr(X)), lambda: X),
    "svd": (lambda: (lambda u, s, v: u @ ingot.diag(s) @ v.mT)(*ingot.svd(X)), lambda: X),
    "mvlgamma": (lambda: ingot.mvlgamma(V + 1, 2), lambda: ingot.special.multigammaln(V + 1, 2)),
}

SAME |= {f"a factor first: {name}": pair for name, pair in {
    "add": (lambda: ingot.add(X, 0.5, X.T), lambda: X + 0.5 * X.T),
    "add_": (lambda: X.clone().add_(-3, X.T), lambda: X - 3 * X.T),
    "add_ to a large one": (lambda: ingot.ones(70_000).add_(0.5, ingot.ones(70_000))[:2], lambda: 1.5 * ingot.ones(2)),
    "sub": (lambda: X.sub(2, X.T), lambda: X - 2 * X.T), "addcmul": (lambda: X.addcmul(0.5, X, X.T), lambda: X + 0.5 * X * X.T),
    "addcmul_": (lambda: X.half().addcmul_(0.5, X.half(), X.half()).float(), lambda: X + 0.5 * X * X),
    "addcdiv_": (lambda: X.clone().addcdiv_(-2, X, X.T), lambda: X - 2 * X / X.T),
    "addmm": (lambda: ingot.addmm(0.5, X, 3, X, X.T), lambda: 0.5 * X + 3 * X @ X.T),
    "addmm_": (lambda: X.clone().addmm_(0.5, X, X.T), lambda: 0.5 * X + X @ X.T),
    "addmv": (lambda: X[0].addmv(2, 3, X, X[1]), lambda: 2 * X[0] + 3 * X @ X[1]),
    "addr": (lambda: X.addr(2, 3, X[0], X[1]), lambda: 2 * X + 3 * X[0].outer(X[1])),
    "baddbmm": (lambda: X[None].baddbmm(2, X[None], X.T[None])[0], lambda: 2 * X + X @ X.T),
    "addbmm": (lambda: ingot.addbmm(2, X, 3, X[None], X.T[None]), lambda: 2 * X + 3 * X @ X.T)}.items()}


@pytest.mark.parametrize("call, name", [
    (lambda: X.add(X, X), "alpha"), (lambda: X.addcmul(1, 2, X), "value"), (lambda: X.addmm(1, 2, 3, X, X), "beta=, alpha"),
    (lambda: X.add(X, 5), "alpha"), (lambda: X.add_(X, 5), "alpha"), (lambda: X.addmm(X, X, 2), "beta"),
    (lambda: X.add(2, X, alpha=3), "alpha"), (lambda: X.sub(2, X, alpha=1.0), "alpha"),
    (lambda: X.addcdiv(2, X, X, value=3), "value"), (lambda: X.addmm(2, X, X, alpha=3), "alpha")])
def test_factors_among_operands_come_first_once_and_are_as_many_as_there_are(call, name):
    with pytest.raises(TypeError, match=rf"positional arguments but.*{name}="):
        call()


@pytest.mark.parametrize("name", SAME)
def test_two_spellings_of_one_call(name):
    got, want = (fn() for fn in SAME[name])
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, err_msg=name)


Y = ingot.arange(6.0).reshape(2, 3)
INTEGERS = {
    "roll": lambda n: ingot.roll(Y, n(2)), "roll along a dim": lambda n: ingot.roll(Y, n(2), n(1)),
    "roll lists": lambda n: ingot.roll(Y, [n(1), n(2)], (n(0), n(1))), "split": lambda n: Y.split(n(2), n(1))[1],
    "chunk": lambda n: Y.chunk(n(2), n(1))[0], "tensor_split": lambda n: Y.tensor_split(n(2), n(1))[0],
    "hsplit": lambda n: ingot.hsplit(Y, n(3))[2], "squeeze": lambda n: Y[:1].squeeze(n(0)),
    "permute": lambda n: Y.permute(n(1), n(0)), "movedim": lambda n: Y.movedim(n(1), n(0)),
    "unflatten": lambda n: Y.unflatten(n(1), (n(3), n(1))),
    "tensordot": lambda n: ingot.tensordot(Y, Y.T, n(1)), "one_hot": lambda n: F.one_hot(ingot.tensor([0, 1]), n(3)),
    "max_pool": lambda n: F.max_pool1d(Y[None], n(2), n(1)), "avg_pool": lambda n: F.avg_pool2d(Y[None, None], n(2), n(1)),
    "layer_norm": lambda n: F.layer_norm(Y, (n(3),)), "LayerNorm": lambda n: ingot.nn.LayerNorm(n(3))(Y).detach(),
    "norm": lambda n: ingot.linalg.norm(Y, 2, n(1)), "norm of matrices": lambda n: ingot.linalg.norm(Y, "fro", (n(0), n(1))),
    "gradient": lambda n: ingot.gradient(Y, spacing=n(2), dim=n(1))[0],
    "fftn": lambda n: ingot.fft.fftn(Y, s=(n(2), n(2))).real,
    "window": lambda n: ingot.signal.windows.hann(n(5)), "any": lambda n: Y.any(n(1)), "unravel_index": lambda n:
    ingot.unravel_index(ingot.tensor([3]), (n(2), n(3)))[1], "threshold": lambda n: F.threshold(Y, n(2), n(7)),
    "pad, value": lambda n: F.pad(Y, (1, 1), value=n(2)),
    "groups": lambda n: F.conv1d(Y.reshape(1, 3, 2), ingot.ones(3, 1, 2), groups=n(3)),
    "groups transposed": lambda n: F.conv_transpose1d(Y.reshape(3, 2), ingot.ones(3, 3, 3), ingot.ones(9), 2, groups=n(3)),
    "trapezoid": lambda n: ingot.trapezoid(Y, dx=n(2)), "cumulative": lambda n: ingot.cumulative_trapezoid(Y, dx=n(2)),
}


@pytest.mark.parametrize("kind", [np.int64, np.int32, ingot.tensor], ids=["int64", "int32", "tensor"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_those_of_numpy_and_tensors_too(name, kind):
    got, want = INTEGERS[name](kind), INTEGERS[name](int)
    assert got.dtype is want.dtype and got.tolist() == want.tolist()


@pytest.mark.parametrize("one, other", [
    (lambda: ingot.linalg.norm(Y, axis=1, keepdims=True), lambda: ingot.linalg.norm(Y, dim=1, keepdim=True)),
    (lambda: ingot.linalg.vector_norm(Y, axis=(0, 1)), lambda: ingot.linalg.vector_norm(Y, dim=(0, 1))),
    (lambda: ingot.linalg.matrix_norm(Y, axis=(1, 0)), lambda: ingot.linalg.matrix_norm(Y, dim=(1, 0))),
    (lambda: ingot.linalg.vecdot(Y, Y, axis=0), lambda: ingot.linalg.vecdot(Y, Y, dim=0)),
    (lambda: ingot.fft.fft(Y, axis=0).real, lambda: ingot.fft.fft(Y, dim=0).real),
    (lambda: ingot.fft.fftshift(Y, axis=1), lambda: ingot.fft.fftshift(Y, dim=1)),
    (lambda: ingot.special.softmax(Y, axis=1), lambda: ingot.special.softmax(Y, dim=1))])
def test_numpys_names_in_namespaces(one, other):
    assert one().equal(other())


@pytest.mark.parametrize("call, words", [
    (lambda: ingot.roll(Y, 0.5), "shifts must be an integer"),
    (lambda: Y.split(1.5), "split_size_or_sections must be an integer"),
    (lambda: ingot.signal.windows.hann(5.5), "M must be an integer"), (lambda: ingot.linalg.norm(Y, "fro", 1), "two dims"),
    (lambda: ingot.linalg.norm(Y, "nuc", -1), "two dims"), (lambda: ingot.trapezoid(Y, dx=ingot.ones(2)), "number as dx")])
def test_non_integers_raise_by_name(call, words):
    with pytest.raises(ingot.IngotError, match=words):
        call()


def test_a_step_that_is_a_tensor_has_a_gradient():
    dx = ingot.tensor(2.0, requires_grad=True)
    ingot.trapezoid(V, dx=dx).backward()
    assert dx.grad.item() == 4.0 and ingot.trapezoid(ingot.tensor([1, 2]), dx=ingot.tensor(2)).dtype is ingot.float32


def test_randint_needs_a_shape():
    assert ingot.randint(high=5, size=(2,)).shape == (2,)
    with pytest.raises(ValueError, match="shape"):
        ingot.randint(5, 7)


@pytest.mark.parametrize("name", ["max", "median", "argmax", "cumsum", "sort", "mode", "softmax"])
@pytest.mark.parametrize("dim", [(0,), 0.5, "rows"])
def test_a_dim_that_is_no_integer(name, dim):
    with pytest.raises(ingot.IngotError, match="must be an integer"):
        getattr(ingot, name)(X, dim)


@pytest.mark.parametrize("fn", [
    lambda x: ingot.unflatten(x, 0, (1, 1)), lambda x: ingot.slice_scatter(x, x), lambda x: ingot.cross(x, x),
    lambda x: ingot.tensordot(x, x, ([0], [0])), lambda x: ingot.nn.functional.embedding(ingot.tensor([0]), x),
    lambda x: x.size(0), lambda x: ingot.hsplit(ingot.ones(2), 0), lambda x: ingot.isclose(x, 1.0), lambda x: ingot.equal(x, 1),
])
def test_impossible_calls_raise(fn):
    with pytest.raises(ingot.IngotError):
        fn(ingot.tensor(1.0))


def test_an_empty_dim_tuple():
    x = ingot.tensor([[1, 0], [0, 0]])
    assert ingot.any(x, ()).shape == (2, 2) and ingot.all(x, ()).shape == (2, 2)    # reduces nothing, as in PyTorch
    assert ingot.sum(x, ()).shape == () and ingot.norm(x.float(), dim=()).shape == ()


@pytest.mark.parametrize("d", [ingot.uint8, ingot.int8, ingot.int32, ingot.int64], ids=str)
def test_the_median_of_nothing(d):
    assert ingot.median(ingot.zeros(0, dtype=d)).item() == ingot.iinfo(d).min


@pytest.mark.parametrize("size", [0.01, 1.0, 6.0])
def test_matrix_exp_in_both_precisions(size):
    generator = np.random.default_rng(3)
    a = generator.uniform(-size, size, (5, 4, 4))
    exact = np.stack([_exponential(m) for m in a])
    for d, room in ((ingot.float32, 3e-6), (ingot.float64, 1e-13)):
        got = ingot.matrix_exp(ingot.tensor(a, dtype=d)).numpy()
        for found, want in zip(got, exact):
            assert np.abs(found - want).max() <= room * np.abs(want).max(), f"size {size}, {d}, seed 3"


def _exponential(a):
    """Compute exp by its series of a matrix halved until it is tiny, in long double."""
    a = a.astype(np.longdouble)
    total, term = np.eye(len(a), dtype=np.longdouble), np.eye(len(a), dtype=np.longdouble)
    for k in range(1, 30):
        term = term @ (a / 1024) / k
        total = total + term
    for _ in range(10):
        total = total @ total
    return total


# Memory.

ELEMENTWISE = {
    "clone": lambda x: x.clone(), "+ 0": lambda x: x + 0, "to": lambda x: x.to(ingot.float64), "== 1": lambda x: x == 1,
    "where": lambda x: ingot.where(x > 0, x, x), "cumsum": lambda x: x.cumsum(0), "clamp": lambda x: x.clamp(0, 1),
}


@pytest.mark.parametrize("d", [ingot.float32, ingot.float16, ingot.bfloat16, ingot.int64, ingot.bool], ids=str)
@pytest.mark.parametrize("how", ELEMENTWISE)
def test_results_of_expanded_tensors_are_row_major(how, d):
    x = ingot.ones(1, 3, dtype=d).expand(2, 3)
    assert ELEMENTWISE[how](x).view(6).shape == (6,)


@pytest.mark.parametrize("n", [2, 300])
@pytest.mark.parametrize("join", [ingot.stack, ingot.cat], ids=lambda f: f.__name__)
def test_joined_columns_are_row_major(join, n):
    for x in (ingot.ones(3, n).mT, ingot.ones(n, 1).expand(n, 3)):
        assert join((x, x)).is_contiguous() and join((x, x), dim=1).is_contiguous()


def test_one_value_may_be_written_to_shared_places():
    x = ingot.zeros(1, 3).expand(2, 3)
    x.fill_(2)
    x[:, ::2].zero_()
    assert x.tolist() == [[0.0, 2.0, 0.0]] * 2
    with pytest.raises(RuntimeError, match="share one place"):
        x.add_(1)


def test_strides_of_nothing_are_those_of_something():
    assert ingot.zeros(0, 3).stride() == (3, 1)
    assert ingot.zeros(2, 0, 4).stride() == (4, 4, 1)


def test_angle_is_exact_in_float64():
    assert ingot.angle(ingot.tensor([-1.0], dtype=ingot.float64)).item() == np.pi


def test_nextafter_in_low_precision():
    for d, step in ((ingot.float16, 2.0 ** -10), (ingot.bfloat16, 2.0 ** -7)):
        one = ingot.ones(3).to(d)
        assert (ingot.nextafter(one, one + 1) - 1).tolist() == [step] * 3
