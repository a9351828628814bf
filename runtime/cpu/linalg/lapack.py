"""Singular and eigen decompositions: rotations on generated kernels for matrices of a few rows, else LAPACK through NumPy."""

import threading

import numpy as np

from ....ir import blas_threads
from ....ir.opdef.op import Op
from ....ir.ops.linalg import eigen, factorizations
from ....ir.process_state import ignore_float_errors
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..gemm import gemm
from . import small_matrices

_SMALL_ROWS = blas_threads.ALONE if blas_threads.is_held() else 32      # rows and columns for which LAPACK keeps to one thread
_LEAST_EACH = 1 << 18       # rows x columns x smaller of both that make another thread pay


def rotated(op: Op):
    """Return the eager decomposition: by rotations for matrices of a few rows with finite values, by LAPACK for others."""
    run_lapack = by_lapack(op)

    def run(x, **params):
        if not small_matrices.takes(x):
            return run_lapack(x, **params)
        *found, info = _rotations(op, x, **params)
        if info.any():
            return run_lapack(x, **params)
        return tuple(found) if len(found) > 1 else found[0]

    return run


@ignore_float_errors
def pinv(x, *, rcond):
    """Return the pseudo-inverse; of matrices of a few rows by rotations."""
    if not small_matrices.takes(x):
        return factorizations.pinv.ref(x, rcond=rcond)
    u, values, vh, info = _rotations(factorizations.svd, x)
    if info.any():
        return factorizations.pinv.ref(x, rcond=rcond)
    inverse = np.where(values > rcond * values[..., :1], 1 / values, values.dtype.type(0))
    return gemm.matmul(vh.swapaxes(-1, -2) * inverse[..., None, :], u.swapaxes(-1, -2))


def _rotations(op, x, full=False):
    """Return the operator's results for matrices of a few rows, and which of them have no finite values. Wide matrices go by
    their transposes, since columns are rotated."""
    (m, n), kind = x.shape[-2:], x.dtype
    if op is factorizations.eigh:
        return small_matrices.run("eigh", [x], [((n,), kind), ((n, n), kind), ((), small_matrices.INFO)])
    if op is factorizations.eigvalsh:
        return small_matrices.run("eigvalsh", [x], [((n,), kind), ((), small_matrices.INFO)])
    if m < n:
        *found, info = _rotations(op, x.swapaxes(-1, -2), full)
        return *[a.swapaxes(-1, -2) if a.ndim == x.ndim else a for a in reversed(found)], info
    if op is factorizations.svdvals:
        return small_matrices.run("svdvals", [x], [((n,), kind), ((), small_matrices.INFO)])
    routine, side = ("svd_full", m) if full and m > n else ("svd", n)
    return small_matrices.run(routine, [x], [((m, side), kind), ((n,), kind), ((n, n), kind), ((), small_matrices.INFO)])


def by_lapack(op: Op):
    """Return LAPACK's decomposition through NumPy. Batches of small matrices are shared out between threads, since LAPACK works
    on one at a time."""

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


OPERATORS = {
    **dict.fromkeys((factorizations.svd, factorizations.svdvals, factorizations.eigh, factorizations.eigvalsh),
                    OperatorKernel(make=rotated)),
    factorizations.pinv: OperatorKernel(pinv),
    **dict.fromkeys((eigen.eig, eigen.eigvals), OperatorKernel(make=by_lapack)),
}
