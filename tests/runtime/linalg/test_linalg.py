"""Products, contractions and `ingot.linalg`."""

import numpy as np
import pytest

import ingot
from ingot.ir.errors import ArgumentError, DTypeError, LinAlgError, ShapeError

RNG = np.random.default_rng(3)


def r(*shape):
    return RNG.standard_normal(shape)


def t(a, **kw):
    return ingot.tensor(np.asarray(a), **kw)


def same(got, want, **tol):
    np.testing.assert_allclose(got.detach().numpy(), want, **({"rtol": 1e-10, "atol": 1e-12} | tol))


SHAPES = [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (4,)),
          ((4,), (2, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((3, 4), (2, 4, 5)), ((0, 3), (3, 2)), ((3, 0), (0, 2))]


@pytest.mark.parametrize("a, b", SHAPES)
def test_matmul_is_numpys_with_its_gradients(a, b):
    x, y = r(*a), r(*b)
    tx, ty = t(x, requires_grad=True), t(y, requires_grad=True)
    out = tx @ ty
    same(out, x @ y)
    w = RNG.standard_normal(out.shape)
    (out * t(w)).sum().backward()
    dx, dy, eps = r(*a), r(*b), 1e-6
    slope = (tx.grad.numpy() * dx).sum() + (ty.grad.numpy() * dy).sum()
    up, down = ((w * ((x + s * eps * dx) @ (y + s * eps * dy))).sum() for s in (1, -1))
    assert abs(slope - (up - down) / (2 * eps)) < 1e-5 * max(1, abs(slope))


@pytest.mark.parametrize("a, b", [((3, 4), (3, 4)), ((2, 3, 4), (3, 4, 5)), ((), (3,)), ((4,), (3, 4))])
def test_matmul_of_mismatched_shapes_is_an_error(a, b):
    with pytest.raises(ShapeError):
        t(r(*a)) @ t(r(*b))


def test_matmul_refuses_mixed_dtypes_and_numbers():
    with pytest.raises(DTypeError, match="one dtype"):
        t(r(2, 2)) @ ingot.ones(2, 2)
    with pytest.raises(TypeError):
        t(r(2, 2)) @ 3
    with pytest.raises(ShapeError, match="mm takes 2-d"):
        ingot.mm(t(r(2, 2)), t(r(2)))


def test_named_products():
    m, n, v, w = r(3, 4), r(4, 5), r(4), r(4)
    same(ingot.mm(t(m), t(n)), m @ n)
    same(ingot.mv(t(m), t(v)), m @ v)
    same(ingot.dot(t(v), t(w)), v @ w)
    same(ingot.outer(t(v), t(w)), np.outer(v, w))
    same(ingot.inner(t(m), t(v)), np.inner(m, v))
    half = ingot.inner(ingot.ones(()), ingot.ones(2, dtype=ingot.float16))
    assert half.dtype is ingot.float16 and half.tolist() == [1, 1]
    same(ingot.kron(t(m), t(v)), np.kron(m, v))
    same(ingot.trace(t(m)), np.trace(m))
    batch, other, bias = r(2, 3, 4), r(2, 4, 5), r(5)
    same(ingot.bmm(t(batch), t(other)), batch @ other)
    same(ingot.addmm(t(bias), t(m), t(n), beta=0.5, alpha=2), 0.5 * bias + 2 * m @ n)
    same(ingot.baddbmm(t(bias), t(batch), t(other)), bias + batch @ other)
    same(ingot.addbmm(t(bias), t(batch), t(other)), bias + (batch @ other).sum(0))
    same(ingot.addr(t(r(4, 4) * 0), t(v), t(w)), np.outer(v, w))


def test_beta_zero_ignores_the_input():
    out = ingot.addmm(ingot.full((2, 2), float("nan"), dtype=ingot.float64), t(np.eye(2)), t(np.eye(2)), beta=0)
    same(out, np.eye(2))


@pytest.mark.parametrize("name, input, a, b", [
    ("addmm", (2, 2), (2, 2), (2, 2)), ("addmv", (2,), (2, 2), (2,)), ("baddbmm", (3, 2, 2), (3, 2, 2), (3, 2, 2)),
    ("addbmm", (2, 2), (3, 2, 2), (3, 2, 2)), ("addr", (2, 2), (2,), (2,))])
def test_beta_zero_gives_the_input_a_gradient_of_zeros(name, input, a, b):
    x = ingot.full(input, float("nan"), requires_grad=True)
    function = getattr(ingot, name)
    out = function(x, -ingot.ones(a), ingot.ones(b), beta=0)
    same(out.detach(), function(ingot.zeros(input), -ingot.ones(a), ingot.ones(b)).numpy())
    out.sum().backward()
    same(x.grad, np.zeros(input))


EINSUMS = [("ij,jk->ik", (3, 4), (4, 5)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ii->i", (4, 4)), ("ii", (4, 4)),
           ("ij->ji", (3, 4)), ("ij->", (3, 4)), ("i,j->ij", (3,), (4,)), ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
           ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)), ("ijk,ilk->jl", (2, 3, 4), (2, 5, 4)), ("i,i", (4,), (4,)),
           ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)), ("ij,ij->ij", (3, 4), (3, 4)), ("...a->...", (2, 3, 4)),
           ("ab,cd->", (2, 3), (4, 5)), ("iij,j->i", (3, 3, 4), (4,))]


