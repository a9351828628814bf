"""Pool tasks of `linear_int8`: quantise the rows of the input, and multiply them with a weight of bytes.

    quantize   numbers[i], pairs[i] = bytes of x[i], its step and zero              an item is a row
    dots       out[i, j] = sums of numbers[i] * weight[j], scaled, plus bias        an item is a block of rows and columns
"""

from dataclasses import dataclass

from ..ir.emit import ModuleWriter
from ..ir.types import F32, I64, PTR, VOID
from ..pool.tasks import Words, write_task
from .int8_products import PAIR, write_products

ARRAYS = ("x", "weight", "scale", "bias", "out")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "rows", "columns", "depth", "numbers_row", "pairs", "blocks",
         "block_rows", "block_columns")
# The scratch holds the numbers, rows `numbers_row` bytes apart, and from `pairs` on the two floats of each row.
TASKS = ("quantize", "dots")


@dataclass(frozen=True)
class Int8Kernel(ModuleWriter):
    """Generator of both tasks, with or without a bias."""

    bias: bool

    @property
    def symbols(self) -> list:
        """Names of the tasks, in order."""
        return [f"int8_{name}" for name in TASKS]

    def write(self, module):
        write_products(module, self.bias)
        for name, symbol, write in zip(TASKS, self.symbols, (_write_quantize, _write_dots), strict=True):
            write(module.function(name, [(PTR, "job"), (I64, "number")], internal=True))
            write_task(module, symbol, name, WORDS, worker=False)


def _row(f, job, row):
    scratch = job.address("scratch")
    return f.at(scratch, f.mul(row, job.numbers_row)), f.at(f.at(scratch, job.pairs), f.mul(row, PAIR))


def _write_quantize(f):
    job, row = Words(f, f.params[0], WORDS), f.params[1]
    f.call("quantize_row", VOID, f.at(job.address("x"), f.mul(row, job.depth), F32), *_row(f, job, row), job.depth)
    f.ret()


def _write_dots(f):
    job, number = Words(f, f.params[0], WORDS), f.params[1]
    row, column = f.mul(f.div(number, job.blocks), job.block_rows), f.mul(f.mod(number, job.blocks), job.block_columns)
    rows, columns = f.min(f.sub(job.rows, row), job.block_rows), f.min(f.sub(job.columns, column), job.block_columns)
    weights = f.at(job.address("weight"), f.mul(column, job.depth))
    scale, bias = (f.at(job.address(name), column, F32) for name in ("scale", "bias"))
    out = f.at(job.address("out"), f.add(f.mul(row, job.columns), column), F32)
    f.call("bytes_product", VOID, *_row(f, job, row), weights, scale, bias, out, rows, columns, job.depth, job.numbers_row,
           f.mul(job.columns, 4))
    f.ret()
