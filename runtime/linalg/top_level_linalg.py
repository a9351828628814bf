"""Functions of `ingot.linalg` that are also `ingot.*` and methods of Tensor."""

from ...ir.ops.core.shape import full
from ...ir.ops.linalg.matrix_rules import adjoint
from ...ir.ops.linalg.products import transpose_last
from ..api.register import return_types
from ..api.register.register import api
from ..core.tensor import Tensor
from . import linalg, low_rank, matrix_factors
from .matrix_factors import batched

api(name="norm")(linalg.general_norm)
api(name="logdet")(linalg.logdet)
for _name, _function in (("det", linalg.det), ("slogdet", linalg.slogdet), ("inverse", linalg.inv),
                         ("matrix_power", linalg.matrix_power), ("matrix_exp", linalg.matrix_exp)):
    api(name=_name, keywords={"input": "A"})(_function)
for _function in (matrix_factors.geqrf, matrix_factors.ormqr):
    api()(_function)
for _function in (matrix_factors.lu_unpack, low_rank.svd_lowrank, low_rank.pca_lowrank, low_rank.lobpcg):
    api(method=False)(_function)
api(name="orgqr", keywords={"input": "A", "input2": "tau"})(linalg.householder_product)


@api()
def pinverse(input, rcond=1e-15):
    """Return the pseudo-inverse; singular values at most rcond times the largest count as 0."""
    return linalg.pinv(input, rtol=rcond)


@api()
def qr(input, some=True, *, out=None):
    """Return Q and R with Q @ R = input, reduced unless `some` is False."""
    return linalg.qr(input, "reduced" if some else "complete", out=out)


@api()
def svd(input, some=True, compute_uv=True, *, out=None) -> return_types.svd_uv:
    """Return U, S, V with U @ diag(S) @ V.mH = input, reduced unless `some` is False; without compute_uv, U and V are
    zeros."""
    u, s, vh = linalg.svd(input, full_matrices=not some)
    if not compute_uv:
        m, n = input.shape[-2:]
        u, vh = (full(input, shape=(*input.shape[:-2], k, k), value=0.0, dtype=input.dtype) for k in (m, n))
    return return_types.deliver_all(return_types.svd_uv, (u, s, adjoint(vh)), out)


@api()
def cholesky(input, upper=False, *, out=None):
    """Return the lower triangular factor of symmetric positive matrices (or its transpose)."""
    return linalg.cholesky(input, upper=upper, out=out)


@api()
def lu(A, pivot=True, get_infos=False, out=None) -> tuple[Tensor, ...]:
    """Return lu_factor's result as a tuple; with get_infos also the position of a zero on U's diagonal (0 if there is
    none)."""
    found = tuple(linalg.lu_factor_ex(A, pivot=pivot))[:3 if get_infos else 2]
    return found if out is None else tuple(return_types.deliver(r, o, "lu") for r, o in zip(found, out))


@api(keywords={"input": "b"})
def lu_solve(b, LU_data, LU_pivots, *, out=None):
    """Return X with A @ X = b, from lu_factor's result for A."""
    return linalg.lu_solve(LU_data, LU_pivots, b, out=out)


@api(keywords={"input": "b"})
def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False, *, out=None) -> return_types.triangular_solve:
    """Return X with A @ X = b (or A^T @ X = b), from one triangle of A, and a copy of A; newer: linalg.solve_triangular."""
    A, b = batched(A, b)
    side = transpose_last(A) if transpose else A
    x = linalg.solve_triangular(side, b, upper=upper != transpose, unitriangular=unitriangular)
    return return_types.deliver_all(return_types.triangular_solve, (x, A.clone()), out)