@pytest.mark.parametrize("equation, shapes", [(e[0], e[1:]) for e in EINSUMS])
def test_einsum_is_numpys(equation, shapes):
    arrays = [r(*s) for s in shapes]
    same(ingot.einsum(equation, *map(t, arrays)), np.einsum(equation, *arrays))
    lists = ingot.einsum(equation, [t(a) for a in arrays])
    same(lists, np.einsum(equation, *arrays))


def test_einsum_with_sublists_and_errors():
    x, y = r(3, 4), r(4, 5)
    same(ingot.einsum(t(x), [0, 1], t(y), [1, 2], [0, 2]), x @ y)
    with pytest.raises(ArgumentError, match="names 2 operands"):
        ingot.einsum("ij,jk", t(x))
    with pytest.raises(ShapeError, match="label 'j'"):
        ingot.einsum("ij,jk", t(x), t(x))


def test_labels_of_sublists_are_in_the_order_of_their_numbers():
    x = r(2, 3)
    for first, second in ((0, 1), (1, 0), (3, 27), (27, 3), (51, 0), (25, 26)):
        same(ingot.einsum(t(x), [first, second]), x if first < second else x.T)
        same(ingot.einsum(t(x), [first, ..., second]), x if first < second else x.T)
    for wrong in (-1, 52):
        with pytest.raises(ArgumentError, match="labels are within"):
            ingot.einsum(t(x[0]), [wrong])
    for nothing in ("", "a"):
        with pytest.raises(ArgumentError, match="no operands"):
            ingot.einsum(nothing)


CHAINS = [((2, 3), (3, 4)), ((2, 3), (3, 4), (4, 5)), ((2, 9), (9, 2), (2, 9), (9, 2))]
ENDS = [((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((3,), (3, 4), (4,))]


@pytest.mark.parametrize("shapes", CHAINS + ENDS, ids=str)
def test_chains_are_numpys(shapes):
    arrays = [r(*s) for s in shapes]
    want = np.linalg.multi_dot(arrays) if len(arrays) > 1 else arrays[0]
    same(ingot.linalg.multi_dot([t(a) for a in arrays]), want)
    if shapes in CHAINS:
        same(ingot.chain_matmul(*[t(a) for a in arrays]), want)
        same(ingot.chain_matmul([t(a) for a in arrays]), want)
    else:
        with pytest.raises(ShapeError, match="chain_matmul takes matrices: tensor"):
            ingot.chain_matmul(*[t(a) for a in arrays])


@pytest.mark.parametrize("shapes, says", [((), "at least 2"), (((2, 2),), "at least 2"), (((), (2,)), "tensor 0"),
                                          (((2,), ()), "tensor 1"), (((2,), (2,), (2,)), "tensor 1"),
                                          (((2, 2, 2), (2, 2)), "tensor 0"), (((2,), (3,)),
                                           "the first has 2 columns, the second 3 rows")], ids=str)
def test_invalid_chains_are_refused(shapes, says):
    with pytest.raises(RuntimeError, match=says):
        ingot.linalg.multi_dot([t(r(*s)) for s in shapes])


def test_chains_have_one_dtype():
    for function in (lambda *xs: ingot.linalg.multi_dot(xs), ingot.chain_matmul):
        with pytest.raises(DTypeError, match="one dtype"):
            function(ingot.ones(2, 2), ingot.ones(2, 2), ingot.ones(2, 2, dtype=ingot.float64))
    same(ingot.chain_matmul(t(np.eye(2))), np.eye(2))


REAL_SUMS = {
    "add": lambda x, f: ingot.add(x, x, alpha=f), "sub": lambda x, f: ingot.sub(x, x, alpha=f),
    "rsub": lambda x, f: ingot.rsub(x, x, alpha=f), "addcmul": lambda x, f: ingot.addcmul(x, x, x, value=f),
    "addcdiv": lambda x, f: ingot.addcdiv(x, x, x, value=f),
    "addmm": lambda x, f: ingot.addmm(x, x, x, alpha=f), "addmm, beta": lambda x, f: ingot.addmm(x, x, x, beta=f),
    "addmv": lambda x, f: ingot.addmv(x[0], x, x[0], alpha=f), "addr": lambda x, f: ingot.addr(x, x[0], x[0], alpha=f),
    "addr, beta": lambda x, f: ingot.addr(x, x[0], x[0], beta=f),
    "baddbmm": lambda x, f: ingot.baddbmm(*[x[None]] * 3, alpha=f),
    "addbmm": lambda x, f: ingot.addbmm(x, x[None], x[None], alpha=f),
}


@pytest.mark.parametrize("name", REAL_SUMS)
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.int64], ids=str)
def test_factors_of_real_sums_are_real(name, dtype):
    x = ingot.ones(2, 2, dtype=dtype)
    with pytest.raises(DTypeError, match="is real"):
        REAL_SUMS[name](x, 1j)
    assert REAL_SUMS[name](x.to(ingot.complex64), 2j).dtype is ingot.complex64


