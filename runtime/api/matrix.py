"""The functions of `ingot.linalg` that are also `ingot.*` and methods of Tensor."""

from ...ir.ops.linalg import transpose_last
from ...ir.ops.shape import full
from .. import linalg
from . import returns
from .register import api

for _name, _function in (("norm", linalg.general_norm), ("det", linalg.det), ("slogdet", linalg.slogdet),
                         ("logdet", linalg.logdet), ("inverse", linalg.inv),
                         ("matrix_power", linalg.matrix_power), ("matrix_exp", linalg.matrix_exp)):
    api(name=_name, keywords={"input": "A"})(_function)


@api()
def pinverse(input, rcond=1e-15):
    """The pseudo-inverse; singular values at most rcond times the largest count as 0."""
    return linalg.pinv(input, rtol=rcond)


@api()
def qr(input, some=True, *, out=None):
    """Q and R with Q @ R = input, reduced unless `some` is False."""
    return linalg.qr(input, "reduced" if some else "complete", out=out)


@api()
def svd(input, some=True, compute_uv=True, *, out=None):
    """U, S, V with U @ diag(S) @ V.mT = input, reduced unless `some` is False; without compute_uv, U and V are zeros."""
    u, s, vh = linalg.svd(input, full_matrices=not some)
    if not compute_uv:
        m, n = input.shape[-2:]
        u, vh = (full(input, shape=(*input.shape[:-2], k, k), value=0.0, dtype=input.dtype) for k in (m, n))
    return returns.deliver_all(returns.svd_uv, (u, s, transpose_last(vh)), out)


@api()
def cholesky(input, upper=False, *, out=None):
    """The lower triangular factor of symmetric positive matrices (or its transpose)."""
    return linalg.cholesky(input, upper=upper, out=out)
