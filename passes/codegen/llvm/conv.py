"""Direct convolution in blocked channels: y = epilogue(conv(x, w)) for any sizes, strides, dilations and borders.

Layouts (B lanes of a vector, V vectors of a panel of output channels):

    x  [image][channel block][depth][height][width][B]       B may be fewer channels, when there are no more
    w  [panel][channel block][tap d][tap h][tap w][B][V * B]
    y  [image][channel block][depth][height][width][B]

The register tile is pixels of a row times a panel; it runs over the whole reduction, so each value of y is stored once. One
module serves all shapes of a (precision, V, epilogue). No halo: the taps that fall outside are skipped. Above and below, a row
knows its range of taps; left and right, a tile is a list of *segments*, each a range of taps and the pixels that they meet.
Tiles with several segments gather their sums in y.

Which tiles and segments a row has is worked out beforehand (`runtime/cpu/conv_plan.py`) and comes in tables; long rows are cut
into parts for threads to share. Where a panel of weights is too large to stay near, an item goes over all its rows with some
channel blocks after the other (*depths*), each of which has a table entry for each part:

    part     {where the runs are, runs}
    run      {first pixel, pixels of a tile, tiles, where the segments are, segments, clear}: equal tiles side by side
    segment  {first pixel in the tile, pixels, offset in x, offset in w, taps, steps, steps of the last channel block,
              channel blocks, flags}; offsets in bytes

All of them are one table; where something is counts from its start, in bytes.

A panel of weights is read once for each tile of an item. Where weights come from far, an item asks for the panel that the next
one will read, some lines at each channel block, so that they arrive all along its work. A tile asks for what its epilogue reads
beside its sums before it begins.
"""

from dataclasses import dataclass, field
from typing import Any

from ....ir.target import Target
from .conv_epilogue import BlockedPlace
from .emit import Module
from .epilogue import Identity, Place
from .microkernel import Operand, Precision, add_outer, add_written, widen_lanes, zero_tile
from .tasks import WORD, Words, chunk_share, split_index
from .types import I64, PTR, VOID, bytes_of, vector, zero

WORDS = ("x", "w", "y", "operands", "items", "chunks", "groups", "row_blocks", "panels", "panel_first",
         "x_image", "x_group", "x_block", "x_slice", "x_row", "x_pixel", "w_group", "w_panel", "w_block",
         "w_tap_d", "w_tap_h", "w_tap_w", "w_output", "x_tap_w", "y_image", "y_group", "y_block", "y_slice", "y_row", "y_pixel",
         "out_rows", "out_height", "depth", "height", "taps_d", "taps_h", "stride_d", "stride_h", "pad_d", "pad_h",
         "dilation_d", "dilation_h", "part_table", "parts", "depths", "blocks", "ask_lines",
         "ask_shares")
PART = ("runs", "count")
RUN = ("first", "width", "tiles", "segments", "count", "clear")
SEGMENT = ("first", "pixels", "x_offset", "w_offset", "taps", "steps", "last", "blocks", "flags")
_FRAME = ("first_d", "end_d", "first_h", "end_h", "column", "vectors", "image", "y_start", "part", "ask", "ask_end")
ACCUMULATE, LAST = 1, 2
AHEAD = 2                                       # channel blocks that are asked for before they are needed
_ROOM = 8                                       # registers beside the sums of a tile whose steps are written out
_LINE = 64                                      # bytes of a cache line


def tile_rows(target: Target, vectors: int) -> int:
    """Pixels of the largest tile beside so many vectors."""
    if target.vector_registers >= 32:
        return {1: 16, 2: 14, 3: 8, 4: 6, 5: 4}[vectors]
    return {1: 8, 2: 6, 3: 4}[vectors]