def test_tensordot_and_cross():
    x, y = r(3, 4, 5), r(4, 5, 2)
    same(ingot.tensordot(t(x), t(y)), np.tensordot(x, y))
    same(ingot.tensordot(t(x), t(y), dims=([1], [0])), np.tensordot(x, y, ([1], [0])))
    same(ingot.tensordot(t(x), t(y), axes=((1, 2), (0, 1))), np.tensordot(x, y, axes=((1, 2), (0, 1))))
    a, b = r(6, 3), r(6, 3)
    same(ingot.cross(t(a), t(b), dim=1), np.cross(a, b))
    same(ingot.linalg.cross(t(a), t(b)), np.cross(a, b))


@pytest.mark.parametrize("p", [0, 1, 2, 3, float("inf")])
@pytest.mark.parametrize("rows", [5, 40])
def test_cdist(p, rows):
    x, y = r(rows, 3), r(4, 3)
    want = np.linalg.norm(x[:, None] - y[None], p, axis=-1)
    same(ingot.cdist(t(x), t(y), p), want, rtol=1e-7)


def test_distance_of_equal_rows_has_the_gradient_zero():
    x = t(np.ones((30, 3)), requires_grad=True)
    ingot.cdist(x, x).sum().backward()
    same(x.grad, np.zeros((30, 3)))


def test_linalg_matches_numpy():
    a, b = r(2, 4, 4), r(2, 4, 3)
    L = ingot.linalg
    same(L.solve(t(a), t(b)), np.linalg.solve(a, b))
    same(L.inv(t(a)), np.linalg.inv(a))
    same(L.det(t(a)), np.linalg.det(a))
    same(L.pinv(t(b)), np.linalg.pinv(b))
    same(L.svdvals(t(b)), np.linalg.svd(b, compute_uv=False))
    same(L.matrix_power(t(a), -3), np.linalg.matrix_power(a, -3), rtol=1e-7)
    q, upper = L.qr(t(b))
    same(q @ upper, b)
    w, v = L.eigh(t(a) + t(a).mT)
    same(v @ (w.unsqueeze(-1) * v.mT), a + np.swapaxes(a, -1, -2))
    spd = a @ np.swapaxes(a, -1, -2) + np.eye(4)
    same(L.cholesky(t(spd)), np.linalg.cholesky(spd))
    same(L.lstsq(t(r(1, 1) + np.eye(3)), t(np.ones(3))).rank, 3)
    assert L.lstsq(t(np.eye(3)), t(np.ones(3)), driver="gels").rank.shape == (0,)      # it computes no rank


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norms(ord):
    a = r(4, 3)
    same(ingot.linalg.norm(t(a), ord), np.linalg.norm(a, ord))
    assert ingot.linalg.matrix_norm(t(r(4, 2, 3)), ord, dim=(0, 2), keepdim=True).shape == (1, 2, 1)


def test_traces_of_matrix_exp_read_only_the_number_of_halvings():
    run = ingot.jit.trace(ingot.linalg.matrix_exp)
    for size in (0.1, 0.2, 0.3, 0.25, 0.15):
        x = ingot.full((4, 4), size)
        same(run(x), ingot.linalg.matrix_exp(x).numpy())
    assert run.stats()["compiles"] <= 2


def test_matrix_exp_is_its_series():
    a = r(4, 4) * 3
    w, v = np.linalg.eig(a)
    same(ingot.linalg.matrix_exp(t(a)), ((v * np.exp(w)) @ np.linalg.inv(v)).real, rtol=1e-9, atol=1e-9)


def test_determinant_of_a_singular_matrix_has_a_gradient():
    x = t(np.array([[1.0, 2.0], [2.0, 4.0]]), requires_grad=True)
    ingot.linalg.det(x).backward()
    same(x.grad, [[4.0, -2.0], [-2.0, 1.0]])


def test_the_gradient_of_a_determinant_passes_nan_on():
    x = t(np.array([[[1.0, np.nan], [2.0, 4.0]], [[1.0, 2.0], [2.0, 4.0]]]), requires_grad=True)
    ingot.linalg.det(x).sum().backward()
    same(x.grad, [np.full((2, 2), np.nan), [[4.0, -2.0], [-2.0, 1.0]]])


