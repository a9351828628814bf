"""Products with stored weights (`ir/ops/quantized/stored_weights.py`), and their unpacking.

Few rows of x: each row of the weight is unpacked in registers and multiplied there, so its bytes are read once. Many rows: a
block of the weight at a time is unpacked to floats in scratch memory, and the product of floats packs it from the caches.
"""

import functools
from math import prod

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.quantized import stored_weights as ops
from ....ir.reference.weight_formats import format_named
from ....ir.target import host
from ....passes.codegen.llvm.contract import stored_products as codegen
from ....passes.codegen.llvm.contract.epilogue import ColumnBias
from ....passes.codegen.llvm.contract.stored_weights import can_unpack
from ....passes.schedule.plan_steps import LINE
from ..calls import pool
from ..calls.kernel_steps import fill, move
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import Plan, chunks_for
from ..calls.step_list import At, NativeCall, NativeStep, Scratch
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_of
from ..memory import alloc
from .gemm import product_of
from .gemm_plan import Layout, make_plan

_F32, _ITEM = np.dtype(np.float32), 4
_FEW_ROWS = 8                   # up to so many rows of x, unpacking in registers anew for every two is quicker
_ITEM_BYTES = 1 << 16           # bytes of a weight that stay in a near cache while some rows of x use them
_ITEMS_EACH = 4                 # for each thread, where columns suffice
_BLOCK_FLOATS = 1 << 20         # unpacked at a time
_LEAST_BLOCK = 64               # rows of a weight that are unpacked at a time, at least
_UNPACK_WORK, _ROUND_WORK = 4, 8        # scalar operations to unpack a number, to round one
_KEPT = 1024


@functools.lru_cache(None)
def _tasks(format, bias):
    kernel = codegen.StoredKernel(host(), format, bias)
    compiled = compile_module(text_of(kernel), kernel.symbols)
    return {symbol.removeprefix("stored_"): compiled[symbol] for symbol in kernel.symbols}


def _step(task, arrays, work, items, threads, **words) -> NativeStep:
    """Return a pool task as a step; `arrays` are the locations of ARRAYS, or 0."""
    chunks = chunks_for(work, items, threads)
    named = [words.pop(name, 0) for name in codegen.WORDS[len(codegen.ARRAYS) + 4:]]
    return NativeStep(task, (*arrays, 0, 0, items, chunks, *named), chunks)


def _unpack_step(format, bias, rows, numbers, source, target, threads) -> NativeStep:
    return _step(_tasks(format, bias)["unpack"], (0, source, 0, target), _UNPACK_WORK * rows * numbers, rows, threads,
                 numbers=numbers, weight_row=format_named(format).bytes_of_row(numbers), out_row=numbers * _ITEM)


