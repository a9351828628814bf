"""Factorisations beyond NumPy's: identities for batches, all shapes and dtypes, and reports of failures."""

import numpy as np
import pytest

import ingot
from ingot import linalg
from ingot.ir.errors import ArgumentError, LinAlgError, ShapeError
from ingot.ir.opdef.op import OPS
from ingot.ir.ops.linalg import determinant, triangular

KINDS = ("float32", "float64", "complex64", "complex128")
SHAPES = ((5, 5), (3, 70, 70), (6, 4), (2, 3, 7), (1, 1), (3, 0), (0, 0), (2, 0, 4, 4))


def matrices(kind, *shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if kind[0] == "c" else 0)
    return ingot.tensor(x.astype(kind))


def near(got, want, scale=1):
    tolerance = (1e-4 if got.dtype in (ingot.float32, ingot.complex64) else 1e-10) * scale
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=tolerance, atol=tolerance)


def symmetric(x, hermitian):
    return x + (x.mH if hermitian else x.mT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_lu_is_a_product_with_rows_exchanged(shape, kind):
    x = matrices(kind, *shape)
    p, low, up = linalg.lu(x)
    near(p @ low @ up, x)
    assert (p.abs().sum(-1) == 1).all() and (low.abs() <= 1.5).all() and low.triu(1).abs().sum() == 0 == up.tril(-1).abs().sum()
    packed, pivots, info = linalg.lu_factor_ex(x)
    assert pivots.dtype is info.dtype is ingot.int32 and (info == 0).all()
    for got, want in zip(ingot.lu_unpack(packed, pivots), (p, low, up)):
        assert (got == want).all()
    assert [t.numel() for t in ingot.lu_unpack(packed, pivots, unpack_data=False)[1:]] == [0, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_lu_factors_solve_systems(left, adjoint, kind):
    x, b = matrices(kind, 2, 40, 40), matrices(kind, 3, 1, 40, 40, seed=1)
    got = linalg.lu_solve(*linalg.lu_factor(x), b, left=left, adjoint=adjoint)
    factor = x.mH if adjoint else x
    near(factor @ got if left else got @ factor, b.expand(3, 2, 40, 40), 50)
    near(ingot.lu_solve(b[0, 0], *x[0].lu()), linalg.solve(x[0], b[0, 0]), 50)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 6, 30])
@pytest.mark.parametrize("hermitian", [True, False])
def test_ldl_factors_solve_indefinite_systems(n, hermitian, kind):
    x, b = symmetric(matrices(kind, 2, n, n), hermitian or kind[0] == "f"), matrices(kind, 2, n, 3, seed=1)
    found = linalg.ldl_factor_ex(x, hermitian=hermitian)
    assert (found.info == 0).all() and found.LD.triu(1).abs().sum() == 0
    near(x @ linalg.ldl_solve(found.LD, found.pivots, b, hermitian=hermitian), b, 10 * n)
    zero = linalg.ldl_factor_ex(ingot.zeros(2, 3, 3))
    assert zero.info.tolist() == [1, 1]
    with pytest.raises(LinAlgError, match=r"ldl_factor: matrix 0 of the batch: D\[1,1\]"):
        linalg.ldl_factor(ingot.zeros(2, 3, 3))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(5, 5), (2, 7, 3), (2, 0, 3, 3)])
def test_eigenvalues_roots_and_polar_factors(shape, kind):
    x = matrices(kind, *shape)
    u, h = linalg.polar(x)
    near(u @ h, x)
    near(u.mH @ u, ingot.eye(shape[-1], dtype=x.dtype).expand(h.shape))
    square = x.mH @ x + ingot.eye(shape[-1], dtype=x.dtype)
    root = linalg.matrix_sqrth(square)
    near(root @ root, square, 10)
    other = square @ matrices(kind, *shape[:-2], shape[-1], shape[-1], seed=2)
    values, vectors = linalg.eig(other)
    assert values.is_complex() and values.dtype is vectors.dtype
    near(other.to(values.dtype) @ vectors, vectors * values.unsqueeze(-2), 50)
    near(linalg.eigvals(other), values, 50)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(6, 4), (2, 5, 5), (3, 40, 35)])
