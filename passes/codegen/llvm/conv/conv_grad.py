"""Weight gradient of a convolution in blocked channels: dw[o, i, tap] = sum over images and pixels of dy[o] * x[i, moved].

x, dy and dw have the layouts of the forward kernel (`conv.py`). The register tile is channels of x times a panel of dy. It runs
over the pixels of a block of rows, small enough for the nearest cache for all taps, and is added to dw in memory. If too few
tiles of dw exist for the threads, the images are cut into parts with a dw each, which `reduce` adds in order. The cut depends
on shapes alone, and so do the results.

Ranges of columns come in a table, one *segment* for each group of rows of a tile:

    segment  {rows, pixels, offset in x, offset in dy, offset in dw}; rows are channels, or taps and channels together
"""

from dataclasses import dataclass

from ..contract.microkernel import Operand, Precision, add_outer, zero_tile
from ..ir.emit import ModuleWriter
from ..ir.types import I64, PTR, VOID, bytes_of, vector, zero
from ..pool.tasks import WORD, Words, chunk_share, split_index, write_task
from .conv import tile_rows

WORDS = ("x", "y", "w", "items", "chunks", "groups", "parts", "panels", "blocks", "units", "row_blocks", "block_rows",
         "x_image", "x_group", "x_block", "x_slice", "x_row", "x_pixel", "y_image", "y_group", "y_block", "y_slice", "y_row",
         "w_part", "w_group", "w_panel", "w_block", "w_tap_d", "w_tap_h", "out_depth", "out_height", "depth", "height",
         "taps_d", "taps_h", "stride_d", "stride_h", "pad_d", "pad_h", "dilation_d", "dilation_h", "segments", "segment_count",
         "last_segments", "last_segment_count", "out_blocks")
SEGMENT = ("rows", "pixels", "x_offset", "y_offset", "w_offset")
REDUCE_WORDS = ("source", "target", "parts", "part_bytes", "vectors", "chunks")


@dataclass(frozen=True)
class WeightGradKernel(ModuleWriter):
    """Generator of weight gradients of a precision and panel width."""

    precision: Precision
    vectors: int

    @property
    def lanes(self) -> int:
        """Channels of a block."""
        return self.target.lanes(bytes_of(self.precision.accumulate))

    @property
    def rows(self) -> int:
        """Rows of the largest tile."""
        return tile_rows(self.target, self.vectors)

    @property
    def symbol(self) -> str:
        return f"conv_weight_{self.vectors}_{self.precision}"

    @property
    def reduce_symbol(self) -> str:
        return f"conv_parts_{self.precision}"

    def write(self, module):
        tiles = module.function_table("tiles", [_tile(module, self, rows) for rows in range(1, self.rows + 1)])
        item = _item(module, self, _unit(module, self, tiles))
        write_task(module, self.symbol, item, WORDS, worker=False)
        _reduce(module, self)


def _item(module, kernel, unit):
    """Write the function of one item: the dw of one panel and block of channels from one part of the images."""
    f = module.function("item", [(PTR, "job"), (I64, "number")], internal=True)
    arg, number = f.params
    job = Words(f, arg, WORDS)
    part, group, panel, block = split_index(f, number, (job.parts, job.groups, job.panels, job.blocks))
    w = f.add(f.add(f.mul(part, job.w_part), f.mul(group, job.w_group)),
              f.add(f.mul(panel, job.w_panel), f.mul(block, job.w_block)))
    w, nothing = f.at(job.address("w"), w), zero(vector(kernel.lanes, kernel.precision.out))
    with f.loop(0, job.w_block, bytes_of(nothing.type)) as loop:
        f.store(nothing, f.at(w, loop.index))
    x = f.at(job.address("x"), f.add(f.mul(group, job.x_group), f.mul(block, job.x_block)))
    first_vector = f.mul(panel, kernel.vectors)
    y = f.at(job.address("y"), f.add(f.mul(group, job.y_group), f.mul(first_vector, job.y_block)))
    last = f.compare("eq", block, f.sub(job.blocks, 1))
    table = f.select(last, job.address("last_segments"), job.address("segments"))
    count = f.select(last, job.last_segment_count, job.segment_count)
    last_vector = f.sub(f.min(f.sub(job.out_blocks, first_vector), kernel.vectors), 1)
    units, parts = job.units, job.parts
    with f.loop(f.div(f.mul(units, part), parts), f.div(f.mul(units, f.add(part, 1)), parts)) as loop:
        f.call(unit, VOID, arg, loop.index, x, y, w, table, count, last_vector)
    f.ret()
    return "item"


