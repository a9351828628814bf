"""Factorisations and triangular systems on the mock driver: small matrices in one launch, larger ones block by block.

Residuals and error messages are those of the CPU. Gradients, traces and captured graphs work, and nothing runs on the host.
"""

import numpy as np
import pytest

import ingot
import mock_cuda
from covering import thinned
from ingot import jit, linalg
from ingot.ir.errors import ArgumentError, LinAlgError
from ingot.ir.ops.linalg import factorizations
from ingot.passes.codegen.triton.linalg import householder
from ingot.passes.codegen.triton.linalg import lu as lu_text
from ingot.runtime.cuda.graph import eager
from tests.runtime.cpu.linalg.test_factorizations import KINDS, assert_small, matrices, parts_of, permuted, positive


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed(alone=True) as mock:
        yield mock


SIZES = (1, 5, 17, 64, 65, 130)           # matrices of a few rows: test_small_matrices.py


def raised(f):
    """The words of a LinAlgError."""
    with pytest.raises(LinAlgError) as found:
        f()
    return str(found.value).splitlines()[0]


def gradients(f, *arrays, device):
    """f and its gradients, weighed."""
    given = [ingot.tensor(a).to(device).requires_grad_() for a in arrays]
    out = f(*given)
    weight = ingot.tensor(np.cos(np.arange(out.numel()).reshape(out.shape))).to(device, out.dtype)
    (out * weight).sum().backward()
    return [t.detach().cpu().numpy() for t in (out, *[g.grad for g in given])]


def same_gradients(f, *arrays):
    """Both on the CPU and on the device."""
    for want, got in zip(gradients(f, *arrays, device="cpu"), gradients(f, *arrays, device="cuda")):
        room = 1e-11 if got.dtype == np.float64 else 3e-4
        np.testing.assert_allclose(got, want, rtol=room, atol=room * max(1.0, np.abs(want).max(initial=0)))


# Cholesky.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_cholesky_factors(n, kind, cuda):
    for shape in ((n, n), (2, n, n)) if n > 64 else ((n, n), (3, 1, n, n)):
        x = positive(kind, *shape)
        before = len(cuda.launches)
        got = linalg.cholesky(ingot.tensor(x).cuda()).cpu().numpy().astype(np.float64)
        blocks = -(-n // 64)
        assert len(cuda.launches) - before == (1 if blocks == 1 else 3 * blocks - 1), "two beside all blocks but one; the end"
        assert_small(got @ np.swapaxes(got, -1, -2) - x, kind, n, x)
        assert not np.triu(got, 1).any()


def test_cholesky_reads_the_lower_triangle_of_any_layout():
    for n in (9, 70):
        x = positive(np.float64, 2, n, n) + np.triu(matrices(np.float64, 2, n, n), 1) * 0.01
        for seen in (lambda t: t, lambda t: t.mT, lambda t: t.expand(2, 2, n, n), lambda t: t.transpose(0, 2).contiguous()
                     .transpose(0, 2)):
            want = linalg.cholesky(seen(ingot.tensor(x)))
            got = linalg.cholesky(seen(ingot.tensor(x).cuda())).cpu()
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=0, atol=1e-13)


def spoiled(n, at, value):
    x = positive(np.float64, 3, n, n)
    x[1, at, at] = value
    return x


@pytest.mark.parametrize("n, at, value", [(1, 0, 0.0), (5, 3, -1.0), (20, 0, np.nan), (33, 32, -np.inf), (64, 40, 0.0),
                                          (70, 3, -1.0), (70, 64, np.nan), (130, 129, -4.0)])
def test_matrices_not_positive_definite_raise_as_on_the_cpu(n, at, value):
    x = spoiled(n, at, value)
    (want, want_info), (got, info) = [linalg.cholesky_ex(t) for t in (ingot.tensor(x), ingot.tensor(x).cuda())]
    assert info.cpu().tolist() == want_info.tolist() == [0, at + 1, 0] and info.dtype is want_info.dtype
    np.testing.assert_allclose(got.cpu().numpy(), want.numpy(), atol=1e-12)
    for f in (linalg.cholesky, lambda t: linalg.cholesky_ex(t, check_errors=True),
              lambda t: linalg.cholesky_ex(t[1], check_errors=True)):
        assert raised(lambda f=f: f(ingot.tensor(x))) == raised(lambda f=f: f(ingot.tensor(x).cuda()))


