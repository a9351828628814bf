"""Singular values, principal directions and eigenvalues of large matrices, dense or sparse, from a few products with them."""

import math

from ...ir.errors import ArgumentError, ShapeError
from ...ir.ops.core.complex_numbers import PARTS
from ...ir.suggestions import unknown_choice
from ..api.random import random_tensors as noise
from ..api.register import return_types
from ..api.register.register import FUNCTIONS
from ..api.register.type_promotion import unpromoted_in_autocast
from ..api.sparse import SparseTensor
from ..autograd.grad_mode import no_grad
from ..core.tensor import Tensor
from . import linalg

__all__ = ["lobpcg", "pca_lowrank", "svd_lowrank"]


def _adjoint(A):
    return A.mH


def _basis(A, q, niter, M):
    """Return an orthonormal basis near the space of A's (of A - M's) largest singular vectors (Halko, Martinsson, Tropp)."""

    def forwards(x):
        return A @ x if M is None else A @ x - M @ x

    def back(x):
        return _adjoint(A) @ x if M is None else _adjoint(A) @ x - M.mH @ x

    kind = PARTS.get(A.dtype, A.dtype)
    start = noise.randn(size=(*A.shape[:-2], A.shape[-1], q), dtype=kind, device=A.device).to(A.dtype)
    basis = linalg.qr(forwards(start))[0]
    for _ in range(niter):
        basis = linalg.qr(forwards(linalg.qr(back(basis))[0]))[0]
    return basis, back(basis)


def svd_lowrank(A, q=6, niter=2, M=None) -> return_types.svd_uv:
    """Return U, S and V of about the q largest singular values of A (or A - M), by `niter` rounds of random products."""
    q = 6 if q is None else q
    if q < 0:
        raise ArgumentError(f"svd_lowrank: q must be at least 0, got {q}")
    if M is not None and M.shape != A.shape:
        M = M.expand(A.shape)
    basis, projected = _basis(A, q, niter, M)
    v, s, uh = linalg.svd(projected, full_matrices=False)
    return return_types.svd_uv(basis @ uh.mH, s, v)


def pca_lowrank(A, q=None, center=True, niter=2) -> return_types.svd_uv:
    """Return about q principal directions of the rows of A: svd_lowrank of A less the mean of its rows."""
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ArgumentError(f"pca_lowrank: q must be within 0..{min(m, n)}, got {q}")
    if niter < 0:
        raise ArgumentError(f"pca_lowrank: niter must be at least 0, got {niter}")
    if not center:
        return svd_lowrank(A, q, niter)
    if isinstance(A, SparseTensor):
        mean = (A.sum(0).to_dense() / m).reshape(1, n)
        return svd_lowrank(A, q, niter, mean.expand(m, n))
    return svd_lowrank(A - A.mean(-2, keepdim=True), q, niter)


# Eigenvalues of large symmetric matrices (Knyazev's locally optimal block preconditioned conjugate gradients).


def _orthonormal(basis, B):
    """Orthonormalise the columns of a basis in B's product; dependent ones are dropped."""
    lengths = (basis * _against(B, basis)).sum(-2).sqrt()
    basis = basis / FUNCTIONS["where"](lengths > 0, lengths, 1.0)
    w, v = linalg.eigh(basis.mT @ _against(B, basis))
    keep = int((w > w[-1] * w.shape[-1] * FUNCTIONS["finfo"](w.dtype).eps * 8).sum())
    first = w.shape[-1] - keep
    return basis @ (v[:, first:] / w[first:].sqrt())


def _against(B, x):
    return x if B is None else B @ x


def _best(A, B, basis, k, largest):
    """Return the k best pairs in the space of a basis (Rayleigh and Ritz)."""
    basis = _orthonormal(basis, B)
    w, v = linalg.eigh(basis.mT @ (A @ basis))
    if largest:
        w, v = w.flip(0), v.flip(1)
    return w[:k], basis @ v[:, :k]


def _iterate(A, B, X, iK, niter, tol, largest):
    k = X.shape[-1]
    w, x = _best(A, B, X, k, largest)
    before = None
    for _ in range(niter):
        residual = A @ x - _against(B, x) * w
        size = linalg.norm(residual, dim=0) / (linalg.norm(A @ x, dim=0) + w.abs() * linalg.norm(_against(B, x), dim=0))
        if float(size.amax()) < tol:
            break
        step = residual if iK is None else iK @ residual
        w, new = _best(A, B, FUNCTIONS["cat"]([x, step] if before is None else [x, step, before], 1), k, largest)
        before = new - x @ (x.mT @ _against(B, new))
        x = new
    return x


@unpromoted_in_autocast
def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
           ortho_iparams=None, ortho_fparams=None, ortho_bparams=None) -> tuple[Tensor, Tensor]:
    """Return the k largest (or smallest) eigenvalues of a symmetric matrix, or of A x = e B x, and their vectors. X is the
    start and iK the preconditioner. Gradients reach A and B through the eigenvalues.

    Both methods, "basic" and "ortho", are the one that keeps its basis orthonormal. `ortho_iparams`, `ortho_fparams` and
    `ortho_bparams` are ignored: the basis is made orthonormal in one step, which has nothing to set.
    """
    if method not in (None, "basic", "ortho"):
        raise unknown_choice("lobpcg: method", method, ("basic", "ortho"))
    if tracker is not None:
        raise ArgumentError("lobpcg calls no tracker; call it with niter=1 and the found vectors as X, to see each step")
    if A.ndim > 2:
        parts = [lobpcg(A[i], k, None if B is None else B[i], None if X is None else X[i], n, iK, niter, tol, largest, method)
                 for i in range(A.shape[0])]
        return tuple(FUNCTIONS["stack"](list(p)) for p in zip(*parts))
    size = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    start = max(k, n or 0) if X is None else X.shape[-1]
    if size < 3 * start:
        raise ShapeError(f"lobpcg takes matrices of at least 3 times as many rows as eigenvalues, got {size} rows for {start}; "
                         "linalg.eigh takes others")
    tol = math.sqrt(FUNCTIONS["finfo"](A.dtype).eps) if tol is None or tol <= 0 else tol
    with no_grad():
        X = noise.randn(size=(size, start), dtype=A.dtype, device=A.device) if X is None else X
        x = _iterate(A, B, X, iK, 1000 if niter is None or niter < 0 else niter, tol, largest is not False)[:, :k]
    values = (x * (A @ x)).sum(0) / (x * _against(B, x)).sum(0)
    return values, x
