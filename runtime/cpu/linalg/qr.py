"""QR factors by Householder reflections, and least squares.

A narrow matrix is one item of one job. A wider one goes panel by panel: the reflections of a panel together are I - V T V^T,
where T^-1 has 1 / tau on its diagonal and V^T V above it. So they change other columns by three products, one of them a
triangular system.
"""

import functools
import math

import numpy as np

from ....ir.ops.linalg import factorizations
from ....ir.process_state import ignore_float_errors
from ....ir.target import host
from ....passes.codegen.llvm.ir.types import FLOATS_BY_NP
from ....passes.codegen.llvm.linalg import householder as codegen
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import one_job
from ..compiler.compile import task_of
from ..gemm import gemm
from ..memory import alloc
from . import triangular

_PANEL = 32                 # columns of a panel
_MOST_WHOLE = 64            # columns up to which a matrix is a panel itself
_LINE, _CROWDED = 64, 512   # columns of the scratch so many bytes apart fall on few places of a cache
_KEPT = 1024


def factor(x: np.ndarray, complete: bool = False):
    """Return Q and R with Q @ R = x; Q is square if `complete`."""
    *lead, rows, columns = x.shape
    steps = min(rows, columns)
    wide = rows if complete else steps
    x = alloc.dense(x).reshape(math.prod(lead), rows, columns)
    q = alloc.empty((len(x), rows, wide), x.dtype)
    r = alloc.empty((len(x), wide, columns), x.dtype)
    if wide > steps:
        r[:, steps:] = 0
    if max(columns, wide) <= _MOST_WHOLE:
        tau = np.empty((len(x), steps), x.dtype)
        _reflections(x, steps, tau, r=r, q=q)
    else:
        for number in range(len(x)):
            work = np.array(x[number:number + 1])
            panels = _factor_large(work, steps)
            _collect(panels, q[number:number + 1])
            _copy_upper(work[0], r[number, :steps])
    return q.reshape((*lead, rows, wide)), r.reshape((*lead, wide, columns))


def _copy_upper(work, r):
    """Copy R from the first rows of a matrix, with zeros below it."""
    for start in range(0, len(r), _PANEL):
        rows = r[start:start + _PANEL]
        rows[:, :start] = 0
        rows[:, start:] = work[start:start + len(rows), start:]
        rows[:, start:start + _PANEL] = np.triu(rows[:, start:start + _PANEL])


def _factor_large(work, steps):
    """Factor the first `steps` columns of a matrix (1, rows, columns) in place; return the panels as (first row, V, T^-1). The
    other columns become Q^T times themselves."""
    columns = work.shape[2]
    panels = []
    for start in range(0, steps, _PANEL):
        stop = min(start + _PANEL, steps)
        panel, tau = work[:, start:, start:stop], np.empty((1, stop - start), work.dtype)
        v = alloc.empty(panel.shape, work.dtype)
        _reflections(panel, stop - start, tau, packed=panel, v=v)
        inner = _inner(v, tau)
        panels.append((start, v, inner))
        if stop < columns:
            _reflect(v, inner, work[:, start:, stop:], forward=True)
    return panels


@ignore_float_errors
def _inner(v, tau):
    """Return T^-1 of reflections: only its upper triangle counts."""
    inner, at = gemm.matmul(v.transpose(0, 2, 1), v), np.arange(v.shape[2])
    inner[:, at, at] = 1 / tau
    return inner


def _reflect(v, inner, x, forward):
    """Subtract V T V^T x from x, with T's transpose going forward (Q^T x), else Q x."""
    along = gemm.matmul(v.transpose(0, 2, 1), x)
    minus = np.empty_like(along)
    triangular.solve_block(inner.transpose(0, 2, 1) if forward else inner, along, upper=not forward, minus=minus)
    gemm.add_product(v, minus, x)


def _collect(panels, q):
    """Return the first columns of the product of all reflections."""
    q[...] = 0
    at = np.arange(q.shape[2])
    q[:, at, at] = 1
    for start, v, inner in reversed(panels):
        _reflect(v, inner, q[:, start:, start:], forward=False)


