"""`ingot.linalg`: norms, solvers and factorisations of matrices and batches, real and complex."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import IngotError as _IngotError
from ingot import Tensor as _Tensor
from ingot import dtype as _dtype
from ingot.return_types import cholesky_ex as _cholesky_ex
from ingot.return_types import eig as _eig
from ingot.return_types import eigh as _eigh
from ingot.return_types import inv_ex as _inv_ex
from ingot.return_types import ldl_factor as _ldl_factor
from ingot.return_types import ldl_factor_ex as _ldl_factor_ex
from ingot.return_types import lstsq as _lstsq
from ingot.return_types import lu as _lu
from ingot.return_types import lu_factor as _lu_factor
from ingot.return_types import lu_factor_ex as _lu_factor_ex
from ingot.return_types import polar as _polar
from ingot.return_types import qr as _qr
from ingot.return_types import slogdet as _slogdet
from ingot.return_types import solve_ex as _solve_ex
from ingot.return_types import svd as _svd

class LinAlgError(_IngotError, _b.RuntimeError, _b.ValueError):
    """A matrix that cannot be inverted or factored as asked."""

def cholesky(A: _Tensor, *, upper: _b.bool = False, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the lower triangular factor of Hermitian positive matrices, from their lower triangle; with `upper` both are
    upper."""