@dataclass(frozen=True)
class ConvKernel:
    """What a module is made for; equal ones are the same code. In a `narrow` panel the last vector has channels in its lower
    half alone. Segments of `written` steps, if it is not 0, have them written out. Tiles are of `heights` pixels, or of all
    that there are if that is empty."""

    target: Target
    precision: Precision
    vectors: int
    epilogue: Any = field(default_factory=Identity)
    narrow: bool = False
    written: int = 0
    heights: tuple = ()

    @property
    def lanes(self) -> int:
        """Lanes of a vector: channels of a block."""
        return self.target.lanes(bytes_of(self.precision.accumulate))

    @property
    def rows(self) -> int:
        """Pixels of the largest tile."""
        return tile_rows(self.target, self.vectors)

    def written_out(self, pixels: int) -> int:
        """Steps of the depth that a tile has written out side by side: none where they would not leave sums in registers, few
        where tiles are tall, so that code is."""
        room = self.target.vector_registers - pixels * self.vectors
        return 1 if room < _ROOM else 4 if self.vectors >= 3 else 2

    @property
    def symbol(self) -> str:
        """The task's name in the module."""
        after, written = self.epilogue.name, f"_w{self.written}" if self.written else ""
        heights = "".join(f"_h{pixels}" for pixels in self.heights)
        return f"conv_{self.vectors}{'_narrow' * self.narrow}{written}{heights}_{self.precision}{'_' + after if after else ''}"

    def ready(self, f, job, pixels: int) -> tuple:
        """What the steps of a tile need to know beforehand."""
        return pixels, job.x_pixel

    def no_sums(self, pixels: int) -> list:
        """The sums of a tile before its first step."""
        return _values(zero_tile(self.precision, pixels, self.vectors, self.lanes, self.narrow))

    def add(self, f, ready: tuple, x, w, sums: list, steps) -> list:
        """Sums plus the products of some steps: input channels, and taps where those of neighbours lie together."""
        (pixels, x_pixel), size = ready, bytes_of(self.precision.a)
        a, b = Operand(x, x_pixel, size), Operand(w, 0, self.vectors * self.lanes * size)
        tile = _lines(sums, self.vectors)
        if isinstance(steps, int):
            return _values(add_written(f, self.precision, tile, steps, a, b))
        return _values(add_outer(f, self.precision, tile, steps, a, b, unroll=self.written_out(pixels)))

    def results(self, f, sums: list) -> list:
        """The vectors of channels of each pixel."""
        return _lines(sums, self.vectors)

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        tiles = [_tile(module, self, pixels) if pixels in self.heights or not self.heights else None
                 for pixels in range(1, self.rows + 1)]
        row = _row(module, self, module.function_table("tiles", tiles), _clear(module, self))
        item = _item(module, self, row)
        f = module.task(self.symbol)
        arg, chunk, _ = f.params
        job = Words(f, arg, WORDS)
        first, end = chunk_share(f, job.items, job.chunks, chunk)
        with f.loop(first, end) as loop:
            f.call(item, VOID, arg, loop.index)
        f.ret()
        return module.text()


def _item(module, kernel, row):
    """Function of one item: a part of some rows of one image, one panel."""
    f = module.function("item", [(PTR, "job"), (I64, "number")], internal=True)
    arg, number = f.params
    job, frame = Words(f, arg, WORDS), Words(f, f.local(WORD * len(_FRAME)), _FRAME)
    image, group, block, part, panel = _item_place(f, job, number)
    shift = kernel.vectors * kernel.lanes
    column = f.add(f.mul(group, f.mul(job.blocks, kernel.lanes)), f.mul(panel, shift))
    x = f.at(job.address("x"), f.add(f.mul(image, job.x_image), f.mul(group, job.x_group)))
    w = f.at(job.address("w"), f.add(f.mul(group, job.w_group), f.mul(panel, job.w_panel)))
    start = f.add(f.mul(image, job.y_image), f.mul(group, job.y_group))
    start = f.add(start, f.mul(f.mul(panel, kernel.vectors), job.y_block))
    frame.put(column=column, vectors=f.sub(job.blocks, f.mul(panel, kernel.vectors)), image=image)
    place = f.add(f.mul(f.add(f.mul(image, job.row_blocks), block), job.parts), part)
    _plan_asking(f, job, frame, f.at(w, job.w_panel), panel, place)
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


def _plan_asking(f, job, frame, following, panel, place):
    """What an item asks for: the next panel, or its share of it where items at other places go through this panel first."""
    size = f.select(f.compare("slt", f.add(panel, 1), job.panels), job.w_panel, 0)
    shares = job.ask_shares
    first, end = chunk_share(f, size, shares, f.min(place, f.sub(shares, 1)))
    frame.put(ask=f.cast("ptrtoint", f.at(following, first), I64), ask_end=f.cast("ptrtoint", f.at(following, end), I64))


def _ask_for_weights(f, job, frame):
    """Prefetch some more lines of the next panel, if there are any left."""
    start = frame.ask
    lines = f.select(f.compare("slt", start, frame.ask_end), job.ask_lines, 0)
    at = f.cast("inttoptr", start, PTR)
    with f.loop(0, lines) as loop:
        f.prefetch(f.at(at, f.mul(loop.index, _LINE)), 2)
    frame.put(ask=f.add(start, f.mul(lines, _LINE)))


