"""Functions of triangular, symmetric, Hermitian, orthogonal and positive definite operands, with raw gradients of two orders.

Triangles that a function does not read hold other numbers in some rows, since gradients may read them.
"""

import numpy as np

from ..row import Build, Leaf, Row
from . import rounded

SHAPES = ((3, 3), (2, 3, 3))
DISTRIBUTIONS = "distributions."
ROOM = {"tolerance": 4e-9, "reason": "PyTorch's trigamma is good to 1e-9"}


def rows(torch, rng):
    """Yield the rows of this family."""
    for kind in ("float64", "complex128"):
        for shape in SHAPES:
            yield from of_one_dtype(Draws(rng, kind == "complex128", shape), f"{kind} {len(shape) - 2}")
    yield from distributions(rng)


class Draws:
    """Matrices of one dtype and batch."""

    def __init__(self, rng, is_complex, shape):
        self.rng, self.is_complex, self.shape = rng, is_complex, shape
        self.lead, self.n = shape[:-2], shape[-1]

    def plain(self, *shape):
        """Return numbers without structure, in a batch."""
        shape = (*self.lead, *shape)
        x = rounded(self.rng, *shape)
        return x + 1j * rounded(self.rng, *shape) if self.is_complex else x

    def invertible(self):
        """Return square matrices."""
        return self.plain(self.n, self.n) + 4 * np.eye(self.n)

    def positive(self, filled="", **_):
        """Return Hermitian positive matrices; `filled`: the triangle that other numbers take, "U" or "L"."""
        x = self.plain(self.n, self.n)
        x = x @ x.conj().swapaxes(-1, -2) + self.n * np.eye(self.n)
        other = self.plain(self.n, self.n)
        return {"U": np.tril(x) + np.triu(other, 1), "L": np.triu(x) + np.tril(other, -1)}.get(filled, x)

    def factor(self, upper, filled):
        """Return triangular matrices with real diagonals, or ones with numbers on the other side."""
        x = self.plain(self.n, self.n)
        at = np.arange(self.n)
        x[..., at, at] = np.abs(x[..., at, at].real) + 1
        return x if filled else (np.triu if upper else np.tril)(x)

    def beside(self, left):
        """Return right-hand sides."""
        return self.plain(self.n, 2) if left else self.plain(2, self.n)


def row(label, target, *args, after=None, first=False, **kwargs):
    """Return a row; arrays of floats are leaves."""
    options = ({"after": after} if after else {}) | ({"first": True} if first else {})
    leaves = tuple([Leaf(a) if isinstance(a, np.ndarray) and a.dtype.kind in "fc" else a for a in args])
    return Row(f"{target}/{label}", "second order", target, leaves, kwargs, options)


def of_one_dtype(draws, label):
    """Yield rows of one dtype and batch."""
    for upper in (False, True):
        for filled in (False, True):
            yield from of_a_triangle(draws, upper, filled, f"{label} upper {upper} filled {filled}")
    yield from of_rectangles(draws, label)
    yield from of_factors(draws, label)
    for name in ("det", "slogdet", "inv", "matrix_exp"):
        yield row(label, f"linalg.{name}", draws.invertible())
    yield row(label, "linalg.inv_ex", draws.invertible())
    yield row(label, "logdet", draws.positive())
    yield row(label, "linalg.eig", draws.invertible(), after="unordered values")
    yield row(label, "linalg.eigvals", draws.invertible(), after="unordered values")
    yield row(label, "linalg.matrix_power", draws.invertible(), -2)
    for filled in ("", "U"):
        yield row(f"{label} filled {filled}", "linalg.pinv", draws.positive(filled), hermitian=True)
    for left in (False, True):
        for name in ("solve", "solve_ex"):
            yield row(f"{label} left {left}", f"linalg.{name}", draws.invertible(), draws.beside(left), left=left)


