"""`ingot.linalg`: norms, solvers and factorisations of matrices and batches, real and complex."""

import math

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, LinAlgError, ShapeError
from ...ir.opdef.aval import broadcast_shapes, canonical_dim, integers
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core import reduce as rd
from ...ir.ops.core.complex_numbers import magnitude
from ...ir.ops.core.shape import diagonal as _diagonal
from ...ir.ops.core.shape import expand, full, permute, reshape
from ...ir.ops.linalg import checked_factorizations, determinant
from ...ir.ops.linalg import factorizations as fa
from ...ir.ops.linalg import products as la
from ...ir.ops.linalg import triangular as tri
from ...ir.ops.linalg.matrix_rules import check_matrix
from ...ir.suggestions import unknown_choice
from ...ir.symbols.substitute import as_float
from ..api.math.einsum import multi_dot
from ..api.math.matrix_products import matmul
from ..api.math.reductions import averageable, holds_anywhere, vector_norm
from ..api.register import return_types
from ..api.register.register import FUNCTIONS, deliver, rename_all
from ..api.register.type_promotion import rounds_once, single_in_autocast, to_dtype
from ..core.tensor import Tensor
from ..state.mode import tls
from .matrix_factors import (
    batched,
    cholesky_ex,
    eig,
    eigvals,
    householder_product,
    inv_ex,
    is_vector,
    ldl_factor,
    ldl_factor_ex,
    ldl_solve,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
    matrix_sqrth,
    polar,
    solve_ex,
    transposed_system,
)
from .matrix_functions import matrix_exp, matrix_power

__all__ = ["LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
           "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
           "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "matrix_sqrth",
           "multi_dot", "norm", "pinv", "polar", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals",
           "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm"]

# Norms.