def test_reflections_make_q(shape, kind):
    x = matrices(kind, *shape)
    packed, tau = ingot.geqrf(x)
    q = linalg.householder_product(packed, tau)
    near(q @ packed[..., :shape[-1], :].triu(), x, 10)
    near(ingot.ormqr(packed, tau, x, transpose=True)[..., :shape[-1], :], packed[..., :shape[-1], :].triu(), 10)
    whole = ingot.ormqr(packed, tau, ingot.eye(shape[-2], dtype=x.dtype).expand(*shape[:-2], shape[-2], shape[-2]))
    near(whole[..., :shape[-1]], q)
    near(ingot.ormqr(packed, tau, whole.mH, left=False, transpose=True), whole.mH @ whole.mH, 10)


@pytest.mark.parametrize("kind", KINDS)
def test_failures_are_reported_for_each_matrix(kind):
    good = matrices(kind, 3, 3) + 3 * ingot.eye(3)
    batch = ingot.stack([good @ good.mH, ingot.tensor([[1.0, 2, 3], [2, 4, 6], [0, 0, 1]]).to(good.dtype)])
    inverse, info = linalg.inv_ex(batch)
    assert info.tolist() == [0, 2]
    near(inverse[0], linalg.inv(batch[0]))
    x, info = linalg.solve_ex(batch, good.expand(2, 3, 3))
    assert info.tolist() == [0, 2]
    near(x[0], linalg.solve(batch[0], good))
    for call in (lambda: linalg.inv_ex(batch, check_errors=True), lambda: linalg.solve_ex(batch, batch, check_errors=True),
                 lambda: linalg.lu_factor(batch)):
        with pytest.raises(LinAlgError, match="matrix 1 of the batch"):
            call()
    indefinite = ingot.stack([batch[0], ingot.diag(ingot.tensor([4.0, 9, -1])).to(good.dtype)])
    factor, info = linalg.cholesky_ex(indefinite)
    assert info.tolist() == [0, 3]
    near(factor[0] @ factor[0].mH, batch[0])
    near(factor[1, :2, :2], ingot.diag(ingot.tensor([2.0, 3])).to(good.dtype))
    with pytest.raises(LinAlgError, match="minor of order 3"):
        linalg.cholesky_ex(indefinite, check_errors=True)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems_read_one_triangle(upper, transpose, unit):
    a, b = matrices("float64", 2, 45, 45) / 10 + ingot.eye(45, dtype=ingot.float64), matrices("float64", 45, 3, seed=1)
    whole = (a.triu() if upper else a.tril()) if not unit else (a.triu(1) if upper else a.tril(-1)) + ingot.eye(45)
    x, copy = ingot.triangular_solve(b, a, upper, transpose, unit)
    near((whole.mT if transpose else whole) @ x, b.expand(2, 45, 3), 100)
    assert (copy == a).all()
    right = linalg.solve_triangular(a, b.mT, upper=upper, left=False, unitriangular=unit)
    near(right @ whole, b.mT.expand(2, 3, 45), 100)
    assert linalg.solve_triangular(ingot.zeros(1, 1), ingot.ones(1, 1), upper=upper).isinf().all()


def test_a_few_of_many_singular_values():
    ingot.manual_seed(0)
    for kind in ("complex128", "float64"):
        x = matrices(kind, 2, 30, 4) @ matrices(kind, 2, 4, 20)
        u, s, v = ingot.svd_lowrank(x, 4)
        near((u * s.unsqueeze(-2)) @ v.mH, x)
    near(ingot.pca_lowrank(x, 4).S, linalg.svdvals(x - x.mean(-2, keepdim=True))[..., :4])
    sparse = x[0].to_sparse()
    near(ingot.pca_lowrank(sparse, 4).S, ingot.pca_lowrank(x[0], 4).S)
    mean = x.mean(-2, keepdim=True).expand(x.shape)
    near(ingot.svd_lowrank(x, 4, M=mean).S, ingot.pca_lowrank(x, 4).S)
    for q in (21, 40):
        near(ingot.svd_lowrank(x, q).S, linalg.svdvals(x))
    assert [t.shape for t in ingot.svd_lowrank(x[0, :3, :4])] == [(3, 3), (3,), (4, 3)]
    with pytest.raises(ArgumentError):
        ingot.svd_lowrank(x, -1)