def test_matrices_of_nothing():
    for shape in ((0, 0), (0, 3, 3), (2, 0, 0)):
        x = ingot.zeros(*shape, dtype=ingot.float64).cuda()
        assert linalg.cholesky(x).shape == shape and linalg.cholesky_ex(x)[1].shape == shape[:-2]
    for shape, columns in (((0, 0), 3), ((2, 3, 3), 0), ((0, 3, 3), 2)):
        a, b = ingot.ones(*shape).cuda(), ingot.ones(*shape[:-1], columns).cuda()
        assert linalg.solve_triangular(a, b, upper=True).shape == b.shape


@pytest.mark.parametrize("n", [4, 40, 70])
def test_gradients_of_cholesky(n):
    for kind in KINDS:
        same_gradients(linalg.cholesky, positive(kind, 2, n, n) if n < 70 else positive(kind, n, n))


# Triangular systems.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_triangular_systems(n, kind):
    """Elements beside the triangle are not read."""
    for lead, columns in (((), 1), ((2,), 19), ((2, 1), 3)):
        a = matrices(kind, *lead, n, n) / n + 2 * np.eye(n, dtype=kind)
        b = matrices(kind, *lead, n, columns)
        for upper, unit in ((True, False), (False, False), (True, True), (False, True)):
            there = np.tril(np.full((n, n), True), -int(unit))
            given = np.where(there.T if upper else there, a, np.nan).astype(kind)
            x = linalg.solve_triangular(ingot.tensor(given).cuda(), ingot.tensor(b).cuda(), upper=upper, unitriangular=unit)
            x, whole = x.cpu().numpy().astype(np.float64), np.nan_to_num(given)
            whole = whole + np.eye(n) if unit else whole
            assert_small(whole @ x - b, kind, n, whole, x)


def test_triangular_systems_of_strided_operands():
    a, b = matrices(np.float64, 2, 70, 70) / 70 + np.eye(70), matrices(np.float64, 2, 9, 70)
    for left in (True, False):
        for f in (lambda a, b: linalg.solve_triangular(a.mT, b.mT if left else b, upper=True, left=left),
                  lambda a, b: linalg.solve_triangular(a, b[0].mT if left else b[0], upper=False, left=left)):
            same_gradients(f, a, b)


def test_a_zero_on_the_diagonal_equals_the_cpu():
    a, b = np.tril(np.ones((4, 4))), np.ones((4, 2))
    a[2, 2] = 0
    got = linalg.solve_triangular(ingot.tensor(a).cuda(), ingot.tensor(b).cuda(), upper=False).cpu().numpy()
    np.testing.assert_array_equal(got, linalg.solve_triangular(ingot.tensor(a), ingot.tensor(b), upper=False).numpy())


def test_the_same_bits_again():
    x, b = ingot.tensor(positive(np.float32, 100, 100)).cuda(), ingot.tensor(matrices(np.float32, 100, 7)).cuda()
    first = [linalg.solve_triangular(linalg.cholesky(x), b, upper=False).cpu().numpy() for _ in range(6)]
    assert all(a.tobytes() == first[0].tobytes() for a in first)


# Programs.


def process(x, y, scale):
    """Return the negative log likelihood of a Gaussian process, to be minimised."""
    kernel = ingot.exp(-(x[:, None] - x[None, :]).square().sum(-1) * scale) + 0.1 * ingot.eye(len(x), device=x.device,
                                                                                             dtype=x.dtype)
    factor = linalg.cholesky(kernel)
    fit = (y * ingot.cholesky_solve(y, factor)).sum()
    return fit + 2 * factor.diagonal().log().sum() + ingot.cholesky_inverse(factor).trace()


@pytest.mark.parametrize("n", [30, pytest.param(70, marks=pytest.mark.slow)])
def test_a_gaussian_process_eager_and_traced(n):
    x, y = matrices(np.float64, n, 2), matrices(np.float64, n, 1)
    scale = np.asarray(0.7)
    same_gradients(process, x, y, scale)
    want = float(process(*[ingot.tensor(a) for a in (x, y, scale)]))
    step = jit.trace(process)
    given = [ingot.tensor(a).cuda() for a in (x, y, scale)]
    for _ in range(5):
        assert abs(float(step(*given)) - want) < 1e-9 * abs(want)


def test_in_a_captured_graph_the_error_comes_when_values_are_read():
    x = ingot.tensor(positive(np.float32, 2, 6, 6)).cuda()
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        out = linalg.cholesky(x)
    graph.replay()
    want = out.cpu().numpy()
    np.testing.assert_allclose(want, linalg.cholesky(x.cpu()).numpy(), atol=1e-6)
    x[1, 0, 0] = -1.0
    graph.replay()
    assert raised(out.cpu).startswith("cholesky: a matrix is singular or not positive definite, on cuda:0")
    x[1, 0, 0] = 40.0
    graph.replay()
    assert np.isfinite(out.cpu().numpy()).all()


