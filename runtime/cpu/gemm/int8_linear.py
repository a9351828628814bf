"""Products with weights of 8 bits (`ir/ops/quantized/int8_linear.py`): rows quantised, then byte products."""

import functools
from math import prod

from ....ir.ops.quantized import int8_linear as ops
from ....ir.target import host
from ....passes.codegen.llvm.contract import int8_products as codegen
from ....passes.codegen.llvm.contract.int8_products import COLUMNS, LINE, PAIR
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import Jobs, JobsPlan, chunks_for
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_of
from ..memory import alloc

_BLOCK_BYTES = 1 << 18          # bytes of numbers, or of weights, in a near cache
_MOST_COLUMNS = 256             # columns of a block
_FEWER = 8                      # byte products that take as long as one multiply-add of floats
_KEPT = 1024


def linear(x, weight, scale, bias):
    """Return x @ (weight * scale).T + bias."""
    out = alloc.empty((*x.shape[:-1], weight.shape[0]), x.dtype)
    depth = weight.shape[1]
    if out.size:
        rows = prod(x.shape[:-1])
        made = plan(rows, weight.shape[0], depth, bias is not None, pool.get_num_threads())
        scale = alloc.dense(scale)
        made(alloc.dense(x).reshape(rows, depth), alloc.dense(weight), scale, scale if bias is None else alloc.dense(bias), out)
    return out


@functools.lru_cache(None)
def _tasks(bias):
    kernel = codegen.Int8Kernel(host(), bias)
    made = compile_module(text_of(kernel), kernel.symbols)
    return [made[symbol] for symbol in kernel.symbols]


@functools.lru_cache(_KEPT)
def plan(rows, columns, depth, bias, threads) -> JobsPlan:
    """Return the jobs on (x, weight, scale, bias, out), all of them contiguous."""
    quantize, dots = _tasks(bias)
    numbers_row = -(-depth // LINE) * LINE
    pairs = rows * numbers_row
    block_rows = min(rows, max(COLUMNS, _BLOCK_BYTES // max(numbers_row, 1)))
    block_columns = _whole(min(_MOST_COLUMNS, _BLOCK_BYTES // max(numbers_row, 1), -(-columns // (4 * threads))))
    blocks = -(-columns // block_columns)
    items, work = -(-rows // block_rows) * blocks, 2 * rows * columns * depth // _FEWER
    words = {"rows": rows, "columns": columns, "depth": depth, "numbers_row": numbers_row, "pairs": pairs,
             "blocks": blocks, "block_rows": block_rows, "block_columns": block_columns}
    todo = Jobs(threads)
    for task, count, effort in ((quantize, rows, 8 * rows * depth), (dots, items, work)):
        chunks = chunks_for(effort, count, threads)
        todo.add(task, codegen.WORDS[len(codegen.ARRAYS) + 2:], chunks=chunks, items=count, **words)
    return todo.plan(pairs + PAIR * rows, work)


def _whole(columns):
    return max(COLUMNS, -(-columns // COLUMNS) * COLUMNS)


def _linear_int8_step(node, operands, results):
    x, weight, _, bias = operands
    depth, biased = weight.shape[1], bias is not None
    made = plan(x.size // depth, weight.shape[0], depth, biased, pool.get_num_threads())
    return made.native([0, 1, 2, 3 if biased else None, 4])


OPERATORS = {ops.linear_int8: OperatorKernel(linear, _linear_int8_step)}
