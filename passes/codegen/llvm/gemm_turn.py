"""Products whose operands have changed places: rows of A are columns of C, whose sums wait in the scratch.

Where B lies along the depth and has far more columns than A has rows (a weight, and a batch of some rows), packing B is dear.
Such a product is computed as that of the transposed matrices: columns of B are the rows, read in place, and only A is packed.
Its sums stand in the scratch as [column of C][row of C]; finished ones are turned in registers, a square of vectors at a time,
and get their epilogue on the way to C.
"""

from .emit import Module
from .epilogue import Place
from .gemm_job import call_epilogue, word
from .microkernel import narrow, transpose
from .types import I64, PTR, vector

_SQUARES = 2                        # down the rows of C, turned before a long epilogue works on them


def write_turn_out(module: Module, kernel) -> str:
    """Function `turn_out(job, sums, c, row, column, height, width, batch)`: finished sums [width][height] to where rows of C
    begin, and its columns from `column` on. Beyond them the sums may hold anything, up to whole squares."""
    lanes, stored = kernel.shape.lanes, kernel.precision.out
    f = module.function("turn_out", [(PTR, "job"), (PTR, "sums"), (PTR, "c"), (I64, "row"), (I64, "column"), (I64, "height"),
                                     (I64, "width"), (I64, "batch")], internal=True)
    job, sums, c, row, column, height, width, batch = f.params
    c_row, sums_row = word(f, job, "c_row"), word(f, job, "sums_row")
    with f.loop(0, height, _SQUARES * lanes) as outer:
        some, top = f.min(f.sub(height, outer.index), _SQUARES * lanes), f.add(row, outer.index)
        corner = f.at(f.at(c, f.mul(outer.index, c_row)), column, stored)
        with f.loop(0, some, lanes) as down:
            start = f.at(sums, f.add(outer.index, down.index), kernel.precision.accumulate)
            with f.loop(0, width, lanes) as along:
                square = f.at(start, f.mul(along.index, sums_row))
                goal = f.at(f.at(corner, f.mul(down.index, c_row)), along.index, stored)
                where = batch, f.add(top, down.index), f.add(column, along.index)
                left = f.sub(some, down.index), f.sub(width, along.index)
                whole = f.bit_and(*(f.compare("sge", size, lanes) for size in left))
                f.choose(whole, lambda s=square, g=goal, w=where: _turn(f, kernel, job, s, g, w),
                         lambda s=square, g=goal, w=where, n=left: _turn(f, kernel, job, s, g, w, n))
        if kernel.epilogue.is_long:
            call_epilogue(f, job, corner, (batch, top, column), some, width)
    f.ret()
    return "turn_out"


def _turn(f, kernel, job, square, goal, where, left=None):
    """Turns a square of sums; at the edges of C only the (rows, columns) `left` are stored."""
    lanes, (batch, row, column) = kernel.shape.lanes, where
    kind, sums_row, c_row = vector(lanes, kernel.precision.accumulate), word(f, job, "sums_row"), word(f, job, "c_row")
    rows = [f.load(kind, f.at(square, f.mul(sums_row, i))) for i in range(lanes)]
    for i, value in enumerate(transpose(f, rows)):
        mask, at = None, f.add(row, i)
        if left is not None:
            mask = f.mask(f.select(f.compare("sgt", left[0], i), left[1], 0), lanes)
            at = f.select(f.compare("sgt", left[0], i), at, row)
        if not kernel.epilogue.is_long:
            value = kernel.epilogue.apply(f, value, Place(word(f, job, "operands", PTR), batch, at, column, mask), 0)
        value, spot = narrow(f, value, kernel.precision.out), f.at(goal, f.mul(c_row, i))
        f.store(value, spot) if mask is None else f.store_masked(value, spot, mask)
