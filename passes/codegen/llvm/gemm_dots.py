"""The dots road of the matrix product: both operands contiguous along the depth, sums across lanes, nothing is packed.

With few rows it is as fast as B comes from memory. Columns of B are too short for the processor to see where the next ones lie,
so each tile asks for those of the tile after it.
"""

from .epilogue import Place
from .gemm_job import call_epilogue, open_item, word
from .microkernel import Operand, dot_tile, narrow
from .types import I64, PTR

DOT_ROWS, DOT_COLUMNS = 4, 4        # of a tile


def dot_item(module, kernel):
    """Function of one item: small tiles of dot products over its columns."""
    names = {(height, width): _dot_kernel(module, kernel, height, width)
             for height in range(1, DOT_ROWS + 1) for width in (1, DOT_COLUMNS)}
    table = module.function_table("kernels", [names[height, width] for width in (1, DOT_COLUMNS)
                                              for height in range(1, DOT_ROWS + 1)])
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    job, number, _ = f.params
    item = open_item(f, job, number)
    whole = f.bit_and(item.columns, -DOT_COLUMNS)
    for width, low, high in ((DOT_COLUMNS, 0, whole), (1, whole, item.columns)):
        kernels = f.at(table, 0 if width == 1 else DOT_ROWS, PTR)
        with f.loop(low, high, width) as columns:
            column = f.add(item.column, columns.index)
            _dot_rows(f, job, item, kernels, column)
    f.ret()
    return "item"


def _dot_rows(f, job, item, kernels, column):
    a_row, b_column, c_row = (word(f, job, name) for name in ("a_row", "b_column", "c_row"))
    with f.loop(item.first_row, item.end_row, DOT_ROWS) as rows:
        height = f.min(f.sub(item.end_row, rows.index), DOT_ROWS)
        kernel = f.load(PTR, f.at(f.at(kernels, height, PTR), -8))
        f.call_pointer(kernel, "void", job, f.at(item.a, f.mul(rows.index, a_row)), f.at(item.b, f.mul(column, b_column)),
                       f.at(item.c, f.mul(rows.index, c_row)), rows.index, column, item.batch)


def _dot_kernel(module, kernel, height, width):
    name, out = f"dot_{height}x{width}", kernel.precision.out
    f = module.function(name, [("ptr noalias readonly", "job"), ("ptr noalias readonly", "a"), ("ptr noalias readonly", "b"),
                               ("ptr noalias", "c"), (I64, "row"), (I64, "column"), (I64, "batch")], internal=True)
    job, a, b, c, row, column, batch = f.params
    b_column = word(f, job, "b_column")
    sums = dot_tile(f, kernel.precision, height, width, kernel.shape.lanes, word(f, job, "depth"),
                    Operand(a, word(f, job, "a_row"), 0), Operand(b, b_column, 0), f.mul(b_column, width))
    operands, c_row = word(f, job, "operands", PTR), word(f, job, "c_row")
    for i in range(height):
        for j in range(width):
            place = Place(operands, batch, f.add(row, i), f.add(column, j), None)
            value = sums[i][j] if kernel.epilogue.is_long else kernel.epilogue.apply(f, sums[i][j], place, 0)
            f.store(narrow(f, value, out), f.at(f.at(c, f.mul(c_row, i)), place.column, out))
    if kernel.epilogue.is_long:
        call_epilogue(f, job, f.at(c, column, out), (batch, row, column), height, width)
    f.ret()
    return name
