"""Elements of planes at given points (`ir/ops/nn/sampled_points.py`)."""

import functools
import math

import numpy as np

from ....ir.ops.nn import sampled_points as ops
from ....ir.target import host
from ....passes.codegen.llvm.index import sampled_points as codegen
from ....passes.codegen.llvm.ir.types import FLOATS_BY_NP
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import JobsPlan, one_job
from ..calls.step_list import NativeCall
from ..compiler.compile import task_of
from ..memory import alloc

_MOST_TAPS = 16             # taps of a kernel, which unrolls them
_KEPT = 512


@functools.lru_cache(_KEPT)
def plan(kind: str, dtype, weighted: bool, images: int, channels: int, size: int, points: int, taps: int, threads: int):
    """Return the job on (x, positions, weights, y)."""
    kernel = codegen.SampledPointsKernel(host(), FLOATS_BY_NP[dtype], taps, weighted)
    symbol, blocks = kernel.symbol(kind), -(-points // codegen.BLOCK)
    items, work = images * (channels if kind == "put" else blocks), 4 * images * channels * points * taps
    return one_job(codegen, task_of(kernel, symbol, kind), work, items, threads, channels=channels, plane=size, points=points,
                   blocks=blocks)


def runs(x, positions) -> bool:
    """Whether there is a kernel for such planes and positions."""
    return (x.dtype in FLOATS_BY_NP and positions.dtype == np.int32 and 0 < positions.shape[1] <= _MOST_TAPS
            and positions.size > 0)


def _run(kind, x, positions, weights, y, weighted=True):
    _plan_of(kind, x, positions, weighted)(x, alloc.dense(positions), weights, y)


def _plan_of(kind, x, positions, weighted) -> JobsPlan:
    """Return the plan for arrays, or for operands of a step."""
    return plan(kind, x.dtype, weighted, *x.shape[:2], math.prod(x.shape[2:]), math.prod(positions.shape[2:]),
                positions.shape[1], pool.get_num_threads())


def take(x, positions, weights):
    """Run `taps_take`."""
    out_shape = (*x.shape[:2], *positions.shape[2:])
    if not runs(x, positions) or not x.size:
        return np.asarray(ops.taps_take.ref(x, positions, weights), x.dtype)
    out, x = alloc.empty(out_shape, x.dtype), alloc.dense(x)
    _run("take", x, positions, x if weights is None else alloc.dense(weights), out, weights is not None)
    return out


def put(y, positions, weights, *, size):
    """Run `taps_put`."""
    if not runs(y, positions) or not y.size or not math.prod(size):
        return np.asarray(ops.taps_put.ref(y, positions, weights, size=size), y.dtype)
    out, y = alloc.empty((*y.shape[:2], *size), y.dtype), alloc.dense(y)
    _run("put", out, positions, y if weights is None else alloc.dense(weights), y, weights is not None)
    return out


def dots(x, y, positions):
    """Run `taps_dots`."""
    if not runs(x, positions) or not x.size:
        return np.asarray(ops.taps_dots.ref(x, y, positions), x.dtype)
    out = alloc.empty(positions.shape, x.dtype)
    _run("dots", alloc.dense(x), positions, out, alloc.dense(y))
    return out


def _call(kind, x, y, positions, weighted, arrays) -> NativeCall | None:
    """Return the job on (planes, positions, weights, values); `arrays` are their operand numbers."""
    return _plan_of(kind, x, positions, weighted).native(arrays) if runs(x, positions) else None


def _take_step(node, operands, results):
    (x, positions, weights), (y,) = operands, results
    return _call("take", x, y, positions, weights is not None, (0, 1, None if weights is None else 2, 3))


def _put_step(node, operands, results):
    (y, positions, weights), (x,) = operands, results
    return _call("put", x, y, positions, weights is not None, (3, 1, None if weights is None else 2, 0))


def _dots_step(node, operands, results):
    (x, y, positions), _ = operands, results
    return _call("dots", x, y, positions, True, (0, 2, 3, 1))


OPERATORS = {ops.taps_take: OperatorKernel(take, _take_step), ops.taps_put: OperatorKernel(put, _put_step),
             ops.taps_dots: OperatorKernel(dots, _dots_step)}
