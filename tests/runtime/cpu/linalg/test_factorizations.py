"""Dense linear algebra: residuals like LAPACK's for sizes around every border between blocks, and errors without a factor.

The bits are the same for any number of threads and any position of a matrix in a batch.
"""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import ingot
from ingot import linalg
from ingot.ir import target
from ingot.ir.errors import LinAlgError
from ingot.runtime.cpu.gemm import gemm
from ingot.runtime.cpu.linalg import cholesky, lu, qr, triangular
from ingot.runtime.cpu.memory import alloc

KINDS = (np.float32, np.float64)
SIZES = (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 129, 255, 257, 300, 520)
RECTANGLES = ((1, 5), (5, 1), (8, 20), (20, 8), (16, 70), (70, 16), (33, 100), (100, 33), (65, 300), (300, 65), (270, 300))


def matrices(kind, *shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(kind)


def positive(kind, *shape):
    x = matrices(kind, *shape)
    return (x @ np.swapaxes(x, -1, -2) / shape[-1] + np.eye(shape[-2])).astype(kind)


def assert_small(gap, kind, n, *sizes):
    """Check that a residual is a small multiple of n roundings."""
    bound = 4 * n * np.finfo(kind).eps * np.prod([max(abs(size).max(), 1e-300) for size in sizes], dtype=np.float64)
    assert abs(gap).max() <= bound, abs(gap).max() / bound


def parts_of(factors):
    """Return L and U, in float64, of factors in one matrix."""
    rows, columns = factors.shape[-2:]
    k, wide = min(rows, columns), factors.astype(np.float64)
    return np.tril(wide[..., :k], -1) + np.eye(rows, k), np.triu(wide[..., :k, :])


def permuted(x, pivots):
    x = x.copy()
    for matrix, rows in zip(x.reshape(-1, *x.shape[-2:]), pivots.reshape(-1, pivots.shape[-1])):
        for k, other in enumerate(rows - 1):
            matrix[[k, other]] = matrix[[other, k]]
    return x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [*[(n, n) for n in SIZES], *RECTANGLES, (3, 9, 9), (2, 2, 33, 17), (2, 290, 270)])
def test_products_of_lu_and_qr_factors_are_the_matrix(shape, kind):
    x, n = matrices(kind, *shape), max(shape[-2:])
    factors, pivots, info = lu.factor(x)
    lower, upper = parts_of(factors)
    assert not info.any() and abs(lower).max() <= 1 and pivots.min() >= 1 and pivots.max() <= shape[-2]
    assert_small(lower @ upper - permuted(x, pivots), kind, n, abs(upper))
    for complete in (False, True):
        q, r = qr.factor(x, complete)
        assert_small(q.astype(np.float64) @ r - x, kind, n, x)
        assert_small(np.swapaxes(q, -1, -2).astype(np.float64) @ q - np.eye(q.shape[-1]), kind, n)
        assert not np.tril(r, -1).any() and q.shape[-1] == (shape[-2] if complete else min(shape[-2:]))


