"""Complex numbers on a CUDA device, on the mock driver: values, infinities and gradients are the CPU's, eager and traced, and
nothing of it touches the host.
"""

import inspect

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.ir.opdef.op import OPS
from ingot.passes.codegen import scalars
from tests.runtime.api.math.test_complex_numbers import GRADIENTS, LINALG, SCANS, pairs

KINDS = ("complex64", "complex128")
SPECIAL = (0.0, -0.0, 1.0, -2.5, float("inf"), float("-inf"), float("nan"), 1e-30)
# Cases that each libm behind numpy answers otherwise (powers of infinite size, their signs; 0 to a power of nan).
UNSAID = {"pow"}


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed(alone=True) as mock:
        yield mock


def numbers(kind, *shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    return ingot.tensor((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(kind))


def near(got, want, tolerance, name=""):
    assert got.is_cuda and got.dtype is want.dtype and got.shape == want.shape, name
    np.testing.assert_allclose(got.detach().cpu().numpy(), want.detach().numpy(), rtol=tolerance, atol=tolerance, err_msg=name)


def agree(f, *args, tolerance=2e-5):
    """Holds f of tensors on the device to f of them."""
    with np.errstate(all="ignore"):
        want, got = f(*args), f(*[a.cuda() for a in args])
    for i, (w, g) in enumerate(zip(*[x if isinstance(x, (tuple, list)) else [x] for x in (want, got)], strict=True)):
        near(g, w, tolerance, str(i))


def arity(name):
    return len(inspect.signature(scalars.COMPLEX[name]).parameters) - 1


FUNCTIONS = sorted(n for n in scalars.COMPLEX if n in OPS and n not in ("complex", "where", "cast"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_numpy(name):
    """Of usual numbers; and of infinities, nan and zeros, but for the sign of what has none."""
    for kind, tolerance in zip(KINDS, (2e-5, 1e-9)):
        given = [numbers(kind, 41, seed=i) for i in range(arity(name))]
        agree(OPS[name], *given, tolerance=tolerance)
    if name in UNSAID:
        return
    grid = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL])
    given = [grid] if arity(name) == 1 else [np.repeat(grid, len(grid)), np.tile(grid, len(grid))]
    agree(OPS[name], *map(ingot.tensor, given), tolerance=1e-9)


MOVES = {
    "numbers": lambda z, w: [z * 2, 2j * z, 1 / z, z + 1, z - (1 - 2j), z ** 2, z ** 3, (2 + 1j) ** w,
                           z.real * 2j, 1j - z.imag, z.real ** 1j, ingot.where(z.real > 0, z.real, 1j), z.sum() * z.real,
                           z * ingot.tensor(2.0), z + ingot.tensor(1 + 2j)],
    "strides": lambda z, w: [z.T * w.T, z.reshape(-1)[::2].exp(), z[:, 1:] - w[:, :1], z.T.contiguous(), z[::2].conj()],
    "sums": lambda z, w: [z.sum(), z.sum(0), z.mean(1), z.prod(1), z.prod(), z.var(), w.std(1), z.expand(2, 3, 5).sum((0, 2)),
                          z.cumsum(0), z.cumsum(1), z.cumprod(1), z.any(), z.all(1), ingot.linalg.vector_norm(z), z.norm()],
    "choice": lambda z, w: [ingot.where(z.real > 0, z, w), ingot.where(z.real > 0, z, 0), z.masked_fill(z.imag > 0, 3j),
                            z == w, z != z, z.isfinite(), ingot.logical_and(z, w)],
    "places": lambda z, w: [
        ingot.cat([z, w], 1), z[:, z.new_tensor([0, 2]).real.long()], z.gather(1, at(z)), z.scatter(1, at(z), w),
        z.scatter_add(1, at(z) * 0, w), z.scatter_reduce(1, at(z) * 0, w, "prod"),
        z.clone().index_put((at(z)[:, 0] % 3,), w, accumulate=True), z.flip(0), z.roll(1, 0),
        ingot.nn.functional.pad(z, (1, 2)), ingot.stack([z, w]), z.repeat(2, 1), ingot.tril(z), z.diagonal()],
    "fills": lambda z, w: [ingot.full((2, 3), 1 - 1j, device=z.device), z.clone().fill_(2j), ingot.zeros_like(z),
                           ingot.ones_like(z), ingot.eye(3, dtype=z.dtype, device=z.device), z.new_tensor([1j])],
    "kinds": lambda z, w: [z.real.to(z.dtype), z.real.long().to(z.dtype), z.to(ingot.bool), z.to(ingot.complex128) * w,
                           z.to(ingot.complex64), z.imag.half().to(ingot.complex64)],
    "products": lambda z, w: [z @ w.T, z.T.conj() @ w, z[0] @ w[0], ingot.einsum("ij,kj->ik", z, w), ingot.vdot(z[0], w[0]),
                              z[None].expand(4, 3, 5) @ w.T, ingot.outer(z[0], w[1]), z.mH @ w],
    "writes": lambda z, w: [written(z.clone(), w)],
    "nothing": lambda z, w: [z[:0] * w[:0], z[:0].sum(0), z[:, :0].prod(1), z[:0] @ w.T, z[:, :0] @ w[:, :0].T, z[:0].exp()],
    "parts": lambda z, w: [ingot.view_as_real(z), ingot.view_as_real(z.T), ingot.view_as_complex(ingot.view_as_real(z) * 2),
                           ingot.polar(z.abs(), w.angle()), z.sgn(), ingot.complex(z.real, w.imag)],
}


F = ingot.nn.functional
MORE = {
    "convolutions": lambda z, w: [
        F.conv1d(z[None], w[:2, None, :2].expand(2, 3, 2)), F.conv2d(z[None, None], w[None, None, :2, :2], z[0, :1], padding=1),
        F.conv_transpose1d(z[None], w[:, None, :2]), F.conv1d(z[None], w[:, None, :2], groups=3)],
    "sums of exponentials": lambda z, w: [z.logsumexp(1), (z + 1000).logsumexp((0, 1))],
    "activations": lambda z, w: [F.silu(z), F.normalize(z), z.sigmoid(), F.dropout(z, 0.0)],
    "borders": lambda z, w: [F.pad(z[None], (1, 2), mode=m) for m in ("circular", "reflect", "replicate")],
    "windows": lambda z, w: [z.unfold(1, 2, 1), z.unfold(1, 3, 2), z.as_strided((2, 3), (1, 2)), z.diff()],
    "steps": lambda z, w: [z.lerp(w, 0.3), ingot.addcmul(z, z, w, value=2j), z.addcdiv(z, w, value=0.5), z.float_power(2)],
    "matrices": lambda z, w: [
        ingot.addmm(z @ w.mT, z, w.mT, beta=2, alpha=1j), ingot.baddbmm(z[None], z[None, :, :3], w[None]), F.linear(z, w),
        ingot.kron(z, w), ingot.linalg.matrix_power(z[:, :3], 3), ingot.tensordot(z, w, dims=2),
        ingot.bmm(z[None], w[None].mT)],
    "places": lambda z, w: [z[z.abs() > 1], z.masked_scatter(z.abs() > 1, w), z.take(z.new_tensor([1, 5]).real.long()),
                            z.index_add(0, at(z)[:, 0] % 3, w), F.embedding(at(z) % 3, z), z.rot90(), ingot.block_diag(z, w)],
    "losses": lambda z, w: [F.mse_loss(z, w), ingot.cdist(z, w), ingot.linalg.norm(z), z.abs().pow(2).mean()],
    "batches": lambda z, w: [ingot.vmap(lambda a, b: a * b.conj().sum())(z, w)],
}


@pytest.mark.parametrize("name", MORE)
def test_functions_of_the_api(name):
    """Values, and gradients where they have some."""
    args = numbers("complex64", 3, 5), numbers("complex64", 3, 5, seed=1)
    agree(MORE[name], *args, tolerance=1e-4)

    def slopes(*leaves):
        leaves = [x.clone().requires_grad_() for x in leaves]
        total = sum(weighed(out) for out in MORE[name](*leaves))
        return [g for g in ingot.autograd.grad(total, leaves, allow_unused=True) if g is not None]

    agree(slopes, *args, tolerance=2e-3)


def test_positions_of_nonzero_elements():
    agree(lambda z: [z.nonzero(), z.count_nonzero(1), z.isclose(z * 1), z.nan_to_num()],
          ingot.tensor([[1, 0, 2j], [0, 0, 1 + 1j]]))


def at(z):
    return ingot.tensor([[0, 4], [3, 1], [2, 0]]).to(z.device)


def written(z, w):
    z[0] = 1j
    z[1:, ::2] = w[1:, ::2]
    z.mul_(w).add_(2)
    return z


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MOVES)
def test_composites_of_complex_tensors(name, kind):
    agree(MOVES[name], numbers(kind, 3, 5), numbers(kind, 3, 5, seed=1), tolerance=2e-5 if kind == "complex64" else 1e-11)


def test_rows_of_every_length_are_summed():
    for n in (1, 33, 9001, 40000):
        agree(lambda z: [z.sum(), z.mean(0, keepdim=True)], numbers("complex64", n), tolerance=2e-4)
    agree(lambda z: [z.sum(0), z.prod(0)], numbers("complex64", 70, 5), tolerance=1e-3)


def test_draws_are_the_cpus():
    for draw in (ingot.randn, ingot.rand):
        ingot.manual_seed(1)
        want = draw(7, dtype=ingot.complex64)
        ingot.manual_seed(1)
        near(draw(7, dtype=ingot.complex64, device="cuda"), want, 1e-6)


def weighed(out):
    """A real number that depends on all of a result."""
    flat = ingot.view_as_real(out) if out.is_complex() else out
    weights = np.random.default_rng(5).standard_normal(tuple(flat.shape))
    return (flat * ingot.tensor(weights).to(flat.device)).sum()


PROGRAMS = sorted(n for n in set(GRADIENTS) - set(LINALG) - set(SCANS) - {"rotary"} if "fft" not in n and "spectral" not in n)


def gradients(name, device):
    leaves = [ingot.tensor(pairs(2, 3, seed=s)).to(device).requires_grad_() for s in (0, 1)]
    out = GRADIENTS[name](*map(ingot.view_as_complex, leaves))
    return (out, *ingot.autograd.grad(weighed(out), leaves, allow_unused=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_the_cpus(name):
    for want, got in zip(gradients(name, "cpu"), gradients(name, "cuda")):
        assert (want is None) == (got is None)
        if want is not None:
            near(got, want, 1e-10)


def test_sizes_and_numbers_that_change():
    """One recording serves all of them, on the device as on the host."""
    def f(z, w, s):
        return z * s, z.abs().sum(1), z @ w, ingot.view_as_real(z * 2).flatten(1) * s, ingot.fft.irfft(ingot.fft.fft(z), n=10)

    w, traced = numbers("complex64", 6, 6), jit.trace(f)
    for n in (4, 5, 7, 16, 33):
        z, s = numbers("complex64", n, 6), 0.5 * n
        for got, want in zip(traced(z.cuda(), w.cuda(), s), f(z, w, s)):
            near(got, want, 1e-4)
    assert traced.stats()["compiles"] == 2


def test_pairs_of_otherwise_unread_arrays_are_no_copies(cuda):
    """Rotations of positions are three kernels: the angles', the product's, and what follows in the dtype of the model."""
    def rotated(x, angles):
        z = ingot.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2)) * ingot.polar(ingot.ones_like(angles), angles)
        return ingot.view_as_real(z).flatten(2).type_as(x)

    def both(z):
        z = z * 2
        return z, ingot.view_as_real(z)

    x, angles = ingot.randn(2, 5, 8).bfloat16().cuda(), ingot.randn(5, 4).cuda()
    want, traced = rotated(x, angles), jit.trace(rotated)
    traced(x, angles)
    before, copies = len(cuda.launches), cuda.calls.get("cuMemcpyDtoDAsync_v2", 0)
    assert ingot.equal(traced(x, angles).cpu(), want.cpu())
    assert len(cuda.launches) == before + 3 and cuda.calls.get("cuMemcpyDtoDAsync_v2", 0) == copies
    traced = jit.trace(both)
    for _ in range(4):
        z, parts = traced(numbers("complex64", 3).cuda())
    parts += 1
    near(z, numbers("complex64", 3) * 2, 1e-6)


@pytest.mark.parametrize("name", ["mul", "power", "matmul", "angle", "prod", "cumsum", "index", "norm", "written", "numbers"])
def test_traced_is_eager(name):
    def step(*leaves):
        leaves = [x.clone().requires_grad_() for x in leaves]
        out = GRADIENTS[name](*map(ingot.view_as_complex, leaves))
        return (out, *ingot.autograd.grad(weighed(out), leaves, allow_unused=True))

    args = [ingot.tensor(pairs(2, 3, seed=s)).cuda() for s in (0, 1)]
    want, traced = step(*args), jit.trace(step)
    for _ in range(4):
        for a, b in zip(traced(*args), want):
            assert (a is None) == (b is None)
            if a is not None:
                near(a, b.cpu(), 1e-12)