def norm(A, ord=None, dim=None, keepdim=False, *, out=None, dtype=None):
    """Return a vector norm, or a matrix norm if `ord` is given and A (or `dim`) has two dimensions; by default the 2-norm."""
    dim = None if dim is None else integers(dim, "dim")
    if dim is not None and not 1 <= len(dim) <= 2:
        raise ShapeError(f"norm takes one dim or two, got {dim}; vector_norm takes any number of them")
    pair = dim is not None and len(dim) == 2
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype, out=out)
    if isinstance(ord, str) or pair or (dim is None and A.ndim == 2):
        if dim is None and A.ndim != 2:
            raise ShapeError(f"norm of order {ord!r} takes a matrix or a dim of two, got {A.aval}")
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype, out=out)
    if dim is None and A.ndim != 1:
        raise ShapeError(f"norm of order {ord} without dim takes a vector or a matrix, got {A.aval}: it could be one number or "
                         "one for each matrix; give dim, or call vector_norm")
    return vector_norm(A, ord, dim, keepdim, dtype=dtype, out=out)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """Return a norm of the matrices in two dims: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""
    x = averageable(A, dtype, "matrix_norm")
    if x.ndim < 2:
        raise ShapeError(f"matrix_norm takes at least two dimensions, got {x.aval}")
    dims = [canonical_dim(d, x.ndim) for d in integers(dim, "dim")]
    if len(dims) != 2:
        raise ShapeError(f"matrix_norm takes two dims, got dim={dim}")
    rows, cols = dims
    if rows == cols:
        raise ShapeError(f"matrix_norm takes two different dims, got {tuple(dim)}")
    if ord == "fro":
        return vector_norm(x, 2, (rows, cols), keepdim, out=out)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        result = _spectral(x, ord, rows, cols)
    elif not isinstance(ord, str) and abs(ord) in (1, math.inf):
        result = _by_sums(x, ord, rows, cols)
    else:
        raise ArgumentError(f"matrix_norm: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}")
    if keepdim:
        result = reshape(result, shape=rd.keepdim_shape(x.shape, (rows, cols)))
    return deliver(result, out, "matrix_norm")


def _spectral(x, ord, rows, cols):
    """Return norms computed from singular values."""
    lead = tuple(d for d in range(x.ndim) if d not in (rows, cols))
    values = fa.svdvals(permute(x, dims=(*lead, rows, cols)))
    if ord == 2:
        return _largest(values)
    return (rd.sum_ if ord == "nuc" else rd.amin)(values, dim=(len(lead),), keepdim=False)


def _by_sums(x, ord, rows, cols):
    """Return the extreme of the sums along one of both dims."""
    over, rest = (rows, cols) if abs(ord) == 1 else (cols, rows)
    sums = rd.sum_(magnitude(x), dim=(over,), keepdim=False)
    at = rest - (rest > over)
    return _largest(sums.movedim(at, -1)) if ord > 0 else rd.amin(sums, dim=(at,), keepdim=False)


def general_norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """Return the vector norm of order p over dims (by default all), or matrix norms 'fro' and 'nuc'; this is `ingot.norm`."""
    if p == "nuc":
        return matrix_norm(input, "nuc", (-2, -1) if dim is None else integers(dim, "dim"), keepdim, dtype=dtype, out=out)
    if isinstance(p, str) and p != "fro":
        raise ArgumentError(f"norm: p must be a number, 'fro' or 'nuc', got {p!r}")
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype, out=out)


@single_in_autocast
def cond(A, p=None, *, out=None):
    """Return the condition number in a matrix norm; by default the 2-norm."""
    if p is None or p in (2, -2):
        values = fa.svdvals(A)
        if not values.shape[-1]:
            return deliver(full(values, shape=values.shape[:-1], value=0, dtype=values.dtype), out, "cond")
        last = (values.ndim - 1,)
        high, low = rd.amax(values, dim=last, keepdim=False), rd.amin(values, dim=last, keepdim=False)
        return deliver(ew.div(low, high) if p == -2 else ew.div(high, low), out, "cond")
    check_matrix("cond", A.aval, square=bool(A.numel()))
    if not A.numel():
        return deliver(full(A, shape=tuple(A.shape[:-2]), value=0.0, dtype=fa.real_part(A.aval).dtype), out, "cond")
    inverse, info = checked_factorizations.inv_ex(A, check=False)
    regular = ew.eq(info, 0)
    inverse = ew.where(regular[..., None, None], inverse, 0.0)       # infinite and nan matrices have no singular values
    found = ew.mul(matrix_norm(A, p), matrix_norm(inverse, p))
    return deliver(ew.where(regular, found, math.inf), out, "cond")


# Solvers.


@single_in_autocast
def solve(A, B, *, left=True, out=None):
    """Return X with A @ X = B, or X @ A = B if not left."""
    if not left:
        result = la.transpose_last(solve(*transposed_system("solve", A, B)))
    elif is_vector(A, B):
        result = _solve_columns(A, reshape(B, shape=(*B.shape, 1)))
        result = reshape(result, shape=tuple(result.shape[:-1]))
    else:
        result = _solve_columns(A, B)
    return deliver(result, out, "solve")


def _solve_columns(A, B):
    fa.check_matrix("solve", A.aval)
    return fa.solve(*batched(A, B))


@single_in_autocast
def solve_triangular(A, B, *, upper, left=True, unitriangular=False, out=None):
    """Return X with A @ X = B (or X @ A = B) from one triangle of A; with unitriangular its diagonal counts as ones."""
    if not left:
        result = la.transpose_last(solve_triangular(la.transpose_last(A), la.transpose_last(B), upper=not upper,
                                                    unitriangular=unitriangular))
    else:
        fa.check_matrix("solve_triangular", A.aval)
        result = tri.solve_triangular(*batched(A, B), upper=bool(upper), unit=bool(unitriangular))
    return deliver(result, out, "solve_triangular")


@single_in_autocast
def inv(A, *, out=None):
    """Return the inverse."""
    return deliver(fa.inv(A), out, "inv")


@single_in_autocast
def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """Return the pseudo-inverse; singular values at most max(atol, rtol * the largest) count as 0. `rcond` is another name of
    rtol. `hermitian` matrices are read from the lower triangle, which gets the gradient of a whole matrix, as in PyTorch."""
    check_matrix("pinv", A.aval, square=False)
    if hermitian:
        A = _whole(A.detach(), True) + FUNCTIONS["nan_to_num"](A - A.detach(), 0.0)
    atol, rtol = _tolerances(A, atol, rcond if rtol is None else rtol)
    if isinstance(atol, float) and not atol and isinstance(rtol, float):
        return deliver(fa.pinv(A, rcond=rtol), out, "pinv")
    bounds = [_as_bound(x, fa.real_part(A.aval).dtype, A) for x in (atol, rtol)]
    lead = broadcast_shapes(*[b.shape for b in bounds], A.shape[:-2])
    A, bounds = expand(A, shape=(*lead, *A.shape[-2:])), [expand(b, shape=lead) for b in bounds]
    return deliver(fa.pinv_above(A, *bounds), out, "pinv")


def _as_bound(x, d, like):
    return to_dtype(x.detach(), d) if isinstance(x, Tensor) else full(like, shape=(), value=x, dtype=d)


def _tolerances(A, atol, rtol):
    """Return the absolute and the relative tolerance: numbers, or tensors with one for each matrix."""
    least = max(A.shape[-2:]) * _epsilon(A)
    if rtol is None and isinstance(atol, Tensor):
        rtol = ew.where(ew.gt(atol.detach(), 0.0), 0.0, full(atol, shape=tuple(atol.shape), value=least, dtype=dt.float64))
    rtol = (0.0 if atol else least) if rtol is None else rtol
    return [x if isinstance(x, Tensor) else as_float(x) for x in (0.0 if atol is None else atol, rtol)]


def _largest(values):
    """Return the largest along the last dim of nonnegative values; 0 if there are none."""
    last = values.ndim - 1
    if not values.shape[last]:
        return full(values, shape=tuple(values.shape[:last]), value=0.0, dtype=values.dtype)
    return rd.amax(values, dim=(last,), keepdim=False)


def _whole(A, hermitian):
    """Return a matrix; a hermitian one from its lower triangle, with the real parts of the diagonal."""
    if not hermitian:
        return A
    below, middle = A.tril(-1), A.diagonal(dim1=-2, dim2=-1)
    return below + FUNCTIONS["diag_embed"](middle.real if A.dtype.is_complex else middle).to(A.dtype) + below.mH


def _epsilon(A):
    return 2.0 ** (-52 if A.dtype in (dt.float64, dt.complex128) else -23)


_WITH_VALUES = ("gelsd", "gelss")
_DRIVERS = (None, "gels", "gelsy", *_WITH_VALUES)


@single_in_autocast
def lstsq(A, B, rcond=None, *, driver=None) -> return_types.lstsq:
    """Return the least-squares solution of A @ X = B, as (solution, residuals, rank, singular_values).

    Residuals are empty unless A has full rank and more rows than columns. Drivers 'gelsd' and 'gelss' compute singular values;
    they are empty for other drivers, as in PyTorch.
    """
    if driver not in _DRIVERS:
        raise unknown_choice("lstsq: driver", driver, ("gels", "gelsy", "gelsd", "gelss"))
    check_matrix("lstsq", A.aval, square=False)
    vector = is_vector(A, B)
    b = reshape(B, shape=(*B.shape, 1)) if vector else B
    own, (A, b) = A, batched(A, b)
    m, n = A.shape[-2:]
    whole = rcond is None or driver == "gels" or rcond < 0      # gels assumes full rank
    rcond = max(m, n) * _epsilon(A) if whole else float(rcond)
    solution, rank = fa.lstsq(A, b, rcond=rcond)
    gap = ew.square(magnitude(ew.sub(la.matmul(A, solution), b)))
    residuals = rd.sum_(gap, dim=(gap.ndim - 2,), keepdim=False)
    if driver in _WITH_VALUES:
        values = fa.svdvals(own.detach())
    else:
        values = full(A, shape=(0,), value=0.0, dtype=fa.real_part(A.aval).dtype)
    if m <= n or (driver in _WITH_VALUES and holds_anywhere(rank < n)):
        residuals = full(A, shape=(0,), value=0.0, dtype=values.dtype)
    if vector:
        solution = reshape(solution, shape=tuple(solution.shape[:-1]))
    rank = full(A, shape=(0,), value=0, dtype=dt.int64) if driver == "gels" else _of_batch(rank, own.shape[:-2])
    return return_types.lstsq(solution, residuals, rank, values)


def _of_batch(x, sizes):
    """Return what is equal along the dims by which a batch of these sizes was expanded, without repeats."""
    x = x[(0,) * (x.ndim - len(sizes))]
    return x[tuple([slice(n) for n in sizes])] if tuple(x.shape) != tuple(sizes) else x


@single_in_autocast
def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """Return the number of singular values above max(atol, rtol * the largest), or above `tol`. `hermitian` matrices are read
    from the lower triangle."""
    check_matrix("matrix_rank", A.aval, square=False)
    A = _whole(A, hermitian)
    values = fa.svdvals(A.detach())
    atol, rtol = [_as_bound(x, values.dtype, values) for x in _tolerances(A, *(atol, rtol) if tol is None else (tol, 0.0))]
    bound = ew.maximum(ew.mul(_largest(values), rtol), atol)
    above = FUNCTIONS["gt"](values, bound.unsqueeze(-1))
    return deliver(rd.sum_(ew.cast(above, dtype=dt.int64), dim=(above.ndim - 1,), keepdim=False), out, "matrix_rank")


# Determinants and powers.


@single_in_autocast
def det(A, *, out=None):
    """Return the determinant."""
    return deliver(determinant.det(A), out, "det")


@single_in_autocast
def slogdet(A, *, out=None) -> return_types.slogdet:
    """Return sign and logarithm of the absolute value of the determinant."""
    return return_types.deliver_all(return_types.slogdet, determinant.slogdet(A), out)


def logdet(input):
    """Return the log of the determinant; nan where it is negative, complex for complex matrices."""
    sign, size = determinant.slogdet(input)
    if sign.dtype.is_complex:
        return ew.add(ew.log(sign), fa.like(size, sign))
    return ew.where(ew.lt(sign, 0.0), math.nan, size)


# Factorisations.


@single_in_autocast
def cholesky(A, *, upper=False, out=None):
    """Return the lower triangular factor of Hermitian positive matrices, from their lower triangle; with `upper` both are
    upper."""
    factor = fa.cholesky(fa.adjoint(A) if upper else A)
    return deliver(fa.adjoint(factor) if upper else factor, out, "cholesky")


@single_in_autocast
def qr(A, mode="reduced", *, out=None) -> return_types.qr:
    """Return an orthogonal Q and an upper triangular R with Q @ R = A; mode 'reduced', 'complete' or 'r' (Q is empty)."""
    if mode not in ("reduced", "complete", "r"):
        raise unknown_choice("qr: mode", mode, ("reduced", "complete", "r"))
    q, r = fa.qr(A, complete=mode == "complete")
    if mode == "r":
        q = full(A, shape=(0,), value=0.0, dtype=A.dtype)
    return return_types.deliver_all(return_types.qr, (q, r), out)


@single_in_autocast
def svd(A, full_matrices=True, *, driver=None, out=None) -> return_types.svd:
    """Return U, S, Vh with U @ diag(S) @ Vh = A. `driver` is ignored: there is one algorithm, and no cuSOLVER to choose in."""
    return return_types.deliver_all(return_types.svd, fa.svd(A, full=bool(full_matrices)), out)


@single_in_autocast
def svdvals(A, *, driver=None, out=None):
    """Return the singular values in falling order. `driver` is ignored: there is one algorithm, and no cuSOLVER to choose
    in."""
    return deliver(fa.svdvals(A), out, "svdvals")


@single_in_autocast
def eigh(A, UPLO="L", *, out=None) -> return_types.eigh:
    """Return eigenvalues (rising) and eigenvectors of Hermitian matrices, read from triangle UPLO."""
    return return_types.deliver_all(return_types.eigh, fa.eigh(_of_triangle(A, UPLO)), out)


@single_in_autocast
def eigvalsh(A, UPLO="L", *, out=None):
    """Return eigenvalues (rising) of Hermitian matrices, read from triangle UPLO."""
    return deliver(fa.eigvalsh(_of_triangle(A, UPLO)), out, "eigvalsh")


def _of_triangle(A, uplo):
    """Return a matrix whose lower triangle has the values of A's triangle."""
    if uplo not in ("L", "U", "l", "u"):
        raise unknown_choice("UPLO", uplo, ("L", "U"))
    return fa.adjoint(A) if uplo in "Uu" else A