def _item_place(f, job, number):
    """(image, group, row block, part, panel): rows outside panels, or panels outside everything but groups."""
    def rows_first():
        return split_index(f, number, (1, job.groups, job.row_blocks, job.parts, job.panels))

    def panels_first():
        others = f.mul(f.mul(job.groups, job.panels), f.mul(job.row_blocks, job.parts))
        group, panel, image, block, part = split_index(f, number, (1, job.panels, f.div(job.items, others), job.row_blocks,
                                                                   job.parts))
        return image, group, block, part, panel

    return f.choose(f.compare("ne", job.panel_first, 0), panels_first, rows_first)


def tap_range(f, job, frame, dim, at, size):
    """Put the range of taps that a row meets into the frame; gives the row of x that the first tap of all would meet."""
    stride, pad, dilation, taps = (getattr(job, f"{name}_{dim}") for name in ("stride", "pad", "dilation", "taps"))
    origin = f.sub(f.mul(at, stride), pad)
    inside = f.binary("and", f.compare("sge", origin, 0),
                      f.compare("slt", f.add(origin, f.mul(f.sub(taps, 1), dilation)), size))

    def at_a_border():
        return (f.min(f.ceil_div(f.max(f.sub(0, origin), 0), dilation), taps),
                f.min(f.ceil_div(f.max(f.sub(size, origin), 0), dilation), taps))

    first, end = f.choose(inside, lambda: (0, taps), at_a_border)       # most rows are inside, and divisions are slow
    frame.put(**{f"first_{dim}": first, f"end_{dim}": end})
    return origin


def _row(module, kernel, tiles, clear):
    """Function of a part of one row of y: runs of tiles, their segments."""
    f = module.function("row", [(PTR, "job"), (PTR, "frame"), (PTR, "x"), (PTR, "w")], internal=True)
    arg, at_frame, x, w = f.params
    job, frame = Words(f, arg, WORDS), Words(f, at_frame, _FRAME)
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
                tile = f.load(PTR, f.at(f.at(tiles, segment.pixels, PTR), -WORD))
                f.call_pointer(tile, VOID, arg, at_frame, at, f.at(x, f.add(f.mul(here, x_pixel), segment.x_offset)),
                               f.at(w, segment.w_offset), f.at(y, f.mul(here, y_pixel)))
    f.ret()
    return "row"


def _clear(module, kernel):
    """Function that sets a tile of y to zero."""
    f = module.function("clear", [(PTR, "job"), (PTR, "frame"), (PTR, "y"), (I64, "pixels")], internal=True)
    arg, at_frame, y, pixels = f.params
    job, nothing = Words(f, arg, WORDS), zero(vector(kernel.lanes, kernel.precision.out))
    step, block = job.y_pixel, job.y_block
    with f.loop(0, f.min(Words(f, at_frame, _FRAME).vectors, kernel.vectors)) as vectors, f.loop(0, pixels) as loop:
        f.store(nothing, f.at(y, f.add(f.mul(vectors.index, block), f.mul(loop.index, step))))
    f.ret()
    return "clear"


def _tile(module, kernel, pixels):
    """Function of one segment of a tile of that many pixels."""
    name = f"tile_{pixels}"
    f = module.function(name, [(PTR, "job"), (PTR, "frame"), (PTR, "segment"), ("ptr noalias readonly", "x"),
                               ("ptr noalias readonly", "w"), ("ptr noalias", "y")], internal=True)
    arg, at_frame, at_segment, x, w, y = f.params
    job, frame, segment = Words(f, arg, WORDS), Words(f, at_frame, _FRAME), Words(f, at_segment, SEGMENT)
    nest = (("blocks", 0, segment.blocks, job.x_block, job.w_block),
            ("d", frame.first_d, frame.end_d, f.mul(job.dilation_d, job.x_slice), job.w_tap_d),
            ("h", frame.first_h, frame.end_h, f.mul(job.dilation_h, job.x_row), job.w_tap_h),
            ("w", 0, segment.taps, job.x_tap_w, job.w_tap_w))
    last_block, steps, x_pixel, ready = f.sub(segment.blocks, 1), segment.steps, job.x_pixel, kernel.ready(f, job, pixels)
    _ask_beside(f, kernel, (job, frame, segment), pixels, y)

    def add(level, x, w, sums, steps):
        if level == len(nest):
            return kernel.add(f, ready, x, w, sums, steps)
        dim, first, end, x_step, w_next = nest[level]
        with f.loop(first, end, 1, sums) as loop:
            inside = f.at(x, f.mul(loop.index, x_step))
            if dim == "blocks":
                _ask_ahead(f, f.at(inside, f.mul(x_step, AHEAD)), x_pixel, pixels)
                _ask_for_weights(f, job, frame)
            if dim == "blocks" and not isinstance(steps, int):
                steps = f.select(f.compare("eq", loop.index, last_block), segment.last, steps)
            loop.next(*add(level + 1, inside, f.at(w, f.mul(loop.index, w_next)), list(loop.carried), steps))
        return list(loop.results)

    sums = add(0, x, w, kernel.no_sums(pixels), steps) if not kernel.written else f.choose(
        f.binary("and", f.compare("eq", steps, kernel.written), f.compare("eq", segment.last, kernel.written)),
        lambda: add(0, x, w, kernel.no_sums(pixels), kernel.written), lambda: add(0, x, w, kernel.no_sums(pixels), steps))
    _finish(f, kernel, (job, frame, segment), kernel.results(f, sums), y)
    f.ret()
    return name


