"""Factorisations of `ingot.linalg` beyond NumPy's: LU, LDL, general eigenvalues, Householder reflections, and `*_ex`.

All take batches of float32, float64, complex64 and complex128.
"""

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, ShapeError
from ...ir.opdef.aval import broadcast_shapes
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.shape import expand, full, iota, reshape, slice_
from ...ir.ops.linalg import checked_factorizations, eigen, symmetric_indefinite
from ...ir.ops.linalg import factorizations as fa
from ...ir.ops.linalg import products as la
from ...ir.ops.linalg import triangular as tri
from ...ir.ops.linalg.matrix_rules import check_matrix
from ...ir.ops.linalg.products import transpose_last
from ..api.register import return_types
from ..api.register.register import deliver
from ..api.register.type_promotion import single_in_autocast
from ..autograd.missing_rules import without_rule

__all__ = ["cholesky_ex", "eig", "eigvals", "geqrf", "householder_product", "inv_ex", "ldl_factor", "ldl_factor_ex",
           "ldl_solve", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "lu_unpack", "matrix_sqrth", "ormqr", "polar",
           "solve_ex"]

# Eigenvalues, roots.


@single_in_autocast
def eig(A, *, out=None) -> return_types.eig:
    """Return eigenvalues and eigenvectors of length 1 of square matrices, complex and in no order."""
    return return_types.deliver_all(return_types.eig, eigen.eig(A), out)


@single_in_autocast
def eigvals(A, *, out=None):
    """Return eigenvalues of square matrices, complex and in no order."""
    return deliver(eigen.eigvals(A), out, "eigvals")


@single_in_autocast
def matrix_sqrth(A):
    """Return the symmetric (Hermitian) positive root of symmetric positive matrices; other matrices are symmetrised."""
    return eigen.matrix_sqrth(A)


@single_in_autocast
def polar(A, *, out=None) -> return_types.polar:
    """Return U with orthonormal columns and H, symmetric and not negative, with U @ H = A."""
    return return_types.deliver_all(return_types.polar, eigen.polar(A), out)


# LU.


def _require_pivot(name, pivot):
    if not pivot:
        raise ArgumentError(f"{name} without pivoting is not there on CPUs; leave pivot=True")


@single_in_autocast
def lu_factor(A, *, pivot=True, out=None) -> return_types.lu_factor:
    """Return L (below the diagonal) and U in one matrix, and the exchanged rows, from 1; raise if U has a zero."""
    _require_pivot("lu_factor", pivot)
    return return_types.deliver_all(return_types.lu_factor, tri.lu_factor(A, pivot=True, check=True)[:2], out)


@single_in_autocast
def lu_factor_ex(A, *, pivot=True, check_errors=False, out=None) -> return_types.lu_factor_ex:
    """Return lu_factor's result, and the position of U's first zero, from 1, or 0."""
    _require_pivot("lu_factor_ex", pivot)
    return return_types.deliver_all(return_types.lu_factor_ex, tri.lu_factor(A, pivot=True, check=check_errors), out)


@single_in_autocast
def lu(A, *, pivot=True, out=None) -> return_types.lu:
    """Return a permutation P, L with ones on its diagonal, and U with P @ L @ U = A."""
    _require_pivot("lu", pivot)
    packed, pivots, _ = tri.lu_factor(A, pivot=True, check=False)
    return return_types.deliver_all(return_types.lu, lu_unpack(packed, pivots), out)


def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True, *, out=None) -> return_types.lu_unpack:
    """Return P, L and U of lu_factor's result; parts not requested are empty."""
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    kind = LU_data.dtype
    p = lower = upper = full(LU_data, shape=(0,), value=0.0, dtype=kind)
    if unpack_pivots:
        if LU_pivots.dtype is not dt.int32:
            raise ArgumentError(f"lu_unpack takes int32 pivots from lu_factor, got {LU_pivots.dtype.name}")
        p = tri.permutation(LU_pivots, full(LU_data, shape=(), value=0.0, dtype=kind), rows=m)
    if unpack_data:
        lower = _unit_lower(slice_(LU_data, dim=LU_data.ndim - 1, start=0, stop=k, step=1))
        upper = tri.triangle(slice_(LU_data, dim=LU_data.ndim - 2, start=0, stop=k, step=1), True)
    return return_types.deliver_all(return_types.lu_unpack, (p, lower, upper), out)


