"""Products of matrices, factorisations, solutions, distances between rows."""

import numpy as np
import torch

from ..families import rounded
from ..row import Leaf, Name
from . import case, cases, formula, into_row, like_torch, pulled
from .elementwise import INF, as_dtype, complexes

linalg = torch.linalg
like_torch("matmul", "dot", "mv", "linear", "inv", "det", "slogdet", "eigvalsh", "eigh", "svdvals", "eigvals")
formula("solve")(linalg.solve)
formula("cholesky")(lambda x: linalg.cholesky((x + x.mH) / 2))      # PyTorch's raw gradient: rows of the family structured
formula("eig")(lambda x: tuple(linalg.eig(x)))


@cases("matmul")
def matmul(name, rng):
    for label, first, second in (("matrices", (3, 4), (4, 5)), ("batch", (2, 3, 4), (2, 4, 2)),
                                 ("two dims of batch", (2, 1, 3, 2), (2, 1, 2, 5)),
                                 ("one column", (4, 3), (3, 1))):
        yield case(label, Leaf(rounded(rng, *first)), Leaf(rounded(rng, *second)))
    yield case("turned", Leaf(rounded(rng, 4, 3)), Leaf(rounded(rng, 5, 4)), options={"turned": [0, 1]})
    yield case("complex", Leaf(complexes(rng, 2, 3)), Leaf(complexes(rng, 3, 2)))
    yield into_row("values", [case("", rng.integers(-5, 5, (3, 4)), rng.integers(-5, 5, (4, 2))),
                              case("", np.zeros((3, 0)), np.zeros((0, 2))),
                              case("", rounded(rng, 3, 7).astype(as_dtype("bfloat16")),
                                   rounded(rng, 7, 2).astype(as_dtype("bfloat16")))])


@cases("dot", "mv")
def vectors(name, rng):
    for label, n in (("few", 5), ("more", 40)):
        yield case(label, Leaf(rounded(rng, *((n,) if name == "dot" else (3, n)))), Leaf(rounded(rng, n)))
    yield case("float32", Leaf(rounded(rng, *((7,) if name == "dot" else (7, 2))[::-1], dtype="float32")),
               Leaf(rounded(rng, 7, dtype="float32")))
    yield case("whole", rng.integers(-5, 5, (6,) if name == "dot" else (2, 6)), rng.integers(-5, 5, 6))


@cases("linear")
def linear(name, rng):
    for label, shape, outs, bias in (("vector", (3,), 2, True), ("rows", (2, 3), 4, False), ("batch", (2, 3, 5), 2, True),
                                     ("one output", (4, 3), 1, False)):
        yield case(label, Leaf(rounded(rng, *shape)), Leaf(rounded(rng, outs, shape[-1])), Leaf(rounded(rng, outs))
                   if bias else None)
    yield case("turned", Leaf(rounded(rng, 3, 4)), Leaf(rounded(rng, 3, 2)), None, options={"turned": [0, 1]})


formula("cross")(lambda x, y, *, dim: linalg.cross(x, y, dim=dim))


@cases("cross")
def cross(name, rng):
    for i, (shape, dim) in enumerate((((3,), 0), ((4, 3), 1), ((3, 5), 0), ((2, 3, 4), 1))):
        yield case(f"shape {i + 1}", Leaf(rounded(rng, *shape)), Leaf(rounded(rng, *shape)), dim=dim)


@formula("grouped_matmul")
def grouped_matmul(x, y, ends):
    """The product of each group, zeros behind the last one."""
    starts = [0, *ends.tolist()[:-1]]
    groups = list(zip(starts, ends.tolist()))
    if y.ndim == 3:
        parts = [x[a:b] @ y[g] for g, (a, b) in enumerate(groups)]
        return torch.cat([*parts, x.new_zeros(x.shape[0] - groups[-1][1], y.shape[2])])
    if x.ndim == 3:
        parts = [x[g] @ y[:, a:b] for g, (a, b) in enumerate(groups)]
        return torch.cat([*parts, x.new_zeros(x.shape[1], y.shape[1] - groups[-1][1])], 1)
    return torch.stack([x[:, a:b] @ y[a:b] for a, b in groups])


