"""Elements that meet at one place, parts of numbers, powers of integers, and windows whose places are drawn, on the mock
driver: what the CPU gives, with nothing done on the host.
"""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.nn import functional as F


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed(alone=True) as mock:
        yield mock


def both(f, *arrays, grad=False):
    """Return f's results on the CPU and on the device, and the gradients of its first result."""
    found = []
    for device in ("cpu", "cuda"):
        given = [ingot.tensor(a, device=device) for a in arrays]
        if grad:
            given[0].requires_grad_()
        out = f(*given)
        outs = list(out) if isinstance(out, tuple) else [out]
        if grad:
            weights = ingot.arange(outs[0].numel(), device=device).reshape(outs[0].shape) % 5 + 1
            (outs[0] * weights.to(outs[0].dtype)).sum().backward()
            outs.append(given[0].grad)
        assert all(t.device.type == device for t in outs)
        found.append([t.detach().cpu().numpy() for t in outs])
    for want, got in zip(*found):
        assert got.dtype == want.dtype and got.shape == want.shape
    return zip(*found)


def rows(kind, *shape):
    return np.random.default_rng(1).standard_normal(shape).astype(kind)


WINDOWS = {"rows that overlap": (45, (12, 9), (3, 1), 2), "shared by all": (10, (5, 3, 4), (0, 2, 1), 1),
           "every other one": (50, (6, 2, 7), (8, 1, 1), 0), "one element": (3, (6, 5), (0, 0), 2),
           "apart": (30, (4, 5), (6, 1), 3)}


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.complex64])
@pytest.mark.parametrize("name", WINDOWS)
def test_overlapping_windows_are_added(name, kind):
    size, shape, strides, offset = WINDOWS[name]

    def windows(x):
        found = ingot.as_strided(x, shape, strides, offset)
        return found.real if kind is np.complex64 else found

    for f in (windows, jit.trace(windows)):
        for want, got in both(f, rows(kind, size), grad=True):
            np.testing.assert_allclose(got, want, rtol=2e-3 if kind is np.float16 else 1e-6, atol=1e-5)


@pytest.mark.parametrize("padding", [None, 3])
@pytest.mark.parametrize("shape", [(9,), (4, 6), (1,)])
def test_gradients_by_how_often_rows_are_looked_up(shape, padding):
    index = np.random.default_rng(2).integers(0, 5, shape)
    for kind in (np.float32, np.float16):
        def looked_up(w, i):
            return F.embedding(i, w, padding_idx=padding, scale_grad_by_freq=True)

        for want, got in both(looked_up, rows(kind, 6, 5), index, grad=True):
            np.testing.assert_allclose(got, want, rtol=2e-3 if kind is np.float16 else 1e-6)


@pytest.mark.parametrize("samples", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("sizes, kernel, out", [((11,), (3,), (4,)), ((9, 8), (2, 3), (5, 3)), ((6, 7), (2, 2), (1, 6)),
                                               ((5, 6, 7), (2, 1, 3), (4, 6, 2)), ((3, 3), (3, 3), (1, 1))])
def test_windows_at_places_that_are_drawn(sizes, kernel, out, samples):
    x = rows(np.float32, 3, 2, *sizes)
    x[0, 1].flat[[1, 5]] = np.nan
    starts = np.random.default_rng(3).random((3, 2, len(sizes))).astype(samples)
    from_op = ingot.ir.opdef.op.OPS["fractional_max_pool"]
    for want, got in both(lambda x, s: from_op(x, s, kernel=kernel, size=out), x, starts, grad=True):
        np.testing.assert_array_equal(got, want)


def test_windows_at_places_that_are_drawn_in_a_trace():
    x, starts = rows(np.float32, 2, 3, 8, 8), np.random.default_rng(3).random((2, 3, 2)).astype(np.float32)
    pool = jit.trace(lambda x, s: F.fractional_max_pool2d(x, 2, output_size=(5, 3), _random_samples=s, return_indices=True))
    for want, got in both(pool, x, starts):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
@pytest.mark.parametrize("mode", ["amax", "amin"])
def test_extremes_of_complex_numbers(mode, kind):
    """By real parts, of equal ones by imaginary ones; the first nan stays."""
    rng = np.random.default_rng(4)
    x, src = ((rng.integers(-2, 3, n) + 1j * rng.integers(-2, 3, n)).astype(kind) for n in (8, 60))
    src[[3, 17]] = complex(np.nan, 1), complex(2, np.nan)
    x[5] = complex(np.nan, -3)
    index = rng.integers(0, 7, 60)
    op = ingot.ir.opdef.op.OPS["scatter_reduce"]
    for want, got in both(lambda x, i, s: op(x, i, s, dim=0, mode=mode), x, index, src):
        np.testing.assert_array_equal(got, want)


TINY = {np.float16: 6e-8, np.float32: 1.4e-45, np.float64: 5e-324}


@pytest.mark.parametrize("kind", TINY)
def test_mantissas_and_powers_of_two(kind):
    most = np.finfo(kind)
    edges = [0, -0.0, np.inf, -np.inf, np.nan, most.max, most.tiny, -most.tiny / 2, TINY[kind], 1, -0.5, 3 * TINY[kind]]
    x = np.concatenate([rows(kind, 101), np.array(edges, kind)])
    with np.errstate(all="ignore"):
        want = np.frexp(x.astype(np.float64))
    for f in (ingot.frexp, jit.trace(lambda x: tuple(ingot.frexp(x)))):
        found = f(ingot.tensor(x, device="cuda"))
        mantissa, exponent = [t.cpu().numpy() for t in found]
        assert mantissa.dtype == kind and exponent.dtype == np.int32
        np.testing.assert_array_equal(mantissa.astype(np.float64), want[0])
        np.testing.assert_array_equal(np.signbit(mantissa), np.signbit(want[0]))
        np.testing.assert_array_equal(exponent, want[1])
    transposed = rows(kind, 6, 8)
    for want, got in both(lambda x: tuple(ingot.frexp(x.t()[::2])), transposed):
        np.testing.assert_array_equal(got, want)
    assert [t.shape for t in ingot.frexp(ingot.tensor(transposed[:0], device="cuda"))] == [(0, 8), (0, 8)]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64])
