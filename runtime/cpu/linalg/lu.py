"""LU factors with partial pivoting, solutions and inverses.

    factors, pivots, info = factor(x)         as LAPACK's getrf gives them, of each matrix of a batch

A matrix that a second-level cache holds with its panel is one item of one job. A larger one goes panel by panel: the panel is
such an item, then rows are exchanged, the rows of U are a triangular system, and the rest is a product.
"""

import functools
import math

import numpy as np

from ....ir.ops.linalg import checked_factorizations, factorizations
from ....ir.ops.linalg import triangular as triangular_ops
from ....ir.ops.linalg.triangular import require_info
from ....ir.target import host
from ....passes.codegen.llvm.ir.types import FLOATS_BY_NP
from ....passes.codegen.llvm.linalg import lu as codegen
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import Jobs, chunks_for, one_job
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_of
from ..gemm import gemm
from ..memory import alloc, cache_sizes
from . import small_matrices, triangular

_PANEL = 64                 # columns of a panel
_MOST_WHOLE = 256           # columns up to which a matrix is a panel itself
_STRIP = 256                # columns whose rows are exchanged together, at least
_LINE, _CROWDED = 64, 512   # columns of the scratch so many bytes apart fall on few places of a cache
_KEPT = 1024


def factor(x: np.ndarray):
    """Return (L and U in one matrix, the row from 1 that each was exchanged with, the first zero pivot from 1 or 0)."""
    *lead, rows, columns = x.shape
    steps = min(rows, columns)
    x = alloc.dense(x).reshape(math.prod(lead), rows, columns)
    out = alloc.empty(x.shape, x.dtype)
    pivots, info = np.empty((len(x), steps), np.int32), np.zeros(len(x), np.int32)
    if columns <= _MOST_WHOLE and rows * columns * x.itemsize <= cache_sizes.second_level() // 2:
        _panels(x.dtype, x.shape, x.strides[:2], out.strides[:2], steps, 0, pool.get_num_threads())(x, out, pivots, info)
    else:
        np.copyto(out, x)
        for number in range(len(x)):
            _factor_large(out[number:number + 1], pivots[number:number + 1], info[number:number + 1])
    return out.reshape((*lead, rows, columns)), pivots.reshape((*lead, steps)), info.reshape(lead)


def _factor_large(matrix, pivots, info):
    """Factor one matrix (1, rows, columns) in place."""
    _, rows, columns = matrix.shape
    threads, steps = pool.get_num_threads(), min(rows, columns)
    for start in range(0, steps, _PANEL):
        stop = min(start + _PANEL, steps)
        panel, own = matrix[:, start:, start:stop], pivots[:, start:stop]
        _panels(panel.dtype, panel.shape, panel.strides[:2], panel.strides[:2], stop - start, start, threads)(
            panel, panel, own, info)
        if start:
            exchange(matrix[:, start:, :start], own, start)
        if stop == columns:
            break
        exchange(matrix[:, start:, stop:], own, start)
        minus = alloc.empty((1, stop - start, columns - stop), matrix.dtype)
        triangular.solve_block(matrix[:, start:stop, start:stop], matrix[:, start:stop, stop:], unit=True, minus=minus)
        if stop < rows:
            gemm.add_product(matrix[:, stop:, start:stop], minus, matrix[:, stop:, stop:])


def exchange(x: np.ndarray, pivots: np.ndarray, first: int = 0):
    """Exchange rows of x (batch, n, k), one pivot after the other; pivots count from `first` + 1."""
    _moves(x.dtype, x.shape, x.strides, pivots.shape[1], pivots.strides[0], first, pool.get_num_threads())(x, pivots)