@cases("grouped_matmul")
def grouped(name, rng):
    yield case("rows", Leaf(rounded(rng, 6, 4)), Leaf(rounded(rng, 3, 4, 2)), np.array([2, 2, 5], np.int32))
    yield case("columns", Leaf(rounded(rng, 2, 3, 4)), Leaf(rounded(rng, 4, 7)), np.array([3, 6], np.int32))
    yield case("both", Leaf(rounded(rng, 4, 6)), Leaf(rounded(rng, 6, 3)), np.array([1, 4, 6]))


# Floats of 8 bits.

formula("matmul8")(lambda x, y, *, fast: x.float() @ y.float())


@formula("scaled_mm")
def scaled_mm(x, y, scale_x, scale_y, bias, scale_out, *, dtype, fast):
    """The product of what the floats stand for."""
    out = (x.float() @ y.float()) * scale_x * scale_y
    out = out if bias is None else out + bias
    return (out if scale_out is None else out * scale_out).to(dtype)


@cases("matmul8", "scaled_mm")
def scaled(name, rng):
    e4, e5 = as_dtype("float8_e4m3fn"), as_dtype("float8_e5m2")

    def scale(*shape):
        return rounded(rng, *shape, low=0.5, high=2, dtype="float32")

    def as_e4(*shape):
        return rounded(rng, *shape).astype(np.float32).astype(e4)

    if name == "matmul8":
        yield case("alike", as_e4(5, 7), as_e4(3, 7), fast=False, options={"turned": [1]})
        yield case("mixed", as_e4(2, 4).astype(e5), as_e4(6, 4), fast=True, options={"turned": [1]})
        return
    yield case("numbers", as_e4(5, 7), as_e4(3, 7), scale(1, 1), scale(1, 1), None, None, dtype=Name("float32"), fast=False,
               options={"turned": [1]})
    yield case("rows and columns", as_e4(4, 6).astype(e5), as_e4(2, 6), scale(4, 1), scale(1, 2), scale(1, 2), None,
               dtype=Name("bfloat16"), fast=True,
               options={"turned": [1]})
    yield case("result of 8 bits", as_e4(3, 5), as_e4(6, 5), scale(3, 1), scale(1, 1), None, scale(1, 1) / 8,
               dtype=Name("float8_e4m3fn"), fast=False,
               options={"turned": [1]})


# Matrices that can be inverted and factored, their singular values apart.


def well(rng, *shape):
    """Return matrices near diagonal ones with 1, 2, 3, ..."""
    m, n = shape[-2:]
    return rounded(rng, *shape, low=-0.5, high=0.5) + np.eye(m, n) * np.arange(1, n + 1)


def positive(rng, *shape):
    """Return symmetric positive matrices with eigenvalues apart."""
    x = well(rng, *shape)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


def hermitian(rng, n):
    """Return a complex Hermitian positive matrix."""
    x = complexes(rng, n, n) * 0.25 + np.diag(np.arange(1.0, n + 1))
    return x @ x.conj().T + np.eye(n)


SQUARES = (("three", (3, 3)), ("batch", (2, 4, 4)))


@cases("inv", "det", "slogdet")
def of_squares(name, rng):
    for label, shape in SQUARES:
        yield case(label, Leaf(well(rng, *shape)))
    yield case("turned", Leaf(well(rng, 2, 2)), options={"turned": [0]})
    yield case("complex", Leaf(complexes(rng, 3, 3) + 2 * np.eye(3)))
    yield case("single", Leaf(well(rng, 3, 3).astype(np.float32)))


@cases("eigvalsh", "eigh", "cholesky")
def of_symmetric(name, rng):
    for label, shape in SQUARES:
        yield case(label, Leaf(positive(rng, *shape)))
    yield case("complex", Leaf(hermitian(rng, 3)))


