"""Scans along a dim: `scan("add", x, dim=1)`. Values are those of one step after the other."""

import functools
import math

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.core import scan as scan_ops
from ....ir.target import host
from ....passes.codegen.llvm.index import scans as codegen
from ....passes.codegen.llvm.ir.types import NUMBERS_BY_NP
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import JobsPlan, one_job
from ..compiler.compile import task_of
from ..loops import copies, kernels
from ..memory import alloc

_WIDE = 4           # adjacent complex numbers whose parts fill vectors
_KEPT = 512
# The step of each operator of one array.
STEPS = {scan_ops.cumsum: codegen.ADD, scan_ops.cumprod: codegen.MUL, scan_ops.logcumsumexp: codegen.LOG_ADD,
         scan_ops.cummax: codegen.MOST, scan_ops.cummin: codegen.LEAST, scan_ops.products_of_others: codegen.OTHERS}


def can_scan(x) -> bool:
    """Whether the kernels take this array."""
    return x.dtype in NUMBERS_BY_NP and x.size > 0 and len(x.shape) > 0


def can_scan_parts(x, how: str, dim: int) -> bool:
    """Whether complex numbers are scanned as real ones, with the parts in the last dim, which is right for sums."""
    return how == codegen.ADD and x.dtype in dt.NP_PARTS and x.size > 0 and len(x.shape) > 0 and sizes(x.shape, dim)[2] >= _WIDE


@functools.lru_cache(_KEPT)
def plan(how: str, dtype, shape: tuple, dim: int, threads: int) -> JobsPlan:
    """Return the job on (x, z, y), all of a shape, along a dim; z is not touched by sums and products."""
    outer, size, inner = sizes(shape, dim)
    if dtype in dt.NP_PARTS:
        dtype, inner = dt.NP_PARTS[dtype], 2 * inner
    kind = codegen.OtherProducts if how == codegen.OTHERS else codegen.ScanKernel
    kernel = kind(host(), NUMBERS_BY_NP[dtype], how)
    symbol = kernel.along if inner == 1 else kernel.across
    items = -(-outer // kernel.rows) if inner == 1 else outer * -(-inner // kernel.block)
    return one_job(codegen, task_of(kernel, symbol), kernel.cost * outer * size * inner, items, threads, outer=outer, size=size,
                   inner=inner)


def sizes(shape, dim: int) -> tuple:
    """Return (outer, size, inner) of a shape along a dim."""
    dim %= len(shape)
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1:])


def scan(how: str, x, *, dim):
    """Return the sums (products) of everything up to and including each element."""
    x, out = copies.dense(x), alloc.empty(x.shape, x.dtype)
    plan(how, x.dtype, x.shape, dim, pool.get_num_threads())(x, x, out)
    return out


def complex_sums(x, *, dim):
    """Return running sums of complex numbers."""
    if can_scan_parts(x, codegen.ADD, dim):
        return scan(codegen.ADD, x, dim=dim)
    kind = dt.BY_NP[x.dtype]
    return kernels.function("complex", *[dt.PARTS[kind]] * 2)(
        *[scan(codegen.ADD, kernels.function(part, kind)(x), dim=dim) for part in ("real", "imag")])


def linear(a, b, *, dim):
    """Return the recurrence h[t] = a[t] * h[t - 1] + b[t] of arrays that the kernel takes."""
    out = alloc.empty(a.shape, a.dtype)
    plan(codegen.LINEAR, a.dtype, a.shape, dim, pool.get_num_threads())(copies.dense(a), copies.dense(b), out)
    return out


def extreme(how: str, x, *, dim):
    """Return (the largest or smallest so far, its last index)."""
    out, positions = alloc.empty(x.shape, x.dtype), alloc.empty(x.shape, np.dtype(np.int64))
    plan(how, x.dtype, x.shape, dim, pool.get_num_threads())(copies.dense(x), positions, out)
    return out, positions


def running(op):
    """Return the eager scan of an operator of one array."""
    how = STEPS[op]
    run_all = functools.partial(extreme if how in codegen.FINDING else scan, how)

    def run(x, *, dim):
        return run_all(x, dim=dim) if can_scan(x) else op.ref(x, dim=dim)

    def run_sums(x, *, dim):
        return complex_sums(x, dim=dim) if x.dtype.kind == "c" and x.size else run(x, dim=dim)

    return run_sums if op is scan_ops.cumsum else run


def linear_scan(a, b, *, dim):
    """Return the recurrence h[t] = a[t] * h[t - 1] + b[t]."""
    if not can_scan(a) or a.dtype != b.dtype or a.shape != b.shape:
        return scan_ops.linear_scan.ref(a, b, dim=dim)
    return linear(a, b, dim=dim)


def _scan_step(how, arrays):
    """Return the step of a scan along any dim; `arrays` says which of the node's arrays the kernel's three are."""

    def step(node, operands, results):
        x = operands[0]
        if not can_scan(x) and not can_scan_parts(x, how, node.params["dim"]):
            return None
        return plan(how, x.dtype, x.shape, node.params["dim"], pool.get_num_threads()).native(arrays)

    return step


OPERATORS = {op: OperatorKernel(make=running, step=_scan_step(how, [0, 2, 1] if how in codegen.FINDING else [0, 0, 1]))
             for op, how in STEPS.items()}
OPERATORS[scan_ops.linear_scan] = OperatorKernel(linear_scan, _scan_step(codegen.LINEAR, [0, 1, 2]))
