"""Least squares."""

import numpy as np

from ... import dtype as dt
from ...errors import ShapeError
from ...opdef.batch_rules import LEADING
from ...opdef.op import Host, op
from .factorizations import lapack, pinv, pinv_gradient, textbook
from .matrix_rules import adjoint, check_matrix
from .products import matmul


def _infer(a, b, *, rcond):
    check_matrix("lstsq", a, square=False)
    if a.dtype is not b.dtype or b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1]:
        raise ShapeError(f"lstsq takes matrices and right-hand sides with as many rows, got {a} and {b}")
    rank = a.with_shape(a.shape[:-2]).with_dtype(dt.int64)
    return b.with_shape((*b.shape[:-2], a.shape[-1], b.shape[-1])), rank


def _lstsq(a, b, *, rcond):
    """By singular values, of which those up to rcond times the largest count as 0."""
    if 0 in a.shape:
        return np.zeros((*b.shape[:-2], a.shape[-1], b.shape[-1]), b.dtype), np.zeros(a.shape[:-2], np.int64)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    kept = s > rcond * s[..., :1]
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0).astype(s.dtype)
    inner = inverse[..., None] * (np.swapaxes(u, -1, -2).conj() @ b)
    return np.swapaxes(vh, -1, -2).conj() @ inner, np.count_nonzero(kept, -1).astype(np.int64)


@textbook
def _lstsq_vjp(g, out, a, b, *, rcond, needs):
    """That of pinv(a) @ b."""
    inverse = pinv(a, rcond=rcond)
    on_a = pinv_gradient(matmul(g, adjoint(b)), inverse, a) if needs[0] else None
    return on_a, matmul(adjoint(inverse), g)


lstsq = op("lstsq", infer=_infer, ref=lapack("lstsq", _lstsq), vjp=_lstsq_vjp, saves=(1, 2), lower=Host(), batch=LEADING,
           numbers=("rcond",),
           doc="The shortest x with the least |a @ x - b|, and how many singular values are above rcond times the largest.")
