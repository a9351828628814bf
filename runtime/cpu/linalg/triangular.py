"""Triangular systems: `solve(t, x)` overwrites B with the solution of T @ X = B.

Systems up to `_BLOCK` rows are one job; larger ones go block by block, with a product for the other rows.
"""

import functools

import numpy as np

from ....ir.ops.linalg import triangular as triangular_ops
from ....ir.target import host
from ....passes.codegen.llvm.ir.types import FLOATS_BY_NP
from ....passes.codegen.llvm.linalg import triangular as codegen
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import one_job
from ..compiler.compile import task_of
from ..gemm import gemm
from ..memory import alloc

_BLOCK = 256                # rows whose part of T stays in the second-level cache
_KEPT = 1024


def solve(t: np.ndarray, x: np.ndarray, upper: bool = False, unit: bool = False):
    """Solve batches of systems: t (batch, n, n) of any strides, x (batch, n, k) with contiguous rows. One triangle of t is
    read; its diagonal counts as ones if `unit`."""
    n = t.shape[1]
    if n <= _BLOCK:
        return solve_block(t, x, upper, unit)
    starts = range(0, n, _BLOCK)
    for start in reversed(starts) if upper else starts:
        part = slice(start, min(start + _BLOCK, n))
        rest = slice(0, start) if upper else slice(part.stop, n)
        minus = alloc.empty((x.shape[0], part.stop - start, x.shape[2]), x.dtype)
        solve_block(t[:, part, part], x[:, part], upper, unit, minus)
        if rest.start < rest.stop:
            gemm.add_product(t[:, rest, part], minus, x[:, rest])
    return None


def solve_block(t, x, upper=False, unit=False, minus=None):
    """Solve small systems; `minus` gets the negated solution."""
    if upper:               # a lower triangle, from its end
        t, x = t[:, ::-1, ::-1], x[:, ::-1]
        minus = None if minus is None else minus[:, ::-1]
    _plan(x.dtype, x.shape, t.strides, x.strides, minus is not None and minus.strides, unit, pool.get_num_threads())(
        t, x, x if minus is None else minus)


@functools.lru_cache(_KEPT)
def _plan(dtype, shape, t_strides, x_strides, minus_strides, unit, threads):
    batch, rows, columns = shape
    kernel = codegen.TriangularKernel(host(), FLOATS_BY_NP[dtype])
    strips = -(-columns // kernel.shape.columns)
    words = {"minus_batch": minus_strides[0], "minus_row": minus_strides[1]} if minus_strides else {}
    return one_job(codegen, task_of(kernel), batch * rows * rows * columns, batch * strips, threads, strips=strips, rows=rows,
                   columns=columns, t_batch=t_strides[0], t_row=t_strides[1], t_step=t_strides[2], x_batch=x_strides[0],
                   x_row=x_strides[1], unit=int(unit), **words)


def takes(*arrays) -> bool:
    """Whether kernels take these matrices; references take complex and empty ones."""
    return all([a.dtype in FLOATS_BY_NP and a.size > 0 for a in arrays])  # noqa: C419  (quicker than a generator)


def solve_triangular(a, b, *, upper, unit):
    """Solve by substitution, and products."""
    if not takes(a, b):
        return triangular_ops.solve_triangular.ref(a, b, upper=upper, unit=unit)
    x = alloc.empty(b.shape, b.dtype)
    np.copyto(x, b)
    if not a.flags.aligned:
        a = alloc.dense(a)
    solve(a.reshape(-1, *a.shape[-2:]), x.reshape(-1, *x.shape[-2:]), upper, unit)
    return x


OPERATORS = {triangular_ops.solve_triangular: OperatorKernel(solve_triangular)}