@pytest.mark.parametrize("kind", KINDS)
def test_uninitialised_memory_is_not_read(kind, monkeypatch):
    """Scratch and new arrays may hold anything."""
    taken = alloc.empty

    def spoiled(shape, dtype=np.float32):
        made = taken(shape, dtype)
        made.reshape(-1).view(np.uint8)[...] = 0xFF         # NaN as floats
        return made

    monkeypatch.setattr(alloc, "empty", spoiled)
    for shape in ((1, 1), (5, 3), (3, 5), (13, 13), (3, 33, 17), (40, 20), (70, 90), (300, 270)):
        x = matrices(kind, *shape)
        spd = positive(kind, *shape)
        for made in (*lu.factor(x), *qr.factor(x), *qr.factor(x, True), *cholesky.factor(spd)):
            assert np.isfinite(made).all()
        assert np.isfinite(qr.least_squares(x, matrices(kind, *shape[:-1], 2), 0.0)).all()
        assert np.isfinite(lu.solve(*lu.factor(spd)[:2], matrices(kind, *shape[:-1], 2))).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_solutions_inverses_and_determinants(n, kind):
    for shape in ((n, n), (3, n, n)):
        x, eye = matrices(kind, *shape) + np.eye(n, dtype=kind) * kind(n ** 0.5), np.eye(n)
        for columns in (1, 5, 50):
            b = matrices(kind, *shape[:-1], columns)
            got = linalg.solve(ingot.tensor(x), ingot.tensor(b)).numpy().astype(np.float64)
            assert_small(x @ got - b, kind, 10 * n, x, got)
            for upper in (False, True):
                for unit in (False, True):
                    t = (np.triu if upper else np.tril)(x / kind(2 * n)) + np.eye(n, dtype=kind) * (not unit)
                    got = linalg.solve_triangular(ingot.tensor(t), ingot.tensor(b), upper=upper, unitriangular=unit).numpy()
                    full = t - t * eye + eye if unit else t
                    assert_small(full @ got.astype(np.float64) - b, kind, n, got)
        inverse = linalg.inv(ingot.tensor(x)).numpy().astype(np.float64)
        assert_small(x @ inverse - eye, kind, 10 * n, x, inverse)
        spd = positive(kind, *shape)
        low = linalg.cholesky(ingot.tensor(spd)).numpy().astype(np.float64)
        assert_small(low @ np.swapaxes(low, -1, -2) - spd, kind, n, spd)
        assert not np.triu(low, 1).any()
        small = x / kind(n ** 0.5)
        np.testing.assert_allclose(linalg.slogdet(ingot.tensor(small))[1].numpy(),
                                   np.linalg.slogdet(small.astype(np.float64))[1], rtol=1e-4, atol=1e-3)
        np.testing.assert_array_equal(linalg.slogdet(ingot.tensor(small))[0].numpy(), np.linalg.slogdet(small)[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(40, 7), (7, 7), (2, 30, 12), (200, 90), (300, 65), (7, 40), (2, 12, 30), (90, 200)])
def test_least_squares_by_qr_equal_those_by_singular_values(shape, kind, monkeypatch):
    monkeypatch.setattr(np.linalg, "svd", None)                 # what is surely of full rank needs none
    a, b = matrices(kind, *shape) + np.eye(*shape[-2:], dtype=kind) * 3, matrices(kind, *shape[:-1], 3)
    found = linalg.lstsq(ingot.tensor(a), ingot.tensor(b))
    monkeypatch.undo()
    most = min(shape[-2:])
    assert (found.rank == most).all() and found.singular_values.numel() == 0
    want = np.linalg.pinv(a.astype(np.float64)) @ b
    np.testing.assert_allclose(found.solution.numpy(), want, rtol=1e-3 if kind is np.float32 else 1e-9, atol=1e-5)
    a[..., :, 2] = a[..., :, 1]
    a[..., 4, :] = a[..., 3, :]
    most = np.linalg.matrix_rank(a, tol=1e-3)
    found = linalg.lstsq(ingot.tensor(a), ingot.tensor(b), rcond=1e-5, driver="gelsd")
    full = (most == shape[-1]).all() and shape[-2] > shape[-1]
    assert found.residuals.shape == ((*shape[:-2], 3) if full else (0,))
    assert (found.rank.numpy() == most).all() and found.singular_values.shape == (*shape[:-2], min(shape[-2:]))
    want = np.linalg.pinv(a.astype(np.float64), rcond=1e-5) @ b
    np.testing.assert_allclose(found.solution.numpy(), want, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("power", [-0.9, -0.6, 0.6, 0.9])
def test_very_large_and_very_small_numbers(power, kind):
    """No intermediate square overflows or vanishes, and no reciprocal of a pivot is infinite."""
    scale = kind(float(np.finfo(kind).max) ** power)
    for n in (9, 70):
        x = matrices(kind, n, n)
        q, r = qr.factor(x * scale)
        assert_small(q.astype(np.float64) @ (r.astype(np.float64) / float(scale)) - x, kind, n, x)
        factors, pivots, _ = lu.factor(x * scale)
        lower, upper = parts_of(factors)
        assert_small(lower @ (upper / float(scale)) - permuted(x, pivots), kind, n, upper / float(scale))
    tiny = np.diag(np.full(5, np.finfo(kind).smallest_subnormal * 8))
    tiny[3, 0] = tiny[0, 0]
    factors, _, info = lu.factor(tiny)
    assert not info.any() and np.isfinite(factors).all() and factors[3, 0] == 1


def test_results_depend_neither_on_threads_nor_on_strides(threads):
    def all_results(x, b):
        spd = np.ascontiguousarray(x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1], dtype=x.dtype) * 9)
        made = [*lu.factor(x), *qr.factor(x), *cholesky.factor(spd), qr.least_squares(x, b, 1e-30)]
        y = b.copy()
        low = np.tril(x) + np.eye(x.shape[-1], dtype=x.dtype)
        triangular.solve(low.reshape(-1, *x.shape[-2:]), y.reshape(-1, *b.shape[-2:]))
        found = linalg.eigh(ingot.tensor(spd)), linalg.svd(ingot.tensor(x)), linalg.solve(ingot.tensor(x), ingot.tensor(b))
        return [*made, y, *[t.numpy() for t in (*found[0], *found[1], found[2])]]

    for shape in ((200, 16, 16), (5, 70, 70), (400, 400)):
        x, b = matrices(np.float32, *shape), matrices(np.float32, *shape[:-1], 40)
        threads(1)
        want = all_results(x, b)
        threads(2)
        for one, other in zip(want, all_results(x, b)):
            np.testing.assert_array_equal(one, other)
        transposed = np.swapaxes(np.ascontiguousarray(np.swapaxes(x, -1, -2)), -1, -2)
        for one, other in zip(lu.factor(x) + qr.factor(x), lu.factor(transposed) + qr.factor(transposed)):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", (1, 5, 16, 40, 300))