# Products.


def cross(input, other, *, dim=-1, out=None):
    """Return the cross product of vectors of 3 along `dim`."""
    return FUNCTIONS["cross"](input, other, dim, out=out)


def vecdot(x, y, *, dim=-1, out=None):
    """Return inner products along a dim, with the first vector conjugated."""
    if tls.m.autocast is not None:
        x, y = tls.m.autocast.low(x, y)
    return _vecdot(x, y, dim=dim, out=out)


@rounds_once
def _vecdot(x, y, *, dim):
    product = FUNCTIONS["mul"](FUNCTIONS["conj"](x), y)
    return rd.sum_(product, dim=(canonical_dim(dim, product.ndim),), keepdim=False)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """Return the diagonal of two dims, as a new last dim."""
    return _diagonal(A, offset=offset, dim1=canonical_dim(dim1, A.ndim), dim2=canonical_dim(dim2, A.ndim))


def vander(x, N=None):
    """Return powers 0 to N - 1 of each element, along a new last dimension."""
    x = x if x.ndim else x.reshape(1)
    count = x.shape[-1] if N is None else N
    if count < 0:
        raise ArgumentError(f"vander takes N of at least 0, got {N}")
    each = x.unsqueeze(-1).expand(*x.shape, max(count - 1, 0))
    return FUNCTIONS["cat"]([FUNCTIONS["ones_like"](x).unsqueeze(-1)[..., :count], each], -1).cumprod(-1)


@single_in_autocast
def tensorinv(A, ind=2, *, out=None):
    """Return the inverse of A as a map from its last dims to the first `ind` ones."""
    if ind < 1 or math.prod(A.shape[:ind]) != math.prod(A.shape[ind:]):
        raise ShapeError(f"tensorinv takes a tensor whose first {ind} sizes have the product of the others, got {A.aval}")
    n = math.prod(A.shape[:ind])
    return deliver(inv(A.reshape(n, n)).reshape(*A.shape[ind:], *A.shape[:ind]), out, "tensorinv")


@single_in_autocast
def tensorsolve(A, B, dims=None, *, out=None):
    """Return X with tensordot(A, X, X.ndim) = B, after `dims` of A were moved to its end."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    sizes = A.shape[B.ndim:]
    if math.prod(sizes) != B.numel():
        raise ShapeError(f"tensorsolve: the sizes of A {list(A.shape)} after the first {B.ndim} must have as many elements as "
                         f"B of shape {list(B.shape)}")
    n = B.numel()
    return deliver(solve(A.reshape(n, n), B.reshape(n)).reshape(sizes), out, "tensorsolve")


rename_all(globals())
