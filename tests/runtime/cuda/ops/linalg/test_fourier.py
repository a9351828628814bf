"""Fourier transforms on a CUDA device, on the mock driver: of every kind of length, along any dim, with gradients, traced, and
in as few launches as there are; nothing of it touches the host.
"""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.runtime.cuda.ops.linalg import fourier
from tests.runtime.api.math.test_complex_numbers import GRADIENTS
from tests.runtime.cuda.ops.math.test_complex_numbers import gradients, near

PRECISION = {"float32": (np.complex64, 1e-6), "float64": (np.complex128, 2e-15)}
SHORT = (1, 2, 3, 5, 8, 12, 17, 20, 31, 64, 100, 121, 13 * 17, 400)
LONGER = (1000, 1024, 1009, 2048, 4096, 8192, 7200, 16384, 15015, 30000, 10007)
NORMS = ("backward", "ortho", "forward")


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed(alone=True) as mock:
        yield mock


def numbers(*shape):
    rng = np.random.default_rng(list(shape))
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def close(got, want, tolerance, what):
    got = got.cpu().numpy()
    assert got.shape == want.shape, what
    error = np.sqrt((np.abs(got - want) ** 2).sum() / (np.abs(want) ** 2).sum())
    assert error < tolerance, f"{what}: an error of {error}"