@pytest.mark.parametrize("largest", [True, False])
def test_a_few_of_many_eigenvalues(largest):
    ingot.manual_seed(0)
    x = matrices("float64", 2, 30, 30)
    x = (x @ x.mT).requires_grad_()
    b = ingot.diag(ingot.linspace(1, 2, 30, dtype=ingot.float64))
    for other in (None, b):
        values, vectors = ingot.lobpcg(x, 3, largest=largest, tol=1e-9, B=None if other is None else b.expand(2, 30, 30))
        against = vectors if other is None else b @ vectors
        near(x.detach() @ vectors, (against * values.unsqueeze(-2)).detach(), 1e4)
        all_values = linalg.eigvals(x.detach() if other is None else linalg.solve(b.expand(2, 30, 30), x.detach())).real
        near(values.detach(), all_values.sort(descending=largest).values[..., :3], 10)
    values.sum().backward()
    near(x.grad, sum(vectors[..., i, None] * vectors[..., None, :, i].mT.mT for i in range(3)), 1e4)
    with pytest.raises(ShapeError, match="3 times"):
        ingot.lobpcg(ingot.eye(5), 2)


def test_out_receives_results():
    x = matrices("float64", 3, 3)
    for name in ("lu", "lu_factor", "eig", "inv_ex", "polar", "lu_factor_ex"):
        wanted = getattr(linalg, name)(x)
        out = tuple(ingot.empty(0, dtype=t.dtype) for t in wanted)
        got = getattr(linalg, name)(x, out=out)
        assert all((g == w).all() and g is o for g, w, o in zip(got, wanted, out)) and type(got) is type(wanted)


def test_hermitian_ranks_and_inverses_read_the_lower_triangle():
    """Tolerances are positional, as in NumPy, too."""
    x = matrices("complex128", 5, 3)
    x = x @ x.mH
    half = ingot.where(ingot.ones(5, 5).tril() == 1, x, 7.0)
    near(linalg.pinv(half, 1e-9, True), linalg.pinv(x, rtol=1e-9), 100)
    near(linalg.pinv(half, hermitian=True, rtol=1e-9), linalg.pinv(x, rcond=1e-9), 100)
    assert linalg.matrix_rank(half, 1e-9, True) == linalg.matrix_rank(x) == 3 != linalg.matrix_rank(half)
    values = ingot.diag(ingot.tensor([4.0, 1.0, 1e-9]))
    assert [int(linalg.matrix_rank(values, tol)) for tol in (2.0, 0.5, 0.0)] == [1, 2, 3] and linalg.matrix_rank(values) == 2


def test_a_hermitian_matrix_gets_the_gradient_of_a_whole_one():
    """The gradient is not that of the triangle alone: a step changes the other one, too."""
    x, seed = matrices("complex128", 4, 4), matrices("complex128", 4, 4)
    x = (x @ x.mH).requires_grad_()
    whole, read = [ingot.autograd.grad(linalg.pinv(x, hermitian=h), x, seed)[0] for h in (False, True)]
    near(read, whole, 1000)
    half = ingot.where(ingot.ones(4, 4).tril() == 1, x.detach(), ingot.nan).requires_grad_()
    assert linalg.pinv(half, hermitian=True).isfinite().all()