def of_a_triangle(draws, upper, filled, label):
    """Yield rows of functions that read one triangle."""
    positive, side = draws.positive(("L" if upper else "U") if filled else ""), "U" if upper else "L"
    for name in ("linalg.cholesky", "linalg.cholesky_ex", "cholesky"):
        yield row(label, name, positive, upper=upper, after="parts of a factor")
    yield row(label, "linalg.eigh", positive, UPLO=side, after="turned vectors")
    yield row(label, "linalg.eigvalsh", positive, UPLO=side)
    factor = draws.factor(upper, filled)
    yield row(label, "cholesky_solve", draws.beside(True), factor, upper)
    yield row(label, "cholesky_inverse", factor, upper)
    if draws.lead:
        yield row(f"{label} one factor", "cholesky_solve", draws.beside(True), factor[0], upper)
    for unit in (False, True):
        for flag in (False, True):
            yield row(f"{label} unit {unit} left {flag}", "linalg.solve_triangular", factor, draws.beside(flag), upper=upper, left=flag, unitriangular=unit)
            yield row(f"{label} unit {unit} transpose {flag}", "triangular_solve", draws.beside(True), factor, upper, flag, unit)


def of_rectangles(draws, label):
    """Yield rows of factorisations of any matrix."""
    for columns in (2, 3, 4):
        name, x = f"{label} columns {columns}", draws.plain(3, columns)
        yield row(name, "linalg.svd", x, full_matrices=False, after="turned singular vectors")
        yield row(name, "linalg.svdvals", x)
        yield row(name, "linalg.qr", x)
        yield row(name, "linalg.lu", x)
        yield row(name, "linalg.lu_factor", x)
        yield row(name, "linalg.lu_factor_ex", x)
        yield row(name, "linalg.pinv", x)
        if columns < 4:
            yield row(name, "linalg.lstsq", x, draws.plain(3, 2), after="solution alone", first=True)
        for order in ("nuc", 2):
            yield row(f"{name} {order}", "linalg.matrix_norm", x, order)


def of_factors(draws, label):
    """Yield rows of functions that take packed factors."""
    pivots = np.broadcast_to(np.array([2, 3, 3], np.int32), (*draws.lead, 3)).copy()
    yield row(label, "lu_unpack", draws.invertible(), pivots)
    for left in (False, True):
        for flag in (False, True):
            yield row(f"{label} left {left} adjoint {flag}", "linalg.lu_solve", draws.invertible(), pivots, draws.beside(left), left=left, adjoint=flag)
            yield row(f"{label} left {left} transpose {flag}", "ormqr", draws.plain(3, 2), draws.plain(2), draws.plain(3, 3), left, flag)
    for columns in (2, 3):
        yield row(f"{label} {columns}", "linalg.householder_product", draws.plain(3, columns), draws.plain(2))


def distributions(rng):
    """Yield rows of distributions that take a covariance, its inverse or its factor."""
    for shape in SHAPES:
        draws = Draws(rng, False, shape)
        one = Draws(rng, False, (3, 3))
        for name in ("covariance_matrix", "precision_matrix", "scale_tril"):
            matrix = draws.factor(False, False) if name == "scale_tril" else draws.positive()
            for target, first, value in (("MultivariateNormal", rounded(rng, 3), rounded(rng, 3)), ("Wishart", np.array(5.0), one.positive())):
                made = Build(DISTRIBUTIONS + target, (Leaf(first),), {name: Leaf(matrix), "validate_args": False})
                yield Row(f"{target}/{name} {len(shape) - 2}", "second order", f"{DISTRIBUTIONS}{target}.log_prob", (made, Leaf(value)), **ROOM)
                yield Row(f"{target}/forms by {name} {len(shape) - 2}", "second order", DISTRIBUTIONS + target, (Leaf(first),),
                          {name: Leaf(matrix), "validate_args": False}, {"after": "forms of a covariance"}, **ROOM)
