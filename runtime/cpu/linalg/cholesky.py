"""Cholesky factors: `factor(x)` gives L with L @ L^T = x for each matrix of a batch, from its lower triangle.

The work is done on upper triangles, whose rows are contiguous. A large matrix goes block by block: the block on the diagonal,
the triangular system to its right, and the products of that subtracted from the rest, strip by strip of its triangle.
"""

import functools
import math

import numpy as np

from ....ir.ops.linalg import checked_factorizations, factorizations
from ....ir.target import host
from ....passes.codegen.llvm.ir.types import FLOATS_BY_NP
from ....passes.codegen.llvm.linalg import cholesky as codegen
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import Jobs, chunks_for
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_of
from ..gemm import gemm
from ..memory import alloc
from . import small_matrices, triangular

_BLOCK = 128                # rows that are factored together, and columns whose products are taken off together
_MOST_WHOLE = 256           # rows up to which a matrix is such a block itself
_STRIP = 256                # rows of the rest that products are taken off together
_LINE, _CROWDED = 64, 512   # rows so many bytes apart fall on few places of a cache
_KEPT = 1024


def factor(x: np.ndarray):
    """Return (L, the order from 1 of the first minor that is not positive, or 0); with such a minor, L is no factor."""
    *lead, n, _ = x.shape
    x = alloc.dense(x).reshape(math.prod(lead), n, n)
    out, info = alloc.empty(x.shape, x.dtype), np.zeros(len(x), np.int32)
    apart, high = _room(x.dtype, n)
    upper = alloc.empty((len(x), high, apart), x.dtype)
    threads = pool.get_num_threads()
    if n <= _MOST_WHOLE:
        _plan(x.dtype, x.shape, codegen.TASKS, 0, threads)(x, upper, out, info)
    else:
        _plan(x.dtype, x.shape, ("turn",), 0, threads)(x, upper, out, info)
        for one, number in zip(upper, range(len(x))):
            _factor_large(one[None, :n, :n], info[number:number + 1])
        _plan(x.dtype, x.shape, ("lower",), 0, threads)(x, upper, out, info)
    return out.reshape((*lead, n, n)), info.reshape(lead)


def _factor_large(upper, info):
    """Factor the upper triangle of a matrix (1, n, n) in place."""
    n = upper.shape[1]
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        block = upper[:, start:stop, start:stop]
        _factor_block(block.dtype, block.shape, block.strides, start, pool.get_num_threads())(block, block, block, info)
        if info[0] or stop == n:
            return
        minus = alloc.empty((1, stop - start, n - stop), upper.dtype)
        right = upper[:, start:stop, stop:]
        triangular.solve_block(block.transpose(0, 2, 1), right, minus=minus)
        for row in range(stop, n, _STRIP):
            end = min(row + _STRIP, n)
            gemm.add_product(minus[:, :, row - stop:end - stop].transpose(0, 2, 1), right[:, :, row - stop:],
                             upper[:, row:end, row:])


def _room(dtype, n):
    """Return (elements from row to row, rows) of an upper triangle's memory."""
    lanes = _tasks(dtype)[0].tile.lanes
    wide = -(-n // lanes) * lanes
    return wide + (_LINE // dtype.itemsize if wide * dtype.itemsize % _CROWDED == 0 else 0), wide


@functools.lru_cache(None)
def _tasks(dtype):
    """Return (kernel, its tasks by name) for a dtype."""
    kernel = codegen.CholeskyKernel(host(), FLOATS_BY_NP[dtype])
    made = compile_module(text_of(kernel), kernel.symbols)
    return kernel, {name: made[symbol] for name, symbol in zip(codegen.TASKS, kernel.symbols)}


@functools.lru_cache(_KEPT)
def _plan(dtype, shape, names, first, threads):
    """Return jobs on (x, upper, out, info)."""
    (batch, n, _), item = shape, dtype.itemsize
    apart, high = _room(dtype, n)
    strides = {"x_row": n * item, "x_batch": n * n * item, "out_row": n * item, "out_batch": n * n * item,
               "upper_row": apart * item, "upper_batch": high * apart * item}
    return _jobs(dtype, batch, n, names, strides, first, threads)


@functools.lru_cache(_KEPT)
def _factor_block(dtype, shape, strides, first, threads):
    """Return the job that factors blocks in place."""
    return _jobs(dtype, shape[0], shape[1], ("factor",), {"upper_row": strides[1], "upper_batch": strides[0]}, first, threads)


def _jobs(dtype, batch, n, names, strides, first, threads):
    kernel, tasks = _tasks(dtype)
    todo, blocks, total = Jobs(threads), -(-n // kernel.tile.lanes), 0
    for name in names:
        items, work = (batch, batch * n ** 3 // 3) if name == "factor" else (batch * blocks, 2 * batch * n * n)
        total += work
        todo.add(tasks[name], codegen.WORDS[len(codegen.ARRAYS) + 2:], chunks=chunks_for(work, items, threads),
                 items=items, blocks=blocks, rows=n, first=first, **strides)
    return todo.plan(0, total)


def _factored(x):
    """Return (L, the order of the first minor that is not positive, or 0)."""
    if small_matrices.takes(x):
        return tuple(small_matrices.run("cholesky", [x], [(x.shape[-2:], x.dtype), ((), small_matrices.INFO)]))
    return factor(x)


def cholesky(x):
    """Return L of the lower triangle; raise if a matrix is not positive definite."""
    if not triangular.takes(x):
        return factorizations.cholesky.ref(x)
    found, info = _factored(x)
    small_matrices.require(info, "cholesky", x, "Matrix is not positive definite")
    return found


def cholesky_ex(x, *, check):
    """Return L and the order of the first minor that is not positive; the reference handles large matrices that have one."""
    reference = checked_factorizations.cholesky_ex.ref
    if not triangular.takes(x):
        return reference(x, check=check)
    found = _factored(x)
    if found[1].any() and (check or not small_matrices.takes(x)):
        return reference(x, check=check)
    return found


OPERATORS = {factorizations.cholesky: OperatorKernel(cholesky), checked_factorizations.cholesky_ex: OperatorKernel(cholesky_ex)}