def least_squares(a: np.ndarray, b: np.ndarray, rcond: float) -> np.ndarray | None:
    """Return the shortest x with the least |a x - b|, if no singular value of a is below rcond times the largest. None if that
    is not certain."""
    *lead, rows, columns = a.shape
    if rows < columns:
        return _shortest(a, b, rcond)
    joined = alloc.empty((*lead, rows, columns + b.shape[-1]), a.dtype)
    joined[..., :columns], joined[..., columns:] = a, b
    joined = joined.reshape(math.prod(lead), rows, joined.shape[-1])
    if joined.shape[2] <= _MOST_WHOLE:
        tau = np.empty((len(joined), columns), a.dtype)
        r = alloc.empty((len(joined), columns, joined.shape[2]), a.dtype)
        _reflections(joined, columns, tau, r=r)
    else:
        for number in range(len(joined)):
            _factor_large(joined[number:number + 1], columns)
        r = joined[:, :columns]
    factors, x = r[:, :, :columns], np.ascontiguousarray(r[:, :, columns:])
    if not _is_regular(factors, rcond):
        return None
    triangular.solve(factors, x, upper=True)
    return x.reshape((*lead, columns, b.shape[-1]))


def _shortest(a, b, rcond):
    """Return the shortest x with a x = b, for a of more columns than rows: from the factors of its transpose."""
    q, r = factor(np.swapaxes(a, -1, -2))
    r, x = r.reshape(-1, *r.shape[-2:]), alloc.empty((math.prod(b.shape[:-2]), *b.shape[-2:]), b.dtype)
    if not _is_regular(r, rcond):
        return None
    np.copyto(x.reshape(b.shape), b)
    triangular.solve(r.transpose(0, 2, 1), x)
    return gemm.matmul(q, x.reshape(b.shape))


@ignore_float_errors
def _is_regular(factors, rcond):
    """Whether the condition of all upper triangles is certainly below 1 / rcond. It is bounded by the norms of them and of
    their inverses, which are not less than their largest singular values."""
    upper = np.triu(factors)
    inverse = np.broadcast_to(np.eye(upper.shape[-1], dtype=upper.dtype), upper.shape).copy()
    triangular.solve(upper, inverse, upper=True)
    lengths = [np.sqrt(np.einsum("bij,bij->b", m, m, dtype=np.float64)) for m in (upper, inverse)]
    return bool((lengths[0] * lengths[1] * rcond < 1).all())


def _reflections(x, steps, tau, **wanted):
    """Run the job for (batch, rows, columns); `wanted` are arrays for packed, v, r, q."""
    key = tuple([(name, array.strides[:2], array.shape[2]) for name, array in wanted.items()])
    arrays = [wanted.get(name, x) for name in codegen.ARRAYS[3:]]
    _plan(x.dtype, x.shape, x.strides[:2], steps, key, pool.get_num_threads())(x, wanted.get("packed", x), tau, *arrays)


@functools.lru_cache(None)
def _task(dtype):
    kernel = codegen.HouseholderKernel(host(), FLOATS_BY_NP[dtype])
    return kernel, task_of(kernel)


@functools.lru_cache(_KEPT)
def _plan(dtype, shape, x_strides, steps, wanted, threads):
    """Return the job on (x, packed, tau, v, r, q)."""
    (batch, rows, columns), item = shape, dtype.itemsize
    kernel, task = _task(dtype)
    wide = max([count for name, _, count in wanted if name == "q"], default=0)
    apart = -(-rows // kernel.lanes) * kernel.lanes * item
    apart += _LINE if apart % _CROWDED == 0 else 0
    room = (-(-max(columns, wide) // kernel.lanes) * kernel.lanes + 1) * apart
    words = {"x_batch": x_strides[0], "x_row": x_strides[1]}
    for name, strides, _ in wanted:
        words |= {f"{name}_batch": strides[0], f"{name}_row": strides[1]}
    work = 4 * batch * rows * (columns + wide) * steps
    return one_job(codegen, task, work, batch, threads, room, rows=rows, columns=columns, steps=steps, wide=wide, apart=apart,
                   scratch_bytes=room, tau_batch=steps * item, **words)


def qr(x, *, complete):
    """Return Q and R by Householder reflections."""
    return factor(x, complete) if triangular.takes(x) else factorizations.qr.ref(x, complete=complete)


def lstsq(a, b, *, rcond):
    """Solve least squares by QR if the triangle proves full rank (of the transposed matrix if it is wide), else by the SVD."""
    found = least_squares(a, b, rcond) if triangular.takes(a, b) else None
    if found is None:
        return factorizations.lstsq.ref(a, b, rcond=rcond)
    return found, np.full(a.shape[:-2], min(a.shape[-2:]), np.int64)


OPERATORS = {factorizations.qr: OperatorKernel(qr), factorizations.lstsq: OperatorKernel(lstsq)}
