"""Products with swapped operands: rows of A are columns of C, whose sums wait in the scratch.

If B is contiguous along the depth and has many more columns than A has rows (a weight, and a small batch), packing B is
expensive. The product of the transposed matrices reads B's columns in place as rows, and packs only A.

Its sums stand in the scratch as [column of C][row of C]. Finished ones are transposed in registers, a square of vectors at a
time, to a block on the stack, and get their epilogue on the way to C. Rows of A beyond whole vectors are dot products with the
rows of the weight that tiles have just read (`gemm_in_place.py`).
"""

from ..ir.emit import Module
from ..ir.types import I64, PTR, VOID, bytes_of, vector
from .epilogue import Place
from .gemm_job import call_epilogue, word
from .microkernel import narrow
from .packing import turn_square

_SQUARES = 2                        # down the rows of C, in a block on the stack
_LINE = 64


def write_turn_out(module: Module, kernel, most: int) -> str:
    """Write `turn_out(job, sums, c, row, column, height, width, batch)`: transpose finished sums [width][height] to C from
    `column` on, at most `most` columns. Up to whole squares the sums may hold any values beyond."""
    lanes, element = kernel.shape.lanes, kernel.precision.accumulate
    rows, room_row = _SQUARES * lanes, -(-most // lanes) * lanes * bytes_of(element) + _LINE
    f = module.function("turn_out", [(PTR, "job"), (PTR, "sums"), (PTR, "c"), (I64, "row"), (I64, "column"), (I64, "height"),
                                     (I64, "width"), (I64, "batch")], internal=True)
    job, sums, c, row, column, height, width, batch = f.params
    sums_row, room = word(f, job, "sums_row"), f.local(rows * room_row)
    with f.loop(0, height, rows) as outer:
        some = f.min(f.sub(height, outer.index), rows)
        with f.loop(0, some, lanes) as down, f.loop(0, width, lanes) as along:
            source = f.at(f.at(sums, f.add(outer.index, down.index), element), f.mul(along.index, sums_row))
            goal = f.at(f.at(room, f.mul(down.index, room_row)), along.index, element)
            f.call(turn_square(module, lanes, element), VOID, source, sums_row, goal, f.index(room_row))
        top = f.add(row, outer.index)
        if kernel.epilogue.is_long:
            call_epilogue(f, job, room, (batch, top, column), some, width, room_row)
        with f.loop(0, some) as down:
            at, start = f.add(outer.index, down.index), f.at(room, f.mul(down.index, room_row))
            spot = f.at(f.at(c, f.mul(at, word(f, job, "c_row"))), column, kernel.precision.out)
            _finish_row(f, kernel, job, start, spot, width, (batch, f.add(row, at), column))
    f.ret()
    return "turn_out"


def _finish_row(f, kernel, job, start, spot, width, where):
    lanes, (batch, row, column) = kernel.shape.lanes, where

    def one(at, mask):
        value = f.load(vector(lanes, kernel.precision.accumulate), f.at(start, at, kernel.precision.accumulate))
        if not kernel.epilogue.is_long:
            place = Place(word(f, job, "operands", PTR), batch, row, f.add(column, at), mask)
            value = kernel.epilogue.apply(f, value, place, 0)
        value, goal = narrow(f, value, kernel.precision.out), f.at(spot, at, kernel.precision.out)
        f.store_masked(value, goal, mask)

    f.vectors(width, lanes, one)