# LU, and what is made of it.


SHAPES = [*[(n, n) for n in SIZES], (1, 5), (7, 1), (20, 64), (64, 3), (33, 100), (100, 33), (65, 70), (3, 9, 9),
          (2, 2, 9, 7), (2, 66, 36), (2, 0), (0, 2), (0, 3, 3)]


WAYS = "held", "long"


@pytest.fixture(params=WAYS)
def panels(request, monkeypatch):
    """Whether panels of matrices that are not small go through memory."""
    if request.param == "long":
        for name, value in (("WHOLE", 8), ("PANEL", 16), ("HELD", dict.fromkeys(lu_text.HELD, 0)), ("EXCHANGED", 8),
                            ("TALL", dict.fromkeys(lu_text.TALL, 16))):
            monkeypatch.setattr(lu_text, name, value)
    return request.param


@pytest.mark.parametrize("shape, kind, panels", thinned(SHAPES, KINDS, WAYS), indirect=["panels"])
def test_lu_factors(shape, kind, panels):
    x = matrices(kind, *shape)
    want = linalg.lu_factor(ingot.tensor(x))
    factors, pivots = [t.cpu().numpy() for t in linalg.lu_factor(ingot.tensor(x).cuda())]
    assert factors.dtype == kind and factors.shape == shape and pivots.dtype == np.int32
    np.testing.assert_array_equal(pivots, want[1].numpy())
    if x.size:
        lower, upper = parts_of(factors)
        assert_small(lower @ upper - permuted(x, pivots), kind, max(shape[-2:]), abs(upper))
        p, low, up = [t.cpu().numpy() for t in linalg.lu(ingot.tensor(x).cuda())]
        assert_small(p.astype(np.float64) @ low @ up - x, kind, max(shape[-2:]), abs(upper))


def test_pivots_are_chosen_as_on_the_cpu(panels):
    """With equal sizes in a column, zeros, what is no number, infinities."""
    x = matrices(np.float64, 6, 40, 40)
    x[0, :, 5] = 0
    x[1, 3:9] = np.nan
    x[2, 30, 30] = np.inf
    x[3] = 0
    x[4, :, 7] = np.nan
    x[5, :, 0] = np.sign(x[5, :, 0])
    want, got = (linalg.lu_factor_ex(t) for t in (ingot.tensor(x), ingot.tensor(x).cuda()))
    for a, b in zip(want, got):
        np.testing.assert_allclose(b.cpu().numpy(), a.numpy(), atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 4, 17, pytest.param(64, marks=pytest.mark.slow), pytest.param(70, marks=pytest.mark.slow)])
def test_solutions_inverses_and_determinants(n, kind, panels):
    for lead in ((), (3,)) if n <= 17 else ((2,),):
        x = matrices(kind, *lead, n, n) + np.eye(n, dtype=kind) * kind(n ** 0.5)
        there, eye = ingot.tensor(x).cuda(), np.eye(n)
        for columns in (1, 5, 50):
            b = matrices(kind, *lead, n, columns)
            got = linalg.solve(there, ingot.tensor(b).cuda()).cpu().numpy().astype(np.float64)
            assert_small(x @ got - b, kind, 10 * n, x, got)
            again = linalg.lu_solve(*linalg.lu_factor(there), ingot.tensor(b).cuda()).cpu().numpy()
            assert_small(x @ again.astype(np.float64) - b, kind, 10 * n, x, got)
        found = linalg.inv(there).cpu().numpy().astype(np.float64)
        assert_small(x @ found - eye, kind, 10 * n, x, found)
        assert linalg.solve(there, ingot.ones(*lead, n, 0, dtype=there.dtype).cuda()).shape == (*lead, n, 0)
        for f in (linalg.det, lambda t: linalg.slogdet(t)[0], lambda t: linalg.slogdet(t)[1]):
            small, room = x / kind(n ** 0.5), 200 * n * np.finfo(kind).eps
            want = f(ingot.tensor(small).double()).numpy()
            np.testing.assert_allclose(f(ingot.tensor(small).cuda()).cpu().numpy(), want, rtol=room, atol=room)