@cases("solve")
def solve(name, rng):
    for label, shape in SQUARES:
        yield case(label, Leaf(well(rng, *shape)), Leaf(rounded(rng, *shape[:-1], 2)))
    yield case("complex", Leaf(complexes(rng, 2, 2) + 2 * np.eye(2)), Leaf(complexes(rng, 2, 3)))


formula("pinv")(lambda x, *, rcond: linalg.pinv(x, rtol=rcond))
formula("pinv_above")(lambda x, atol, rtol: linalg.pinv(x, atol=atol, rtol=rtol))
RECTANGLES = (("high", (4, 3)), ("wide", (2, 3, 5)), ("square", (3, 3)))


@cases("pinv", "pinv_above")
def pseudo(name, rng):
    for label, shape in RECTANGLES:
        x = well(rng, *shape)
        if name == "pinv":
            yield case(label, Leaf(x), rcond=1e-10)
        else:
            yield case(label, Leaf(x), np.full(shape[:-2], 0.125), np.full(shape[:-2], 1e-3))
    cut = np.diag([3.0, 2.0, 0.5])
    if name == "pinv":
        yield case("cut", cut, rcond=0.25)
    else:
        yield into_row("cut", [case("", cut, np.array(a), np.array(b)) for a, b in ((1.0, 0.0), (0.0, 0.25), (0.5, 0.1))])


formula("lstsq")(lambda a, b, *, rcond: tuple(linalg.lstsq(a, b, rcond, driver="gelsd"))[::2])


@cases("lstsq")
def lstsq(name, rng):
    for label, shape in RECTANGLES:
        yield case(label, Leaf(well(rng, *shape)), Leaf(rounded(rng, *shape[:-1], 2)), rcond=1e-10)
    yield case("cut", np.diag([3.0, 2.0, 0.5]), rounded(rng, 3, 1), rcond=0.25)


formula("svd")(lambda x, *, full: tuple(linalg.svd(x, full_matrices=full)))
formula("qr")(lambda x, *, complete: tuple(linalg.qr(x, "complete" if complete else "reduced")))
formula("geqrf")(lambda x: tuple(torch.geqrf(x)))


@cases("svd", "svdvals", "qr", "geqrf")
def of_rectangles(name, rng):
    for label, shape in RECTANGLES:
        x = well(rng, *shape)
        yield case(label, x if name == "geqrf" else Leaf(x),
                   **{"svd": {"full": False}, "qr": {"complete": False}}.get(name, {}))
    if name in ("svd", "qr"):
        for label, shape in (("all of high", (4, 3)), ("all of wide", (2, 4))):
            x = well(rng, *shape)
            yield case(label, Leaf(x) if name == "qr" and shape == (2, 4) else x,
                       **({"full": True} if name == "svd" else {"complete": True}))
    x = complexes(rng, 3, 2) + np.eye(3, 2)
    yield case("complex", x if name == "geqrf" else Leaf(x),
               **{"svd": {"full": False}, "qr": {"complete": False}}.get(name, {}))


@cases("eig", "eigvals")
def of_any(name, rng):
    for label, shape in SQUARES:
        yield case(label, Leaf(well(rng, *shape)))
    yield case("turning", Leaf(np.array([[0.5, -1.25], [1.0, 0.25]])))
    yield case("complex", Leaf(complexes(rng, 3, 3)))


# Cofactors: determinants of what is left without a row and a column.


@formula("cofactor")
def cofactor(x):
    """Each minor with its sign."""
    n = x.shape[-1]
    rest = [[k for k in range(n) if k != i] for i in range(n)]
    return torch.stack([torch.stack([(-1) ** (i + j) * linalg.det(x[..., rest[i], :][..., rest[j]]) for j in range(n)], -1)
                        for i in range(n)], -2)


formula("cofactor_slope")(lambda g, x: pulled(cofactor, [x], g)[0])


