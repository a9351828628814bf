"""Samples of matrix products and factorisations."""

import ml_dtypes
import numpy as np

from ingot.ir import dtype as dt

from . import Sample, samples

DOUBLE = ("float32", "float64")


@samples("matmul")
def _(rng):
    def m(*shape):
        return rng.standard_normal(shape)

    yield Sample((m(3, 4), m(4, 5)), tol=4)
    yield Sample((m(2, 3, 4), m(2, 4, 2)), tol=4)
    yield Sample((m(4, 3).T, m(5, 4).T), tol=4)
    yield Sample((m(2, 1, 3, 4)[:, :, ::2], m(2, 1, 4, 3)), tol=4)
    yield Sample((m(1, 1), m(1, 1)), tol=4)
    yield Sample((np.zeros((3, 0)), np.zeros((0, 2))))
    yield Sample((np.zeros((0, 3)), m(3, 2)), tol=4)
    yield Sample((rng.integers(-5, 5, (3, 4)), rng.integers(-5, 5, (4, 2))), grad=False)


@samples("dot")
def _(rng):
    for n in (1, 7, 40):
        yield Sample((rng.standard_normal(n), rng.standard_normal(n)), tol=4)
    yield Sample((rng.standard_normal(12)[::2], rng.standard_normal(6)[::-1]), tol=4)
    yield Sample((np.zeros(0), np.zeros(0)))
    yield Sample((rng.integers(-5, 5, 6), rng.integers(-5, 5, 6)), grad=False)


@samples("mv")
def _(rng):
    for rows, columns in ((1, 1), (3, 4), (40, 7), (5, 90)):
        yield Sample((rng.standard_normal((rows, columns)), rng.standard_normal(columns)), tol=4)
    yield Sample((rng.standard_normal((4, 6)).T, rng.standard_normal(8)[::-2]), tol=4)
    yield Sample((np.zeros((3, 0)), np.zeros(0)))
    yield Sample((np.zeros((0, 3)), rng.standard_normal(3)), tol=4)
    yield Sample((rng.integers(-5, 5, (3, 6)), rng.integers(-5, 5, 6)), grad=False)


@samples("grouped_matmul")
def _(rng):
    def m(*shape):
        return rng.standard_normal(shape)

    for ends in ([2, 2, 5], [0, 4, 6], [0, 0, 0]):
        ends = np.array(ends, np.int32)
        yield Sample((m(6, 4), m(3, 4, 2), ends), tol=4)
        yield Sample((m(3, 2, 4), m(4, 6), ends), tol=4)
        yield Sample((m(6, 4).T, m(6, 3), ends), tol=4)
    yield Sample((m(7, 8), m(2, 5, 8).swapaxes(1, 2), np.array([3, 7])), tol=4)
    yield Sample((m(5, 3) + 1j * m(5, 3), m(2, 3, 2) + 1j * m(2, 3, 2), np.array([1, 4])), tol=4,
                 dtypes=("complex64", "complex128"))
    yield Sample((np.zeros((0, 3)), m(2, 3, 2), np.zeros(2, np.int32)), grad=False)


E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


@samples("matmul8")
def _(rng):
    for first, second in ((E4M3, E4M3), (E5M2, E4M3)):
        x, y = rng.standard_normal((5, 7)).astype(first), rng.standard_normal((3, 7)).astype(second).T
        yield Sample((x, y), {"fast": False}, dtypes=("float32",))
    yield Sample((np.zeros((3, 0), E4M3), np.zeros((0, 2), E4M3)), {"fast": True}, dtypes=("float32",))


@samples("scaled_mm")
def _(rng):
    def scale(*shape):
        return rng.uniform(0.5, 2, shape).astype(np.float32)

    x, y = rng.standard_normal((5, 7)).astype(E4M3), rng.standard_normal((3, 7)).astype(E5M2).T
    cases = (((scale(1, 1), scale(1, 1)), None, dt.float32), ((scale(5, 1), scale(1, 3)), scale(1, 3), dt.bfloat16),
             ((scale(5, 1), scale(1, 1)), None, dt.float8_e4m3fn))
    for scales, bias, dtype in cases:
        last = scale(1, 1) if dtype is dt.float8_e4m3fn else None
        yield Sample((x, y, *scales, bias, last), {"dtype": dtype, "fast": False}, dtypes=("float32",))


def well(rng, *shape):
    """Matrices far from singular, with singular values apart."""
    m, n = shape[-2:]
    return rng.standard_normal(shape) * 0.3 + np.eye(m, n) * np.arange(1, n + 1)


