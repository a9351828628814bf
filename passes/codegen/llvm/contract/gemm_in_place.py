"""Matrix products that pack nothing: dot products along the depth, and one row times a matrix.

Dot products take operands that are both contiguous along the depth, and sum across lanes. With few rows they are as fast as B
comes from memory. Columns of B are too short for hardware prefetching, so each tile prefetches those of the next tile. One row
sweeps along whole rows of B, a few at a time, in memory order.
"""

from typing import Any

from ..ir.types import I64, PTR, bytes_of, lanes_of, vector, zero
from .epilogue import Place
from .gemm_job import Item, call_epilogue, open_item, word
from .microkernel import Operand, dot_tile, memory_type, multiply_add, narrow, widen

DOT_ROWS, DOT_COLUMNS = 4, 4        # rows and columns of a tile
_WIDTHS = (DOT_COLUMNS, 2, 1)       # narrower tiles for the last columns
_STRIDES = "a_row", "b_column"      # names of job words
_SWAPPED_STRIDES = "b_column", "source_row"


def dot_item(module, kernel):
    """Write the function of one item: tiles of dot products, along the shorter side first, so that it stays in cache."""
    table = _dot_kernels(module, kernel, _STRIDES)
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    job, number, _ = f.params
    item = open_item(f, job, number)
    rows = f.sub(item.end_row, item.first_row)
    with f.when(f.compare("slt", item.columns, rows)), f.loop(item.first_row, item.end_row, DOT_ROWS) as down:
        for column, kernels in _along_columns(f, item, table):
            _dots(f, job, item, kernels, down.index, column, _STRIDES)
    with f.when(f.compare("sge", item.columns, rows)):
        for column, kernels in _along_columns(f, item, table):
            with f.loop(item.first_row, item.end_row, DOT_ROWS) as down:
                _dots(f, job, item, kernels, down.index, column, _STRIDES)
    f.ret()
    return "item"


def write_last_rows(module, kernel) -> str:
    """Write `last_rows(job, a, b, c, column, columns, batch)` of swapped operands: the `last` rows of A that the tiles left, by
    some columns of B."""
    table = _dot_kernels(module, kernel, _SWAPPED_STRIDES, (DOT_COLUMNS,), [(1, 1)])
    f = module.function("last_rows", [(PTR, "job"), (PTR, "a"), (PTR, "b"), (PTR, "c"), (I64, "column"), (I64, "columns"),
                                      (I64, "batch")], internal=True)
    job, a, b, c, start, columns, batch = f.params
    first = word(f, job, "columns")
    item = Item(batch, first, f.add(first, word(f, job, "last")), start, columns, a, b, c)
    for (column, kernels), most in zip(_along_columns(f, item, table, (DOT_COLUMNS, 1)), (DOT_ROWS, 1)):
        with f.loop(item.first_row, item.end_row, most) as down:
            _dots(f, job, item, kernels, down.index, column, _SWAPPED_STRIDES, most)
    f.ret()
    return "last_rows"


def _along_columns(f, item, table, widths=_WIDTHS):
    """Loop over columns from the widest tiles to the narrowest; yield a column and the tile functions by height."""
    low = f.index(0)
    for number, width in enumerate(widths):
        high = f.bit_and(item.columns, -width)
        with f.loop(low, high, width) as across:
            yield f.add(item.column, across.index), f.at(table, number * DOT_ROWS, PTR)
        low = high


def _dots(f, job, item, kernels, row, column, strides, most=DOT_ROWS):
    a_row, b_column, c_row = (word(f, job, name) for name in (*strides, "c_row"))
    height = f.min(f.sub(item.end_row, row), most)
    kernel = f.load(PTR, f.at(f.at(kernels, height, PTR), -8))
    f.call_pointer(kernel, "void", job, f.at(item.a, f.mul(row, a_row)), f.at(item.b, f.mul(column, b_column)),
                   f.at(item.c, f.mul(row, c_row)), row, column, item.batch)


def _dot_kernels(module, kernel, strides, widths=_WIDTHS, more=()):
    """Write tile functions: all heights by width, then `more` (height, width): a few last columns get no own tiles."""
    sizes = [(height, width) for width in widths for height in range(1, DOT_ROWS + 1)]
    names = [_dot_kernel(module, kernel, height, width, strides) for height, width in [*sizes, *more]]
    return module.function_table("dot_kernels", names)


def _dot_kernel(module, kernel, height, width, strides):
    name, out = f"dot_{height}x{width}", kernel.precision.out
    f = module.function(name, [("ptr noalias readonly", "job"), ("ptr noalias readonly", "a"), ("ptr noalias readonly", "b"),
                               ("ptr noalias", "c"), (I64, "row"), (I64, "column"), (I64, "batch")], internal=True)
    job, a, b, c, row, column, batch = f.params
    a_row, b_column = (word(f, job, name) for name in strides)
    sums = dot_tile(f, kernel.precision, height, width, kernel.shape.lanes, word(f, job, "depth"),
                    Operand(a, a_row, 0), Operand(b, b_column, 0), f.mul(b_column, width))
    operands, c_row, start = word(f, job, "operands", PTR), word(f, job, "c_row"), f.at(c, column, out)
    for i, value in enumerate(sums):
        if not kernel.epilogue.is_long:
            value = kernel.epilogue.apply(f, value, Place(operands, batch, f.add(row, i), column, None), 0)
        f.store(narrow(f, value, out), f.at(start, f.mul(c_row, i)))
    if kernel.epilogue.is_long:
        call_epilogue(f, job, start, (batch, row, column), height, width)
    f.ret()
    return name


# One row.

VECTOR_PANEL = 2048                 # most columns of an item on the one-row strategy
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
