"""Triangular systems as pool tasks: X with T @ X = B overwrites B, for lower triangular T.

An item is a strip of X's columns that fits the registers of one row of tiles. Down the rows, a tile subtracts the products with
the rows above (the microkernel), then solves its own few rows. T and X have strides of any sign: upper triangles are lower ones
walked from their end, and transposed ones have exchanged strides.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..contract.microkernel import Operand, Precision, TileShape, multiply_add, outer_tile
from ..ir.emit import ElementWriter
from ..ir.types import I64, PTR, VOID, bytes_of, constant, mangled, vector
from ..pool.tasks import Words, write_task

ARRAYS = ("t", "x", "minus")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "strips", "rows", "columns", "t_row", "t_step", "t_batch", "x_row",
         "x_batch", "unit", "minus_row", "minus_batch")
# With a `minus_row` other than 0, the negated solution is stored at `minus` too, for products with the rows below.
_UNROLL = 2


@dataclass(frozen=True)
class TriangularKernel(ElementWriter):
    """Generator of the task."""

    @property
    def symbol(self) -> str:
        return f"triangular_{mangled(self.element)}"

    @property
    def shape(self) -> TileShape:
        """The largest tile: its sums, a row of X and one broadcast fit registers, and a vector has a lane for each row."""
        rows, vectors = (8, 3) if self.target.vector_registers >= 32 else (4, 2)
        lanes = self.target.lanes(bytes_of(self.element))
        return TileShape(min(rows, lanes), vectors, lanes)

    def write(self, module):
        strips = {number: _write_strip(module, self, number) for number in range(1, self.shape.vectors + 1)}
        write_task(module, self.symbol, _write_item(module, self, strips), WORDS, worker=False)


class Steps(NamedTuple):
    """Strides of T and X in bytes, and whether T's diagonal counts as ones (an i1)."""

    t_row: Any
    t_step: Any
    x_row: Any
    with_ones: Any


def _write_item(module, kernel, strips):
    f = module.function("item", [(PTR, "job"), (I64, "number")], internal=True)
    arg, number = f.params
    job, size, shape = Words(f, arg, WORDS), bytes_of(kernel.element), kernel.shape
    batch, column = f.div(number, job.strips), f.mul(f.mod(number, job.strips), shape.columns)
    wide = f.min(f.sub(job.columns, column), shape.columns)
    t = f.at(job.address("t"), f.mul(batch, job.t_batch))
    x, minus = (f.at(f.at(job.address(name), f.mul(batch, f.load(I64, job.spot(f"{name}_batch")))), f.mul(column, size))
                for name in ("x", "minus"))
    f.switch(f.ceil_div(wide, shape.lanes), {vectors: (lambda name=name: f.call(name, VOID, arg, t, x, minus, wide))
                                             for vectors, name in strips.items()})
    f.ret()
    return "item"


def _write_strip(module, kernel, vectors):
    """Write the function of a strip of `vectors` vectors, the last perhaps partial: tall tiles, then the remaining rows."""
    name, shape = f"strip_{vectors}", kernel.shape
    f = module.function(name, [(PTR, "job"), (PTR, "t"), ("ptr noalias", "x"), ("ptr noalias", "minus"), (I64, "wide")],
                        internal=True)
    arg, t, x, minus, wide = f.params
    job, mask = Words(f, arg, WORDS), f.mask(f.sub(wide, (vectors - 1) * shape.lanes), shape.lanes)
    rows, whole = job.rows, f.bit_and(job.rows, -shape.rows)
    steps, minus_row = Steps(job.t_row, job.t_step, job.x_row, f.compare("ne", job.unit, 0)), job.minus_row
    for height, low, high in ((shape.rows, 0, whole), (1, whole, rows)):
        with f.loop(low, high, height) as loop:
            found = solve_tile(f, kernel, steps, t, x, loop.index, height, vectors, mask)
            with f.when(f.compare("ne", minus_row, 0)):
                for row, values in enumerate(found):
                    negated, place = [f.fneg(value) for value in values], f.at(minus, f.mul(f.add(loop.index, row), minus_row))
                    _store(f, negated, place, mask)
    f.ret()
    return name


def solve_tile(f, kernel, steps, t, x, first, height, vectors, mask):
    """Solve rows [first, first + height) of some vectors at x, the last masked; return their values."""
    (t_row, t_step, x_row, with_ones), element, shape = steps, kernel.element, kernel.shape
    left, type_ = f.at(t, f.mul(first, t_row)), vector(shape.lanes, element)
    sums = outer_tile(f, Precision.of(element), height, vectors, shape.lanes, first, Operand(left, t_row, t_step),
                      Operand(x, 0, x_row), mask, None, _UNROLL)
    corner, one = f.at(left, f.mul(first, t_step)), constant(element, 1.0)

    def factor(row, column):
        return f.load(element, f.at(f.at(corner, f.mul(t_row, row)), f.mul(t_step, column)))

    found: list = []
    inverses = [f.select(with_ones, one, f.fdiv(one, factor(row, row))) for row in range(height)]
    for row in range(height):
        start = f.at(x, f.mul(f.add(first, row), x_row))
        values = [f.fsub(f.load_masked(type_, f.at(start, number * bytes_of(type_)), mask if number == vectors - 1 else None),
                         sums[row][number]) for number in range(vectors)]
        for above in range(row):
            scale = f.splat(f.fneg(factor(row, above)), shape.lanes)
            values = [multiply_add(f, scale, done, value) for done, value in zip(found[above], values)]
        found.append([f.fmul(value, f.splat(inverses[row], shape.lanes)) for value in values])
        _store(f, found[row], start, mask)
    return found


def _store(f, values, start, mask):
    for number, value in enumerate(values):
        place = f.at(start, number * bytes_of(value.type))
        if number == len(values) - 1:
            f.store_masked(value, place, mask)
        else:
            f.store(value, place)