def _on_diagonal(x):
    rows, cols = (iota(x, shape=tuple(x.shape), dim=x.ndim - k, dtype=dt.int64) for k in (2, 1))
    return ew.eq(rows, cols)


def _unit_lower(x):
    """Return the part below the diagonal, with ones on it."""
    return ew.where(_on_diagonal(x), 1.0, fa.lower(x, -1))


@single_in_autocast
def lu_solve(LU, pivots, B, *, left=True, adjoint=False, out=None):
    """Return X with A @ X = B (or X @ A = B if not left) from lu_factor's result for A; with adjoint, for A's adjoint."""
    if not left:
        result = fa.adjoint(lu_solve(LU, pivots, fa.adjoint(B), adjoint=not adjoint))
        return deliver(result, out, "lu_solve")
    fa.check_matrix("lu_solve", LU.aval)
    if B.ndim < 2 or B.shape[-2] != LU.shape[-1] or pivots.shape != LU.shape[:-1]:
        raise ShapeError(f"lu_solve takes factors, their pivots and right-hand sides with as many rows, got {LU.aval}, "
                         f"{pivots.aval} and {B.aval}")
    LU, B, P = batched(LU, B, reshape(pivots, shape=(*pivots.shape, 1)))
    result = tri.solve_lu(LU, reshape(P, shape=tuple(P.shape[:-1])), B, bool(adjoint))
    return deliver(result, out, "lu_solve")


# LDL.


@single_in_autocast
def ldl_factor(A, *, hermitian=False, out=None) -> return_types.ldl_factor:
    """Return L and D of a symmetric (or Hermitian) matrix in one, and exchanged rows, like LAPACK's sytrf. No gradient."""
    found = without_rule("ldl_factor", symmetric_indefinite.ldl_factor(A, hermitian=bool(hermitian), check=True), A)
    return return_types.deliver_all(return_types.ldl_factor, found[:2], out)


@single_in_autocast
def ldl_factor_ex(A, *, hermitian=False, check_errors=False, out=None) -> return_types.ldl_factor_ex:
    """Return ldl_factor's result, and the position of D's first zero, from 1, or 0."""
    found = without_rule("ldl_factor", symmetric_indefinite.ldl_factor(A, hermitian=bool(hermitian), check=bool(check_errors)),
                         A)
    return return_types.deliver_all(return_types.ldl_factor_ex, found, out)


@single_in_autocast
def ldl_solve(LD, pivots, B, *, hermitian=False, out=None):
    """Return X with A @ X = B from ldl_factor's result for A."""
    LD, B, P = batched(LD, B, reshape(pivots, shape=(*pivots.shape, 1)))
    result = symmetric_indefinite.ldl_solve(LD, reshape(P, shape=tuple(P.shape[:-1])), B, hermitian=bool(hermitian))
    return deliver(without_rule("ldl_solve", result, LD, B), out, "ldl_solve")


# Variants that report failures.


@single_in_autocast
def cholesky_ex(A, *, upper=False, check_errors=False, out=None) -> return_types.cholesky_ex:
    """Return the factor of `cholesky`, and the order of the first minor that is not positive, or 0."""
    factor, info = checked_factorizations.cholesky_ex(fa.adjoint(A) if upper else A, check=bool(check_errors))
    return return_types.deliver_all(return_types.cholesky_ex, (fa.adjoint(factor) if upper else factor, info), out)


@single_in_autocast
def solve_by_factor(L, B):
    """Return X with L @ L.mH @ X = B, from the lower triangle of L. All of L gets a gradient, that of L @ L.mH."""
    check_matrix("cholesky_solve", L.aval)
    return fa.cholesky_solve(*batched(L, B))


@single_in_autocast
def inv_ex(A, *, check_errors=False, out=None) -> return_types.inv_ex:
    """Return the inverse, and the position of the zero pivot of a singular matrix, from 1, or 0."""
    return return_types.deliver_all(return_types.inv_ex, checked_factorizations.inv_ex(A, check=bool(check_errors)), out)


