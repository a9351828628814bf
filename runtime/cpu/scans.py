"""Running sums along a dim on generated kernels: `cumsum(x, dim=1)`. Values are those of additions one after the other."""

import functools
import math

import numpy as np

from ...ir.target import host
from ...passes.codegen.llvm import scans as codegen
from ...passes.codegen.llvm.types import F32, F64, I32, I64
from . import alloc, jobs, pool
from .compile import compile_module

_ELEMENTS = {np.dtype(np.float32): F32, np.dtype(np.float64): F64, np.dtype(np.int32): I32, np.dtype(np.int64): I64}
_KEPT = 512


def can_scan(x) -> bool:
    """Whether the kernels take this array."""
    return x.dtype in _ELEMENTS and x.size > 0 and len(x.shape) > 0


@functools.lru_cache(_KEPT)
def plan(dtype, shape: tuple, dim: int, threads: int) -> jobs.JobsPlan:
    """The job on (x, y), both of a shape, along a dim."""
    outer, size, inner = sizes(shape, dim)
    kernel = codegen.ScanKernel(host(), _ELEMENTS[dtype])
    symbol = kernel.along if inner == 1 else kernel.across
    items = -(-outer // codegen.ROWS) if inner == 1 else outer * -(-inner // kernel.block)
    todo, work = jobs.Jobs(), 4 * outer * size * inner
    todo.add(compile_module(kernel.text(), [symbol])[symbol], codegen.WORDS[len(codegen.ARRAYS) + 2:],
             chunks=jobs.chunks_for(work, items, threads), items=items, outer=outer, size=size, inner=inner)
    return todo.plan(0, work)


def sizes(shape, dim: int) -> tuple:
    """(outer, size, inner) of a shape along a dim."""
    dim %= len(shape)
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1:])


def cumsum(x, *, dim):
    """The sums of everything up to and including each element."""
    out = alloc.empty(x.shape, x.dtype)
    plan(x.dtype, x.shape, dim, pool.get_num_threads())(alloc.dense(x), out)
    return out
