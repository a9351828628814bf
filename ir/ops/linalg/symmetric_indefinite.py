"""LDL^T factors of symmetric indefinite matrices (Bunch-Kaufman) as LAPACK's sytrf and hetrf store them, and QR as geqrf."""

from math import prod

import numpy as np

from ... import dtype as dt
from ...errors import DimError, ShapeError
from ...opdef.batch_rules import LEADING
from ...opdef.op import NO_GRAD, Host, op
from ...opdef.param_checks import check_flag
from ...process_state import ignore_float_errors
from .factorizations import lapack
from .matrix_rules import check_matrix
from .triangular import check_system, flipped, require_info, size_of

_ALPHA = (1 + 17 ** 0.5) / 8           # how much smaller a diagonal element may be than its column and still be a pivot


def _infer_ldl(x, *, hermitian, check):
    check_matrix("ldl_factor", x)
    check_flag(hermitian, "ldl_factor: hermitian")
    check_flag(check, "ldl_factor: check")
    return x, x.with_shape(x.shape[:-1]).with_dtype(dt.int32), x.with_shape(x.shape[:-2]).with_dtype(dt.int32)


def _pivot_of(a, k):
    """Return (row that becomes the pivot, number of rows eliminated together); no row if the column is zero."""
    sizes, own = size_of(a[k + 1:, k]), size_of(a[k, k])
    column = sizes.max(initial=0)
    if max(own, column) == 0:
        return None, 1
    if own >= _ALPHA * column:
        return k, 1
    far = k + 1 + int(np.argmax(sizes))
    row = max(size_of(a[far, k:far]).max(initial=0), size_of(a[far + 1:, far]).max(initial=0))
    if own >= _ALPHA * column * (column / row):
        return k, 1
    return far, 1 if size_of(a[far, far]) >= _ALPHA * row else 2


def _exchange(a, i, j, turn):
    """Exchange rows and columns i < j of a symmetric matrix stored as lower triangle, from column i on."""
    a[j + 1:, [i, j]] = a[j + 1:, [j, i]]
    between = a[i + 1:j, i].copy()
    a[i + 1:j, i], a[j, i + 1:j] = turn(a[j, i + 1:j]), turn(between)
    a[j, i] = turn(a[j, i])
    a[i, i], a[j, j] = a[j, j], a[i, i]


def _ldl_one(a, pivots, turn):
    """Factor the lower triangle of one matrix in place; return the first column without a pivot, from 1, or 0."""
    k, n, info = 0, len(a), 0
    while k < n:
        found, step = _pivot_of(a, k)
        if found is None:
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        last, rest = k + step - 1, slice(k + step, n)
        if found != last:
            _exchange(a, last, found, turn)
            if step == 2:
                a[[k + 1, found], k] = a[[found, k + 1], k]
        block = a[k:k + step, k:k + step].copy()
        if step == 2:
            block[0, 1] = turn(block[1, 0])
        column = a[rest, k:k + step].copy()
        a[rest, k:k + step] = np.linalg.solve(block.T, column.T).T
        a[rest, rest] -= a[rest, k:k + step] @ turn(column).T
        pivots[k:k + step] = found + 1 if step == 1 else -(found + 1)
        k += step
    return info


def _ldl(x, *, hermitian, check):
    turn = np.conj if hermitian else np.asarray
    work = np.array(x.reshape(prod(x.shape[:-2]), *x.shape[-2:]))
    pivots = np.zeros(work.shape[:2], np.int32)
    if hermitian and x.dtype.kind == "c":
        at = np.arange(x.shape[-1])
        work[:, at, at] = work[:, at, at].real
    info = np.array([_ldl_one(a, p, turn) for a, p in zip(work, pivots)], np.int32).reshape(x.shape[:-2])
    if check:
        require_info("ldl_factor", info, "D[{0},{0}] is zero, so the factors solve no systems; ldl_factor_ex() gives them")
    return np.tril(work.reshape(x.shape)), pivots.reshape(x.shape[:-1]), info


ldl_factor = op("ldl_factor", infer=_infer_ldl, ref=_ldl, vjp=NO_GRAD, lower=Host(), batch=LEADING,
                traits=("refuses",),
                doc="L and D with L @ D @ L^T = x (or L^H) in one matrix, the exchanged rows, the first zero block of D.")


def _infer_ldl_solve(factors, pivots, b, *, hermitian):
    check_system("ldl_solve", factors, b)
    check_flag(hermitian, "ldl_solve: hermitian")
    if not pivots.dtype.is_integer or pivots.shape != factors.shape[:-1]:
        raise ShapeError(f"ldl_solve takes the pivots of ldl_factor, got {pivots} for {factors}")
    return b


def _steps(pivots):
    """Yield (first row, number of rows, row exchanged with the last one) for every block of D."""
    k = 0
    while k < len(pivots):
        step = 1 if pivots[k] > 0 else 2
        yield k, step, abs(int(pivots[k])) - 1
        k += step


def _ldl_solve_one(a, pivots, x, turn):
    n, steps = len(a), list(_steps(pivots))
    if any(k + step > n or found >= n for k, step, found in steps):
        raise DimError(f"ldl_solve: the pivots {pivots.tolist()} are none of {n} rows")
    for k, step, found in steps:
        last, rest = k + step - 1, slice(k + step, n)
        x[[last, found]] = x[[found, last]]
        x[rest] -= a[rest, k:k + step] @ x[k:k + step]
        block = a[k:k + step, k:k + step].copy()
        if step == 2:
            block[0, 1] = turn(block[1, 0])
        x[k:k + step] = np.linalg.solve(block, x[k:k + step]) if step == 2 else x[k:k + step] / block
    for k, step, found in reversed(steps):
        last, rest = k + step - 1, slice(k + step, n)
        x[k:k + step] -= turn(a[rest, k:k + step]).T @ x[rest]
        x[[last, found]] = x[[found, last]]


@ignore_float_errors
def _ldl_solve(factors, pivots, b, *, hermitian):
    turn, count = np.conj if hermitian else np.asarray, prod(b.shape[:-2])
    x = np.array(b, order="C")
    for a, p, one in zip(*(v.reshape(count, *v.shape[b.ndim - 2:]) for v in (factors, pivots, x))):
        _ldl_solve_one(a, p, one, turn)
    return x


ldl_solve = op("ldl_solve", infer=_infer_ldl_solve, ref=lapack("ldl_solve", _ldl_solve), vjp=NO_GRAD, lower=Host(),
               batch=LEADING, bounds=lambda factors, pivots, b, *, hermitian: [(1, -factors.shape[-1], factors.shape[-1] + 1)],
               traits=("refuses",),
               doc="x with A @ x = b, from the factors of ldl_factor.")


def _infer_geqrf(x):
    check_matrix("geqrf", x, square=False)
    return x, x.with_shape((*x.shape[:-2], min(x.shape[-2:])))


def _geqrf(x):
    if 0 in x.shape:
        return np.array(x), np.zeros((*x.shape[:-2], min(x.shape[-2:])), x.dtype)
    h, tau = np.linalg.qr(x, "raw")
    return np.ascontiguousarray(flipped(h)), tau


geqrf = op("geqrf", infer=_infer_geqrf, ref=lapack("geqrf", _geqrf), vjp=NO_GRAD, lower=Host(), batch=LEADING,
           doc="R on and above the diagonal, and the vectors of Householder's reflections below, with their factors.")
