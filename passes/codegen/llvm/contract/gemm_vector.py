"""One-row road of matrix products: sweeps along whole rows of B, a few at a time, in memory order."""

from typing import Any

from ..ir.types import I64, PTR, bytes_of, lanes_of, vector, zero
from .epilogue import Place
from .gemm_job import call_epilogue, open_item, word
from .microkernel import memory_type, multiply_add, narrow, widen

VECTOR_PANEL = 2048                 # most columns of an item on the one-row road
_SWEEP_ROWS = 8


def vector_item(module, kernel):
    """Write the function of one item: add the weighted sum of several rows of B to a row of sums."""
    precision, lanes = kernel.precision, kernel.shape.lanes
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    job, number, _ = f.params
    item = open_item(f, job, number)
    depth, b_step, a_step = (word(f, job, name) for name in ("depth", "b_step", "a_step"))
    total = vector(lanes, precision.accumulate)
    sums = f.local(VECTOR_PANEL * bytes_of(precision.accumulate))
    with f.loop(0, item.columns, lanes) as loop:
        f.store(zero(total), f.at(sums, loop.index, precision.accumulate))
    corner, whole = f.at(item.b, f.mul(item.column, bytes_of(precision.b))), f.bit_and(depth, -_SWEEP_ROWS)
    for height, low, high in ((_SWEEP_ROWS, 0, whole), (1, whole, depth)):
        with f.loop(low, high, height) as loop:
            weights, rows = [], []
            for row in range(height):
                at = f.add(loop.index, row)
                scalar = f.load(memory_type(precision.a), f.at(item.a, f.mul(at, a_step)))
                weights.append(f.splat(widen(f, scalar, precision.a, precision.accumulate), lanes))
                rows.append(f.at(corner, f.mul(at, b_step)))
            _sweep(f, precision, weights, rows, sums, item.columns)
    _finish_row(f, kernel, job, item, sums)
    f.ret()
    return "item"


def _sweep(f, precision, weights, rows, sums, columns):
    lanes = lanes_of(weights[0].type)
    stored = vector(lanes, memory_type(precision.b))

    def one(at, mask):
        group: Any = None
        for weight, row in zip(weights, rows, strict=True):
            spot = f.at(row, at, precision.b)
            value = f.load_masked(stored, spot, mask)
            value = widen(f, value, precision.b, precision.accumulate)
            group = f.fmul(weight, value) if group is None else multiply_add(f, weight, value, group)
        place = f.at(sums, at, precision.accumulate)
        f.store(f.fadd(f.load(group.type, place), group), place)

    f.vectors(columns, lanes, one)


def _finish_row(f, kernel, job, item, sums):
    out, lanes = kernel.precision.out, kernel.shape.lanes
    operands, total = word(f, job, "operands", PTR), vector(lanes, kernel.precision.accumulate)
    with f.loop(0, item.columns, lanes) as loop:
        column, mask = f.add(item.column, loop.index), f.mask(f.sub(item.columns, loop.index), lanes)
        value = f.load(total, f.at(sums, loop.index, kernel.precision.accumulate))
        if not kernel.epilogue.is_long:
            value = kernel.epilogue.apply(f, value, Place(operands, item.batch, item.first_row, column, mask), 0)
        f.store_masked(narrow(f, value, out), f.at(item.c, column, out), mask)
    if kernel.epilogue.is_long:
        call_epilogue(f, job, f.at(item.c, item.column, out), (item.batch, item.first_row, item.column), 1, item.columns)
