"""Products with stored weights (`ir/ops/quantized/stored_weights.py`), and their unpacking.

Few rows of x: each row of the weight is unpacked in registers and multiplied there, so its bytes are read once. Many rows:
panels of the weight are unpacked as the product of floats packs them.
"""

import functools
from math import prod

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.quantized import stored_weights as ops
from ....ir.reference.weight_formats import format_named
from ....ir.target import host
from ....passes.codegen.llvm.contract import gemm
from ....passes.codegen.llvm.contract import stored_products as codegen
from ....passes.codegen.llvm.contract.epilogue import ColumnBias, Identity
from ....passes.codegen.llvm.contract.stored_weights import can_unpack
from ....passes.codegen.llvm.ir.types import F32
from ....passes.schedule.plan_steps import LINE
from ..calls import pool
from ..calls.kernel_steps import fill, move
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import Plan, chunks_for
from ..calls.step_list import At, NativeCall, NativeStep, Own, Scratch
from ..compiler.compile import compile_module, task_of
from ..compiler.ir_cache import text_of
from ..memory import alloc
from . import tile_plan

_F32, _ITEM = np.dtype(np.float32), 4
_FEW_ROWS = 8                   # up to so many rows of x, unpacking in registers anew for every two is quicker
_ITEM_BYTES = 1 << 16           # bytes of a weight that stay in a near cache while some rows of x use them
_ITEMS_EACH = 4                 # for each thread, where columns suffice
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


@functools.lru_cache(None)
def _float_kernel(format, bias) -> gemm.GemmKernel:
    return gemm.GemmKernel(host(), gemm.Precision.of(F32), "tiles", ColumnBias(F32) if bias else Identity(), may_swap=False,
                           stored=format)


def _many(format, rows, columns, numbers, bias, threads) -> NativeCall:
    """Return the product of floats, which unpacks the weight as it packs it."""
    kernel = _float_kernel(format, bias).fitted(columns, False)
    cut = tile_plan.stored_cut(rows, numbers, columns, format_named(format).block, kernel, threads)
    words = {**dict.fromkeys(gemm.WORDS, 0), **cut.words, "a": At(0), "b": At(1), "c": At(3), "scratch": Scratch(),
             "a_row": numbers * _ITEM, "a_step": _ITEM, "source_row": numbers * _ITEM, "source_step": _ITEM,
             "b_column": format_named(format).bytes_of_row(numbers), "c_row": columns * _ITEM, "sums_row": columns * _ITEM,
             "rows": rows, "columns": columns, "depth": numbers, "panel": cut.panel, "panels": -(-columns // cut.panel),
             "row_blocks": cut.blocks, "items": cut.items, "chunks": cut.chunks, "pack": gemm.PACK_TRANSPOSED,
             "operands": Own(len(gemm.WORDS)) if bias else 0}
    step = NativeStep(task_of(kernel), (*[words[name] for name in gemm.WORDS], *[At(2)] * bias), cut.chunks)
    return NativeCall((step,), cut.words["scratch_bytes"] * (threads if cut.chunks > 1 else 1))


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
