"""Edge cases of functions: empty tensors, no dims, several dtypes, numbers in place of tensors."""

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.nn import functional as F

INF = float("inf")
SINGLE, DOUBLE = ingot.tensor([0.25, 0.5, 0.75]), ingot.tensor(0.5, dtype=ingot.float64)
SCALES = ingot.stack([ingot.diag(ingot.tensor([100.0, 1.0])), ingot.diag(ingot.tensor([1.0, 0.01]))])

# call -> result, and its dtype
VALUES = {
    "a sequence downwards": (lambda: ingot.arange(0.0, -8, -4).signbit(), [False, True], ingot.bool),
    "a long sequence downwards": (lambda: ingot.arange(0, -9000, -1.0)[:2].signbit(), [False, True], ingot.bool),
    "integers from fractions": (lambda: ingot.linspace(4.9, -1, 6, dtype=ingot.int8), [4, 3, 2, 1, 0, -1], ingot.int8),
    "powers between fractions": (lambda: ingot.logspace(0, 2.9, 3, dtype=ingot.int16), [1, 10, 100], ingot.int16),
    "matrix norms of nothing": (lambda: ingot.linalg.matrix_norm(ingot.ones(2, 0, 0), 2), [0, 0], ingot.float32),
    "sums of no rows": (lambda: ingot.linalg.matrix_norm(ingot.ones(0, 3), INF), 0, ingot.float32),
    "powers of one number": (lambda: ingot.linalg.vander(ingot.tensor(-8), N=3), [[1, -8, 64]], ingot.int64),
    "ranks by one bound each": (
        lambda: ingot.linalg.matrix_rank(SCALES, atol=ingot.tensor([2.0, 0.001])), [1, 2], ingot.int64),
    "ranks by several bounds": (
        lambda: ingot.linalg.matrix_rank(SCALES, rtol=ingot.tensor([[0.1], [0.0]])), [[1, 1], [2, 2]], ingot.int64),
    "ranks of no matrices": (lambda: ingot.linalg.matrix_rank(ingot.ones(0, 2, 2), atol=ingot.ones(0)), [], ingot.int64),
    "inverses above one bound": (
        lambda: ingot.linalg.pinv(SCALES, atol=0.5).diagonal(0, 1, 2), [[0.01, 1], [1, 0]], ingot.float32),
    "inverses above themselves": (
        lambda: ingot.linalg.pinv(SCALES + 0.3, rtol=ingot.tensor(1.0)).abs().sum(), 0, ingot.float32),
    "inverses above a bound each": (
        lambda: ingot.linalg.pinv(SCALES, atol=ingot.tensor([2.0, 0])).diagonal(0, 1, 2), [[0.01, 0], [1, 100]], ingot.float32),
    "ranks by the triangle that counts": (
        lambda: ingot.linalg.matrix_rank(ingot.tensor([[2 + 5j, 9], [0, 0.5 - 3j]]), atol=1.0, hermitian=True), 1, ingot.int64),
    "ranks of matrices that serve several systems": (
        lambda: ingot.linalg.lstsq(SCALES[:1], ingot.ones(3, 2, 1)).rank, [2], ingot.int64),
    "singular values of those": (
        lambda: ingot.linalg.lstsq(SCALES[:1], ingot.ones(3, 2, 1), driver="gelsd").singular_values, [[100, 1]], ingot.float32),
    "steps around a wide zero": (
        lambda: ingot.fake_quantize_per_tensor_affine(SINGLE, ingot.tensor(0.5), ingot.tensor(1), 0, 2), [0, 0.5, 0.5],
        ingot.float32),
    "places of nothing": (
        lambda: ingot.sparse_coo_tensor(ingot.empty(1, 0), ingot.empty(0, 2), [1, 2]).to_dense(), [[0, 0]], ingot.float32),
    "a size and nothing else": (lambda: ingot.sparse_coo_tensor(size=(1, 2)).to_dense(), [[0, 0]], ingot.float32),
    "a copied part of a sparse tensor": (
        lambda: ingot.eye(3).to_sparse().narrow_copy(0, 1, 2).to_dense(), [[0, 1, 0], [0, 0, 1]], ingot.float32),
    "products of small integers": (
        lambda: ingot.masked.prod(ingot.tensor([100, 100], dtype=ingot.int8)), 10_000, ingot.int64),
    "conjugates into": (
        lambda: ingot.conj_physical(ingot.tensor([2j]), out=ingot.empty(0, dtype=ingot.complex64)), [-2j], ingot.complex64),
    "polynomials of many degrees": (
        lambda: ingot.special.legendre_polynomial_p(ingot.tensor([np.nan, 2, 1]), 100_000), [np.nan, np.nan, 1], ingot.float32),
    "polynomials of more degrees than anybody counts": (
        lambda: ingot.special.legendre_polynomial_p(ingot.tensor([1.0, 0.5]), 2**63 - 1), [np.nan, np.nan], ingot.float32),
    "no entropy": (lambda: ingot.special.entr(ingot.tensor([0, -0.0])).signbit(), [False, False], ingot.bool),
    "gamma numbers of endless concentration": (
        lambda: ingot.special.gammainc(ingot.full((3,), INF), ingot.tensor([0, 2, INF])), [0, 0, np.nan], ingot.float32),
    "and what is beyond them": (
        lambda: ingot.special.gammaincc(ingot.full((3,), INF), ingot.tensor([0, 2, INF])), [1, 1, np.nan], ingot.float32),
    "quotients of narrow numbers": (lambda: ingot.tensor([-7.0, 7.0]).half() // 0.1, [-70, 69], ingot.float16),
    "quotients by wide tensors": (
        lambda: ingot.div(ingot.tensor([6.3]).bfloat16(), DOUBLE * 0.6, rounding_mode="trunc"), [21], ingot.bfloat16),
    "sums into": (lambda: ingot.sum(ingot.tensor([1.75, 1.5]), 0, out=ingot.zeros((), dtype=ingot.int64)), 2, ingot.int64),
    "sums so far into": (
        lambda: ingot.cumsum(ingot.full((3,), 1.0009765625).half(), 0, out=ingot.zeros(3)), np.arange(1, 4) * 1.0009765625,
        ingot.float32),
    "means into": (
        lambda: ingot.mean(ingot.tensor([1, 1.0009765625]).half(), 0, out=ingot.zeros(())), 1.00048828125, ingot.float32),
    "complex numbers between": (lambda: ingot.linspace(1j, 2, 3), [1j, 1 + 0.5j, 2], ingot.complex64),
    "complex powers between": (
        lambda: ingot.logspace(0, 2j, 2, base=np.e, dtype=ingot.complex128), [1, np.exp(2j)], ingot.complex128),
    "every element by one": (lambda: ingot.kron(SINGLE, DOUBLE), [0.125, 0.25, 0.375], ingot.float64),
    "angles to one number": (lambda: F.cosine_similarity(SINGLE, DOUBLE, 0), 1.5 / np.sqrt(2.625), ingot.float64),
    "bins of narrow numbers": (
        lambda: ingot.tensor([-9.79, -9.61, 9.21]).bfloat16().histc(100, -10, 10)[[0, 1, 95]], [1, 1, 1], ingot.bfloat16),
    "full of a tensor": (lambda: ingot.full((2,), DOUBLE), [0.5, 0.5], ingot.float32),
    "full of a small integer": (lambda: ingot.full((1,), ingot.tensor(3, dtype=ingot.int8)), [3], ingot.int64),
    "found among narrow numbers": (lambda: ingot.isin(DOUBLE * 0.6, ingot.tensor([0.3]).half()), True, ingot.bool),
    "a filling without an imaginary part": (
        lambda: SINGLE.masked_fill(SINGLE > 0.6, ingot.tensor(2 + 0j)), [0.25, 0.5, 2], ingot.float32),
    "parts that are no numbers": (
        lambda: ingot.nan_to_num(ingot.tensor([complex(INF, np.nan), 1 + 2j, complex(1, -INF)]), nan=0.5, posinf=3, neginf=-4),
        [3 + 0.5j, 1 + 2j, 1 - 4j], ingot.complex64),
    "parts that are no numbers, in place": (
        lambda: ingot.tensor([complex(np.nan, 2)], dtype=ingot.complex128).nan_to_num_(), [2j], ingot.complex128),
    "gradients where there were numbers": (
        lambda: ingot.func.grad(lambda z: ingot.nan_to_num(z).abs().sum())(ingot.tensor([complex(INF, 1), 3 + 4j])),
        [0, 0.6 + 0.8j], ingot.complex64),
    "integers in their order": (
        lambda: F.margin_ranking_loss(*ingot.tensor([[1, 4], [3, 2], [1, 1]])), 1, ingot.float32),
    "any number of steps": (lambda: ingot.randint_like(SINGLE, high=1), [0, 0, 0], ingot.float32),
    "an inverse of a factor": (lambda: ingot.cholesky_inverse(input=ingot.full((1, 1), 2.0)), [[0.25]], ingot.float32),
    "mse, wide target": (lambda: F.mse_loss(SINGLE, DOUBLE), 0.125 / 3, ingot.float64),
    "mse, wide input": (lambda: F.mse_loss(DOUBLE, SINGLE), 0.125 / 3, ingot.float64),
    "l1, wide target": (lambda: F.l1_loss(SINGLE, DOUBLE, reduction="sum"), 0.5, ingot.float64),
    "smooth l1, wide target": (lambda: F.smooth_l1_loss(SINGLE.half(), DOUBLE.float(), reduction="sum"), 0.0625, ingot.float32),
    "huber, weights": (lambda: F.huber_loss(ingot.tensor([1.0, 2.0]), ingot.zeros(2), weight=ingot.tensor([2.0, 4.0])), 3.5,
                       ingot.float32),
    "huber, wide target": (lambda: F.huber_loss(SINGLE, DOUBLE, reduction="sum"), 0.0625, ingot.float32),
    "huber, wide input": (lambda: F.huber_loss(DOUBLE, SINGLE, reduction="sum"), 0.0625, ingot.float64),
    "logits, wide target": (
        lambda: F.binary_cross_entropy_with_logits(SINGLE * 0, SINGLE.double()), np.log(2), ingot.float64),
    "divergence, wide input": (lambda: F.kl_div(DOUBLE, SINGLE * 0 + 1, reduction="sum"), -1.5, ingot.float32),
    "a window of numbers in tensors": (lambda: ingot.hamming_window(3, False, ingot.tensor(0), 1), [-1, 1, -1], ingot.float32),
}


@pytest.mark.filterwarnings("ignore:.*broadcast")
@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    call, want, dtype = VALUES[name]
    got = call()
    assert got.dtype is dtype and got.shape == np.shape(want)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)