def test_least_squares_residuals_are_real():
    a = t(r(3, 3) + 1j)
    assert ingot.linalg.lstsq(a, a).residuals.dtype is ingot.linalg.lstsq(a[:, :2], a).residuals.dtype is ingot.float64


def test_errors_name_the_fault():
    with pytest.raises(LinAlgError, match="inv of a matrix of shape"):
        ingot.linalg.inv(ingot.zeros(2, 2))
    with pytest.raises(ShapeError, match="square"):
        ingot.linalg.det(ingot.zeros(2, 3))
    with pytest.raises(DTypeError, match="float32 or float64"):
        ingot.linalg.inv(ingot.ones(2, 2, dtype=ingot.int64))


@pytest.mark.parametrize("ord", [0, 1, 2, 3, -2, float("inf")])
def test_orders_without_dims_are_of_vectors_and_matrices(ord):
    """With more dims it would be ambiguous: all numbers, or each matrix."""
    with pytest.raises(ShapeError, match="without dim takes a vector or a matrix"):
        ingot.linalg.norm(ingot.ones(2, 3, 2), ord)
    assert ingot.linalg.norm(ingot.ones(2, 3, 2)).item() == pytest.approx(12 ** 0.5)


@pytest.mark.parametrize("dim", [(), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("ord", [None, 1, 2, "fro"])
def test_norms_are_over_one_dim_or_two(ord, dim):
    with pytest.raises(ShapeError, match="one dim or two"):
        ingot.linalg.norm(ingot.ones(2, 3, 2), ord, dim)


@pytest.mark.parametrize("solve", [ingot.linalg.solve, ingot.linalg.solve_ex])
@pytest.mark.parametrize("a, b", [((3, 3), (3,)), ((2, 3, 3), (2, 3))], ids=str)
def test_vectors_stand_on_the_right(solve, a, b):
    x = t(np.broadcast_to(2 * np.eye(3), a).copy())
    found = solve(x, ingot.ones(b, dtype=ingot.float64))
    same(found if isinstance(found, ingot.Tensor) else found[0], np.full(b, 0.5))
    with pytest.raises(ShapeError, match="left=False"):
        solve(x, ingot.ones(b, dtype=ingot.float64), left=False)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, "fro", "nuc", float("inf"), -float("inf")])
def test_conditions_of_empty_matrices_are_zero(shape, p):
    found = ingot.linalg.cond(ingot.zeros(shape), p)
    assert found.shape == shape[:-2] and not found.any()


def test_powers_of_whole_numbers():
    x = ingot.tensor([2, 3], dtype=ingot.int32)
    assert [ingot.linalg.vander(x, N=n).tolist() for n in (0, 1, 3)] == [[[], []], [[1], [1]], [[1, 2, 4], [1, 3, 9]]]


def test_conditions_of_singular_matrices_are_infinite():
    x = ingot.tensor([[[1.0, 2], [2, 4]], [[2, 0], [0, 1]]])
    for p in (1, "fro", "nuc", float("inf")):
        assert ingot.linalg.cond(x, p).isinf().tolist() == [True, False]


@pytest.mark.parametrize("dtype, close", [("float32", 2e-5), ("float64", 1e-12), ("complex128", 1e-12)])
def test_each_exponential_of_a_batch_is_as_good_as_alone(dtype, close):
    """A matrix that is halved more often than needed loses digits."""
    x = (r(6, 5, 5) * np.array([0, 1e-6, 1e-2, 1, 4, 20])[:, None, None]).astype(dtype)
    found = ingot.linalg.matrix_exp(t(x)).numpy()
    for one, a in zip(found, x):
        w, v = np.linalg.eig(a.astype(np.complex128))
        expected = (v * np.exp(w)) @ np.linalg.inv(v)
        assert np.linalg.norm(one - expected) <= close * np.linalg.norm(expected)
        alone = ingot.linalg.matrix_exp(t(a)).numpy()
        assert np.linalg.norm(one - alone) <= close / 100 * np.linalg.norm(expected)
    np.testing.assert_allclose(ingot.linalg.matrix_exp(t(x[:, :1, :1])).numpy(), np.exp(x[:, :1, :1]), rtol=close)


@pytest.mark.parametrize("name", ("svd", "pinv", "lstsq"))
def test_infinite_elements_are_refused_and_do_not_hang(name):
    x = t([[-np.inf, -0.16, -0.19], [-0.12, 1e-30, 0.24], [-0.12, -0.23, 2.48]]).float()
    with pytest.raises(LinAlgError, match="infinite"):
        getattr(ingot.linalg, name)(*(x, x)[:1 + (name == "lstsq")])