OF_TRIANGLES = {
    "cholesky": lambda x, up: linalg.cholesky(x, upper=up), "cholesky_ex": lambda x, up: linalg.cholesky_ex(x, upper=up)[0],
    "eigh": lambda x, up: linalg.eigh(x, "U" if up else "L")[0],
    "eigvalsh": lambda x, up: linalg.eigvalsh(x, UPLO="U" if up else "L")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", OF_TRIANGLES)
def test_one_triangle_is_read_and_its_gradient_is_that_of_both(name, upper, kind):
    """Eager and traced matrices of a few rows, of a block, and of several."""
    f = OF_TRIANGLES[name]
    for shape in ((3, 3), (200, 4, 4), (2, 20, 20), (300, 300)):
        x = matrices(kind, *shape)
        x = x @ x.mH + shape[-1] * ingot.eye(shape[-1], dtype=x.dtype)
        half = ingot.where(ingot.ones(shape[-2:]).triu() == 1, x, np.nan)
        half = half if upper else half.mH.contiguous()
        found = []
        for given in (x, half):
            leaf = given.clone().requires_grad_()
            out = f(leaf, upper)
            (out.abs() * ingot.arange(1.0, out.shape[-1] + 1)).sum().backward()
            found.append((out.detach(), leaf.grad, ingot.jit.trace(f)(given, upper)))
        for whole, triangle in zip(*found):
            near(triangle, whole, shape[-1])


_TALL = np.eye(3)[:, :2]
ONLY_VALUES = {
    "eigh": (lambda x: ingot.linalg.eigh(x)[0].log().sum(), np.eye(3), np.eye(3)),
    "eigh, the last": (lambda x: ingot.linalg.eigh(x)[0][2], np.diag([1.0, 1, 2]), np.diag([0.0, 0, 1])),
    "eigh, complex": (lambda x: ingot.linalg.eigh(x)[0].sum(), np.eye(2) + 0j, np.eye(2)),
    "svd": (lambda x: ingot.linalg.svd(x)[1].sum(), np.eye(3), np.eye(3)),
    "svd, complex": (lambda x: ingot.linalg.svd(x)[1].sum(), np.eye(2) + 0j, np.eye(2)),
    "svd, tall": (lambda x: ingot.linalg.svd(x, full_matrices=False)[1].sum(), _TALL, _TALL),
    "svd, wide": (lambda x: ingot.linalg.svd(x, full_matrices=False)[1].sum(), _TALL.T, _TALL.T),
    "svd, all vectors": (lambda x: ingot.linalg.svd(x)[1].sum(), _TALL, _TALL),
    "svd of rank 1": (lambda x: ingot.linalg.svd(x, full_matrices=False)[1].square().sum(), np.ones((3, 2)),
                      2 * np.ones((3, 2))),
    "eig": (lambda x: ingot.linalg.eig(x)[0].real.sum(), np.eye(3), np.eye(3)),
    "eigh, one vector": (lambda x: ingot.linalg.eigh(x)[1][0, 2].square(), np.diag([1.0, 1, 2]), np.zeros((3, 3))),
}


@pytest.mark.parametrize("trace", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("name", ONLY_VALUES)
def test_equal_eigenvalues_leave_gradients_of_values_finite(name, trace):
    fn, x, expected = ONLY_VALUES[name]

    def gradient(x):
        x = x.clone().requires_grad_()
        return ingot.autograd.grad(fn(x), x)[0]

    found = (ingot.jit.trace(gradient) if trace else gradient)(ingot.tensor(x))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (100, 7), (0, 4), (2, 3, 6)], ids=str)
def test_exchanged_rows_one_by_one_and_all_at_once(shape, monkeypatch):
    rng, n = np.random.default_rng(7), shape[-1]
    pivots = np.stack([rng.integers(k, n, shape[:-1]) + 1 for k in range(n)], -1).reshape(shape).astype(np.int32)
    found = []
    for threshold in (0, 1000):
        monkeypatch.setattr(triangular, "_MANY", threshold)
        found.append(triangular.order_of(pivots, n + 2))
    assert found[0].dtype == found[1].dtype and found[0].shape == (*shape[:-1], n + 2) and (found[0] == found[1]).all()