def test_powers_of_integers(kind):
    rng = np.random.default_rng(5)
    low = 0 if kind is np.uint8 else -9
    a, b = rng.integers(low, 10, (5, 1, 7)).astype(kind), rng.integers(0, 12, (3, 1)).astype(kind)
    calls = [lambda a, b: a ** b, lambda a, b: a ** 3, lambda a, b: 2 ** b, lambda a, b: a.transpose(0, 2)[::2] ** b[0],
             jit.trace(lambda a, b: a ** b)]
    if low:
        calls.append(lambda a, b: a.sign() ** -b)
    for call in calls:
        for want, got in both(call, a, b):
            np.testing.assert_array_equal(got, want)


def test_captured_graphs():
    """Sorts, counts and draws run again when the graph is replayed."""
    def work(x):
        x = x.detach().requires_grad_()
        index = (x.detach().abs() * 3).to(ingot.int64) % 6
        looked_up = F.embedding(index, x.reshape(10, 2), scale_grad_by_freq=True)
        (ingot.as_strided(x, (9, 4), (2, 1)).sum(0) * x[:4]).sum().backward(retain_graph=True)
        looked_up.sum().backward()
        mantissa, exponent = ingot.frexp(x.detach())
        return x.grad, mantissa, exponent, index ** 3

    x = ingot.zeros(20, device="cuda")
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        found = work(x)
    for seed in (1, 2):
        given = ingot.tensor(np.random.default_rng(seed).standard_normal(20).astype(np.float32))
        x.copy_(given.to("cuda"))
        graph.replay()
        for want, got in zip(work(given), found):
            np.testing.assert_allclose(got.cpu().numpy(), want.numpy(), rtol=1e-5)


SIZES = (131, 150, 144, 160, 1, 17, 131, 300)


def _windowed(x):
    x.requires_grad_()
    (ingot.as_strided(x, (x.shape[0] - 3, 4), (1, 1)) ** 2).sum().backward()
    return x.grad


def _looked_up(x):
    x.requires_grad_()
    F.embedding((x.detach() * 3).to(ingot.int64) % 5, x.reshape(-1, 2), scale_grad_by_freq=True).sum().backward()
    return x.grad


OF_ANY_SIZE = {"frexp": lambda x: tuple(ingot.frexp(x)), "powers": lambda x: (x * 3).to(ingot.int32) ** 3,
               "windows": _windowed, "rows": _looked_up, "gammainc": lambda x: ingot.special.gammainc(x.abs() + 0.5, x.abs()),
               "polygamma": lambda x: ingot.special.polygamma(2, x.abs() + 1),
               "legendre": lambda x: ingot.special.legendre_polynomial_p(x, x.round()),
               "poisson": lambda x: ingot.poisson(x.abs() * 5),
               "pool": lambda x: F.fractional_max_pool2d(x.repeat(8).reshape(1, 2, -1, 5), 2, output_size=(3, 4),
                                                         _random_samples=ingot.full((1, 2, 2), 0.4, device=x.device))}


@pytest.mark.parametrize("name", OF_ANY_SIZE)
def test_sizes_that_were_not_met(name):
    """Lists that are noted for all sizes give what the CPU gives, and so do traced functions."""
    f = OF_ANY_SIZE[name]
    calls = [f, jit.trace(f)] if name in ("frexp", "powers", "gammainc", "legendre", "pool") else [f]
    for call in calls:
        for n in SIZES:
            x = rows(np.float32, 10 * n)
            ingot.manual_seed(n)
            found = []
            for device in ("cpu", "cuda"):
                ingot.manual_seed(n)
                out = f(ingot.tensor(x)) if device == "cpu" else call(ingot.tensor(x, device=device))
                found.append([t.cpu().numpy() for t in (out if isinstance(out, tuple) else (out,))])
            for want, got in zip(*found):
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