def squares(rng):
    yield well(rng, 3, 3)
    yield well(rng, 2, 4, 4)
    yield well(rng, 1, 1)
    yield well(rng, 3, 3).T


def rectangles(rng):
    yield from squares(rng)
    yield well(rng, 4, 3)
    yield well(rng, 2, 3, 5)


@samples("inv", "det", "slogdet", "eigvalsh")
def _(rng):
    for x in squares(rng):
        yield Sample((x,), dtypes=DOUBLE, tol=20)


@samples("cofactor")
def _(rng):
    for x in squares(rng):
        yield Sample((x,), dtypes=DOUBLE, tol=50)
    yield Sample((np.outer(np.arange(1.0, 4), np.ones(3)),), dtypes=DOUBLE, grad=False, tol=50)


@samples("cofactor_slope")
def _(rng):
    for x in squares(rng):
        yield Sample((rng.standard_normal(x.shape), x), dtypes=DOUBLE, tol=50)
    yield Sample((rng.standard_normal((3, 3)), np.outer(np.arange(1.0, 4), np.ones(3))), dtypes=DOUBLE, grad=False, tol=50)


@samples("eigh")
def _(rng):
    for x in squares(rng):
        yield Sample((x,), dtypes=DOUBLE, tol=20)


@samples("cholesky")
def _(rng):
    for x in squares(rng):
        yield Sample((x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1]),), dtypes=DOUBLE, tol=20)


@samples("solve")
def _(rng):
    for x in squares(rng):
        yield Sample((x, rng.standard_normal((*x.shape[:-1], 2))), dtypes=DOUBLE, tol=20)


@samples("pinv")
def _(rng):
    for x in rectangles(rng):
        yield Sample((x,), {"rcond": 1e-10}, dtypes=DOUBLE, tol=20)
    yield Sample((np.zeros((3, 0)),), {"rcond": 1e-10}, dtypes=DOUBLE)


@samples("pinv_above")
def _(rng):
    for x in rectangles(rng):
        bound = np.asarray(np.linalg.svd(x, compute_uv=False).min(-1, initial=9.0) * 0.5)
        yield Sample((x, bound, np.zeros_like(bound)), dtypes=DOUBLE, tol=20)
    for bounds in ((1.0, 0.0), (0.0, 0.3)):
        yield Sample((np.diag([3.0, 2.0, 0.5]), *map(np.array, bounds)), grad=False, dtypes=DOUBLE, tol=20)
    yield Sample((np.zeros((2, 3, 0)), np.zeros(2), np.zeros(2)), dtypes=DOUBLE)


@samples("lstsq")
def _(rng):
    for x in rectangles(rng):
        yield Sample((x, rng.standard_normal((*x.shape[:-1], 2))), {"rcond": 1e-10}, dtypes=DOUBLE, tol=50)
    yield Sample((np.ones((4, 3)), np.eye(4, 2)), {"rcond": 1e-3}, grad=False, dtypes=DOUBLE, tol=50)
    yield Sample((np.zeros((3, 0)), np.ones((3, 2))), {"rcond": 1e-10}, dtypes=DOUBLE)


@samples("svdvals")
def _(rng):
    for x in rectangles(rng):
        yield Sample((x,), dtypes=DOUBLE, tol=20)


@samples("svd")
def _(rng):
    for x in rectangles(rng):
        yield Sample((x,), {"full": False}, dtypes=DOUBLE, tol=50)
    yield Sample((well(rng, 4, 3),), {"full": True}, dtypes=DOUBLE, grad=False, tol=50)


@samples("qr")
def _(rng):
    for x in rectangles(rng):
        yield Sample((x,), {"complete": False}, dtypes=DOUBLE, tol=50)
    yield Sample((well(rng, 4, 3),), {"complete": True}, dtypes=DOUBLE, grad=False, tol=50)


@samples("eig", "eigvals")
def _(rng):
    for x in squares(rng):
        yield Sample((x,), dtypes=DOUBLE, tol=20)


@samples("matrix_sqrth")
def _(rng):
    for x in squares(rng):
        yield Sample((x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1]),), dtypes=DOUBLE, tol=20)
    yield Sample((2 * np.eye(3),), dtypes=DOUBLE, tol=20)


@samples("sylvester")
def _(rng):
    for x in squares(rng):
        yield Sample((x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1]), rng.standard_normal(x.shape)), dtypes=DOUBLE, tol=20)


