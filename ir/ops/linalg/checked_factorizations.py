"""Inverses, solutions and Cholesky factors with an info result for singular matrices of a batch, instead of an error."""

import numpy as np

from ... import dtype as dt
from ...blas_threads import suited
from ...opdef.batch_rules import LEADING
from ...opdef.op import Host, op
from ...opdef.param_checks import check_flag
from ..core import elementwise as ew
from .factorizations import cholesky_gradient, inv, of_matrix, positive_factor, solve, textbook
from .products import matmul, transpose_last
from .triangular import lu_of, of_system, order_of, require_info, substituted

ZERO_PIVOT = "the matrix is singular: U[{0},{0}] of its factors is zero"
NOT_POSITIVE = "its leading minor of order {0} is not positive"


def _with_info(x, *, check):
    """Return the type of a result like matrices, and that of an info number for each matrix."""
    check_flag(check, "check")
    return x, x.with_shape(x.shape[:-2]).with_dtype(dt.int32)


def _solve_anyway(a, b):
    """Return the factors' solution, divided by zero where they have one."""
    lu, pivots, info = lu_of(a)
    permuted = np.take_along_axis(b, order_of(pivots, a.shape[-1])[..., None], -2)
    return substituted(lu, substituted(lu, permuted, unit=True), upper=True), info


def _solve(a, b, *, check):
    try:
        return np.linalg.solve(a, b), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        x, info = _solve_anyway(a, b)
    if check:
        require_info("solve_ex", info, ZERO_PIVOT)
    return x, info


def _solve_vjp(g, out, a, b, *, check, needs):
    back = solve(transpose_last(a), g)
    return (ew.neg(matmul(back, transpose_last(out[0]))) if needs[0] else None), back


solve_ex = op("solve_ex", infer=of_system("solve_ex", lambda a, b, *, check: _with_info(b, check=check)), ref=suited(_solve),
              vjp=_solve_vjp, saves=(0, 1), lower=Host(), batch=LEADING, traits=("refuses",),
              doc="x with a @ x = b, and the first zero on the diagonal of a's factor U, from 1, or 0.")


def _inv(x, *, check):
    try:
        return np.linalg.inv(x), np.zeros(x.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        found, info = _solve_anyway(x, np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape))
    if check:
        require_info("inv_ex", info, ZERO_PIVOT)
    return found, info


inv_ex = op("inv_ex", infer=of_matrix("inv_ex", _with_info), ref=suited(_inv), saves=(0,),
            vjp=lambda g, out, x, *, check, needs: (inv.vjp[0](g, out[0], x),), lower=Host(), batch=LEADING,
            traits=("refuses",), doc="The inverse, and the first zero on the diagonal of the factor U, from 1, or 0.")


def _first_bad_minor(x):
    """Return (factor of the leading positive definite rows, order of the first minor that is not positive definite)."""
    good, bad = 0, len(x)
    factor = np.tril(x)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            positive_factor(x[:middle, :middle])
            good = middle
        except np.linalg.LinAlgError:
            bad = middle
    factor[:good, :good] = positive_factor(x[:good, :good])
    return factor, bad


def _cholesky(x, *, check):
    try:
        return positive_factor(x), np.zeros(x.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        factor, info = np.empty_like(x), np.zeros(x.shape[:-2], np.int32)
    for at in np.ndindex(info.shape):
        try:
            factor[at] = positive_factor(x[at])
        except np.linalg.LinAlgError:
            factor[at], info[at] = _first_bad_minor(x[at])
    if check:
        require_info("cholesky_ex", info, NOT_POSITIVE)
    return factor, info


cholesky_ex = op("cholesky_ex", infer=of_matrix("cholesky_ex", _with_info), ref=suited(_cholesky), saves=(0,), lower=Host(),
                 vjp=textbook(lambda g, out, x, *, check, needs: (cholesky_gradient(g, out[0]),)), batch=LEADING,
                 traits=("one_triangle", "refuses"),
                 doc="The lower triangular L with L @ L^H = x, and the order of the first minor that is not positive, or 0.")