def _few(format, rows, columns, numbers, bias, threads) -> NativeCall:
    """Return the product that unpacks in registers; operands are x, the rows, the bias if there is one, and the result."""
    form, tasks = format_named(format), _tasks(format, bias)
    x: At | Scratch = At(0)
    x_row, steps, room = numbers * _ITEM, [], 0
    if "round" in tasks:
        x, x_row = Scratch(), codegen.rounded_bytes(form, numbers)
        room = rows * x_row
        steps = [_step(tasks["round"], (At(0), 0, 0, x), _ROUND_WORK * rows * numbers, rows, threads, numbers=numbers,
                       out_row=x_row)]
    elif numbers % form.block:          # vectors read x to the end of the last block
        x, x_row = Scratch(), -(-numbers // form.block) * form.block * _ITEM
        room = -(-rows * x_row // LINE) * LINE
        steps = [fill(x, room // _ITEM, 0, dt.float32),
                 move((rows, numbers), _ITEM, At(0), (numbers * _ITEM, _ITEM), x, (x_row, _ITEM))]
    weight_row = form.bytes_of_row(numbers)
    block = max(1, min(_ITEM_BYTES // max(weight_row, 1), -(-columns // (_ITEMS_EACH * threads))))
    work, items = 2 * rows * columns * numbers, -(-columns // block)
    dot = _step(tasks["dots"], (x, At(1), At(2) if bias else 0, At(3)), work, items, threads, rows=rows, columns=columns,
                numbers=numbers, x_row=x_row, weight_row=weight_row, out_row=columns * _ITEM, block=block)
    return NativeCall((*steps, dot), room)


def _many(format, rows, columns, numbers, bias, threads) -> NativeCall:
    """Return the product of floats, a block of the weight at a time."""
    weight_row = format_named(format).bytes_of_row(numbers)
    product = product_of(_F32, ColumnBias(product_of(_F32).precision.b)) if bias else product_of(_F32)
    block = min(columns, max(_LEAST_BLOCK, _BLOCK_FLOATS // numbers))
    firsts = range(0, columns, block)
    plans = [_float_plan(product, rows, min(block, columns - first), numbers, columns, threads) for first in firsts]
    floats, steps = Scratch(-(-max(plan.scratch_bytes for plan in plans) // LINE) * LINE), []
    for first, plan in zip(firsts, plans, strict=True):
        count = min(block, columns - first)
        steps.append(_unpack_step(format, bias, count, numbers, At(1, first * weight_row), floats, threads))
        left, right = (floats, At(0)) if plan.swapped else (At(0), floats)
        words = (At(2, first * _ITEM),) if bias else ()
        steps += plan.native(words, left, right, At(3, first * _ITEM)).steps
    return NativeCall(tuple(steps), floats.offset + block * numbers * _ITEM)


@functools.lru_cache(_KEPT)
def _float_plan(product, rows, count, numbers, columns, threads):
    """Return the plan of x with a block of rows of floats, to some columns of the result."""
    return make_plan(Layout((rows, numbers), (numbers * _ITEM, _ITEM)), Layout((numbers, count), (_ITEM, numbers * _ITEM)),
                     Layout((rows, count), (columns * _ITEM, _ITEM)), _ITEM, _ITEM, product, threads)


@functools.lru_cache(_KEPT)
def _linear_call(format, rows, columns, numbers, bias, threads) -> NativeCall:
    return (_few if rows <= _FEW_ROWS else _many)(format, rows, columns, numbers, bias, threads)


@functools.lru_cache(_KEPT)
def _linear_plan(*key) -> Plan:
    made = _linear_call(*key)
    return Plan(made, made.scratch_bytes, key[-1])


@functools.lru_cache(_KEPT)
def _unpack_plan(format, rows, numbers, threads) -> Plan:
    return Plan(NativeCall((_unpack_step(format, False, rows, numbers, At(0), At(1), threads),)), 0, threads)


def _is_native(x, format, numbers):
    """Whether kernels take the arrays: floats of 32 bits, and a format whose floats the processor converts."""
    return x.dtype == _F32 and numbers > 0 and x.size > 0 and can_unpack(host(), format_named(format))


def linear(x, rows, bias, *, format, numbers):
    """Return x @ weight.T + bias."""
    if not _is_native(x, format, numbers) or not rows.size:
        return ops.linear_stored.ref(x, rows, bias, format=format, numbers=numbers)
    out = alloc.empty((*x.shape[:-1], len(rows)), x.dtype)
    count = prod(x.shape[:-1])
    plan = _linear_plan(format, count, len(rows), numbers, bias is not None, pool.get_num_threads())
    x = alloc.dense(x)
    plan(x, alloc.dense(rows), x if bias is None else alloc.dense(bias), out)
    return out


def _linear_step(node, operands, results):
    (x, rows, bias), params = operands, node.params
    if not _is_native(x, **params) or not rows.size:
        return None
    return _linear_call(params["format"], x.size // params["numbers"], rows.shape[0], params["numbers"], bias is not None,
                        pool.get_num_threads())


def unpack(rows, *, format, numbers):
    """Return the float32 numbers of rows."""
    if not rows.size or not can_unpack(host(), format_named(format)):
        return ops.unpack_weight.ref(rows, format=format, numbers=numbers)
    out = alloc.empty((*rows.shape[:-1], numbers), _F32)
    _unpack_plan(format, prod(rows.shape[:-1]), numbers, pool.get_num_threads())(alloc.dense(rows), out)
    return out


def _unpack_native(node, operands, results):
    (rows,), format, numbers = operands, node.params["format"], node.params["numbers"]
    if not rows.size or not can_unpack(host(), format_named(format)):
        return None
    threads = pool.get_num_threads()
    return NativeCall((_unpack_step(format, False, prod(rows.shape[:-1]), numbers, At(0), At(1), threads),))


OPERATORS = {ops.linear_stored: OperatorKernel(linear, _linear_step), ops.unpack_weight: OperatorKernel(unpack, _unpack_native)}
