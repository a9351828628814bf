"""The linear algebra extension of the array API standard."""

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, ShapeError
from ...ir.opdef.aval import broadcast_shapes, canonical_dim
from ...ir.suggestions import unknown_choice
from ..api.register.register import FUNCTIONS
from ..core.tensor import Tensor
from ..linalg import linalg as la
from . import statistics
from .data_types import checked, named, operands
from .elementwise_functions import conj

__all__ = ["cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
           "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
           "trace", "vecdot", "vector_norm"]


def _factor(name, x, *more, **options):
    """Call a function of matrices, after the check of the dtype."""
    return getattr(la, name)(checked(name, x, "floating"), *more, **options)


def _of_matrices(name, doc):
    """Return a function of matrices without options."""

    def fn(x, /):
        return _factor(name, x)

    return named(fn, name, doc)


det = _of_matrices("det", "Return the determinants of matrices.")
eigvalsh = _of_matrices("eigvalsh", "Return eigenvalues of symmetric matrices.")
inv = _of_matrices("inv", "Return the inverses of matrices.")
slogdet = _of_matrices("slogdet", "Return sign and logarithm of the determinants of matrices.")
eigh = _of_matrices("eigh", "Return eigenvalues and eigenvectors of symmetric matrices.")
svdvals = _of_matrices("svdvals", "Return the singular values.")


def matmul(x1, x2, /):
    """Return the matrix product."""
    return FUNCTIONS["matmul"](*operands("matmul", x1, x2, "numeric"))


def matrix_transpose(x, /):
    """Exchange rows and columns of matrices."""
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose takes arrays of at least 2 dimensions, got {x.ndim}")
    return FUNCTIONS["transpose"](x, -1, -2)


def tensordot(x1, x2, /, *, axes=2):
    """Return sums of products over several axes."""
    x1, x2 = operands("tensordot", x1, x2, "numeric")
    return FUNCTIONS["tensordot"](x1, x2, dims=axes)


def vecdot(x1, x2, /, *, axis=-1):
    """Return sums of products of vectors, the first conjugated."""
    x1, x2 = operands("vecdot", x1, x2, "numeric")
    if axis >= 0 or axis < -min(x1.ndim, x2.ndim):
        ndim = max(x1.ndim, x2.ndim)
        if x1.ndim != x2.ndim:
            raise ArgumentError(f"vecdot: axis must be negative and within both arrays, got {axis}")
        axis = canonical_dim(axis, ndim, what="axis") - ndim
    if x1.shape[axis] != x2.shape[axis]:
        raise ShapeError(f"vecdot: the vectors have {x1.shape[axis]} and {x2.shape[axis]} elements")
    if x1.dtype.is_complex:
        x1 = conj(x1)
    return FUNCTIONS["sum"](FUNCTIONS["mul"](x1, x2), axis, dtype=x1.dtype)


def outer(x1, x2, /):
    """Return products of all pairs of two vectors' elements."""
    x1, x2 = operands("outer", x1, x2, "numeric")
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeError(f"outer takes two vectors, got {x1.ndim} and {x2.ndim} dimensions")
    return FUNCTIONS["mul"](x1.reshape(-1, 1), x2.reshape(1, -1))


def cross(x1, x2, /, *, axis=-1):
    """Return the cross product of vectors of 3 elements."""
    x1, x2 = operands("cross", x1, x2, "numeric")
    shape = broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    return FUNCTIONS["cross"](FUNCTIONS["broadcast_to"](x1, shape), FUNCTIONS["broadcast_to"](x2, shape), dim=axis)


def diagonal(x, /, *, offset=0):
    """Return the diagonals of matrices."""
    return FUNCTIONS["diagonal"](x, offset, -2, -1)


def trace(x, /, *, offset=0, dtype=None):
    """Return the sums of the diagonals of matrices."""
    return statistics.sum(diagonal(checked("trace", x, "numeric"), offset=offset), axis=-1, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Return the norm of vectors."""
    checked("vector_norm", x, "floating")
    return la.vector_norm(x, ord, axis, keepdims)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Return the norm of matrices."""
    checked("matrix_norm", x, "floating")
    return la.matrix_norm(x, ord, (-2, -1), keepdims)


def cholesky(x, /, *, upper=False):
    """Return the triangular factor of positive definite matrices."""
    return _factor("cholesky", x, upper=upper)


def matrix_power(x, n, /):
    """Raise matrices to an integer power."""
    return _factor("matrix_power", x, n)


def matrix_rank(x, /, *, rtol=None):
    """Return the ranks of matrices: how many singular values exceed rtol times the largest."""
    s = svdvals(checked("matrix_rank", x, "floating"))
    largest = FUNCTIONS["amax"](s, -1, True) if s.shape[-1] else s
    if rtol is None:
        rtol = max(x.shape[-2:]) * FUNCTIONS["finfo"](s.dtype).eps
    elif isinstance(rtol, Tensor):
        rtol = FUNCTIONS["unsqueeze"](rtol, -1).to(s.dtype)
    return FUNCTIONS["sum"](FUNCTIONS["gt"](s, FUNCTIONS["mul"](largest, rtol)), -1, dtype=dt.int64)


def pinv(x, /, *, rtol=None):
    """Return the pseudo-inverses of matrices; rtol is a number, or an array of one for each matrix."""
    checked("pinv", x, "floating")
    if rtol is None:
        rtol = max(x.shape[-2:]) * FUNCTIONS["finfo"](x.dtype).eps
    return _pinv_by_svd(x, rtol) if isinstance(rtol, Tensor) else la.pinv(x, rtol=rtol)


def _pinv_by_svd(x, rtol):
    u, s, vh = la.svd(x, False)
    if not s.shape[-1]:
        return matrix_transpose(x).clone()
    limit = FUNCTIONS["mul"](FUNCTIONS["amax"](s, -1, True), FUNCTIONS["unsqueeze"](rtol, -1).to(s.dtype))
    inverse = FUNCTIONS["where"](FUNCTIONS["gt"](s, limit), FUNCTIONS["reciprocal"](s), 0.0)
    scaled = FUNCTIONS["mul"](vh.mH, FUNCTIONS["unsqueeze"](inverse, -2))
    return FUNCTIONS["matmul"](scaled, u.mH)


def qr(x, /, *, mode="reduced"):
    """Return matrices as products of an orthonormal and an upper triangular one."""
    if mode not in ("reduced", "complete"):
        raise unknown_choice("qr: mode", mode, ("reduced", "complete"))
    return _factor("qr", x, mode)


def solve(x1, x2, /):
    """Return the solution of x1 @ x = x2."""
    x1, x2 = operands("solve", x1, x2, "floating")
    if x2.ndim == 1:
        return _factor("solve", x1, x2.reshape(-1, 1)).reshape(x1.shape[:-1])
    return _factor("solve", x1, x2)


def svd(x, /, *, full_matrices=True):
    """Return the singular value decomposition."""
    return _factor("svd", x, full_matrices)