def cholesky_ex(A: _Tensor, *, upper: _b.bool = False, check_errors: _b.bool = False,
                out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _cholesky_ex:
    """Return the factor of `cholesky`, and the order of the first minor that is not positive, or 0."""
def cond(A: _Tensor, p: _t.Any = None, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the condition number in a matrix norm; by default the 2-norm."""
def cross(input: _Tensor, other: _Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
          dim: _b.int | _c.Sequence[_b.int] = -1, out: _Tensor | _c.Sequence[_Tensor] | None = None,
          axis: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Return the cross product of vectors of 3 along `dim`."""
def det(A: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the determinant."""
def diagonal(A: _Tensor, *, offset: _t.Any = 0, dim1: _b.int = -2, dim2: _b.int = -1, axis1: _b.int = -2) -> _Tensor:
    """Return the diagonal of two dims, as a new last dim."""
def eig(A: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _eig:
    """Return eigenvalues and eigenvectors of length 1 of square matrices, complex and in no order."""
def eigh(A: _Tensor, UPLO: _b.str = 'L', *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _eigh:
    """Return eigenvalues (rising) and eigenvectors of Hermitian matrices, read from triangle UPLO."""
def eigvals(A: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return eigenvalues of square matrices, complex and in no order."""
def eigvalsh(A: _Tensor, UPLO: _b.str = 'L', *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return eigenvalues (rising) of Hermitian matrices, read from triangle UPLO."""
def householder_product(A: _Tensor, tau: _t.Any, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the first columns of the product of Householder reflections in geqrf's form."""
def inv(A: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the inverse."""
def inv_ex(A: _Tensor, *, check_errors: _b.bool = False, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _inv_ex:
    """Return the inverse, and the position of the zero pivot of a singular matrix, from 1, or 0."""
def ldl_factor(A: _Tensor, *, hermitian: _b.bool = False, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _ldl_factor:
    """Return L and D of a symmetric (or Hermitian) matrix in one, and exchanged rows, like LAPACK's sytrf. No gradient."""
def ldl_factor_ex(A: _Tensor, *, hermitian: _b.bool = False, check_errors: _b.bool = False,
                  out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _ldl_factor_ex:
    """Return ldl_factor's result, and the position of D's first zero, from 1, or 0."""
def ldl_solve(LD: _t.Any, pivots: _t.Any, B: _Tensor, *, hermitian: _b.bool = False,
              out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return X with A @ X = B from ldl_factor's result for A."""
def lstsq(A: _Tensor, B: _Tensor, rcond: _t.Any = None, *, driver: _t.Any = None) -> _lstsq:
    """Return the least-squares solution of A @ X = B, as (solution, residuals, rank, singular_values)."""
def lu(A: _Tensor, *, pivot: _b.bool = True, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _lu:
    """Return a permutation P, L with ones on its diagonal, and U with P @ L @ U = A."""
def lu_factor(A: _Tensor, *, pivot: _b.bool = True, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _lu_factor:
    """Return L (below the diagonal) and U in one matrix, and the exchanged rows, from 1; raise if U has a zero."""
def lu_factor_ex(A: _Tensor, *, pivot: _b.bool = True, check_errors: _b.bool = False,
                 out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _lu_factor_ex:
    """Return lu_factor's result, and the position of U's first zero, from 1, or 0."""
def lu_solve(LU: _Tensor, pivots: _t.Any, B: _Tensor, *, left: _b.bool = True, adjoint: _b.bool = False,
             out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return X with A @ X = B (or X @ A = B if not left) from lu_factor's result for A; with adjoint, for A's adjoint."""
def matmul(input: _Tensor, other: _Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Multiply vectors, matrices, and batches of matrices that broadcast."""
def matrix_exp(A: _Tensor) -> _Tensor:
    """Return the exponential of a matrix, by its series after halving, squared back; float16 and bfloat16 are rounded
    once."""
def matrix_norm(A: _Tensor, ord: _t.Any = 'fro', dim: _b.int | _c.Sequence[_b.int] = ...,
                keepdim: _b.bool = False, *,
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = ...,
                keepdims: _b.bool = False) -> _Tensor:
    """Return a norm of the matrices in two dims: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""
def matrix_power(A: _Tensor, n: _t.Any, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return an integer power of A; a negative power is one of the inverse."""
def matrix_rank(A: _Tensor, tol: _t.Any = None, hermitian: _b.bool = False, *, atol: _b.float | None = None,
                rtol: _b.float | None = None, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the number of singular values above max(atol, rtol * the largest), or above `tol`. `hermitian` matrices are
    read from the lower triangle."""
def matrix_sqrth(A: _Tensor) -> _Tensor:
    """Return the symmetric (Hermitian) positive root of symmetric positive matrices; other matrices are symmetrised."""
def multi_dot(tensors: _c.Sequence[_Tensor], *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Multiply two or more matrices in the cheapest order; the first and last may be vectors."""
def norm(A: _Tensor, ord: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] | None = None,
         keepdim: _b.bool = False, *, out: _Tensor | _c.Sequence[_Tensor] | None = None,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """Return a vector norm, or a matrix norm if `ord` is given and A (or `dim`) has two dimensions; by default the
    2-norm."""
def pinv(A: _Tensor, rcond: _t.Any = None, hermitian: _b.bool = False, *, atol: _b.float | None = None,
         rtol: _b.float | None = None, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the pseudo-inverse; singular values at most max(atol, rtol * the largest) count as 0. `rcond` is another name
    of rtol."""
def polar(A: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _polar:
    """Return U with orthonormal columns and H, symmetric and not negative, with U @ H = A."""
def qr(A: _Tensor, mode: _b.str = 'reduced', *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _qr:
    """Return an orthogonal Q and an upper triangular R with Q @ R = A; mode 'reduced', 'complete' or 'r' (Q is empty)."""
def slogdet(A: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _slogdet:
    """Return sign and logarithm of the absolute value of the determinant."""
def solve(A: _Tensor, B: _Tensor, *, left: _b.bool = True, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return X with A @ X = B, or X @ A = B if not left."""
def solve_ex(A: _Tensor, B: _Tensor, *, left: _b.bool = True, check_errors: _b.bool = False,
             out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _solve_ex:
    """Return X with A @ X = B (or X @ A = B), and the position of the zero pivot of a singular matrix, from 1, or 0."""
def solve_triangular(A: _Tensor, B: _Tensor, *, upper: _t.Any, left: _b.bool = True,
                     unitriangular: _b.bool = False, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return X with A @ X = B (or X @ A = B) from one triangle of A; with unitriangular its diagonal counts as ones."""
def svd(A: _Tensor, full_matrices: _b.bool = True, *, driver: _t.Any = None,
        out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _svd:
    """Return U, S, Vh with U @ diag(S) @ Vh = A. `driver` is ignored: there is one algorithm, and no cuSOLVER to choose
    in."""
def svdvals(A: _Tensor, *, driver: _t.Any = None, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the singular values in falling order. `driver` is ignored: there is one algorithm, and no cuSOLVER to choose
    in."""
def tensorinv(A: _Tensor, ind: _t.Any = 2, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the inverse of A as a map from its last dims to the first `ind` ones."""
def tensorsolve(A: _Tensor, B: _Tensor, dims: _b.int | _c.Sequence[_b.int] | None = None, *,
                out: _Tensor | _c.Sequence[_Tensor] | None = None,
                axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Return X with tensordot(A, X, X.ndim) = B, after `dims` of A were moved to its end."""
def vander(x: _t.Any, N: _t.Any = None) -> _Tensor:
    """Return powers 0 to N - 1 of each element, along a new last dimension."""
def vecdot(x: _t.Any, y: _t.Any, *, dim: _b.int | _c.Sequence[_b.int] = -1,
           out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Return inner products along a dim, with the first vector conjugated."""
def vector_norm(x: _t.Any, ord: _t.Any = 2, dim: _b.int | _c.Sequence[_b.int] | None = None,
                keepdim: _b.bool = False, *,
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                out: _Tensor | _c.Sequence[_Tensor] | None = None,
                axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """Return the vector norm of order `ord` (a number, or inf) over dims, by default of all elements."""
