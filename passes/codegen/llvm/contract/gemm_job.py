"""Jobs of matrix products, shared by all variants: the words of a job, and the part of the result that one item covers."""

from dataclasses import dataclass

from ..ir.types import I64, PTR, Value, null
from ..pool.tasks import chunk_share

WORDS = ("a", "b", "c", "a_row", "a_step", "b_step", "b_column", "c_row", "a_batch", "b_batch", "c_batch", "offsets",
         "rows", "columns", "depth", "depth_block", "panels", "row_blocks", "items", "chunks", "scratch", "scratch_bytes",
         "pack", "operands", "panel", "panel_depth", "sums_bytes",
         "turned", "last",
         "source_row", "source_step", "left_bytes", "ahead", "sums_row", "adds")
# On the road of register tiles: `source_row` and `source_step` are the strides of A itself, `a_row` and `a_step` those that
# tiles read with; `left_bytes` of the scratch hold packed tiles of A (none: A is read in place); `ahead` is the distance of the
# steps of B that are asked for early, or 0; `sums_row` is the distance of rows of sums: C's own, or those of the scratch where
# operands have changed places (`turned`); then `last` rows of A, beyond `columns`, are left to dot products. With `adds` the
# product is added to what C holds.
OFFSET = {name: 8 * number for number, name in enumerate(WORDS)}

# A plan is the words of a job followed by the task's address and the number of chunks (and how many threads take them).
PLAN_WORDS = (*WORDS, "task", "tasks")


def word(f, job, name, type_=I64):
    """A word of a job."""
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
    """The item of a number."""
    panel = word(f, job, "panel")
    panels, blocks, rows = word(f, job, "panels"), word(f, job, "row_blocks"), word(f, job, "rows")
    each = f.mul(panels, blocks)
    batch, rest = f.div(number, each), f.mod(number, each)
    column, block = f.mul(f.div(rest, blocks), panel), f.mod(rest, blocks)
    first, end = chunk_share(f, rows, blocks, block)
    columns = f.min(f.sub(word(f, job, "columns"), column), panel)
    return Item(batch, first, end, column, columns, *_batch_operands(f, job, batch))


def _batch_operands(f, job, batch):
    """Pointers to the three matrices of a batch: by uniform strides, or from a table of byte offsets."""
    table = word(f, job, "offsets", PTR)

    def uniform():
        return tuple(f.mul(batch, word(f, job, f"{name}_batch")) for name in "abc")

    def listed():
        row = f.at(table, f.mul(batch, 24))
        return tuple(f.load(I64, f.at(row, 8 * number)) for number in range(3))

    offsets = f.choose(f.compare("eq", table, null()), uniform, listed)
    return tuple(f.at(word(f, job, name, PTR), offset) for name, offset in zip("abc", offsets, strict=True))


def call_epilogue(f, job, c, where, height, width, c_row=None):
    """A long epilogue, on a part of C that was just stored and lies in the nearest cache; or on values that are to be stored
    there, in rows that lie `c_row` bytes apart."""
    operands, (batch, row, column) = word(f, job, "operands", PTR), where
    c_row = word(f, job, "c_row") if c_row is None else f.index(c_row)
    f.call_pointer(f.load(PTR, operands), "void", operands, c, c_row, row, column, f.index(height), f.index(width), batch)