@pytest.mark.parametrize("n", [3, pytest.param(66, marks=pytest.mark.slow)])
def test_singular_matrices_raise_as_on_the_cpu(n):
    x = np.stack([np.eye(n), np.eye(n), np.ones((n, n))])
    x[1, n - 1, n - 1] = 0
    b = np.ones((3, n, 2))
    for f in (linalg.inv, linalg.lu_factor, lambda t: linalg.inv_ex(t, check_errors=True),
              lambda t: linalg.lu_factor_ex(t, check_errors=True), lambda t: linalg.solve(t, ingot.tensor(b).to(t.device)),
              lambda t: linalg.solve_ex(t, ingot.tensor(b).to(t.device), check_errors=True)):
        words = raised(lambda f=f: f(ingot.tensor(x)))
        for _ in range(5 if n == 3 else 1):         # also when calls are noted
            assert raised(lambda f=f: f(ingot.tensor(x).cuda())) == words
    for f in (linalg.inv_ex, linalg.lu_factor_ex, lambda t: linalg.solve_ex(t, ingot.tensor(b).to(t.device)), linalg.slogdet):
        for want, got in zip(f(ingot.tensor(x)), f(ingot.tensor(x).cuda())):
            np.testing.assert_allclose(got.cpu().numpy(), want.numpy(), atol=1e-12)
    assert linalg.det(ingot.tensor(x).cuda()).cpu().tolist() == [1, 0, 0]


