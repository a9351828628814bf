"""Functions with as many turns as their arguments ask for, on the mock driver: the bits of the CPU's kernels, beside lanes that
need other numbers of turns, eager and traced, with gradients, and nothing done on the host.
"""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit, special
from ingot.ir import dtype as dt
from ingot.ir.ops.math import gamma
from ingot.ir.ops.math.polynomials import FAMILIES
from ingot.passes.codegen import scalars


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed(alone=True) as mock:
        yield mock


def both(f, *arrays):
    found = []
    for device in ("cpu", "cuda"):
        out = f(*[ingot.tensor(a, device=device) for a in arrays])
        outs = out if isinstance(out, (tuple, list)) else (out,)
        assert all(t.device.type == device for t in outs)
        found.append([t.detach().cpu().numpy() for t in outs])
    return zip(*found)


def same(f, *arrays):
    """Bits that agree, but for which nan it is."""
    for want, got in both(f, *arrays):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64))


EDGES = np.array([0, -0.0, 1, -1, 0.5, np.inf, -np.inf, np.nan, 3, 1e-300, 50, -2.5])


def pairs(low, high, count=300):
    """Random pairs, then every pair of edges."""
    rng = np.random.default_rng(1)
    edges = [e.reshape(-1) for e in np.meshgrid(EDGES, EDGES)]
    return [np.concatenate([rng.uniform(*ends, count), e]) for ends, e in zip((low, high), edges)]


FUNCTIONS = {"gammainc": (special.gammainc, (0.01, 60), (0, 90)), "gammaincc": (special.gammaincc, (0.01, 60), (0, 90)),
             "zeta": (special.zeta, (1.01, 30), (-20, 50)),
             "gamma_slope": (gamma.gamma_slope, (0.05, 60), (1e-3, 90))}


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_two_numbers_give_the_bits_of_the_cpu(name, kind):
    f, *ranges = FUNCTIONS[name]
    given = [a.astype(kind) for a in pairs(*ranges)]
    if name == "zeta":
        given[0][:150] = np.floor(given[0][:150]) + 2       # whole powers reach below 0
    same(f, *given)
    if name == "gammainc":
        same(lambda a, x: f(a.reshape(-1, 4).t()[::2], x.reshape(-1, 4).t()[::2]), *[a[:440] for a in given])
        same(f, *[a[:0] for a in given])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_derivatives_of_digamma(n, kind):
    x = np.concatenate([np.random.default_rng(2).uniform(-20, 40, 301), EDGES, [-1e30, -10020.5]]).astype(kind)
    same(lambda x: special.polygamma(n, x), x)
    same(jit.trace(lambda x: special.polygamma(n, x) * 2), x)
    same(lambda x: special.polygamma(n, x[:300].reshape(20, 15).t()[1:]), x)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("family", FAMILIES)
def test_orthogonal_polynomials(family, kind):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1.5, 1.5, 301).astype(kind)
    degrees = np.concatenate([rng.integers(-3, 30, 297), [np.nan, np.inf, -np.inf, 3.7]]).astype(kind)
    same(lambda x, n: getattr(special, family)(x, n), x, degrees)
    same(jit.trace(lambda x, n: getattr(special, family)(x, n) + 1), x, degrees)


def test_gradients_stay_on_the_device():
    def gradients(a, x):
        a.requires_grad_()
        x.requires_grad_()
        (special.gammainc(a, x) * special.zeta((x + 1.5).detach(), a)).sum().backward()
        return a.grad, x.grad

    a, x = pairs((0.3, 20), (0.2, 30))
    for f in (gradients, jit.trace(gradients)):
        for want, got in both(f, *[v[:300].astype(np.float32) for v in (a, x)]):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_a_trace_fuses_neighbouring_operators():
    """One kernel takes a series and what is made of it; the same bits as eager code."""
    def f(a, x):
        return special.gammainc(a, x) * 3.0 + a

    a, x = [v[:300] for v in pairs((0.3, 20), (0.2, 30))]
    same(f, a, x)
    same(jit.trace(f), a, x)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_sums_take_loops_in(dim):
    """A traced sum computes what it adds up, eager code adds up what is in memory."""
    def f(a, x):
        shares = special.gammaincc(a, x) * special.zeta(x + 1.5, a)
        return shares.sum() if dim is None else shares.sum(dim)

    a, x = [v[:300].reshape(12, 25) for v in pairs((0.3, 20), (0.2, 30))]
    for call in (f, jit.trace(f)):
        for want, got in both(call, a, x):
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_lanes_that_are_done_keep_their_state():
    """Halving until a number is below 1: as many turns as each asks for, at most so many."""
    s = scalars.NumpyBuilder()
    x = s.value(np.array([0.5, 1.0, 3.0, 1e9, np.nan]))
    halved, turns = s.iterate(5, x >= 1, (x, s.value(np.zeros(5))), lambda x, n: (x * 0.5 >= 1, x * 0.5, n + 1.0))
    assert turns.ref.tolist() == [0, 1, 2, 5, 0] and halved.ref[:4].tolist() == [0.5, 0.5, 0.75, 1e9 / 32]
    assert dt.from_numpy(halved.ref.dtype) is dt.float64