def test_singular_matrices_report_the_pivot(n, kind):
    x = positive(kind, 3, n, n)
    at = n // 2
    x[1, :, at] = 0
    assert lu.factor(x)[2].tolist() == [0, at + 1, 0]
    x[1, at] = 0
    with pytest.raises(LinAlgError, match="Singular"):
        linalg.inv(ingot.tensor(x))
    assert linalg.inv_ex(ingot.tensor(x)).info.tolist() == [0, at + 1, 0]
    x[1, at, at] = -1
    assert cholesky.factor(x)[1].tolist() == [0, at + 1, 0]
    with pytest.raises(LinAlgError, match="positive"):
        linalg.cholesky(ingot.tensor(x))
    x[1, at, at] = np.nan
    factors, pivots, _ = lu.factor(x)
    assert pivots.max() <= n and np.isfinite(factors[[0, 2]]).all() and cholesky.factor(x)[1][1] == at + 1


@pytest.mark.parametrize("kind", KINDS)
def test_products_are_added_to_the_output(kind):
    for rows, depth, columns in ((3, 4, 5), (40, 30, 70), (130, 700, 129), (300, 64, 300)):
        a, b, c = (matrices(kind, 2, *shape) for shape in ((rows, depth), (depth, columns), (rows, columns)))
        for left in (a, np.swapaxes(np.ascontiguousarray(np.swapaxes(a, 1, 2)), 1, 2)):
            out = c.copy()
            gemm.add_product(left, b, out)
            np.testing.assert_allclose(out, c + a.astype(np.float64) @ b, rtol=1e-4, atol=1e-3 if kind is np.float32 else 1e-9)


@pytest.mark.skipif(target.host().arch != "x86_64", reason="x86-64 levels")
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_lower_instruction_sets_factor_the_same(level, monkeypatch):
    code = """
        import numpy as np
        from ingot.runtime.cpu.linalg import cholesky, lu, qr
        rng = np.random.default_rng(0)
        for kind in (np.float32, np.float64):
            for shape in ((1, 1), (3, 3), (5, 9, 9), (30, 20), (20, 30), (70, 70), (300, 280)):
                x = rng.standard_normal(shape).astype(kind)
                factors, pivots, info = lu.factor(x)
                k = min(shape[-2:])
                lower = np.tril(factors[..., :k], -1) + np.eye(shape[-2], k, dtype=kind)
                y = lower @ np.triu(factors[..., :k, :])
                for matrix, rows in zip(y.reshape(-1, *shape[-2:]), pivots.reshape(-1, k)):
                    for n, other in reversed(list(enumerate(rows - 1))):
                        matrix[[n, other]] = matrix[[other, n]]
                q, r = qr.factor(x)
                assert np.allclose(y, x, atol=1e-3) and np.allclose(q @ r, x, atol=1e-3)
                spd = x @ np.swapaxes(x, -1, -2) / shape[-1] + np.eye(shape[-2], dtype=kind)
                low, info = cholesky.factor(spd)
                assert not info.any() and np.allclose(low @ np.swapaxes(low, -1, -2), spd, atol=1e-3)
    """
    monkeypatch.setenv("INGOT_CPU_LEVEL", level)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100,
                          check=False)
    assert done.returncode == 0, done.stderr