@cases("cofactor", "cofactor_slope")
def cofactors(name, rng):
    slope = name == "cofactor_slope"
    for label, shape in SQUARES if slope else (*SQUARES, ("two", (2, 2))):
        yield case(label, *([Leaf(rounded(rng, *shape))] if slope else []), Leaf(well(rng, *shape)))
    singular = np.array([[1.0, -0.5, 2.0], [2.0, 1.0, -1.0], [3.0, 0.5, 1.0]])
    yield case("singular", *([rounded(rng, 3, 3)] if slope else []), singular)


# Solutions that say where there is none.

formula("solve_ex")(lambda a, b, *, check: tuple(linalg.solve_ex(a, b, check_errors=check)))
formula("inv_ex")(lambda x, *, check: tuple(linalg.inv_ex(x, check_errors=check)))
formula("cholesky_ex")(lambda x, *, check: tuple(linalg.cholesky_ex(x, check_errors=check)))


@cases("solve_ex", "inv_ex", "cholesky_ex")
def checked(name, rng):
    for check, (label, shape) in enumerate(SQUARES):
        x = positive(rng, *shape) if name == "cholesky_ex" else well(rng, *shape)
        b = [Leaf(rounded(rng, *shape[:-1], 2))] if name == "solve_ex" else []
        yield case(label, Leaf(x), *b, check=bool(check))
    bad = np.stack([np.diag([1.0, 4, -1]), np.eye(3) * 2]) if name == "cholesky_ex" else np.stack([np.ones((2, 2)),
                                                                                                   np.eye(2) * 2])
    yield case("one of two has none", bad, *([np.ones((2, 2, 1))] if name == "solve_ex" else []), check=False,
               options={"only": [1]})


formula("solve_triangular")(lambda a, b, *, upper, unit: linalg.solve_triangular(a, b, upper=upper, unitriangular=unit))


@cases("solve_triangular")
def triangular(name, rng):
    for upper in (False, True):
        for unit in (False, True):
            (label, shape) = SQUARES[upper != unit]
            yield case(f"{label} {upper} {unit}", Leaf(well(rng, *shape)), Leaf(rounded(rng, *shape[:-1], 2)), upper=upper,
                       unit=unit)


formula("cholesky_solve")(lambda factor, b: torch.cholesky_solve(b, factor))


@cases("cholesky_solve")
def by_factor(name, rng):
    """Factors with numbers above the diagonal as well, which the gradient reads."""
    for label, shape in SQUARES:
        yield case(label, Leaf(well(rng, *shape)), Leaf(rounded(rng, *shape[:-1], 2)))
    yield case("complex", Leaf(complexes(rng, 3, 3) + 4 * np.eye(3)), Leaf(complexes(rng, 3, 2)))


@formula("lu_factor")
def lu_factor(x, *, pivot, check):
    """PyTorch's factors; without exchanges, which it has not on CPUs, elimination."""
    if pivot:
        return tuple(linalg.lu_factor_ex(x, check_errors=check))
    k = min(x.shape[-2:])
    lower = []
    for j in range(k):
        column = x[..., :, j:j + 1] / x[..., j:j + 1, j:j + 1]
        below = torch.arange(x.shape[-2]).unsqueeze(1) > j
        column = torch.where(below, column, 0.0)
        lower.append(column)
        x = torch.where(below, x - column * x[..., j:j + 1, :], x)
    full = torch.cat([*lower, x[..., :0].expand(*x.shape[:-1], 0)], -1)
    full = torch.nn.functional.pad(full, [0, x.shape[-1] - k])
    pivots = torch.arange(1, k + 1, dtype=torch.int32).expand(*x.shape[:-2], k)
    return x.triu() + full.tril(-1), pivots, torch.zeros(x.shape[:-2], dtype=torch.int32)


