"""Transposing copies as a pool task: `columns` neighbours of the source go to rows of the result.

Neighbours in the result are `x_row` apart in the source. Around these two dims are up to three others.

    y[o0][o1][o2] + j * y_row + i  =  x[o0][o1][o2] + i * x_row + j          i < rows, j < columns

An item is a vector's worth of columns, so every line of the source is read once, whole, and few rows are written at a time.
"""

from dataclasses import dataclass

from ..contract.transpose_squares import turn_strip, write_turn_square
from ..ir.emit import ModuleWriter
from ..ir.types import bytes_of
from ..pool.tasks import open_task, split_index

ARRAYS = ("x", "y")
OTHERS = 3
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "items", "rows", "columns", "x_row", "y_row",
         *[f"{name}{d}" for name in "nxy" for d in range(OTHERS)])


@dataclass(frozen=True)
class TurnKernel(ModuleWriter):
    """Generator of the task for elements of `item` bytes."""

    item: int

    @property
    def symbol(self) -> str:
        return f"turned_copy_{self.item}"

    def write(self, module):
        _write(module, self)


def _write(module, kernel):
    element = f"i{8 * kernel.item}"
    write_turn_square(module, element)
    f, job, share = open_task(module, kernel.symbol, WORDS)
    lanes, columns = f.lanes(element), job.columns
    x_row, y_row = (f.mul(word, bytes_of(element)) for word in (job.x_row, job.y_row))
    with f.loop(*share) as loop:
        *others, strip = split_index(f, loop.index, [job.n0, job.n1, job.n2, f.ceil_div(columns, lanes)])
        first = f.mul(strip, lanes)
        x, y = job.address("x"), job.address("y")
        for d, at in enumerate(others):
            x, y = (f.at(p, f.mul(at, getattr(job, f"{name}{d}")), element) for p, name in ((x, "x"), (y, "y")))
        turn_strip(f, element, f.at(x, first, element), x_row, job.rows, f.min(f.sub(columns, first), lanes),
                   f.at(y, f.mul(first, y_row)), y_row)
    f.ret()
