"""Which compiled kernel runs factorisations, solutions and determinants in eager mode; see `eager.py`. Complex and empty
matrices stay with the references."""

import threading

import numpy as np

from ....ir import blas_threads
from ....ir.errors import LinAlgError
from ....ir.opdef.op import Op
from ....ir.ops.linalg import checked_factorizations, determinant, eigen, factorizations
from ....ir.ops.linalg import triangular as systems
from ....ir.ops.linalg.triangular import require_info
from ..calls import pool
from ..calls.kernel_table import KernelTable
from ..gemm import gemm
from ..memory import alloc
from . import cholesky, lu, qr, small_matrices, triangular

TABLE = KernelTable()
# rows and columns up to which LAPACK keeps to one thread, and
_SMALL_ROWS = blas_threads.ALONE if blas_threads.is_held() else 32
_LEAST_EACH = 1 << 18       # rows x columns x smaller of both that make another one pay
_INFO = np.dtype(np.int32)
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


def _solved(a, b=None):
    """(x with a @ x = b, or the inverse; the first zero pivot of each matrix)"""
    if small_matrices.takes(a) and (b is None or small_matrices.takes(b)):
        routine, given = ("inv", [a]) if b is None else ("solve", [a, b])
        return tuple(small_matrices.run(routine, given, [(given[-1].shape[-2:], a.dtype), ((), _INFO)]))
    if b is None:
        b = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    factors, pivots, info = lu.factor(a)
    return lu.solve(factors, pivots, b), info


@TABLE.makes(factorizations.solve)
def solve(op: Op):
    """LU, then two triangular systems."""

    def run(a, b):
        if not _takes(a, b):
            return op.ref(a, b)
        x, info = _solved(a, b)
        _require(info, op.name, a, _SINGULAR)
        return x

    return run


@TABLE.makes(factorizations.inv)
def inv(op: Op):
    """The solution for the identity."""

    def run(x):
        if not _takes(x):
            return op.ref(x)
        found, info = _solved(x)
        _require(info, op.name, x, _SINGULAR)
        return found

    return run


@TABLE.makes(checked_factorizations.solve_ex, checked_factorizations.inv_ex)
def solve_ex(op: Op):
    """The same, and which matrices are singular."""

    def run(a, b=None, *, check):
        given = (a,) if b is None else (a, b)
        if not _takes(*given):
            return op.ref(*given, check=check)
        found = _solved(*given)
        if check:
            require_info(op.name, found[1], checked_factorizations.ZERO_PIVOT)
        return found

    return run


def _diagonal(factors, pivots):
    """(the diagonals of U, -1.0 where an odd number of rows was exchanged and 1.0 elsewhere)"""
    exchanged = np.count_nonzero(pivots != np.arange(1, pivots.shape[-1] + 1, dtype=np.int32), -1)
    return np.diagonal(factors, axis1=-2, axis2=-1), np.where(exchanged % 2, -1, 1).astype(factors.dtype)


def _determinant(factors, pivots):
    """The product of U's diagonal."""
    diagonal, sign = _diagonal(factors, pivots)
    with np.errstate(all="ignore"):
        return np.asarray(np.multiply.reduce(diagonal, -1) * sign, factors.dtype)


@TABLE.makes(determinant.det)
def det(op: Op):
    """The product of U's diagonal."""

    def run(x):
        if not _takes(x):
            return op.ref(x)
        if small_matrices.takes(x):
            return small_matrices.run("det", [x], [((), x.dtype)])[0]
        return _determinant(*lu.factor(x)[:2])

    return run


def _inverse_and_determinant(x):
    """(inverses, determinants as fractions, and the powers of 2 by which to multiply them)"""
    if small_matrices.takes(x):
        inverse, whole = [small_matrices.run(routine, [x], given)[0] for routine, given in (
            ("inv", [(x.shape[-2:], x.dtype), ((), _INFO)]), ("det", [((), x.dtype)]))]
        return inverse, *np.frexp(whole)
    factors, pivots, _ = lu.factor(x)
    one = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    return lu.solve(factors, pivots, one), *_scaled_determinant(*_diagonal(factors, pivots))


_RUN = 512      # fractions of which the product is within the range of float64


def _scaled_determinant(diagonal, sign):
    """The product of U's diagonals as a fraction and a power of 2, so that it has no end of a range to pass."""
    parts, power = np.frexp(diagonal.astype(np.float64))
    power = power.sum(-1)
    while parts.shape[-1] > 1:
        parts, more = np.frexp(np.multiply.reduceat(parts, range(0, parts.shape[-1], _RUN), -1))
        power = power + more.sum(-1)
    return parts[..., 0] * sign, power


@TABLE.makes(determinant.cofactor)
def cofactor(op: Op):
    """The determinant times the inverse, turned, where that is as good as singular values are."""

    def run(x):
        if not _takes(x):
            return op.ref(x)
        with np.errstate(all="ignore"):         # of matrices without an inverse, which are left to the reference
            inverse, fraction, power = _inverse_and_determinant(x)
            size, of_inverse = (np.einsum("...ij,...ij->...", a, a) for a in (x, inverse))      # squared
            sound = (size * of_inverse < 1 / np.finfo(x.dtype).eps) & np.isfinite(fraction) & (fraction != 0)
            found = np.multiply(fraction[..., None, None], np.swapaxes(inverse, -1, -2), order="C")
            found = np.ldexp(found, power[..., None, None]).astype(x.dtype)
        if not sound.all():
            found[~sound] = op.ref(x[~sound])
        return found

    return run