@cases("lu_factor")
def factors(name, rng):
    for i, (label, shape) in enumerate(RECTANGLES):
        x = rounded(rng, *shape) + np.roll(np.eye(*shape[-2:]), 1, -2) * 3
        yield case(label, Leaf(x), pivot=True, check=i == 1)
    yield case("without exchanges", Leaf(well(rng, 4, 3)), pivot=False, check=False)
    yield case("wide without exchanges", Leaf(well(rng, 2, 2, 4)), pivot=False, check=True)
    yield case("zeros", np.zeros((2, 3, 3)), pivot=True, check=False)


formula("permutation")(lambda pivots, like, *, rows:
                       torch.lu_unpack(like.new_zeros(*pivots.shape[:-1], rows, pivots.shape[-1]), pivots)[0])


@cases("permutation")
def permutation(name, rng):
    yield case("three", np.array([3, 2, 3], np.int32), np.zeros(()), rows=3)
    yield case("batch", np.array([[4, 2], [1, 3]], np.int32), np.zeros((), np.float32), rows=4)


formula("ldl_factor")(lambda x, *, hermitian, check: tuple(linalg.ldl_factor_ex(x, hermitian=hermitian, check_errors=check)))
formula("ldl_solve")(lambda factors, pivots, b, *, hermitian: linalg.ldl_solve(factors, pivots, b, hermitian=hermitian))


@cases("ldl_factor", "ldl_solve")
def indefinite(name, rng):
    x = rounded(rng, 2, 4, 4)
    x = x + np.swapaxes(x, -1, -2)
    zeros = np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])
    c = complexes(rng, 3, 3)
    rows = (("batch", x, False, True), ("zeros on the diagonal", zeros, False, False),
            ("Hermitian", c + c.conj().T, True, True),
            ("complex symmetric", c + c.T, False, False))
    for label, matrix, hermitian, check in rows:
        if name == "ldl_factor":
            yield case(label, matrix, hermitian=hermitian, check=check)
        else:
            packed, pivots = (t.numpy() for t in linalg.ldl_factor(torch.from_numpy(matrix), hermitian=hermitian))
            b = rounded(rng, *matrix.shape[:-1], 2) if matrix.dtype.kind == "f" else complexes(rng, *matrix.shape[:-1], 2)
            yield case(label, packed, pivots, b, hermitian=hermitian)


# Roots, polar factors.


def mirrored(x):
    return (x + x.mH) / 2


@formula("sylvester")
def sylvester(x, g):
    """x Y + Y x = g as one linear system."""
    x, n = mirrored(x), x.shape[-1]
    one = torch.eye(n, dtype=x.dtype).expand(x.shape)
    system = (torch.einsum("...ij,...kl->...ikjl", x, one) + torch.einsum("...ij,...lk->...ikjl", one,
                                                                          x)).reshape(*x.shape[:-2], n * n, n * n)
    return linalg.solve(system, g.reshape(*g.shape[:-2], n * n, 1)).reshape(g.shape)


@formula("matrix_sqrth")
def matrix_sqrth(x):
    """By eigenvalues."""
    w, v = linalg.eigh(mirrored(x))
    return (v * w.sqrt().unsqueeze(-2)) @ v.mH


@formula("polar")
def polar(x):
    """By singular values."""
    u, s, vh = linalg.svd(x, full_matrices=False)
    return u @ vh, (vh.mH * s.unsqueeze(-2)) @ vh


@cases("sylvester", "matrix_sqrth")
def roots(name, rng):
    for label, shape in SQUARES:
        yield case(label, Leaf(positive(rng, *shape)), *([Leaf(rounded(rng, *shape))] if name == "sylvester" else []))
    yield case("complex", Leaf(hermitian(rng, 2)), *([Leaf(complexes(rng, 2, 2))] if name == "sylvester" else []))


@cases("polar")
def polars(name, rng):
    for label, shape in (("three", (3, 3)), ("high", (2, 4, 3)), ("column", (3, 1))):
        yield case(label, Leaf(well(rng, *shape)))
    yield case("complex", Leaf(complexes(rng, 3, 2) + 2 * np.eye(3, 2)))


# Distances.

