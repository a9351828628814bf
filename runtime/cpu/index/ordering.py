"""Orders along a dim: the indices that sort, or those of the first few elements in order.

    argsort(x, dim=1, descending=False)
    arg_topk(x, k=5, dim=1, largest=True)

The order is that of `ir/ops/index/sort.py`: total and stable, nan after every number. Threads share out rows.
"""

import functools

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.index import sort
from ....ir.target import host
from ....passes.codegen.llvm.index import ordering as codegen
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import Jobs, JobsPlan, StepBuilder, chunks_for, rows_of
from ..calls.step_list import At
from ..compiler.compile import compile_module
from ..loops import copies
from ..loops.data_movement import copy_steps
from ..memory import alloc

KINDS = {np.dtype(np.float16): "f16", dt.bfloat16.np: "bf16", np.dtype(np.float32): "f32",
         np.dtype(np.float64): "f64", np.dtype(np.bool_): "u8",
         **{np.dtype(f"{sign}{size}"): f"{sign}{8 * size}" for sign in "iu" for size in (1, 2, 4, 8)}}
_LEAST_ROOM = 512       # entries between two cuts of a selection
_FEW, _SMALL_ROOM = 12, 8       # for so few kept elements, these: cuts are sorted by insertion
_LONGEST = 2**31 - 1
_LINE = 64
_KEPT = 512
_INDEX = np.dtype(np.int64)


def can_order(x, dim: int) -> bool:
    """Whether the kernels order this array."""
    return x.dtype in KINDS and x.size > 0 and x.shape[dim] <= _LONGEST


@functools.lru_cache(None)
def _task(kind):
    kernel = codegen.OrderKernel(host(), kind)
    return kernel, compile_module(kernel.text(), [kernel.symbol])[kernel.symbol]


@functools.lru_cache(_KEPT)
def plan(dtype, rows: int, size: int, keep: int, descending: bool, threads: int) -> JobsPlan:
    """Return the jobs on (x, out) that give the first `keep` indices of each row's order."""
    kernel, task = _task(KINDS[dtype])
    few = keep <= _FEW
    room = size if (16 if few else 4) * keep >= size else min(size, 2 * keep + (_SMALL_ROOM if few else _LEAST_ROOM))
    scratch = -(-2 * room * kernel.entry_bytes // _LINE) * _LINE + max(_LINE, kernel.entry_bytes * kernel.lanes)
    todo, work = Jobs(threads), rows * (size + 16 * room)
    chunks = chunks_for(8 * work, rows, threads)
    todo.add(task, codegen.WORDS[len(codegen.ARRAYS) + 2:], chunks=chunks, rows=rows, size=size, keep=keep, room=room,
             flip=kernel.flip(descending), scratch_bytes=scratch)
    return todo.plan(scratch * (threads if chunks > 1 else 1), work)


def _ordered(x, keep, dim, descending):
    last = dim in (-1, x.ndim - 1)
    rows = copies.dense(x if last else np.moveaxis(x, dim, -1))
    out = alloc.empty((*rows.shape[:-1], keep), _INDEX)
    if out.size:
        made = plan(x.dtype, rows.size // rows.shape[-1], rows.shape[-1], keep, descending, pool.get_num_threads())
        made(rows, out)
    return out if last else copies.dense(np.moveaxis(out, -1, dim))


def argsort(x, *, dim, descending):
    """Return the indices that sort along a dim."""
    if not can_order(x, dim):
        return sort.argsort.ref(x, dim=dim, descending=descending)
    return _ordered(x, x.shape[dim], dim, descending)


def arg_topk(x, *, k, dim, largest):
    """Return the indices of the first k along a dim."""
    if not can_order(x, dim):
        return sort.arg_topk.ref(x, k=k, dim=dim, largest=largest)
    return _ordered(x, k, dim, largest)


def _order(node, x, out, keep, descending):
    """Plan an order; along a dim other than the last one, between copies with that dim behind the others."""
    if x.dtype not in KINDS:
        return None
    dim, last, threads = node.params["dim"] % len(x.shape), len(x.shape) - 1, pool.get_num_threads()
    size = x.shape[dim]
    jobs = plan(x.dtype, x.size // size, size, keep, descending, threads)
    if dim == last:
        return jobs.native([0, 1])
    order, made = [*[d for d in range(last + 1) if d != dim], dim], StepBuilder()
    (sizes, out_sizes), items = [tuple([a.shape[d] for d in order]) for a in (x, out)], (x.dtype.itemsize, out.dtype.itemsize)
    (strides, out_strides) = [tuple([a.strides[d] for d in order]) for a in (x, out)]
    rows, found = made.room(x.size, x.dtype), made.room(out.size, out.dtype)
    ordered = jobs.native([rows, found], made.scratch_bytes)
    made.scratch_bytes = ordered.scratch_bytes
    return made.call([*copy_steps(sizes, items[0], At(0), strides, rows, rows_of(sizes, items[0])), *ordered.steps,
                      *copy_steps(out_sizes, items[1], found, rows_of(out_sizes, items[1]), At(1), out_strides)])


def _argsort_step(node, operands, results):
    (x,) = operands
    return _order(node, x, results[0], x.shape[node.params["dim"]], node.params["descending"])


def _arg_topk_step(node, operands, results):
    (x,) = operands
    return _order(node, x, results[0], node.params["k"], node.params["largest"])


OPERATORS = {sort.argsort: OperatorKernel(argsort, _argsort_step), sort.arg_topk: OperatorKernel(arg_topk, _arg_topk_step)}