ONE, FLAT, BOOLS = ingot.tensor(1.0), ingot.ones(3), ingot.ones(3) > 0

# call -> class of PyTorch's error, and words of the message
REFUSED = {
    "clamp_max of a number": (lambda: ingot.clamp_max(2, FLAT), TypeError, "takes tensors, got int"),
    "max of numbers": (lambda: ingot.max(2, 3), TypeError, "takes tensors, got int"),
    "complex of a number": (lambda: ingot.complex(FLAT, 2), TypeError, "takes tensors, got int"),
    "polar of two dtypes": (lambda: ingot.polar(FLAT, FLAT.double()), RuntimeError, "one dtype"),
    "a plane of one dim": (lambda: ingot.ones(2, 2).rot90(1, [0]), RuntimeError, "two dims of a plane"),
    "a negative tolerance": (lambda: ingot.isclose(FLAT, FLAT, rtol=-1.0), RuntimeError, "at least 0"),
    "a derivative of negative order": (lambda: ingot.polygamma(-1, FLAT), RuntimeError, "at least 0"),
    "a derivative at a number": (lambda: ingot.polygamma(ingot.tensor(1), 1.0), TypeError, "takes tensors"),
    "a condition of integers": (lambda: ingot.where(ingot.tensor([1, 0, 1]), FLAT, 0.0), RuntimeError, "bool condition"),
    "a complex filling": (lambda: FLAT.masked_fill(FLAT > 0, ingot.tensor(1j)), RuntimeError, "imaginary part"),
    "a vector before a matrix": (lambda: ingot.ones(2, 3).diff(prepend=FLAT), RuntimeError, "as many dims"),
    "reals between complex numbers": (lambda: ingot.linspace(0, 1j, 3, dtype=ingot.float32), RuntimeError, "complex"),
    "a fraction of steps": (lambda: ingot.linspace(0, 3, 2.5), TypeError, "integer"),
    "a negative weight": (lambda: ingot.cov(FLAT, aweights=-FLAT), RuntimeError, "negative"),
    "least squares without rows": (lambda: ingot.linalg.lstsq(ONE, ONE), RuntimeError, "matrices"),
    "a rank without rows": (lambda: ingot.linalg.matrix_rank(FLAT), RuntimeError, "matrices"),
    "frequencies without dims": (lambda: ingot.fft.rfft(ONE), IndexError, "no dimensions"),
    "a sum of nothing that is there": (lambda: ingot.sum(None), TypeError, "sum takes a tensor as input, got NoneType"),
    "sums of nothing that is there": (
        lambda: ingot.cumsum(None, axis=0), TypeError, "cumsum takes a tensor as input, got NoneType"),
    "an average of an array": (lambda: ingot.var(np.ones(3)), TypeError, "var takes a tensor as input, got numpy.ndarray"),
    "parts of a number": (lambda: ingot.unbind(3), TypeError, "unbind takes a tensor as input, got int"),
    "one tensor for two results": (
        lambda: ingot.aminmax(ingot.ones(2, 3), dim=0, out=(FLAT.clone(),) * 2), ValueError, "share memory"),
    "several losses of one input": (
        lambda: F.linear_cross_entropy(FLAT, ingot.ones(2, 4, 3), ingot.ones(2, 4)), RuntimeError, "takes a batch"),
    "no room for a variance of 0": (
        lambda: F.batch_norm(ingot.ones(2, 3), None, None, training=True, eps=0.0), ValueError, "eps > 0 in training"),
    "a root of less than nothing": (
        lambda: F.batch_norm(ingot.ones(2, 3), FLAT, FLAT, eps=-1.0), ValueError, "eps >= 0 otherwise, got -1"),
    "a bias by number": (lambda: ingot.nn.LSTM(3, 5, bias=0), TypeError, "bias is True or False, got 0"),
    "a recurrent layer without inputs": (lambda: ingot.nn.RNN(0, 5), ValueError, "input_size > 0"),
    "an order among several": (lambda: ingot.ones(1, 2).dim_order(ambiguity_check=True), RuntimeError, "more than one order"),
    "an order of no format": (lambda: FLAT.dim_order(ambiguity_check="C"), TypeError, "list of memory formats"),
    **{f"{name} of bools": (lambda f=getattr(ingot, name): f(BOOLS, BOOLS), RuntimeError, "does not take .*bool")
       for name in ("pow", "fmod", "remainder", "floor_divide", "gcd", "lcm", "bitwise_left_shift", "bitwise_right_shift")},
    "a complex step between reals": (lambda: ingot.lerp(FLAT, FLAT, 1j), RuntimeError, "real weight"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    call, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        call()


def test_resizing_takes_elements_in_memory_order():
    x = ingot.arange(24).reshape(4, 6)
    turned = x.t().resize_(3, 8)
    assert turned.tolist() == np.arange(24).reshape(3, 8).tolist()
    turned[0, 0] = 7
    assert x[0, 0] == 7
    assert x.t().clone(memory_format=ingot.preserve_format).resize_(5, 5)[4].tolist() == [20, 21, 22, 23, 0]


@pytest.mark.parametrize("name", ["hfft2", "hfftn"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_hermitian_transforms_along_several_dims(name, norm):
    x = ingot.tensor(np.random.default_rng(0).standard_normal((3, 4, 5)))
    dims = (-2, -1)
    back = getattr(ingot.fft, "i" + name)(x, dim=dims, norm=norm)
    np.testing.assert_allclose(back.numpy(), np.fft.ifftn(x.numpy(), axes=dims, norm=norm)[..., :3], rtol=1e-12)
    there = getattr(ingot.fft, name)(back, s=(4, 5), dim=dims, norm=norm)
    np.testing.assert_allclose(there.numpy(), x.numpy(), rtol=1e-12)


def test_gradients_of_remainders_count_the_quotient_that_was_taken():
    """5 by 0.1 has quotient 49, though 5 / 0.1 rounds to 50; its second derivative is empty."""
    x = ingot.tensor([5.0, -1e-300, 7.5, ingot.inf], dtype=ingot.float64, requires_grad=True)
    y = ingot.tensor([0.1, 2.0, -2.5, 1.0], dtype=ingot.float64, requires_grad=True)
    on_y, = ingot.autograd.grad(ingot.remainder(x, y).sum(), y, create_graph=True)
    assert on_y[:3].tolist() == [-49.0, 1.0, 3.0]
    for f in (ingot.remainder, ingot.fmod):
        first = ingot.autograd.grad(f(x, y).sum(), (x, y), create_graph=True)
        (first[0] + first[1]).sum().backward()
        assert x.grad.tolist() == y.grad.tolist() == [0.0] * 4


def test_gradients_of_bounded_pseudo_inverses_ignore_cut_values():
    x = ingot.tensor(np.random.default_rng(1).standard_normal((2, 4, 3)), requires_grad=True)
    plain = ingot.autograd.grad(ingot.linalg.pinv(x).square().sum(), x)
    bounded = ingot.autograd.grad(ingot.linalg.pinv(x, atol=1e-12).square().sum(), x)
    np.testing.assert_allclose(bounded[0].numpy(), plain[0].numpy(), rtol=1e-9)


CHECKED = {
    "cov": lambda x, w: ingot.cov(x, aweights=w.abs()),
    "gaussian_nll_loss": lambda x, w: F.gaussian_nll_loss(x, x * 2, w.abs().expand(2, 4)),
    "istft": lambda x, w: ingot.istft(ingot.complex(x, x).expand(3, 4), 4, window=w.abs()),
}


@pytest.mark.parametrize("name", CHECKED)
def test_value_checks_run_under_vmap(name):
    x, w = (ingot.tensor(np.random.default_rng(i).standard_normal((3, *s)) + 0.1) for i, s in enumerate(((2, 4), (4,))))
    if name == "istft":
        x = x[:, :1]
    whole = ingot.func.vmap(CHECKED[name])(x, w)
    for i in range(3):
        np.testing.assert_allclose(whole[i].numpy(), CHECKED[name](x[i], w[i]).numpy(), rtol=1e-9)


SUMS = {
    "of two": lambda x, y: ingot.logaddexp(x, y),
    "so far": lambda x, y: ingot.logcumsumexp(x * y, 0),
    "blended": lambda x, y: ingot.lerp(x, y, x * 0.3),
}


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.parametrize("kind", [ingot.float32, ingot.bfloat16])
def test_gradients_of_a_tensor_with_a_number(name, kind):
    x = ingot.tensor([-3.0, 0.5, 2.0, 9.0], dtype=kind, requires_grad=True)
    for turn in (lambda a, b: (a, b), lambda a, b: (b, a)):
        for other in (2, 0.25):
            found = [ingot.autograd.grad(getattr(ingot, name)(*turn(x, y)).sum(), x)[0]
                     for y in (other, ingot.full((4,), other, dtype=kind))]
            assert ingot.equal(*found)


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("kind", [ingot.complex64, ingot.complex128])
def test_complex_sums_of_exponentials(name, kind):
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal((5, 3)) + 1j * rng.standard_normal((5, 3)) for _ in range(2))
    x[0, 0], y[1, 1], x[2, 2], y[2, 2] = -INF, -INF, -INF, -INF
    x, y = (x, y) if name == "of two" else (np.where(np.isinf(v), 0, v) for v in (x, y))
    with np.errstate(all="ignore"):
        want = {"of two": lambda: np.log(np.exp(x) + np.exp(y)), "so far": lambda: np.log(np.cumsum(np.exp(x * y), 0)),
                "blended": lambda: x + 0.3 * x * (y - x)}[name]()
    a, b = (ingot.tensor(v).to(kind) for v in (x, y))
    traced = jit.trace(SUMS[name])
    for got in (SUMS[name](a, b), traced(a, b), traced(a, b)):
        assert got.dtype is kind
        found, room = got.numpy(), 1e-5 if kind is ingot.complex64 else 1e-12
        np.testing.assert_allclose(np.exp(found) if name != "blended" else found,
                                   np.exp(want) if name != "blended" else want, rtol=room, atol=room)