formula("distances")(lambda x, y, *, ord: torch.cdist(x, y.mT.contiguous(), ord, compute_mode="donot_use_mm_for_euclid_dist"))
formula("euclidean_distances")(lambda x, y: linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), 2, -1))
formula("pair_distances")(lambda x, pairs, *, ord: torch.nn.functional.pdist(x, ord))


@formula("distances_grad")
def distances_grad(g, out, x, y, *, ord):
    """The sum over columns of what a distance says to a row: g sign (|gap| / distance)^(order - 1)."""
    gap = x.unsqueeze(-1) - y.unsqueeze(-3)
    g, out = g.unsqueeze(-2), out.unsqueeze(-2)
    if ord == INF:
        hit = gap.abs() == out
        return (g * gap.sign() * hit / hit.sum(-2, keepdim=True)).sum(-1)
    near = (gap == 0) | (out == 0)
    slope = (torch.where(near, 1.0, gap.abs()) / torch.where(out == 0, 1.0, out)) ** (ord - 1)
    return (g * torch.where(near, 0.0, gap.sign() * slope)).sum(-1)


@cases("distances")
def distances(name, rng):
    for ord, (lead, m, n, k) in zip((2.0, 1.0, 3.0, INF, 0.5),
                                    (((), 3, 4, 2), ((2,), 1, 3, 5), ((), 2, 5, 3), ((), 4, 2, 3), ((2,), 3, 2, 4))):
        yield case(f"order {ord}", Leaf(rounded(rng, *lead, m, k)), Leaf(rounded(rng, *lead, k, n)), ord=ord)
    yield case("order 0", np.array([[1.0, 2, 3], [0, 2, 5]]), np.array([[1.0, 2, 4], [0, 2, 5]]).T.copy(), ord=0.0)
    x = np.array([[1.0, 2], [3, 4]])
    yield case("at zero", Leaf(x), Leaf(np.array([[1.0, 3, 0], [2, 5, 0]])), ord=2.0)


@cases("distances_grad")
def distance_gradients(name, rng):
    for ord, (lead, m, n, k) in zip((2.0, 3.0, 2.5, 1.0), (((), 3, 4, 2), ((2,), 1, 3, 5), ((), 2, 5, 3), ((), 3, 2, 4))):
        x, y = rounded(rng, *lead, m, k), rounded(rng, *lead, k, n) + 1 / 128
        far = (np.abs(x[..., :, :, None] - y[..., None, :, :]) ** ord).sum(-2) ** (1 / ord)
        leaf = (lambda a: a) if ord == 1 else Leaf
        yield case(f"order {ord}", Leaf(rounded(rng, *far.shape)), leaf(far), leaf(x), leaf(y), ord=ord)
    x, y = np.array([[1.0, 2], [3, 5]]), np.array([[1.0, 0, 4], [2, 0.5, 3]])
    far = np.abs(x[:, :, None] - y[None]).max(1)
    yield case("order inf", rounded(rng, 2, 3), far, x, y, ord=INF)
    yield case("at zero", rounded(rng, 2, 3), np.sqrt(((x[:, :, None] - y[None]) ** 2).sum(1)), x, y, ord=2.0)


@cases("pair_distances")
def pair_distances(name, rng):
    for (n, k), ord in zip(((4, 3), (3, 5), (7, 2), (5, 4)), (2.0, 1.0, 3.0, INF)):
        yield case(f"order {ord}", Leaf(rounded(rng, n, k)), np.flatnonzero(np.triu(np.ones((n, n)), 1)), ord=ord)
    yield case("order 0", np.array([[1.0, 2, 3], [0, 2, 3], [1.0, 2, 3]]), np.array([1, 2, 5]), ord=0.0)


@cases("euclidean_distances")
def euclidean(name, rng):
    for label, lead, m, n, k in (("rows", (), 3, 4, 2), ("batch", (2,), 1, 3, 5), ("many", (), 9, 7, 6)):
        yield case(label, Leaf(rounded(rng, *lead, m, k)), Leaf(rounded(rng, *lead, n, k) + 3))
