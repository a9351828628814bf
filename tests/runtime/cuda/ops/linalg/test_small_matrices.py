"""Matrices of a few rows on a CUDA device, on the mock driver: the CPU's bits, and its words for what cannot be factored."""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit, linalg
from ingot.ir.errors import LinAlgError
from tests.runtime.cpu.linalg.test_small_matrices import KINDS, matrices


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed(alone=True) as mock:
        yield mock


RUNS = {"eigh": linalg.eigh, "eigvalsh": lambda x: (linalg.eigvalsh(x),), "svdvals": lambda x: (linalg.svdvals(x),),
        "svd": lambda x: linalg.svd(x, full_matrices=False), "svd full": linalg.svd, "det": lambda x: (linalg.det(x),),
        "slogdet": linalg.slogdet, "inv": lambda x: linalg.inv_ex(x)[:1], "cholesky": linalg.cholesky_ex,
        "solve": lambda x: linalg.solve_ex(x, x[..., :1] * 2 + x.mT[..., :1])[:1]}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 4])
@pytest.mark.parametrize("name", RUNS)
def test_square_matrices_have_the_bits_of_the_cpu(name, n, dtype, cuda):
    x = np.concatenate([matrices(kind, n, n, dtype, seed=n) for kind in KINDS if kind != "far apart" or n < 4])
    x = ingot.tensor(x)
    before = len(cuda.launches)
    for got, want in zip(RUNS[name](x.cuda()), RUNS[name](x)):
        same = (got.cpu() == want) | ((got.cpu() != got.cpu()) & (want != want))
        assert got.dtype is want.dtype and got.shape == want.shape and same.all(), f"seed {n}"
    assert len(cuda.launches) > before


@pytest.mark.parametrize("shape", [(5, 3, 2), (2, 4), (6, 2, 1, 3), (4, 1)], ids=str)
def test_singular_vectors_of_other_shapes(shape):
    x = ingot.tensor(np.random.default_rng(1).standard_normal(shape).astype(np.float32))
    for full in (False, True):
        for got, want in zip(linalg.svd(x.cuda(), full_matrices=full), linalg.svd(x, full_matrices=full)):
            assert ingot.equal(got.cpu(), want)
    assert ingot.equal(linalg.svdvals(x.cuda()).cpu(), linalg.svdvals(x))
    assert ingot.allclose(linalg.pinv(x.cuda()).cpu(), linalg.pinv(x), rtol=1e-4, atol=1e-5)


def test_errors_name_the_matrix_without_factors():
    x = ingot.eye(3).repeat(70, 1, 1)
    x[50, 1, 2] = x[50, 2, 1] = float("nan")
    for run, words in ((linalg.eigvalsh, "not converge"), (linalg.svd, "not converge"), (linalg.cholesky, "not positive")):
        with pytest.raises(LinAlgError, match=words):
            run(x.cuda())
    x[50] = 0
    with pytest.raises(LinAlgError, match="ingular"):
        linalg.inv(x.cuda())
    assert linalg.inv_ex(x.cuda())[1].cpu().nonzero().tolist() == [[50]]


def test_traces_and_gradients():
    x = ingot.tensor(np.random.default_rng(2).standard_normal((9, 3, 3)).astype(np.float32))

    def aligned(x):
        """Rotations nearest to some matrices, as poses are aligned."""
        u, _, vh = linalg.svd(x)
        return u @ vh + linalg.eigh(x @ x.mT)[0].sum(-1)[:, None, None]

    found = []
    for device in ("cpu", "cuda"):
        for run in (aligned, jit.trace(aligned)):
            t = x.clone().to(device).requires_grad_()
            run(t).square().sum().backward()
            found.append(t.grad.cpu().numpy())
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=2e-3, atol=2e-3)
