"""Factorisations of many matrices of a few rows: their defining equations hold within a few roundings."""

import numpy as np
import pytest

import ingot
from ingot.runtime.cpu.calls import pool
from ingot.runtime.cpu.linalg import lapack, small_matrices

DTYPES = ["float32", "float64"]
COUNT = 37


def matrices(kind, m, n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((COUNT, m, n))
    kinds = {"normal": lambda: x, "zero": lambda: x * 0, "equal": lambda: x * 0 + 1,
             "one column": lambda: x[..., :1] * x[:, :1], "diagonal": lambda: x * np.eye(m, n),
             "far apart": lambda: x * 10.0 ** -np.arange(0, 4 * n, 4), "tiny": lambda: x * 1e-35, "huge": lambda: x * 1e35,
             "whole": lambda: rng.integers(-2, 3, x.shape), "nearly equal": lambda: 1 + 1e-7 * x}
    return kinds[kind]().astype(dtype)


KINDS = ["normal", "zero", "equal", "one column", "diagonal", "far apart", "tiny", "huge", "whole", "nearly equal"]


def wide(x):
    return x.astype(np.longdouble)


def roundings_off(result, expected, dtype, size=1.0):
    """Return the largest difference in roundings of the size."""
    return float((np.abs(wide(result) - wide(expected)) / size).max() / np.finfo(dtype).eps)


def size_of(x):
    return np.maximum(np.abs(wide(x)).max((-1, -2)), np.finfo(x.dtype).tiny)[:, None, None]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_eigenvectors_satisfy_their_equation(n, dtype, monkeypatch):
    monkeypatch.setattr(small_matrices, "MANY", COUNT)
    for kind in KINDS:
        x = matrices(kind, n, n, dtype, seed=n)
        both = np.tril(x) + np.tril(x, -1).swapaxes(1, 2)
        w, v = (a.numpy() for a in ingot.linalg.eigh(ingot.tensor(x)))
        what = f"{kind} {n}x{n}, seed {n}"
        assert roundings_off(v.swapaxes(1, 2) @ wide(v), np.eye(n), dtype) < 8, what
        assert roundings_off((wide(v) * w[:, None]) @ v.swapaxes(1, 2), both, dtype, size_of(both)) < 16, what
        assert (np.diff(w) >= 0).all() and w.tobytes() == ingot.linalg.eigvalsh(ingot.tensor(x)).numpy().tobytes(), what


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n", [(1, 1), (2, 2), (3, 3), (4, 4), (3, 2), (2, 4), (4, 1), (1, 3), (5, 3)])
def test_singular_vectors_restore_the_matrix(m, n, dtype, monkeypatch):
    monkeypatch.setattr(small_matrices, "MANY", COUNT)
    for kind in KINDS:
        x, k = matrices(kind, m, n, dtype, seed=m), min(m, n)
        for full in (False, True):
            u, values, vh = (a.numpy() for a in ingot.linalg.svd(ingot.tensor(x), full_matrices=full))
            what = f"{kind} {m}x{n}, seed {m}, full {full}"
            assert u.shape == (COUNT, m, m if full else k) and vh.shape == (COUNT, n if full else k, n), what
            assert roundings_off(u.swapaxes(1, 2) @ wide(u), np.eye(u.shape[-1]), dtype) < 16, what
            assert roundings_off(wide(vh) @ vh.swapaxes(1, 2), np.eye(vh.shape[-2]), dtype) < 16, what
            again = (wide(u[..., :k]) * values[:, None]) @ vh[:, :k]
            assert roundings_off(again, x, dtype, size_of(x)) < 16, what
            assert (values >= 0).all() and (np.diff(values) <= 0).all(), what
        if kind not in ("far apart", "tiny", "huge", "nearly equal"):        # what counts there is for `rtol` to say
            back = ingot.linalg.pinv(ingot.tensor(x)).numpy()
            least = np.where(values > 1e-5 * values.max(1, keepdims=True), values, np.inf).min(1)[:, None, None]
            assert roundings_off(x @ wide(back) @ x, x, dtype, size_of(x) ** 2 / np.minimum(least, 1)) < 64, what
        assert values.tobytes() == ingot.linalg.svdvals(ingot.tensor(x)).numpy().tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_solutions_and_determinants(n, dtype, monkeypatch):
    monkeypatch.setattr(small_matrices, "MANY", COUNT)
    rng = np.random.default_rng(n)
    x = rng.standard_normal((COUNT, n, n)).astype(dtype)
    x[::3] = np.round(x[::3] * 2) + 9 * np.eye(n)[::-1]                     # exchanges, and equal pivots
    x[1] = np.roll(np.eye(n), 1, 0)
    t, exact = ingot.tensor(x), x.astype(np.float64)
    grown = np.linalg.cond(exact)
    det = np.linalg.det(exact)
    sizes = np.prod(np.linalg.norm(exact, axis=-1), -1)
    assert (np.abs(ingot.linalg.det(t).numpy() - det) / sizes).max() < 32 * np.finfo(dtype).eps, f"seed {n}"
    sign, log = (a.numpy() for a in ingot.linalg.slogdet(t))
    assert np.array_equal(sign, np.sign(det)) and (np.abs(log - np.log(np.abs(det))) / grown).max() < 16 * np.finfo(dtype).eps
    for columns in (1, 3, n):
        b = rng.standard_normal((COUNT, n, columns)).astype(dtype)
        for y, wanted in ((ingot.linalg.solve(t, ingot.tensor(b)), np.linalg.solve(exact, b)),
                          (ingot.linalg.inv(t), np.linalg.inv(exact))):
            far = np.abs(y.numpy() - wanted).max((1, 2)) / np.abs(wanted).max((1, 2)) / grown
            assert far.max() < 16 * np.finfo(dtype).eps, f"seed {n}"
    whole = exact @ exact.swapaxes(1, 2) + np.eye(n)
    lower = ingot.linalg.cholesky(ingot.tensor(whole.astype(dtype))).numpy()
    assert roundings_off(wide(lower) @ lower.swapaxes(1, 2), whole.astype(dtype), dtype, size_of(whole.astype(dtype))) < 8
    assert not np.triu(lower, 1).any()


def test_nan_and_inf_give_the_results_of_lapack():
    x = np.eye(3, dtype=np.float32)[None].repeat(20, 0)
    for bad in (np.nan, np.inf):
        x[7, 1, 1] = bad
        for name in ("eigh", "eigvalsh", "svd", "svdvals"):
            run = lapack.rotated(getattr(ingot.ir.ops.linalg.factorizations, name))
            params = {"full": False} if name == "svd" else {}
            found = []
            for way in (run, lapack.by_lapack(getattr(ingot.ir.ops.linalg.factorizations, name))):
                try:
                    made = way(x, **params)
                    found.append([a.tobytes() for a in (made if isinstance(made, tuple) else (made,))])
                except Exception as error:
                    found.append(str(error))
            assert found[0] == found[1], f"{name} with {bad}"


def test_singular_and_indefinite_matrices_are_named():
    x = ingot.eye(3).repeat(300, 1, 1)
    x[123] = ingot.tensor([[1.0, 2, 3], [2, 4, 6], [1, 1, 1]])
    for run in (ingot.linalg.inv, lambda x: ingot.linalg.solve(x, x)):
        with pytest.raises(ingot.linalg.LinAlgError, match="ingular"):
            run(x)
    found, info = ingot.linalg.inv_ex(x)
    assert info[123] == 3 and info.sum() == 3 and ingot.equal(found[5], ingot.eye(3))
    x[123] = ingot.tensor([[1.0, 0, 0], [0, -1, 0], [0, 0, 1]])
    with pytest.raises(ingot.linalg.LinAlgError, match="not positive"):
        ingot.linalg.cholesky(x)
    assert ingot.linalg.cholesky_ex(x)[1].tolist() == [0] * 123 + [2] + [0] * 176
    x = np.random.default_rng(4).standard_normal((100, 4, 4)) + 2 * np.eye(4)
    lower, info = ingot.linalg.cholesky_ex(ingot.tensor(x))
    want, wanted = ingot.ir.ops.linalg.checked_factorizations.cholesky_ex.ref(x, check=False)
    assert np.array_equal(info.numpy(), wanted) and 20 < np.count_nonzero(wanted) < 100
    np.testing.assert_allclose(lower.numpy(), want, rtol=1e-12, atol=1e-12)
    assert float(ingot.linalg.det(ingot.zeros(2, 2))) == 0 and ingot.linalg.slogdet(ingot.zeros(2, 2))[1] == -float("inf")


def test_results_do_not_depend_on_strides_batches_and_threads():
    x = np.random.default_rng(3).standard_normal((6, 50, 3, 3))
    t, flat = ingot.tensor(x), ingot.tensor(x.reshape(-1, 3, 3))
    before = pool.get_num_threads()
    for run in (ingot.linalg.inv, ingot.linalg.det, ingot.linalg.eigvalsh, ingot.linalg.svdvals):
        want = run(flat).numpy()
        assert run(t.transpose(0, 1).contiguous().transpose(0, 1)).numpy().tobytes() == want.tobytes()
        assert run(t[2, 7]).numpy().tobytes() == want[107].tobytes(), "alone"
        pool.set_num_threads(3)
        try:
            assert run(t.repeat(40, 1, 1, 1)).numpy()[-6:].tobytes() == want.tobytes()
        finally:
            pool.set_num_threads(before)
    assert ingot.autograd.gradcheck(lambda x: ingot.linalg.svd(x)[1].sum() + ingot.linalg.eigh(x @ x.mT)[0].prod(-1).sum(),
                                    flat[:3].clone().requires_grad_())