@single_in_autocast
def solve_ex(A, B, *, left=True, check_errors=False, out=None) -> return_types.solve_ex:
    """Return X with A @ X = B (or X @ A = B), and the position of the zero pivot of a singular matrix, from 1, or 0."""
    if not left:
        x, info = solve_ex(*transposed_system("solve_ex", A, B), check_errors=check_errors)
        return return_types.deliver_all(return_types.solve_ex, (la.transpose_last(x), info), out)
    vector = is_vector(A, B)
    b = reshape(B, shape=(*B.shape, 1)) if vector else B
    fa.check_matrix("solve_ex", A.aval)
    x, info = checked_factorizations.solve_ex(*batched(A, b), check=bool(check_errors))
    return return_types.deliver_all(return_types.solve_ex, (reshape(x, shape=tuple(x.shape[:-1])) if vector else x, info), out)


# Householder reflections: H1 H2 ... = I - V T V', T^-1 = 1 / tau on the diagonal and V' V above it.


@single_in_autocast
def geqrf(input, *, out=None) -> return_types.geqrf:
    """Return QR like LAPACK's geqrf: R, below it the vectors of Householder reflections, and their factors. No gradient."""
    return return_types.deliver_all(return_types.geqrf, without_rule("geqrf", symmetric_indefinite.geqrf(input), input), out)


def _reflections(name, A, tau):
    """Return V and T of a product of reflections."""
    fa.check_matrix(name, A.aval, square=False)
    k = tau.shape[-1] if tau.ndim else -1
    if A.dtype is not tau.dtype or tau.shape[:-1] != A.shape[:-2] or not 0 <= k <= A.shape[-1]:
        raise ShapeError(f"{name} takes vectors in the columns of a matrix and a factor for each, got {A.aval} and {tau.aval}")
    v = _unit_lower(slice_(A, dim=A.ndim - 1, start=0, stop=k, step=1))
    scale = fa.diag(tau)
    above = tri.triangle(la.matmul(fa.adjoint(v), v), True, 1)
    return v, tri.solve_triangular(la.matmul(scale, above), scale, upper=True, unit=True)


@single_in_autocast
def householder_product(A, tau, *, out=None):
    """Return the first columns of the product of Householder reflections in geqrf's form."""
    check_matrix("householder_product", A.aval, square=False)
    m, n = A.shape[-2:]
    if m < n:
        raise ShapeError(f"householder_product takes matrices with at least as many rows as columns, got {A.aval}")
    v, t = _reflections("householder_product", A, tau)
    identity = ew.cast(_on_diagonal(A), dtype=A.dtype)
    columns = slice_(fa.adjoint(v), dim=A.ndim - 1, start=0, stop=n, step=1)
    return deliver(ew.sub(identity, la.matmul(v, la.matmul(t, columns))), out, "householder_product")


@single_in_autocast
def ormqr(input, tau, other, left=True, transpose=False, *, out=None):
    """Multiply Q (its adjoint with `transpose`), given by Householder reflections, by a matrix, or the matrix by Q."""
    if not left:
        product = ormqr(input, tau, fa.adjoint(other), True, not transpose)
        return deliver(fa.adjoint(product), out, "ormqr")
    v, t = _reflections("ormqr", input, tau)
    if other.ndim != input.ndim or other.shape[-2] != input.shape[-2]:
        raise ShapeError(f"ormqr takes a matrix with as many rows as the reflections have, got {input.aval} and {other.aval}")
    inner = la.matmul(fa.adjoint(t) if transpose else t, la.matmul(fa.adjoint(v), other))
    return deliver(ew.sub(other, la.matmul(v, inner)), out, "ormqr")


def batched(*xs):
    """Expand matrices to one batch shape."""
    batch = broadcast_shapes(*(x.shape[:-2] for x in xs))
    return [x if x.shape[:-2] == batch else expand(x, shape=batch + tuple(x.shape[-2:])) for x in xs]


def transposed_system(name, A, B):
    """Return A and B of X @ A = B, transposed to the form A @ X = B."""
    if is_vector(A, B):
        raise ShapeError(f"{name}(left=False) takes matrices with as many columns as A, got {A.aval} and {B.aval}")
    return transpose_last(A), transpose_last(B)


def is_vector(A, B):
    """Return whether B is one vector for each matrix of A."""
    return B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
