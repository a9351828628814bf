"""Job of a matrix product, shared by all variants: its words, and the part of the result that one item covers."""

from dataclasses import dataclass

from ..ir.types import I64, PTR, Value, null
from ..pool.tasks import chunk_share

WORDS = ("a", "b", "c", "a_row", "a_step", "b_step", "b_column", "c_row", "a_batch", "b_batch", "c_batch", "offsets",
         "rows", "columns", "depth", "depth_block", "panels", "row_blocks", "items", "chunks", "scratch", "scratch_bytes",
         "pack", "operands", "panel", "panel_depth", "sums_bytes",
         "turned", "last",
         "source_row", "source_step", "left_bytes", "ahead", "sums_row", "adds")
# Words of register tiles: `source_row` and `source_step` are the strides of A itself, `a_row` and `a_step` those that tiles
# read with. `left_bytes` of the scratch hold packed tiles of A (0: A is read in place). `ahead` is the distance of prefetched
# steps of B, or 0. `sums_row` is the distance of rows of sums, in C or, with swapped operands (`turned`), in the scratch. Then
# `last` rows of A, beyond `columns`, are left to dot products. With `adds` the product is added to C.
OFFSET = {name: 8 * number for number, name in enumerate(WORDS)}


def word(f, job, name, type_=I64):
    """Load a word of a job."""
    return f.load(type_, f.at(job, OFFSET[name]))


@dataclass
class Item:
    """One item of a job: its batch, rows, columns and the operands of its batch."""

    batch: Value
    first_row: Value
    end_row: Value
    column: Value
    columns: Value
    a: Value
    b: Value
    c: Value


def open_item(f, job, number):
    """Return the item with a number."""
    panel = word(f, job, "panel")
    panels, blocks, rows = word(f, job, "panels"), word(f, job, "row_blocks"), word(f, job, "rows")
    each = f.mul(panels, blocks)
    batch, rest = f.div(number, each), f.mod(number, each)
    column, block = f.mul(f.div(rest, blocks), panel), f.mod(rest, blocks)
    first, end = chunk_share(f, rows, blocks, block)
    columns = f.min(f.sub(word(f, job, "columns"), column), panel)
    return Item(batch, first, end, column, columns, *_batch_operands(f, job, batch))


def _batch_operands(f, job, batch):
    """Return the three matrices of a batch, by uniform strides or from a table of byte offsets."""
    table = word(f, job, "offsets", PTR)

    def uniform():
        return tuple(f.mul(batch, word(f, job, f"{name}_batch")) for name in "abc")

    def listed():
        row = f.at(table, f.mul(batch, 24))
        return tuple(f.load(I64, f.at(row, 8 * number)) for number in range(3))

    offsets = f.choose(f.compare("eq", table, null()), uniform, listed)
    return tuple(f.at(word(f, job, name, PTR), offset) for name, offset in zip("abc", offsets, strict=True))


def call_epilogue(f, job, c, where, height, width, c_row=None):
    """Call a long epilogue on a part of C just stored, still in the nearest cache; or on values in rows `c_row` bytes apart
    that will be stored there."""
    operands, (batch, row, column) = word(f, job, "operands", PTR), where
    c_row = word(f, job, "c_row") if c_row is None else f.index(c_row)
    f.call_pointer(f.load(PTR, operands), "void", operands, c, c_row, row, column, f.index(height), f.index(width), batch)