@TABLE.makes(determinant.slogdet)
def slogdet(op: Op):
    """The signs and logarithms of U's diagonal."""

    def run(x):
        if not _takes(x):
            return op.ref(x)
        if small_matrices.takes(x):
            return tuple(small_matrices.run("slogdet", [x], [((), x.dtype)] * 2))
        diagonal, sign = _diagonal(*lu.factor(x)[:2])
        with np.errstate(all="ignore"):
            signs = np.multiply.reduce(np.sign(diagonal), -1) * sign
            return np.asarray(signs, x.dtype), np.asarray(np.add.reduce(np.log(np.abs(diagonal)), -1), x.dtype)

    return run


def _positive(x):
    """(L, the order of the first minor that is not positive, or 0)"""
    if small_matrices.takes(x):
        return tuple(small_matrices.run("cholesky", [x], [(x.shape[-2:], x.dtype), ((), _INFO)]))
    return cholesky.factor(x)


@TABLE.makes(factorizations.cholesky)
def cholesky_factor(op: Op):
    """L of the lower triangle."""

    def run(x):
        if not _takes(x):
            return op.ref(x)
        found, info = _positive(x)
        _require(info, op.name, x, _NOT_POSITIVE)
        return found

    return run


@TABLE.makes(checked_factorizations.cholesky_ex)
def cholesky_ex(op: Op):
    """The same; where a matrix is not positive, the reference says what there is."""

    def run(x, *, check):
        if not _takes(x):
            return op.ref(x, check=check)
        found = _positive(x)
        if not found[1].any():
            return found
        if check or not small_matrices.takes(x):
            return op.ref(x, check=check)
        return found

    return run


@TABLE.makes(factorizations.qr)
def orthogonal(op: Op):
    """Householder's reflections."""

    def run(x, *, complete):
        return qr.factor(x, complete) if _takes(x) else op.ref(x, complete=complete)

    return run


@TABLE.makes(factorizations.lstsq)
def lstsq(op: Op):
    """By QR where all singular values surely count, of the transposed matrix where it is wide; else by these."""

    def run(a, b, *, rcond):
        found = None
        if _takes(a, b):
            found = qr.least_squares(a, b, rcond)
        if found is None:
            return op.ref(a, b, rcond=rcond)
        return found, np.full(a.shape[:-2], min(a.shape[-2:]), np.int64)

    return run


@TABLE.makes(factorizations.svd, factorizations.svdvals, factorizations.eigh, factorizations.eigvalsh)
def rotated(op: Op):
    """Rotations of matrices of a few rows, where all is finite; others are LAPACK's."""
    by_lapack = _by_lapack(op)

    def run(x, **params):
        if not small_matrices.takes(x):
            return by_lapack(x, **params)
        *found, info = _rotations(op, x, **params)
        if info.any():
            return by_lapack(x, **params)
        return tuple(found) if len(found) > 1 else found[0]

    return run


@TABLE.makes(factorizations.pinv)
def pinv(op: Op):
    """Of matrices of a few rows by rotations."""

    def run(x, *, rcond):
        if not small_matrices.takes(x):
            return op.ref(x, rcond=rcond)
        u, values, vh, info = _rotations(factorizations.svd, x)
        if info.any():
            return op.ref(x, rcond=rcond)
        with np.errstate(all="ignore"):
            inverse = np.where(values > rcond * values[..., :1], 1 / values, values.dtype.type(0))
        return gemm.matmul(vh.swapaxes(-1, -2) * inverse[..., None, :], u.swapaxes(-1, -2))

    return run


def _rotations(op, x, full=False):
    """What the operator gives for matrices of a few rows, and which have no finite values; wide ones by their transposes, since
    columns are turned."""
    (m, n), kind = x.shape[-2:], x.dtype
    if op is factorizations.eigh:
        return small_matrices.run("eigh", [x], [((n,), kind), ((n, n), kind), ((), _INFO)])
    if op is factorizations.eigvalsh:
        return small_matrices.run("eigvalsh", [x], [((n,), kind), ((), _INFO)])
    if m < n:
        *found, info = _rotations(op, x.swapaxes(-1, -2), full)
        return *[a.swapaxes(-1, -2) if a.ndim == x.ndim else a for a in reversed(found)], info
    if op is factorizations.svdvals:
        return small_matrices.run("svdvals", [x], [((n,), kind), ((), _INFO)])
    routine, side = ("svd_full", m) if full and m > n else ("svd", n)
    return small_matrices.run(routine, [x], [((m, side), kind), ((n,), kind), ((n, n), kind), ((), _INFO)])


@TABLE.makes(eigen.eig, eigen.eigvals)
def _by_lapack(op: Op):
    """The reference, LAPACK's own through numpy; batches of small matrices are shared out between threads, for it works on one
    at a time."""

    def run(x, **params):
        *lead, rows, columns = x.shape
        work, most = x.size * min(rows, columns), pool.get_num_threads()
        count = min(most, work // _LEAST_EACH) if len(lead) and max(rows, columns) <= _SMALL_ROWS else 1
        if count < 2:
            return op.ref(x, **params)
        parts = _by_threads(lambda part: op.ref(part, **params), np.array_split(x.reshape(-1, rows, columns), count))
        if not isinstance(parts[0], tuple):
            return _joined(parts, lead)
        return tuple([_joined(part, lead) for part in zip(*parts)])

    return run


def _joined(parts, lead):
    return np.concatenate(parts).reshape((*lead, *parts[0].shape[1:]))


def _by_threads(fn, parts):
    """fn(part) for each of some parts, one on each thread."""
    found: list = [None] * len(parts)

    def one(number):
        try:
            found[number] = fn(parts[number])
        except Exception as error:
            found[number] = error

    threads = [threading.Thread(target=one, args=(number,)) for number in range(1, len(parts))]
    for thread in threads:
        thread.start()
    one(0)
    for thread in threads:
        thread.join()
    for result in found:
        if isinstance(result, Exception):
            raise result
    return found