@pytest.mark.parametrize("n", [3, 40])
def test_gradients_through_factors(n):
    x, b = matrices(np.float64, 2, n, n) + np.eye(n) * n ** 0.5, matrices(np.float64, 2, n, 3)
    small = x * 0.2 if n == 3 else x * 0.05
    same_gradients(linalg.solve, x, b)
    same_gradients(linalg.inv, x)
    same_gradients(linalg.det, small if n == 3 else x / 5)
    same_gradients(lambda t: linalg.slogdet(t)[1], x)
    same_gradients(lambda t: linalg.lu_factor(t)[0], x)
    same_gradients(lambda t: linalg.lu(t[0, :, : n // 2])[1], x)


def test_determinants_of_singular_matrices_have_gradients():
    """The matrices of cofactors: of one zero on the diagonal of U, of two, of nothing but zeros, and where both are coupled."""
    x = np.zeros((6, 3, 3))
    x[0] = np.outer([1, 2, 3], [1, 1, 1])
    x[1] = [[1, 2, 3], [4, 5, 6], [5, 7, 9]]
    x[2] = np.diag([2.0, 0, 3])
    x[4] = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    x[5] = np.diag([1e-3, 0, 2])
    for kind in KINDS:
        same_gradients(linalg.det, x.astype(kind))
    same_gradients(linalg.det, np.zeros((2, 1, 1)))


def test_invalid_pivots_raise_when_values_are_read():
    factors, pivots = ingot.eye(3).cuda(), ingot.tensor([1, 2, 4], dtype=ingot.int32).cuda()
    with pytest.raises(ArgumentError, match="lu_unpack: pivots are rows, from 1 on, on cuda:0"):
        linalg.lu_solve(factors, pivots, ingot.ones(3, 1).cuda()).cpu()


def test_solving_in_a_captured_graph_and_in_a_trace():
    x, b = ingot.tensor(matrices(np.float64, 9, 9)).cuda(), ingot.ones(9, 2, dtype=ingot.float64).cuda()
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        out = linalg.solve(x, b)
    graph.replay()
    np.testing.assert_allclose((x @ out).cpu().numpy(), 1, atol=1e-9)
    x[:, 3] = 0.0
    graph.replay()
    assert raised(out.cpu).startswith("solve: a matrix is singular")

    @jit.trace
    def step(x, b):
        return linalg.solve(x, b) * 2 + linalg.det(x)

    x = ingot.tensor(matrices(np.float64, 9, 9)).cuda()
    want = linalg.solve(x, b) * 2 + linalg.det(x)
    for _ in range(5):
        np.testing.assert_allclose(step(x, b).cpu().numpy(), want.cpu().numpy(), atol=1e-12)


# QR.


@pytest.fixture(params=WAYS)
def reflected(request, monkeypatch):
    """Whether panels go through memory."""
    if request.param == "long":
        monkeypatch.setattr(householder, "PANEL", 16)
        monkeypatch.setattr(householder, "HELD", dict.fromkeys(householder.HELD, 0))
        monkeypatch.setattr(householder, "TALL", dict.fromkeys(householder.TALL, 16))


@pytest.mark.parametrize("shape, kind, reflected", thinned([s for s in SHAPES if s not in ((65, 65), (130, 130))] + [(3, 0)],
                                                           KINDS, WAYS), indirect=["reflected"])
def test_qr_factors(shape, kind, reflected):
    x = matrices(kind, *shape)
    m, n = shape[-2:]
    for mode, columns in (("reduced", min(m, n)), ("complete", m)):
        q, r = [t.cpu().numpy().astype(np.float64) for t in linalg.qr(ingot.tensor(x).cuda(), mode)]
        assert q.shape == (*shape[:-2], m, columns) and r.shape == (*shape[:-2], columns, n)
        if q.size:
            assert not x.size or not assert_small(q @ r - x, kind, max(m, n), x)
            assert_small(np.swapaxes(q, -1, -2) @ q - np.eye(columns), kind, max(m, n))
        assert not np.tril(r, -1).any()
    if x.size:
        want, got = (ingot.geqrf(t) for t in (ingot.tensor(x), ingot.tensor(x).cuda()))
        room = 3e-4 if kind == np.float32 else 1e-11
        for a, b in zip(want, got):
            np.testing.assert_allclose(b.cpu().numpy(), a.numpy(), atol=room * abs(x).max() * n)


def test_reflections_of_special_columns(reflected):
    """Columns of nothing, of nothing below the diagonal, of very large and small numbers, of what is none."""
    x = matrices(np.float32, 7, 40, 20)
    x[0, :, 3] = 0
    x[1] = np.triu(x[1])
    x[2] *= np.float32(1e30)
    x[3] *= np.float32(1e-30)
    x[4, 5, 3] = np.nan
    x[5, 7] = np.inf
    x[6] = 0
    want, got = (linalg.qr(t) for t in (ingot.tensor(x), ingot.tensor(x).cuda()))
    for a, b in zip(want, got):
        a, b = a.numpy(), b.cpu().numpy()
        for size, one, other in zip((1, 1, 1e30, 1e-30, None, None, 1), a, b):
            if size is not None:
                np.testing.assert_allclose(other, one, rtol=1e-3, atol=2e-5 * max(1e-30, abs(one).max()))
        assert np.isnan(b[4]).any() and np.isnan(b[5]).any()
    np.testing.assert_array_equal(got[1].cpu().numpy()[1], x[1, :20])


@pytest.mark.parametrize("shape", [(4, 4), (2, 7, 3), (40, 36), (3, 6)])
def test_gradients_of_qr(shape):
    x = matrices(np.float64, *shape)
    same_gradients(lambda t: linalg.qr(t)[0], x)
    same_gradients(lambda t: linalg.qr(t)[1], x)


def test_products_of_reflections():
    x, other = matrices(np.float64, 2, 20, 7), matrices(np.float64, 2, 20, 3)
    found = []
    for where in ("cpu", "cuda"):
        packed, tau = ingot.geqrf(ingot.tensor(x).to(where))
        found.append([linalg.householder_product(packed, tau).cpu().numpy(),
                      ingot.ormqr(packed, tau, ingot.tensor(other).to(where), transpose=True).cpu().numpy()])
    for a, b in zip(*found):
        np.testing.assert_allclose(b, a, atol=1e-12)


def test_qr_in_a_captured_graph():
    x = ingot.tensor(matrices(np.float32, 50, 40)).cuda()
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        q, r = linalg.qr(x)
    x.mul_(2.0)
    graph.replay()
    np.testing.assert_allclose((q @ r).cpu().numpy(), x.cpu().numpy(), atol=1e-4)


SYSTEMS = (1, 1), (5, 3), (3, 5), (2, 3, 20, 9), (2, 9, 20), (70, 40), (40, 70), (100, 1)


@pytest.mark.parametrize("shape, kind, reflected", thinned(SYSTEMS, KINDS, WAYS), indirect=["reflected"])
def test_least_squares(shape, kind, reflected):
    a = matrices(kind, *shape) + 2 * np.eye(*shape[-2:], dtype=kind)
    for columns in (1, 4, 20):
        b = matrices(kind, *shape[:-1], columns)
        want, got = (linalg.lstsq(ingot.tensor(a).to(d), ingot.tensor(b).to(d)) for d in ("cpu", "cuda"))
        room = 2e-4 if kind == np.float32 else 1e-12
        np.testing.assert_allclose(got.solution.cpu().numpy(), want.solution.numpy(), rtol=room, atol=room)
        assert got.rank.cpu().tolist() == want.rank.tolist()


def test_least_squares_without_full_rank_run_on_the_host(monkeypatch):
    host_operators = []
    monkeypatch.setattr(eager, "on_host", lambda op, inputs, params, device: host_operators.append(op.name) or NotImplemented)
    for given in (np.ones((4, 3)), np.zeros((3, 3)), np.full((3, 3), np.nan)):
        a, b = ingot.tensor(given).cuda(), ingot.ones(len(given), 2, dtype=ingot.float64).cuda()
        eager.run(factorizations.lstsq, (a._a, b._a), {"rcond": 1e-10})
    assert host_operators == ["lstsq"] * 3
