"""Direct convolution in blocked channels: y = epilogue(conv(x, w)) for any sizes, strides, dilations and borders.

Layouts (B lanes of a vector, V vectors of a panel of output channels):

    x  [image][channel block][depth][height][width][B]       B may be fewer channels, if there are no more
    w  [panel][channel block][tap d][tap h][tap w][B][V * B]
    y  [image][channel block][depth][height][width][B]

The register tile is pixels of a row times a panel. It runs over the whole reduction, so each value of y is stored once. One
module serves all shapes of a (precision, V, epilogue). There is no halo: taps outside are skipped. Above and below, a row knows
its range of taps; left and right, a tile is a list of *segments*, each a range of taps and the pixels that they meet. Tiles
with several segments gather their sums in y.

`runtime/cpu/conv/conv_plan.py` plans the tiles and segments of rows, as tables; long rows are cut into parts for threads. If a
panel of weights exceeds the near caches, an item takes all its rows with some channel blocks after the other (*depths*), each
with a table entry for each part:

    part     {position of the runs, runs}
    run      {first pixel, pixels of a tile, tiles, position of the segments, segments, clear}: equal tiles side by side
    segment  {first pixel in the tile, pixels, offset in x, offset in w, taps, steps, steps of the last channel block,
              channel blocks, flags}; offsets in bytes

They form one table, with positions in bytes from its start.

A panel of weights is read once for each tile of an item. If weights come from far memory, an item prefetches the panel of the
next one, some lines at each channel block, spread over its work. A tile prefetches its epilogue's operands before it begins.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from .....ir.target import Target
from ..contract.epilogue import Identity
from ..contract.microkernel import Operand, Precision, add_outer, add_written, zero_tile
from ..ir.emit import ModuleWriter
from ..ir.types import I64, PTR, VOID, bytes_of, vector, zero
from ..pool.tasks import WORD, Words, chunk_share, split_index, write_task
from .conv_tile import FRAME, SEGMENT, WORDS, sum_bytes, write_ask, write_finish, write_tile

PART = ("runs", "count")
RUN = ("first", "width", "tiles", "segments", "count", "clear")
_ROOM = 8                                       # registers beside the sums of an unrolled tile


def tile_rows(target: Target, vectors: int) -> int:
    """Return the pixels of the largest tile beside a panel of `vectors` vectors."""
    if target.vector_registers >= 32:
        return {1: 16, 2: 14, 3: 8, 4: 6, 5: 4}[vectors]
    return {1: 8, 2: 6, 3: 4}[vectors]


@dataclass(frozen=True)
class ConvKernel(ModuleWriter):
    """Generator of direct convolutions of a precision, panel width and epilogue.

    In a `narrow` panel the last vector has channels in its lower half only. Segments of `written` steps, if not 0, are
    unrolled. Tiles have the `heights`, or all heights if it is empty.
    """

    precision: Precision
    vectors: int
    epilogue: Any = field(default_factory=Identity)
    narrow: bool = False
    written: int = 0
    heights: tuple = ()
    gathers: ClassVar[bool] = False      # whether a tile's sums are combined before they are results

    @property
    def lanes(self) -> int:
        """Channels of a block."""
        return self.target.lanes(bytes_of(self.precision.accumulate))

    @property
    def rows(self) -> int:
        """Pixels of the largest tile."""
        return tile_rows(self.target, self.vectors)

    def written_out(self, pixels: int) -> int:
        """Return a tile's unrolled steps of the depth: none if sums would leave registers, few in tall tiles to limit code."""
        room = self.target.vector_registers - pixels * self.vectors
        return 1 if room < _ROOM else 4 if self.vectors >= 3 else 2

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the sums of the largest tile."""
        return self.rows * self.vectors * sum_bytes(self)

    @property
    def symbol(self) -> str:
        after, written = self.epilogue.name, f"_w{self.written}" if self.written else ""
        heights = "".join(f"_h{pixels}" for pixels in self.heights)
        return f"conv_{self.vectors}{'_narrow' * self.narrow}{written}{heights}_{self.precision}{'_' + after if after else ''}"

    def ready(self, f, job, pixels: int) -> tuple:
        """Return what the steps of a tile need beforehand."""
        return pixels, job.x_pixel

    def no_sums(self, pixels: int) -> list:
        """Return a tile's sums before its first step."""
        return _values(zero_tile(self.precision, pixels, self.vectors, self.lanes, self.narrow))

    def add(self, f, ready: tuple, x, w, sums: list, steps) -> list:
        """Add the products of some steps: input channels, and taps of adjacent channels."""
        if not self.written:
            return self._added(f, ready, x, w, sums, steps)
        return list(f.choose(f.compare("eq", steps, self.written), lambda: self._added(f, ready, x, w, sums, self.written),
                             lambda: self._added(f, ready, x, w, sums, steps)))

    def _added(self, f, ready, x, w, sums, steps):
        (pixels, x_pixel), size = ready, bytes_of(self.precision.a)
        a, b = Operand(x, x_pixel, size), Operand(w, 0, self.vectors * self.lanes * size)
        tile = _lines(sums, self.vectors)
        if isinstance(steps, int):
            return _values(add_written(f, self.precision, tile, steps, a, b))
        return _values(add_outer(f, self.precision, tile, steps, a, b,
                                 unroll=1 if self.written else self.written_out(pixels)))

    def sum(self, f, sums, type_, number, pixel):
        """Load a vector of channels of a pixel."""
        return f.load(type_, f.at(sums, f.mul(f.add(f.mul(pixel, self.vectors), number), sum_bytes(self))))

    def write(self, module):
        write_finish(module, self)
        tiles = [write_tile(module, self, pixels) if pixels in self.heights or not self.heights else None
                 for pixels in range(1, self.rows + 1)]
        row = _row(module, module.function_table("tiles", tiles), write_ask(module, self), _clear(module, self))
        item = _item(module, self, row)
        write_task(module, self.symbol, item, WORDS, worker=False)