def _values(tile):
    return [value for line in tile for value in line]


def _lines(values, vectors):
    return [list(values[start:start + vectors]) for start in range(0, len(values), vectors)]


def _ask_ahead(f, x, x_pixel, pixels):
    """Prefetch the tile's pixels of a channel block to come: planes lie too far apart for the hardware to see the pattern."""
    for pixel in range(pixels):
        f.prefetch(f.at(x, f.mul(x_pixel, pixel)))


def _ask_beside(f, kernel, words, pixels, y):
    """Prefetch what the epilogue will read of arrays laid out as the result: they were last touched layers ago, and threads
    that all wait for them at the ends of tiles leave memory idle while they multiply."""
    job, frame, segment = words
    arrays = kernel.epilogue.beside(0)
    if not arrays:
        return
    here, each = f.sub(f.cast("ptrtoint", y, I64), f.cast("ptrtoint", job.address("y"), I64)), job.y_pixel
    count = f.select(f.compare("ne", f.bit_and(segment.flags, LAST), 0), f.min(frame.vectors, kernel.vectors), 0)
    for word in arrays:
        array = f.load(I64, f.at(job.address("operands"), WORD * word))
        start = f.at(f.cast("inttoptr", array, PTR), here)
        with f.loop(0, f.select(f.compare("ne", array, 0), count, 0)) as vectors:
            at = f.at(start, f.mul(job.y_block, vectors.index))
            for pixel in range(0, pixels, max(1, _LINE // (kernel.lanes * bytes_of(kernel.precision.out)))):
                f.prefetch(f.at(at, f.mul(each, pixel)))


def _finish(f, kernel, words, tile, y):
    """Add what earlier segments left in y, apply the epilogue after the last one, store the vectors that exist."""
    job, frame, segment = words
    flags, base, y_pixel, y_block = segment.flags, job.address("y"), job.y_pixel, job.y_block
    here = f.sub(f.cast("ptrtoint", y, I64), f.cast("ptrtoint", base, I64))
    again, last = f.compare("ne", f.bit_and(flags, ACCUMULATE), 0), f.compare("ne", f.bit_and(flags, LAST), 0)
    for number in range(kernel.vectors):
        def store(number=number):
            across = f.mul(y_block, number)
            spots = [f.add(across, f.mul(y_pixel, pixel)) for pixel in range(len(tile))]
            values = [line[number] for line in tile]
            values = f.choose(again, lambda: [f.fadd(f.load(v.type, f.at(y, spot)), v) for v, spot in zip(values, spots)],
                              lambda: values)
            if kernel.epilogue.name:
                values = f.choose(last, lambda: _apply(f, kernel, words, values, number, [f.add(here, s) for s in spots]),
                                  lambda: values)
            for value, spot in zip(values, spots):
                f.store(widen_lanes(f, value, kernel.lanes), f.at(y, spot))

        if number == 0:
            store()
        else:
            with f.when(f.compare("slt", f.index(number), frame.vectors)):
                store()


def _apply(f, kernel, words, values, number, offsets):
    job, frame, _ = words
    column = f.add(frame.column, number * kernel.lanes)
    place = Place(job.address("operands"), frame.image, f.index(0), column, None)
    return kernel.epilogue.apply_all(f, values, [BlockedPlace(place, offset) for offset in offsets], 0)