@samples("polar")
def _(rng):
    for x in rectangles(rng):
        if x.shape[-2] >= x.shape[-1]:
            yield Sample((x,), dtypes=DOUBLE, tol=20)
    yield Sample((2 * np.eye(4, 3),), dtypes=DOUBLE, tol=20)


@samples("solve_triangular")
def _(rng):
    for x in squares(rng):
        for upper in (False, True):
            for unit in (False, True):
                b = rng.standard_normal((*x.shape[:-1], 2))
                yield Sample((x, b), {"upper": upper, "unit": unit}, dtypes=DOUBLE, tol=20)
    yield Sample((np.tril(rng.standard_normal((70, 70)) * 0.1) + np.eye(70), rng.standard_normal((70, 3))),
                 {"upper": False, "unit": False}, dtypes=DOUBLE, tol=50)


@samples("cholesky_solve")
def _(rng):
    for x in squares(rng):
        factor = np.tril(x) + 2 * np.eye(x.shape[-1])
        yield Sample((factor, rng.standard_normal((*x.shape[:-1], 2))), dtypes=DOUBLE, tol=20)
    large = np.tril(rng.standard_normal((70, 70)) * 0.1) + np.eye(70)
    yield Sample((large, rng.standard_normal((70, 3))), dtypes=DOUBLE, tol=50)


@samples("lu_factor")
def _(rng):
    for x in rectangles(rng):
        yield Sample((x,), {"pivot": True, "check": False}, dtypes=DOUBLE, tol=20)
    rows = np.roll(rng.standard_normal((70, 75)) + 9 * np.eye(70, 75), 1, 0)        # each is exchanged; none loses much
    yield Sample((rows,), {"pivot": True, "check": True}, grad=False, dtypes=DOUBLE, tol=50)
    yield Sample((np.zeros((2, 3, 3)),), {"pivot": True, "check": False}, grad=False, dtypes=DOUBLE)


@samples("permutation")
def _(rng):
    yield Sample((np.array([3, 2, 3], np.int32), np.zeros(())), {"rows": 3})
    yield Sample((np.array([[4, 2], [1, 3]], np.int32), np.zeros(())), {"rows": 4})


def symmetric(rng):
    for x in squares(rng):
        yield x + np.swapaxes(x, -1, -2) - 4 * np.eye(x.shape[-1])
    yield np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])


@samples("ldl_factor")
def _(rng):
    for x in symmetric(rng):
        yield Sample((x,), {"hermitian": False, "check": True}, dtypes=DOUBLE, tol=20)


@samples("ldl_solve")
def _(rng):
    yield Sample((np.tril(rng.standard_normal((2, 3, 3))) + 2 * np.eye(3), np.array([[1, 3, 3], [-2, -2, 3]], np.int32),
                  rng.standard_normal((2, 3, 2))), {"hermitian": False}, dtypes=DOUBLE, tol=20)


@samples("geqrf")
def _(rng):
    for x in rectangles(rng):
        yield Sample((x,), dtypes=DOUBLE, tol=20)
    yield Sample((np.zeros((3, 0)),), dtypes=DOUBLE)


@samples("inv_ex")
def _(rng):
    for x in squares(rng):
        yield Sample((x,), {"check": False}, dtypes=DOUBLE, tol=20)
    yield Sample((np.stack([np.ones((2, 2)), np.eye(2)]),), {"check": False}, grad=False, dtypes=DOUBLE)


@samples("cholesky_ex")
def _(rng):
    for x in squares(rng):
        yield Sample((x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1]),), {"check": False}, dtypes=DOUBLE, tol=20)
    yield Sample((np.stack([np.diag([1.0, 4, -1]), np.eye(3)]),), {"check": False}, grad=False, dtypes=DOUBLE)


@samples("solve_ex")
def _(rng):
    for x in squares(rng):
        yield Sample((x, rng.standard_normal((*x.shape[:-1], 2))), {"check": False}, dtypes=DOUBLE, tol=20)
    yield Sample((np.stack([np.ones((2, 2)), np.eye(2)]), np.ones((2, 2, 1))), {"check": False}, grad=False, dtypes=DOUBLE)


@samples("cross")
def _cross(rng):
    for shape, dim in (((3,), 0), ((4, 3), 1), ((3, 4), 0), ((2, 3, 5), 1), ((0, 3), 1)):
        yield Sample((np.asarray(rng.standard_normal(shape)), np.asarray(rng.standard_normal(shape))), {"dim": dim}, tol=10)
