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
from ..calls.plan import one_job
from ..calls.step_list import NativeCall
from ..compiler.compile import task_of
from ..memory import alloc

_MOST_TAPS = 16             # taps of a kernel, which unrolls them
_KEPT = 512


@functools.lru_cache(_KEPT)
def plan(kind: str, dtype, weighted: bool, images: int, channels: int, size: int, points: int, taps: int, threads: int):
    """Return the job on (x, places, weights, y)."""
    kernel = codegen.SampledPointsKernel(host(), FLOATS_BY_NP[dtype], taps, weighted)
    symbol, blocks = kernel.symbol(kind), -(-points // codegen.BLOCK)
    items, work = images * (channels if kind == "put" else blocks), 4 * images * channels * points * taps
    return one_job(codegen, task_of(kernel, symbol, kind), work, items, threads, channels=channels, plane=size, points=points,
                   blocks=blocks)


def runs(x, places) -> bool:
    """Whether there is a kernel for such planes and places."""
    return x.dtype in FLOATS_BY_NP and places.dtype == np.int32 and 0 < places.shape[1] <= _MOST_TAPS and places.size > 0


def _run(kind, x, places, weights, y, weighted=True):
    images, channels = x.shape[:2]
    made = plan(kind, x.dtype, weighted, images, channels, math.prod(x.shape[2:]), math.prod(places.shape[2:]), places.shape[1],
                pool.get_num_threads())
    made(x, alloc.dense(places), weights, y)


def take(x, places, weights):
    """Run `taps_take`."""
    out_shape = (*x.shape[:2], *places.shape[2:])
    if not runs(x, places) or not x.size:
        return np.asarray(ops.taps_take.ref(x, places, weights), x.dtype)
    out, x = alloc.empty(out_shape, x.dtype), alloc.dense(x)
    _run("take", x, places, x if weights is None else alloc.dense(weights), out, weights is not None)
    return out


def put(y, places, weights, *, size):
    """Run `taps_put`."""
    if not runs(y, places) or not y.size or not math.prod(size):
        return np.asarray(ops.taps_put.ref(y, places, weights, size=size), y.dtype)
    out, y = alloc.empty((*y.shape[:2], *size), y.dtype), alloc.dense(y)
    _run("put", out, places, y if weights is None else alloc.dense(weights), y, weights is not None)
    return out


def dots(x, y, places):
    """Run `taps_dots`."""
    if not runs(x, places) or not x.size:
        return np.asarray(ops.taps_dots.ref(x, y, places), x.dtype)
    out = alloc.empty(places.shape, x.dtype)
    _run("dots", alloc.dense(x), places, out, alloc.dense(y))
    return out


def _call(kind, x, y, places, weighted, arrays) -> NativeCall | None:
    """Return the job on (planes, places, weights, values); `arrays` are their operand numbers."""
    if not runs(x, places):
        return None
    made = plan(kind, x.dtype, weighted, *x.shape[:2], math.prod(x.shape[2:]), math.prod(places.shape[2:]),
                               places.shape[1], pool.get_num_threads())
    return made.native(arrays)


def _take_step(node, operands, results):
    (x, places, weights), (y,) = operands, results
    return _call("take", x, y, places, weights is not None, (0, 1, None if weights is None else 2, 3))


def _put_step(node, operands, results):
    (y, places, weights), (x,) = operands, results
    return _call("put", x, y, places, weights is not None, (3, 1, None if weights is None else 2, 0))


def _dots_step(node, operands, results):
    (x, y, places), _ = operands, results
    return _call("dots", x, y, places, True, (0, 2, 3, 1))


OPERATORS = {ops.taps_take: OperatorKernel(take, _take_step), ops.taps_put: OperatorKernel(put, _put_step),
             ops.taps_dots: OperatorKernel(dots, _dots_step)}
