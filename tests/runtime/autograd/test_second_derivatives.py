"""Derivatives of gradients at limits of formulas: singular matrices, overflow, cancellation, piecewise linear functions."""

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from ingot import jit, nn
from ingot.autograd import grad, gradgradcheck
from ingot.ir.errors import AutogradError


def twice(fn, x):
    """Return the derivative of the sum of all first derivatives."""
    x = x.clone().requires_grad_()
    once, = grad(fn(x).sum(), x, create_graph=True)
    return grad(once.sum(), x)[0]


# Determinants.


def cofactors(a):
    """Compute cofactors by minors."""
    n = len(a)
    minors = [[np.delete(np.delete(a, i, 0), j, 1) for j in range(n)] for i in range(n)]
    return np.array([[(-1) ** (i + j) * np.linalg.det(m) for j, m in enumerate(row)] for i, row in enumerate(minors)])


def of_rank(rng, n, rank):
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n))


@pytest.mark.parametrize("n, rank", [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2), (4, 2), (4, 3), (5, 5)])
def test_determinants_of_matrices_of_any_rank(n, rank):
    rng = np.random.default_rng(n * 10 + rank)
    a, weights, step = of_rank(rng, n, rank), rng.standard_normal((n, n)), 1e-4
    x = ingot.tensor(a, requires_grad=True)
    once, = grad(ingot.linalg.det(x), x, create_graph=True)
    found, = grad((once * ingot.tensor(weights)).sum(), x)
    expected = np.zeros((n, n))
    for place in np.ndindex(n, n):
        moved = np.zeros((n, n))
        moved[place] = step
        expected[place] = (weights * (cofactors(a + moved) - cofactors(a - moved))).sum() / (2 * step)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("dtype", [ingot.float64, ingot.complex128], ids=["real", "complex"])
def test_determinants_of_equal_singular_values_and_batches(dtype):
    ingot.manual_seed(1)
    even = (2 * ingot.eye(3, dtype=dtype)).requires_grad_()
    some = ingot.randn(2, 3, 3, dtype=dtype, requires_grad=True)
    for x in (even, some):
        assert gradgradcheck(ingot.linalg.det, (x,))


def test_the_third_derivative_of_a_determinant():
    ingot.manual_seed(2)
    assert gradgradcheck(lambda x: grad(ingot.linalg.det(x), x, create_graph=True)[0],
                         (ingot.randn(3, 3, dtype=ingot.float64, requires_grad=True),))


# Overflow, cancellation, and empty cases.

BEYOND = {                  # function: (points, second derivatives there)
    "elu": (F.elu, [800.0, 90.0, 0.5, -1.0], [0, 0, 0, np.exp(-1)]),
    "selu": (F.selu, [800.0, 90.0], [0, 0]),
    "celu(0.5)": (lambda x: F.celu(x, 0.5), [800.0, 45.0, -1.0], [0, 0, 2 * np.exp(-2)]),
    "log_ndtr": (ingot.special.log_ndtr, [1e5, 1000.0, 100.0, 0.0, -30.0], [0, 0, 0, -2 / np.pi, -0.9988962]),
    "i0": (ingot.special.i0, [1e-20, 1e-5, 0.0], [0.5, 0.5, 0.5]),
    "i1": (ingot.special.i1, [1e-20, 1e-5, 0.0], [0.375e-20, 0.375e-5, 0]),
    "i1e": (ingot.special.i1e, [1e-37, 1e-20], [-1, -1]),
    "bessel_j1": (ingot.special.bessel_j1, [1e-20, 1e-5, 0.0], [-0.375e-20, -0.375e-5, 0]),
    "vander": (lambda x: ingot.linalg.vander(x, 4), [0.0, 1.0, 2.0], [2, 8, 14]),
}


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64], ids=str)
@pytest.mark.parametrize("name", BEYOND)
def test_second_derivatives_at_limits(name, dtype):
    fn, points, expected = BEYOND[name]
    np.testing.assert_allclose(twice(fn, ingot.tensor(points, dtype=dtype)).numpy(), expected, rtol=2e-4, atol=1e-45)


def test_renorm_of_rows_with_zeros():
    x = ingot.tensor([[0.0, 1, -1, 3], [0.1, 0, 0.2, 0]], dtype=ingot.float64, requires_grad=True)
    assert gradgradcheck(lambda x: ingot.renorm(x, 2, 0, 1.0), (x,))


def test_powers_of_zero():
    """A constant term of a polynomial has no derivatives; tensor powers have those of both operands."""
    terms = [1.0, 2.0, 3.0, 4.0]
    found = twice(lambda x: sum(c * x ** k for k, c in enumerate(terms)), ingot.linspace(-1, 1, 5))
    assert found.tolist() == [-18, -6, 6, 18, 30]
    x, y = (ingot.tensor(a, dtype=ingot.float64, requires_grad=True) for a in ([0.0, 1, 2, np.inf], [0.0, 0, 0, 0]))
    once, = grad((x ** y).sum(), x, create_graph=True)
    both = grad(once.sum(), (x, y))
    assert once.tolist() == [0, 0, 0, 0] and not both[0].any()
    assert both[1].tolist() == [0, 1, 0.5, 0]       # 1 / x, where it exists