def all_kinds(shape, dim, part, norm):
    """Every transform along a dim, with numpy's of the same numbers in float64."""
    kind, tolerance = PRECISION[part]
    n, z = shape[dim], numbers(*shape)
    z = z.astype(kind)
    x, half = np.ascontiguousarray(z.real), z.take(range(n // 2 + 1), dim)
    wide = np.complex128
    for name, given, more in (("fft", z, {}), ("ifft", z, {}), ("rfft", x, {}), ("irfft", half, {"n": n})):
        want = getattr(np.fft, name)(given.astype(wide if given.dtype.kind == "c" else np.float64), axis=dim, norm=norm, **more)
        close(getattr(ingot.fft, name)(ingot.tensor(given).cuda(), dim=dim, norm=norm, **more), want, tolerance,
              f"{name} of {shape} along {dim} in {part}")


@pytest.mark.parametrize("part", PRECISION)
@pytest.mark.parametrize("n", [*SHORT, *[pytest.param(n, marks=pytest.mark.slow) for n in LONGER]])
def test_lengths(n, part):
    """Along the last dim, and along one whose rows stand beside each other: in odd numbers, more than a program takes."""
    all_kinds((3, n), 1, part, NORMS[n % 3])
    if n <= 1024:
        all_kinds((2, n, 5), 1, part, NORMS[(n + 1) % 3])


def test_many_rows_and_columns():
    for n in (4, 60):
        all_kinds((700, n), 1, "float32", "backward")
        all_kinds((n, 300), 0, "float32", "ortho")


@pytest.fixture
def short(monkeypatch):
    """Rows of 64 numbers are long."""
    for name in ("LONGEST", "MANY"):
        monkeypatch.setattr(fourier, name, dict.fromkeys(fourier.LONGEST, 64))
    fourier.matrix.cache_clear()
    yield
    fourier.matrix.cache_clear()


@pytest.mark.parametrize("n", [256, 130, 405, 1023, 97, 194])
def test_rows_that_are_matrices(n, short):
    """Also along another dim, and of real numbers; and what is neither a row nor a matrix."""
    all_kinds((3, n), 1, "float32", "backward")
    all_kinds((2, n, 3), 1, "float64", "ortho")


@pytest.mark.slow
@pytest.mark.parametrize("n", [1 << 18, 18434])
def test_long_rows(n):
    all_kinds((1, n), 1, "float32", "forward")


def test_radices():
    assert fourier.radices(4096, 16) == (16, 16, 16) and fourier.radices(1024, 16) == (16, 8, 8)
    assert fourier.radices(400, 20) == (20, 20) and fourier.radices(38, 20) == (19, 2) and fourier.radices(34, 16) == ()
    for n in range(2, 2000):
        found, rest = fourier.radices(n, 20), n
        for p in range(2, 21):
            while rest % p == 0:
                rest //= p
        assert bool(found) == (rest == 1) and (not found or np.prod(found) == n >= 2 * (len(found) > 1) * max(found))


def test_views_and_nothing():
    z, x = numbers(6, 40).astype(np.complex64), np.arange(241, dtype=np.float32)
    d, r = ingot.tensor(z).cuda(), ingot.tensor(x).cuda()
    close(ingot.fft.fft(d.T), np.fft.fft(z.T), 1e-6, "transposed")
    close(ingot.fft.fft(d[::2, 1::3], dim=0), np.fft.fft(z[::2, 1::3], axis=0), 1e-6, "strided")
    close(ingot.fft.rfft(r[1:].reshape(6, 40)), np.fft.rfft(x[1:].reshape(6, 40)), 1e-6, "not on whole pairs")
    close(ingot.fft.rfft(r.expand(3, 241)), np.fft.rfft(np.stack([x] * 3)), 1e-6, "expanded")
    close(ingot.fft.fft(d, n=64), np.fft.fft(z, n=64), 1e-6, "filled up")
    for f in (ingot.fft.fft, ingot.fft.irfft):
        assert f(d[:0]).shape == (0, f(d).shape[1]) and f(d[:0]).is_cuda
    assert ingot.fft.rfft(r[:0].reshape(0, 8)).shape == (0, 5)


@pytest.mark.parametrize("long", [False, True])
def test_imaginary_parts_of_real_frequencies_are_ignored(long, request):
    """The imaginary parts of the first frequency, and of the last one of an even number, do not count."""
    if long:
        request.getfixturevalue("short")
    z = numbers(2, 9).astype(np.complex64)
    for n in (16, 17, 200, 201):
        given = np.concatenate([z, np.zeros((2, n // 2 + 1 - 9), np.complex64)], 1)
        given[:, -1] = 1 + 5j
        close(ingot.fft.irfft(ingot.tensor(given).cuda(), n=n), np.fft.irfft(given, n=n), 2e-6, str(n))


def test_launches(cuda):
    """One for each dim of rows that fit; two for longer ones."""
    z, x = ingot.zeros(2, 64, 64, dtype=ingot.complex64, device="cuda"), ingot.zeros(2, 64, 64, device="cuda")
    long = ingot.zeros(2, 1 << 15, dtype=ingot.complex64, device="cuda")
    calls = ((lambda: ingot.fft.fft(z), 1), (lambda: ingot.fft.fft2(z), 2), (lambda: ingot.fft.rfft2(x), 2),
             (lambda: ingot.fft.irfft(z), 1), (lambda: ingot.fft.ifft(long), 2))
    for call, count in calls:
        call()
        before = len(cuda.launches)
        call()
        assert len(cuda.launches) == before + count


TRANSFORMS = [n for n in GRADIENTS if "fft" in n or "spectral" in n]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_gradients_are_the_cpus(name):
    for want, got in zip(gradients(name, "cpu"), gradients(name, "cuda")):
        assert (want is None) == (got is None)
        if want is not None:
            near(got, want, 1e-10)


def test_composites_of_transforms(cuda):
    """Short-time transforms, convolutions, Hermitian transforms, a loss of spectra and its gradient; the same when traced."""
    def step(x, w):
        x = x.clone().requires_grad_()
        window = ingot.hann_window(16, device=x.device)
        spectra = ingot.stft(x, 16, 4, window=window, return_complex=True)
        back = ingot.istft(spectra, 16, 4, window=window)
        mixed = ingot.fft.irfft(ingot.fft.rfft(x, 128) * ingot.fft.rfft(w, 128), 128)
        even = ingot.fft.hfft(ingot.fft.ihfft(w))
        shifted = ingot.fft.fftshift(ingot.fft.fft2(mixed.reshape(2, 8, 16)))
        loss = spectra.abs().square().mean() + (mixed - 1).square().mean() + shifted.angle().cos().mean()
        return back, even, loss, ingot.autograd.grad(loss, x)[0]

    args = [ingot.tensor(numbers(2, 60).real.astype(np.float32)) for _ in range(2)]
    want = step(*args)
    given = [a.cuda() for a in args]
    traced = jit.trace(step)
    for run in (step, traced, traced, traced, traced):
        before = len(cuda.launches)
        for a, b in zip(run(*given), want):
            near(a, b, 2e-5)
    assert len(cuda.launches) == before, "launches beside the graph"


def test_a_capture_by_hand_needs_no_run_before():
    x = ingot.randn(3, 60).to("cuda")
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        y = ingot.fft.fft(x)
    for _ in range(2):
        x.copy_(ingot.randn(3, 60))
        graph.replay()
        ingot.testing.assert_close(y.cpu(), ingot.fft.fft(x.cpu()), rtol=1e-4, atol=1e-4)