def solve(factors: np.ndarray, pivots: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return x with A @ x = b, from the factors of A; divided by zeros, where U has them."""
    *lead, n, columns = b.shape
    x = alloc.empty((math.prod(lead), n, columns), b.dtype)
    np.copyto(x.reshape(b.shape), b)
    factors = factors.reshape(len(x), n, n)
    exchange(x, pivots.reshape(len(x), n))
    triangular.solve(factors, x, unit=True)
    triangular.solve(factors, x, upper=True)
    return x.reshape(b.shape)


@functools.lru_cache(None)
def _tasks(dtype):
    """Return (kernel, the task that factors, the one that exchanges rows) for a dtype."""
    kernel = codegen.LuKernel(host(), FLOATS_BY_NP[dtype])
    made = compile_module(text_of(kernel), [kernel.symbol, kernel.moves])
    return kernel, made[kernel.symbol], made[kernel.moves]


@functools.lru_cache(_KEPT)
def _panels(dtype, shape, x_strides, out_strides, steps, first, threads):
    """Return the job on (x, out, pivots, info): a panel of each matrix."""
    (batch, rows, columns), item = shape, dtype.itemsize
    kernel, task, _ = _tasks(dtype)
    apart = -(-rows // kernel.lanes) * kernel.lanes * item
    apart += _LINE if apart % _CROWDED == 0 else 0
    room = -(-columns // kernel.lanes) * kernel.lanes * apart
    work = 2 * batch * rows * columns * steps
    return one_job(codegen, task, work, batch, threads, room, rows=rows, columns=columns, x_batch=x_strides[0],
                   x_row=x_strides[1], out_batch=out_strides[0], out_row=out_strides[1], pivots_batch=4 * steps, apart=apart,
                   scratch_bytes=room, first=first)


@functools.lru_cache(_KEPT)
def _moves(dtype, shape, x_strides, count, pivots_batch, first, threads):
    batch, _, columns = shape
    width = columns if threads == 1 or batch > 1 else max(_STRIP, -(-columns // (2 * threads)))
    todo, strips, work = Jobs(threads), -(-columns // width), 4 * batch * count * columns
    items = batch * strips
    todo.add(_tasks(dtype)[2], codegen.MOVE_WORDS[len(codegen.MOVE_ARRAYS) + 2:], chunks=chunks_for(work, items, threads),
             items=items, strips=strips, width=width, columns=columns, count=count, first=first, x_batch=x_strides[0],
             x_row=x_strides[1], pivots_batch=pivots_batch)
    return todo.plan(0, work)


def lu_factor(x, *, pivot, check):
    """Return LU factors with partial pivoting."""
    if not (pivot and triangular.takes(x)):
        return triangular_ops.lu_factor.ref(x, pivot=pivot, check=check)
    found = factor(x)
    if check:
        require_info("lu_factor", found[2], triangular_ops.ZERO_PIVOT)
    return found


def solved(a, b=None):
    """Return (x with a @ x = b, or the inverse; the first zero pivot of each matrix)."""
    if small_matrices.takes(a) and (b is None or small_matrices.takes(b)):
        routine, matrices = ("inv", [a]) if b is None else ("solve", [a, b])
        return tuple(small_matrices.run(routine, matrices, [(matrices[-1].shape[-2:], a.dtype), ((), small_matrices.INFO)]))
    if b is None:
        b = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    factors, pivots, info = factor(a)
    return solve(factors, pivots, b), info


def _solution(op):
    """Return the eager solution, or inverse, which raises for singular matrices."""

    def run(*matrices):
        if not triangular.takes(*matrices):
            return op.ref(*matrices)
        x, info = solved(*matrices)
        small_matrices.require(info, op.name, matrices[0], "Singular matrix")
        return x

    return run


def _checked_solution(op):
    """Return the eager solution, or inverse, with the number of the first zero pivot of each matrix."""

    def run(*matrices, check):
        if not triangular.takes(*matrices):
            return op.ref(*matrices, check=check)
        found = solved(*matrices)
        if check:
            require_info(op.name, found[1], checked_factorizations.ZERO_PIVOT)
        return found

    return run


OPERATORS = {
    triangular_ops.lu_factor: OperatorKernel(lu_factor),
    factorizations.solve: OperatorKernel(make=_solution),
    factorizations.inv: OperatorKernel(make=_solution),
    checked_factorizations.solve_ex: OperatorKernel(make=_checked_solution),
    checked_factorizations.inv_ex: OperatorKernel(make=_checked_solution),
}
