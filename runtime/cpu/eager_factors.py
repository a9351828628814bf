"""Which compiled kernel runs factorisations, solutions and determinants in eager mode; see `eager.py`. Complex and empty matrices
stay with the references."""

import numpy as np

from ...ir.errors import LinAlgError
from ...ir.op import Op
from ...ir.ops import checked, factor
from ...ir.ops import triangular as systems
from ...ir.ops.triangular import require_info
from . import alloc, cholesky, lu, triangular
from .kernel_table import KernelTable

TABLE = KernelTable()
_SINGULAR, _NOT_POSITIVE = "Singular matrix", "Matrix is not positive definite"


def _takes(*arrays) -> bool:
    """Whether kernels take these matrices."""
    return all([a.dtype in triangular.ELEMENTS and a.size > 0 for a in arrays])  # noqa: C419  (quicker than a generator)


def _require(info, name, x, what):
    if info.any():
        raise LinAlgError(f"{name} of a matrix of shape {x.shape}: {what}")


@TABLE.makes(systems.lu_factor)
def lu_factor(op: Op):
    """LU with partial pivoting."""

    def run(x, *, pivot, check):
        if not (pivot and _takes(x)):
            return op.ref(x, pivot=pivot, check=check)
        found = lu.factor(x)
        if check:
            require_info("lu_factor", found[2], systems.ZERO_PIVOT)
        return found

    return run


@TABLE.makes(systems.solve_triangular)
def solve_triangular(op: Op):
    """Substitution, and products."""

    def run(a, b, *, upper, unit):
        if not _takes(a, b):
            return op.ref(a, b, upper=upper, unit=unit)
        x = alloc.empty(b.shape, b.dtype)
        np.copyto(x, b)
        if not a.flags.aligned:
            a = alloc.dense(a)
        triangular.solve(a.reshape(-1, *a.shape[-2:]), x.reshape(-1, *x.shape[-2:]), upper, unit)
        return x

    return run


def _solved(a, b):
    """(x with a @ x = b, the first zero pivot of each matrix)"""
    factors, pivots, info = lu.factor(a)
    return lu.solve(factors, pivots, b), info


def _identities(x):
    return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)


@TABLE.makes(factor.solve)
def solve(op: Op):
    """LU, then two triangular systems."""

    def run(a, b):
        if not _takes(a, b):
            return op.ref(a, b)
        x, info = _solved(a, b)
        _require(info, op.name, a, _SINGULAR)
        return x

    return run


@TABLE.makes(factor.inv)
def inv(op: Op):
    """The solution for the identity."""

    def run(x):
        if not _takes(x):
            return op.ref(x)
        found, info = _solved(x, _identities(x))
        _require(info, op.name, x, _SINGULAR)
        return found

    return run


@TABLE.makes(checked.solve_ex, checked.inv_ex)
def solve_ex(op: Op):
    """The same, and which matrices are singular."""

    def run(a, b=None, *, check):
        given = (a,) if b is None else (a, b)
        if not _takes(*given):
            return op.ref(*given, check=check)
        found = _solved(a, _identities(a) if b is None else b)
        if check:
            require_info(op.name, found[1], checked.ZERO_PIVOT)
        return found

    return run


def _diagonal(x):
    """(the diagonals of U, -1.0 where an odd number of rows was exchanged and 1.0 elsewhere)"""
    factors, pivots, _ = lu.factor(x)
    exchanged = np.count_nonzero(pivots != np.arange(1, x.shape[-1] + 1, dtype=np.int32), -1)
    return np.diagonal(factors, axis1=-2, axis2=-1), np.where(exchanged % 2, -1, 1).astype(x.dtype)


@TABLE.makes(factor.det)
def det(op: Op):
    """The product of U's diagonal."""

    def run(x):
        if not _takes(x):
            return op.ref(x)
        diagonal, sign = _diagonal(x)
        with np.errstate(all="ignore"):
            return np.asarray(np.multiply.reduce(diagonal, -1) * sign, x.dtype)

    return run


@TABLE.makes(factor.slogdet)
def slogdet(op: Op):
    """The signs and logarithms of U's diagonal."""

    def run(x):
        if not _takes(x):
            return op.ref(x)
        diagonal, sign = _diagonal(x)
        with np.errstate(all="ignore"):
            signs = np.multiply.reduce(np.sign(diagonal), -1) * sign
            return np.asarray(signs, x.dtype), np.asarray(np.add.reduce(np.log(np.abs(diagonal)), -1), x.dtype)

    return run


@TABLE.makes(factor.cholesky)
def cholesky_factor(op: Op):
    """L of the symmetric part."""

    def run(x):
        if not _takes(x):
            return op.ref(x)
        found, info = cholesky.factor(x)
        _require(info, op.name, x, _NOT_POSITIVE)
        return found

    return run


@TABLE.makes(checked.cholesky_ex)
def cholesky_ex(op: Op):
    """The same; where a matrix is not positive, the reference says what there is."""

    def run(x, *, check):
        found = cholesky.factor(x) if _takes(x) else None
        return op.ref(x, check=check) if found is None or found[1].any() else found

    return run