def test_xlog1py_where_the_first_is_zero():
    x, y = (ingot.tensor(a, dtype=ingot.float64, requires_grad=True) for a in ([0.0, 2.0, 0.5], [1.0, 0.0, -0.5]))
    assert grad(ingot.special.xlog1py(x, y).sum(), x)[0].tolist() == [np.log1p(1), 0, np.log1p(-0.5)]
    assert gradgradcheck(ingot.special.xlog1py, (x, y))
    nothing = ingot.special.xlog1py(ingot.zeros(5), ingot.tensor([-1.0, -2.0, np.inf, np.nan, 3.0]))
    assert nothing.isnan().tolist() == [False, False, False, True, False] and not nothing.nan_to_num().any()


@pytest.mark.parametrize("fn", [ingot.abs, ingot.sgn], ids=["abs", "sgn"])
def test_the_direction_of_nothing_does_not_move(fn):
    z = ingot.tensor([0j, 1 + 1j], requires_grad=True)
    once, = grad(fn(z).real.sum(), z, create_graph=True)
    twice_, = grad(once.real.sum(), z)
    assert once[0] == 0 and twice_[0] == 0 and twice_[1] != 0


# Piecewise linear functions.

STRAIGHT = {
    "relu": F.relu, "relu6": F.relu6, "leaky_relu": F.leaky_relu, "hardtanh": F.hardtanh, "hardsigmoid": F.hardsigmoid,
    "hardshrink": F.hardshrink, "softshrink": F.softshrink, "threshold": lambda x: F.threshold(x, 0.1, 0.0),
    "prelu": lambda x: F.prelu(x, ingot.tensor([0.2])), "rrelu": F.rrelu,
    "max_pool": lambda x: F.max_pool1d(x[None], 2), "adaptive_max_pool": lambda x: F.adaptive_max_pool1d(x[None], 3),
    "relu_": lambda x: (x * 1).relu_(), "of a relu": lambda x: F.relu(F.relu(x) * 3 - 1),
}


@pytest.mark.parametrize("trace", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("name", STRAIGHT)
def test_gradients_that_do_not_move_have_zeros(name, trace):
    ingot.manual_seed(3)
    fn = (lambda x: twice(STRAIGHT[name], x))
    run = jit.trace(fn) if trace else fn
    for _ in range(3):
        found = run(ingot.randn(4, 6))
        assert found.shape == (4, 6) and not found.any()


def test_a_network_of_relus_has_a_laplacian():
    ingot.manual_seed(4)
    net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    x = ingot.randn(5, 2, requires_grad=True)
    once, = grad(net(x).sum(), x, create_graph=True)
    assert once.requires_grad and not grad(once.sum(), x, retain_graph=True)[0].any()
    of_weights = grad(once.square().sum(), list(net.parameters()), allow_unused=True)
    assert of_weights[0].any() and not of_weights[1].any() and of_weights[5] is None  # the last bias does not affect any other


def test_unused_inputs_still_raise():
    x, other = ingot.ones(3, requires_grad=True), ingot.ones(3, requires_grad=True)
    once, = grad(F.relu(x).sum(), x, create_graph=True)
    with pytest.raises(AutogradError, match="was not used"):
        grad(once.sum(), other)
    once, = grad((x * 2).sum(), x, create_graph=True)
    assert not once.requires_grad


def test_directions_of_constant_data():
    """The deviation of equal numbers has no derivative; every mode gives 0, as is usual."""
    x = ingot.ones(4)
    assert ingot.func.jvp(lambda x: x.std(), (x,), (ingot.arange(4.0),))[1] == 0
    assert not ingot.func.hessian(lambda x: x.std())(x).any()


EXTREMES = {"max": lambda x: x.max(), "amax": lambda x: x.amax(), "max along": lambda x: x.max(0)[0],
            "median": lambda x: x.median()}


@pytest.mark.parametrize("name", EXTREMES)
def test_infinite_gradients_go_to_the_extremes_alone(name):
    x = ingot.tensor([0.0, -1.0, 2.0, -2.0, 0.0] if name == "median" else [0.0, -1.0, -2.0], requires_grad=True)
    EXTREMES[name](x).sqrt().backward()
    assert x.grad.isinf().tolist() == (x == 0).tolist() and (x.grad[x != 0] == 0).all()
    ends = ingot.tensor([np.nan, 1.0, 2.0], requires_grad=True)
    EXTREMES[name](ends).backward()
    assert ends.grad[0].isnan() or ends.grad[0] == 1


def test_infinite_gradients_of_scattered_extremes():
    x = ingot.tensor([-1.0, -2.0, 3.0], requires_grad=True)
    ingot.zeros(2).scatter_reduce(0, ingot.tensor([0, 0, 1]), x, "amax").sqrt().sum().backward()
    assert x.grad.tolist() == [0, 0, pytest.approx(0.5 / 3 ** 0.5)]
    x = ingot.tensor([3.0, float("inf")], requires_grad=True)
    ingot.linalg.vector_norm(x, 0).backward()
    assert x.grad.tolist() == [0, 0]
    x = ingot.tensor([3.0, -3.0, 1.0], requires_grad=True)
    ingot.linalg.vector_norm(x, float("inf")).backward()
    assert x.grad.tolist() == [0.5, -0.5, 0]
