"""The linear algebra extension of the array API standard."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import dtype as _dtype
from ingot.array_api import matmul as matmul
from ingot.array_api import matrix_transpose as matrix_transpose
from ingot.array_api import tensordot as tensordot
from ingot.array_api import vecdot as vecdot

def cholesky(x: _t.Any, /, *, upper: _b.bool = False) -> _Tensor:
    """Return the triangular factor of positive definite matrices."""
def cross(x1: _Tensor, x2: _Tensor, /, *, axis: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Return the cross product of vectors of 3 elements."""
def det(x: _t.Any, /) -> _Tensor:
    """Return the determinants of matrices."""
def diagonal(x: _t.Any, /, *, offset: _t.Any = 0) -> _Tensor:
    """Return the diagonals of matrices."""
def eigh(x: _t.Any, /) -> _Tensor:
    """Return eigenvalues and eigenvectors of symmetric matrices."""
def eigvalsh(x: _t.Any, /) -> _Tensor:
    """Return eigenvalues of symmetric matrices."""
def inv(x: _t.Any, /) -> _Tensor:
    """Return the inverses of matrices."""
def matrix_norm(x: _t.Any, /, *, keepdims: _b.bool = False, ord: _t.Any = 'fro') -> _Tensor:
    """Return the norm of matrices."""
def matrix_power(x: _t.Any, n: _t.Any, /) -> _Tensor:
    """Raise matrices to an integer power."""
def matrix_rank(x: _t.Any, /, *, rtol: _b.float | None = None) -> _Tensor:
    """Return the ranks of matrices: how many singular values exceed rtol times the largest."""
def outer(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Return products of all pairs of two vectors' elements."""
def pinv(x: _t.Any, /, *, rtol: _b.float | None = None) -> _Tensor:
    """Return the pseudo-inverses of matrices; rtol is a number, or an array of one for each matrix."""
def qr(x: _t.Any, /, *, mode: _b.str = 'reduced') -> _Tensor:
    """Return matrices as products of an orthonormal and an upper triangular one."""
def slogdet(x: _t.Any, /) -> _Tensor:
    """Return sign and logarithm of the determinants of matrices."""
def solve(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Return the solution of x1 @ x = x2."""
def svd(x: _t.Any, /, *, full_matrices: _b.bool = True) -> _Tensor:
    """Return the singular value decomposition."""
def svdvals(x: _t.Any, /) -> _Tensor:
    """Return the singular values."""
def trace(x: _t.Any, /, *, offset: _t.Any = 0,
          dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _Tensor:
    """Return the sums of the diagonals of matrices."""
def vector_norm(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False,
                ord: _t.Any = 2) -> _Tensor:
    """Return the norm of vectors."""