def _item(module, kernel, row):
    """Write the function of one item: a part of some rows of one image, one panel."""
    f = module.function("item", [(PTR, "job"), (I64, "number")], internal=True)
    arg, number = f.params
    job, frame = Words(f, arg, WORDS), Words(f, f.local(WORD * len(FRAME)), FRAME)
    frame.put(sums=f.local(kernel.scratch_bytes))
    image, group, block, part, panel = _item_place(f, job, number)
    shift = kernel.vectors * kernel.lanes
    column = f.add(f.mul(group, f.mul(job.blocks, kernel.lanes)), f.mul(panel, shift))
    x = f.at(job.address("x"), f.add(f.mul(image, job.x_image), f.mul(group, job.x_group)))
    w = f.at(job.address("w"), f.add(f.mul(group, job.w_group), f.mul(panel, job.w_panel)))
    start = f.add(f.mul(image, job.y_image), f.mul(group, job.y_group))
    start = f.add(start, f.mul(f.mul(panel, kernel.vectors), job.y_block))
    frame.put(column=column, vectors=f.sub(job.blocks, f.mul(panel, kernel.vectors)), image=image)
    place = f.add(f.mul(f.add(f.mul(image, job.row_blocks), block), job.parts), part)
    _plan_prefetch(f, job, frame, f.at(w, job.w_panel), panel, place)
    rows = chunk_share(f, job.out_rows, job.row_blocks, block)
    with f.loop(0, job.depths) as depth, f.loop(*rows) as loop:
        entry = f.add(f.mul(depth.index, job.parts), part)
        frame.put(part=f.add(job.part_table, f.mul(entry, WORD * len(PART))))
        at_d, at_h = f.div(loop.index, job.out_height), f.mod(loop.index, job.out_height)
        in_d = tap_range(f, job, frame, "d", at_d, job.depth)
        in_h = tap_range(f, job, frame, "h", at_h, job.height)
        here = f.at(x, f.add(f.mul(in_d, job.x_slice), f.mul(in_h, job.x_row)))
        frame.put(y_start=f.add(start, f.add(f.mul(at_d, job.y_slice), f.mul(at_h, job.y_row))))
        f.call(row, VOID, arg, frame.pointer, here, w)
    f.ret()
    return "item"


def _plan_prefetch(f, job, frame, following, panel, place):
    """Plan an item's prefetches: the next panel, or its share of it if other items use this panel first."""
    size = f.select(f.compare("slt", f.add(panel, 1), job.panels), job.w_panel, 0)
    shares = job.ask_shares
    first, end = chunk_share(f, size, shares, f.min(place, f.sub(shares, 1)))
    frame.put(ask=f.cast("ptrtoint", f.at(following, first), I64), ask_end=f.cast("ptrtoint", f.at(following, end), I64))


