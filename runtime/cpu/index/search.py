"""Positions of values in sorted rows: `searchsorted(rows, values, right=False)`."""

import functools
import math

import numpy as np

from ....ir.ops.index import sort
from ....ir.target import host
from ....passes.codegen.llvm.index import search as codegen
from ....passes.codegen.llvm.ir.types import NUMBERS_BY_NP
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import JobsPlan, one_job
from ..compiler.compile import task_of
from ..memory import alloc

_BLOCK = 1 << 12        # values of a row that one chunk takes at least
_KEPT = 512


def can_search(dtype, shape: tuple, wanted: tuple) -> bool:
    """Whether the kernel finds values of this shape in rows of that one."""
    return dtype in NUMBERS_BY_NP and 0 not in shape and 0 not in wanted


@functools.lru_cache(_KEPT)
def plan(dtype, shape: tuple, wanted: tuple, right: bool, threads: int) -> JobsPlan:
    """Return the job on (sorted rows, values, positions), all of them contiguous."""
    kernel, size = codegen.SearchKernel(host(), NUMBERS_BY_NP[dtype], right), shape[-1]
    rows = math.prod(shape[:-1])
    count = math.prod(wanted) // rows
    blocks, halvings = -(-count // _BLOCK), (size - 1).bit_length()
    work = 4 * rows * count * (halvings + 1)
    return one_job(codegen, task_of(kernel), work, rows * blocks, threads, rows=rows, blocks=blocks, block=_BLOCK, count=count,
                   size=size, row=size if len(shape) > 1 else 0, halvings=halvings)


def searchsorted(rows, values, *, right):
    """Return the position of each value in a sorted row, or in its own row of several."""
    if not can_search(rows.dtype, rows.shape, values.shape) or rows.dtype is not values.dtype:
        return sort.searchsorted.ref(rows, values, right=right)
    out = alloc.empty(values.shape, np.dtype(np.int64))
    plan(rows.dtype, rows.shape, values.shape, bool(right), pool.get_num_threads())(alloc.dense(rows), alloc.dense(values), out)
    return out


def _searchsorted_step(node, operands, results):
    rows, values = operands
    if not can_search(rows.dtype, rows.shape, values.shape):
        return None
    right = bool(node.params["right"])
    return plan(rows.dtype, rows.shape, values.shape, right, pool.get_num_threads()).native([0, 1, 2])


OPERATORS = {sort.searchsorted: OperatorKernel(searchsorted, _searchsorted_step)}