def _unit(module, kernel, tiles):
    """Write the function of one block of rows of one image: all taps."""
    f = module.function("unit", [(PTR, "job"), (I64, "number"), (PTR, "x"), (PTR, "y"), (PTR, "w"), (PTR, "table"),
                                 (I64, "count"), (I64, "last")], internal=True)
    arg, number, x, y, w, table, count, last = f.params
    job = Words(f, arg, WORDS)
    image, at_d, row_block = split_index(f, number, (1, job.out_depth, job.row_blocks))
    x = f.at(x, f.mul(image, job.x_image))
    y = f.at(y, f.add(f.mul(image, job.y_image), f.mul(at_d, job.y_slice)))
    low = f.mul(row_block, job.block_rows)
    high = f.min(f.add(low, job.block_rows), job.out_height)
    with f.loop(0, job.taps_d) as tap_d:
        in_d = f.sub(f.add(f.mul(at_d, job.stride_d), f.mul(tap_d.index, job.dilation_d)), job.pad_d)
        inside = f.binary("and", f.compare("sge", in_d, 0), f.compare("slt", in_d, job.depth))
        with f.loop(0, f.select(inside, job.taps_h, f.index(0))) as tap_h:
            shift = f.sub(f.mul(tap_h.index, job.dilation_h), job.pad_h)
            first = f.max(low, f.ceil_div(f.max(f.sub(0, shift), 0), job.stride_h))
            end = f.min(high, f.ceil_div(f.max(f.sub(job.height, shift), 0), job.stride_h))
            at_x = f.at(x, f.add(f.mul(in_d, job.x_slice), f.mul(f.add(f.mul(first, job.stride_h), shift), job.x_row)))
            at_y = f.at(y, f.mul(first, job.y_row))
            at_w = f.at(w, f.add(f.mul(tap_d.index, job.w_tap_d), f.mul(tap_h.index, job.w_tap_h)))
            rows = f.sub(end, first)
            with f.loop(0, f.select(f.compare("sgt", rows, 0), count, f.index(0))) as loop:
                segment = Words(f, f.at(table, f.mul(loop.index, WORD * len(SEGMENT))), SEGMENT)
                tile = f.load(PTR, f.at(f.at(tiles, segment.rows, PTR), -WORD))
                f.call_pointer(tile, VOID, arg, f.at(at_x, segment.x_offset), f.at(at_y, segment.y_offset),
                               f.at(at_w, segment.w_offset), rows, segment.pixels, last)
    f.ret()
    return "unit"


def _tile(module, kernel, rows):
    """Write the function that adds the sum over some rows of pixels to a tile of dw."""
    name, precision, lanes, vectors = f"tile_{rows}", kernel.precision, kernel.lanes, kernel.vectors
    f = module.function(name, [(PTR, "job"), ("ptr noalias readonly", "x"), ("ptr noalias readonly", "y"), ("ptr noalias", "w"),
                               (I64, "height"), (I64, "pixels"), (I64, "last")], internal=True)
    arg, x, y, w, height, pixels, last = f.params
    job, size = Words(f, arg, WORDS), bytes_of(precision.a)
    x_row, y_row, x_pixel = f.mul(job.x_row, job.stride_h), job.y_row, job.x_pixel
    # Vectors beyond the last block of dy read that block again; their results are not used.
    across = tuple(f.mul(job.y_block, f.min(last, number)) for number in range(vectors))
    start = [value for line in zero_tile(precision, rows, vectors, lanes) for value in line]
    with f.loop(0, height, 1, start) as loop:
        tile = [list(loop.carried[row * vectors:(row + 1) * vectors]) for row in range(rows)]
        tile = add_outer(f, precision, tile, pixels, Operand(f.at(x, f.mul(loop.index, x_row)), size, x_pixel),
                         Operand(f.at(y, f.mul(loop.index, y_row)), across, lanes * size))
        loop.next(*(value for line in tile for value in line))
    for number, value in enumerate(loop.results):
        spot = f.at(w, number * lanes * size)
        f.store(f.fadd(f.load(value.type, spot), value), spot)
    f.ret()
    return name


def _reduce(module, kernel):
    """Write the task that adds the parts of dw in order."""
    f = module.task(kernel.reduce_symbol)
    arg, chunk, _ = f.params
    job, type_ = Words(f, arg, REDUCE_WORDS), vector(kernel.lanes, kernel.precision.out)
    source, target, bytes_ = job.address("source"), job.address("target"), job.part_bytes
    first, end = chunk_share(f, job.vectors, job.chunks, chunk)
    with f.loop(first, end) as loop:
        place = f.mul(loop.index, bytes_of(type_))
        with f.loop(1, job.parts, 1, [f.load(type_, f.at(source, place))]) as parts:
            parts.next(f.fadd(parts.carried[0], f.load(type_, f.at(source, f.add(f.mul(parts.index, bytes_), place)))))
        f.store(parts.results[0], f.at(target, place))
    f.ret()