def _item_place(f, job, number):
    """Return (image, group, row block, part, panel): rows outside panels, or panels outside all but groups."""
    def rows_first():
        return split_index(f, number, (1, job.groups, job.row_blocks, job.parts, job.panels))

    def panels_first():
        others = f.mul(f.mul(job.groups, job.panels), f.mul(job.row_blocks, job.parts))
        group, panel, image, block, part = split_index(f, number, (1, job.panels, f.div(job.items, others), job.row_blocks,
                                                                   job.parts))
        return image, group, block, part, panel

    return f.choose(f.compare("ne", job.panel_first, 0), panels_first, rows_first)


def tap_range(f, job, frame, dim, at, size):
    """Put a row's range of taps into the frame; return the row of x that the first tap would meet."""
    stride, pad, dilation, taps = (getattr(job, f"{name}_{dim}") for name in ("stride", "pad", "dilation", "taps"))
    origin = f.sub(f.mul(at, stride), pad)
    inside = f.binary("and", f.compare("sge", origin, 0),
                      f.compare("slt", f.add(origin, f.mul(f.sub(taps, 1), dilation)), size))

    def at_a_border():
        return (f.min(f.ceil_div(f.max(f.sub(0, origin), 0), dilation), taps),
                f.min(f.ceil_div(f.max(f.sub(size, origin), 0), dilation), taps))

    first, end = f.choose(inside, lambda: (0, taps), at_a_border)       # most rows are inside; divisions are slow
    frame.put(**{f"first_{dim}": first, f"end_{dim}": end})
    return origin


def _row(module, tiles, ask, clear):
    """Write the function of a part of one row of y: runs of tiles, their segments."""
    f = module.function("row", [(PTR, "job"), (PTR, "frame"), (PTR, "x"), (PTR, "w")], internal=True)
    arg, at_frame, x, w = f.params
    job, frame = Words(f, arg, WORDS), Words(f, at_frame, FRAME)
    y, x_pixel, y_pixel = f.at(job.address("y"), frame.y_start), job.x_pixel, job.y_pixel
    part = Words(f, frame.address("part"), PART)
    start = job.address("part_table")
    table = f.at(start, part.runs)
    with f.loop(0, part.count) as runs:
        run = Words(f, f.at(table, f.mul(runs.index, WORD * len(RUN))), RUN)
        width, first, count, segments = run.width, run.first, run.count, f.at(start, run.segments)
        must_clear = f.compare("ne", run.clear, 0)
        with f.loop(0, run.tiles) as each:
            pixel = f.add(first, f.mul(each.index, width))
            with f.when(must_clear):
                f.call(clear, VOID, arg, at_frame, f.at(y, f.mul(pixel, y_pixel)), width)
            with f.loop(0, count) as parts:
                at = f.at(segments, f.mul(parts.index, WORD * len(SEGMENT)))
                segment = Words(f, at, SEGMENT)
                here = f.add(pixel, segment.first)
                tile, goal = f.load(PTR, f.at(f.at(tiles, segment.pixels, PTR), -WORD)), f.at(y, f.mul(here, y_pixel))
                if ask:
                    f.call(ask, VOID, arg, at_frame, at, goal)
                f.call_pointer(tile, VOID, arg, at_frame, at, f.at(x, f.add(f.mul(here, x_pixel), segment.x_offset)),
                               f.at(w, segment.w_offset), goal)
    f.ret()
    return "row"


def _clear(module, kernel):
    f = module.function("clear", [(PTR, "job"), (PTR, "frame"), (PTR, "y"), (I64, "pixels")], internal=True)
    arg, at_frame, y, pixels = f.params
    job, nothing = Words(f, arg, WORDS), zero(vector(kernel.lanes, kernel.precision.out))
    step, block = job.y_pixel, job.y_block
    with f.loop(0, f.min(Words(f, at_frame, FRAME).vectors, kernel.vectors)) as vectors, f.loop(0, pixels) as loop:
        f.store(nothing, f.at(y, f.add(f.mul(vectors.index, block), f.mul(loop.index, step))))
    f.ret()
    return "clear"


def _values(tile):
    return [value for line in tile for value in line]


def _lines(values, vectors):
    return [list(values[start:start + vectors]) for start in range(0, len(values), vectors)]