@pytest.mark.parametrize("n", [1, 2, 4, 7, 40])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_gradients_of_determinants_are_cofactors_also_of_singular_matrices(kind, n, monkeypatch):
    x = matrices(kind, 5, n, n).numpy().copy()
    x[0] = np.eye(n) + 0.1 * x[0]
    x[1] = 0
    x[2, -1] = x[2, 0] * (1 + 1e-7)
    x[3] *= 1e-30                       # its determinant is 0 in float32
    leaf = ingot.tensor(x).requires_grad_()
    found, = ingot.autograd.grad(linalg.det(leaf).sum(), leaf)
    want = ingot.tensor(determinant.cofactor.ref(x))
    largest = want.abs().amax((-2, -1), True)
    largest = ingot.where(largest == 0, 1, largest)
    near(found / largest, want / largest)
    monkeypatch.setattr(np.linalg, "svd", None)         # regular matrices need no singular values
    found, = ingot.autograd.grad(linalg.det(leaf[0]), leaf)
    assert found[0].isfinite().all() and (found[1:] == 0).all()


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_determinants_out_of_range_have_finite_gradients(kind, monkeypatch):
    """Cofactors in range are right, the others infinite, or 0."""
    monkeypatch.setattr(np.linalg, "svd", None)
    n = 40
    edge = 2.0 ** ((130 if kind == "float32" else 1026) / n)        # its power n is too large, n - 1 is not
    one = (np.eye(n) + 1e-2 * matrices("float64", n, n).numpy()).astype(kind)
    x = one * np.array([edge, 4 * edge, 1e-9], kind)[:, None, None]
    found = OPS["cofactor"](x)
    (sign, size), inverse = np.linalg.slogdet(x.astype(np.float64)), np.linalg.inv(x.astype(np.float64)).swapaxes(-1, -2)
    with np.errstate(over="ignore", under="ignore"):
        want = (sign[:, None, None] * np.sign(inverse) * np.exp(size[:, None, None] + np.log(np.abs(inverse)))).astype(kind)
    assert np.isinf(OPS["det"](x)[0]) and np.isfinite(found[0]).all() and np.isinf(found[1].diagonal()).all()
    for got, expected in zip(found, want):
        largest = np.abs(expected[np.isfinite(expected)]).max(initial=np.finfo(kind).tiny)
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4 * float(largest))


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("some", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_older_svd_returns_v_and_not_its_adjoint(shape, some, kind):
    x = matrices(kind, *shape)
    u, s, v = ingot.svd(x, some=some)
    k = s.shape[-1]
    near(u[..., :k] @ s.to(x.dtype).diag_embed() @ v[..., :k].mH, x)
    assert u.shape[-1] == (k if some else shape[-2]) and v.shape[-1] == (k if some else shape[-1])


@pytest.mark.parametrize("sizes", [(2, 9, 4), (2, 1, 4), (1, 4), (4,)], ids=str)
def test_lowrank_subtracts_expanded_matrices(sizes):
    x, taken = matrices("float64", 2, 9, 4), matrices("float64", *sizes, seed=1)
    near(ingot.svd_lowrank(x, 4, M=taken).S, linalg.svdvals(x - taken))


@pytest.mark.parametrize("rcond", [None, 0.5, -1.0])
def test_least_squares_of_full_rank_know_no_bound(rcond):
    """The driver 'gels' assumes full rank; a negative bound is the dtype's."""
    a, b = ingot.tensor([[3.0, 0], [0, 1], [0, 0]]), ingot.ones(3, 1)
    near(linalg.lstsq(a, b, rcond=rcond, driver="gels").solution, ingot.tensor([[1 / 3], [1.0]]))
    low = ingot.tensor([[1.0, 1], [1, 1], [0, 0]])
    for driver in ("gelsd", "gelss", "gelsy"):
        assert linalg.lstsq(a, b, rcond=rcond, driver=driver).rank == (1 if rcond == 0.5 else 2)
        near(linalg.lstsq(low, b, rcond=rcond, driver=driver).solution, ingot.full((2, 1), 0.5))


def test_reflections_of_no_matrix_are_refused():
    with pytest.raises(ShapeError, match="householder_product takes matrices"):
        linalg.householder_product(ingot.ones(4), ingot.ones(2))


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 3, 4), (2, 4, 1)], ids=str)
def test_full_factors_have_the_gradients_of_reduced_ones(shape, kind):
    """Columns beside the singular vectors are an arbitrary basis; results that do not use them have a gradient."""
    x = matrices(kind, *shape).requires_grad_()
    sound = 0 if shape[-2] < shape[-1] else 2

    def gradient(full, take):
        found = linalg.svd(x, full_matrices=full)
        return ingot.autograd.grad(take(found), x)[0]

    weights = matrices("float64", *linalg.svd(x)[sound].shape, seed=1)
    for take in (lambda f: (f[sound].abs() * weights).sum(), lambda f: (f[sound].abs() ** 3).sum() + f.S.square().sum(),
                 lambda f: f.S.square().sum()):
        near(gradient(True, take), gradient(False, take))
    with pytest.raises(LinAlgError, match="full_matrices=False"):
        gradient(True, lambda f: f[2 - sound].abs().sum())
