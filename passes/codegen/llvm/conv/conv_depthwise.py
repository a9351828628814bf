"""Depthwise convolution in blocked channels, and its weight gradient: each channel has a window of its own.

Groups of a few channels work the same way if a block holds whole groups. Each vector of x is broadcast, one channel of every
group at a time to all lanes of that group, and a tap has a vector of weights for each of them.

A block of channels is a vector, so nothing else is broadcast. The tile is pixels of a row; each vector of x is loaded once for
all taps along the width that meet it. The taps that a tile's pixels meet are constants: a module serves one *pattern* of tiles
along the width (their pixels and, for each tap, the range of pixels that meet x) with any height, depth and channels. With
strides, each tile prefetches the rows of an x in far memory for the next but one row of y.

An item is some rows of one block of channels of one image. Adjacent items have the same rows, so a thread works on the part of
an image that it computed in the layer before.

    x, y  [image][channel block][depth][height][width][B]        w  [channel block][tap d][tap h][tap w][inputs][B]
"""

from dataclasses import dataclass, field
from typing import Any

from .....ir.target import Target
from ..contract.epilogue import Identity, Place
from ..contract.microkernel import multiply_add
from ..ir.emit import ElementWriter, Module
from ..ir.types import I64, PTR, VOID, bytes_of, lanes_of, mangled, vector, zero
from ..pool.tasks import Words, chunk_share, split_index, task_items
from .conv import tap_range
from .conv_epilogue import BlockedPlace

WORDS = ("x", "w", "y", "operands", "items", "chunks", "blocks", "row_blocks", "x_plane", "x_slice", "x_row",
         "y_plane", "y_slice", "y_row", "y_pixel", "w_block", "out_rows", "out_height", "depth", "height", "taps_d", "taps_h",
         "stride_d", "stride_h", "pad_d", "pad_h", "dilation_d", "dilation_h", "images")
_FRAME = ("first_d", "end_d", "first_h", "end_h", "column", "image", "ahead")
_LINE = 64                                       # bytes of a cache line


def tile_pixels(target: Target) -> int:
    """Return the pixels of the largest tile."""
    return 14 if target.vector_registers >= 32 else 8


@dataclass(frozen=True)
class Pattern:
    """The tiles of a row: {first pixel, tiles side by side, pixels, range of pixels for each tap}, and how windows move.

    `spans` is the range of pixels of the whole row for each tap.
    """

    tiles: tuple
    spans: tuple
    taps: int
    stride: int
    dilation: int
    low: int


@dataclass(frozen=True)
class DepthwiseKernel(ElementWriter):
    """Generator of depthwise convolutions of a pattern, and of their weight gradient.

    A `far` x is prefetched. Groups have `inputs` channels (forward only), and as many results.
    """

    pattern: Pattern
    epilogue: Any = field(default_factory=Identity)
    far: bool = False
    inputs: int = 1

    @property
    def symbol(self) -> str:
        kind, after = "depthwise" if self.inputs == 1 else f"groups_{self.inputs}", self.epilogue.name
        return f"{kind}_{mangled(self.element)}{'_' + after if after else ''}"

    @property
    def weight_symbol(self) -> str:
        return f"depthwise_weight_{mangled(self.element)}"

    def write(self, module):
        names: dict = {}
        for _, _, pixels, spans in self.pattern.tiles:
            if (pixels, spans) not in names:
                names[pixels, spans] = _tile(module, self, f"tile_{len(names)}", pixels, spans)
        with task_items(module, self.symbol, WORDS, _FRAME) as (f, job, number, frame):
            _item(f, self, job, frame, names, number)

    def weight_text(self) -> str:
        """Return the weight gradient's module as LLVM IR."""
        module = Module(self.target)
        sums = _tap_sums(module, self)
        with task_items(module, self.weight_symbol, WORDS) as (f, job, number):
            block, tap_d, tap_h = split_index(f, number, (1, job.taps_d, job.taps_h))
            f.call(sums, VOID, job.pointer, block, tap_d, tap_h)
        return module.text()


def _item(f, kernel, job, frame, names, number):
    """Write some rows of one block of channels."""
    pattern, size = kernel.pattern, kernel.lanes * bytes_of(kernel.element)
    image, row_block, block = split_index(f, number, (1, job.row_blocks, job.blocks))
    plane = f.add(f.mul(image, job.blocks), block)
    x, start = f.at(job.address("x"), f.mul(plane, job.x_plane)), f.mul(plane, job.y_plane)
    w = f.at(job.address("w"), f.mul(block, job.w_block))
    frame.put(column=f.mul(block, kernel.lanes), image=image)
    first, end = chunk_share(f, job.out_rows, job.row_blocks, row_block)
    last = f.sub(end, 1)
    ahead = f.mul(f.add(job.taps_h, job.stride_h), job.x_row)
    with f.loop(first, end, 1, (f.div(first, job.out_height), f.mod(first, job.out_height))) as loop:
        at_d, at_h = loop.carried
        in_d = tap_range(f, job, frame, "d", at_d, job.depth)
        in_h = tap_range(f, job, frame, "h", at_h, job.height)
        here = f.at(x, f.add(f.mul(in_d, job.x_slice), f.mul(in_h, job.x_row)))
        row = f.add(start, f.add(f.mul(at_d, job.y_slice), f.mul(at_h, job.y_row)))
        frame.put(ahead=f.select(f.compare("slt", f.add(loop.index, 1), last), ahead, 0))
        for at, tiles, pixels, spans in pattern.tiles:
            with f.loop(0, tiles) as each:
                pixel = f.add(f.mul(each.index, pixels), at)
                from_x = f.at(here, f.mul(f.sub(f.mul(pixel, pattern.stride), pattern.low), size))
                f.call(names[pixels, spans], VOID, job.pointer, frame.pointer, from_x, w,
                       f.index(f.add(row, f.mul(pixel, job.y_pixel))))
        following = f.add(at_h, 1)
        ends = f.compare("eq", following, job.out_height)
        loop.next(f.select(ends, f.add(at_d, 1), at_d), f.select(ends, 0, following))


def _tile(module, kernel, name, pixels, spans):
    """Write the function of one tile: all taps of its pixels."""
    f = module.function(name, [(PTR, "job"), (PTR, "frame"), ("ptr noalias readonly", "x"), ("ptr noalias readonly", "w"),
                               (I64, "y")], internal=True)
    arg, at_frame, x, w, y = f.params
    job, frame = Words(f, arg, WORDS), Words(f, at_frame, _FRAME)
    type_, pattern = vector(kernel.lanes, kernel.element), kernel.pattern
    row = pattern.taps * kernel.inputs * bytes_of(type_)
    if kernel.far:
        _prefetch_below(f, pattern, pixels, job, frame, x)
    x_d, x_h, taps_h = f.mul(job.dilation_d, job.x_slice), f.mul(job.dilation_h, job.x_row), job.taps_h
    with f.loop(frame.first_d, frame.end_d, 1, [zero(type_)] * pixels) as outer:
        with f.loop(frame.first_h, frame.end_h, 1, outer.carried) as inner:
            here = f.at(x, f.add(f.mul(outer.index, x_d), f.mul(inner.index, x_h)))
            taps = f.at(w, f.mul(f.add(f.mul(outer.index, taps_h), inner.index), row))
            inner.next(*_add_row_of_window(f, kernel, spans, type_, here, taps, inner.carried))
        outer.next(*inner.results)
    place = Place(job.address("operands"), frame.image, f.index(0), frame.column, None)
    values, step = outer.results, job.y_pixel
    offsets = [f.add(y, f.mul(step, pixel)) for pixel in range(pixels)]
    if kernel.epilogue.name:
        values = kernel.epilogue.apply_all(f, values, [BlockedPlace(place, at) for at in offsets], 0)
    to = job.address("y")
    for value, at in zip(values, offsets):
        f.store(value, f.at(to, at))
    f.ret()
    return name


def _prefetch_below(f, pattern, pixels, job, frame, x):
    """Prefetch the rows that the tile below the next one reads for the first time."""
    start, line = f.at(x, frame.ahead), job.x_row
    for row in range(2):
        for pixel in range(pixels * pattern.stride):
            f.prefetch(f.at(start, f.add(f.mul(line, row), pixel * _LINE)), 2)


def _add_row_of_window(f, kernel, spans, type_, x, w, sums):
    """Add the taps of one row of the window to the sums; each vector of x is loaded once."""
    pattern, inputs, size, sums, loaded = kernel.pattern, kernel.inputs, bytes_of(type_), list(sums), {}
    for number in range(inputs):
        weights = [f.load(type_, f.at(w, (tap * inputs + number) * size)) for tap in range(pattern.taps)]
        spread: dict = {}
        for pixel in range(len(sums)):
            for tap, (low, high) in enumerate(spans):
                if low <= pixel < high:
                    at = pixel * pattern.stride + tap * pattern.dilation
                    if at not in loaded:
                        loaded[at] = f.load(type_, f.at(x, at * size))
                    if at not in spread:
                        spread[at] = _spread(f, loaded[at], number, inputs)
                    sums[pixel] = multiply_add(f, spread[at], weights[tap], sums[pixel])
    return sums


def _spread(f, value, number, inputs):
    """Broadcast one channel of each group to all lanes of the group."""
    lanes = range(lanes_of(value.type))
    return value if inputs == 1 else f.shuffle(value, value, [lane // inputs * inputs + number for lane in lanes])


def _tap_sums(module, kernel):
    """Write the function of dw for one block and one row of the window: several sums side by side, added in pairs."""
    f = module.function("tap_sums", [(PTR, "job"), (I64, "block"), (I64, "tap_d"), (I64, "tap_h")], internal=True)
    arg, block, tap_d, tap_h = f.params
    job, pattern, type_ = Words(f, arg, WORDS), kernel.pattern, vector(kernel.lanes, kernel.element)
    size, shift = bytes_of(type_), {}
    for name, tap in (("d", tap_d), ("h", tap_h)):
        shift[name] = f.sub(f.mul(tap, getattr(job, f"dilation_{name}")), getattr(job, f"pad_{name}"))
    first = f.ceil_div(f.max(f.sub(0, shift["h"]), 0), job.stride_h)
    end = f.min(job.out_height, f.ceil_div(f.max(f.sub(job.height, shift["h"]), 0), job.stride_h))
    depths = f.div(job.out_rows, job.out_height)
    ways = max(1, 8 // pattern.taps)
    nest = f.mul(job.images, depths)
    with f.loop(0, nest, 1, [zero(type_)] * (ways * pattern.taps)) as outer:
        image, at_d = f.div(outer.index, depths), f.mod(outer.index, depths)
        in_d = f.add(f.mul(at_d, job.stride_d), shift["d"])
        inside = f.binary("and", f.compare("sge", in_d, 0), f.compare("slt", in_d, job.depth))
        plane = f.add(f.mul(image, job.blocks), block)
        x = f.at(job.address("x"), f.add(f.mul(plane, job.x_plane), f.mul(in_d, job.x_slice)))
        y = f.at(job.address("y"), f.add(f.mul(plane, job.y_plane), f.mul(at_d, job.y_slice)))
        with f.loop(first, f.select(inside, end, first), 1, outer.carried) as rows:
            at_x = f.at(x, f.mul(f.add(f.mul(rows.index, job.stride_h), shift["h"]), job.x_row))
            rows.next(*_row_sums(f, pattern, type_, ways, at_x, f.at(y, f.mul(rows.index, job.y_row)), rows.carried))
        outer.next(*rows.results)
    taps = f.at(job.address("w"), f.add(f.mul(block, job.w_block), f.mul(
        f.add(f.mul(tap_d, job.taps_h), tap_h), pattern.taps * size)))
    for tap in range(pattern.taps):
        f.store(_add_pairs(f, outer.results[tap * ways:(tap + 1) * ways]), f.at(taps, tap * size))
    f.ret()
    return "tap_sums"


def _row_sums(f, pattern, type_, ways, x, y, sums):
    """Add the products along one row to sums[tap][way]: where all taps meet x together, then each tap's rest."""
    taps = range(pattern.taps)
    low, high = max(span[0] for span in pattern.spans), min(span[1] for span in pattern.spans)
    whole = low + max(0, high - low) // ways * ways
    sums = _span_sums(f, pattern, type_, x, y, sums, taps, (low, whole), ways)
    for tap in taps:
        first, end = pattern.spans[tap]
        for piece in ((first, min(low, end)), (max(whole, first), end)) if low < whole else ((first, end),):
            sums = _span_sums(f, pattern, type_, x, y, sums, (tap,), piece, 1)
    return sums


def _span_sums(f, pattern, type_, x, y, sums, taps, span, step):
    """Add some taps over a range of the row's pixels, `step` at a time, to the first or the next of each tap's ways."""
    ways, size, sums = len(sums) // pattern.taps, bytes_of(type_), list(sums)
    slots = [tap * ways + way for tap in taps for way in range(step)]
    with f.loop(*span, step, [sums[slot] for slot in slots]) as loop:
        inside = f.at(x, f.mul(f.sub(f.mul(loop.index, pattern.stride), pattern.low), size))
        grads = [f.load(type_, f.at(y, f.mul(f.add(loop.index, way), size))) for way in range(step)]
        loaded, found = {}, []
        for tap in taps:
            for way in range(step):
                at = way * pattern.stride + tap * pattern.dilation
                if at not in loaded:
                    loaded[at] = f.load(type_, f.at(inside, at * size))
                found.append(multiply_add(f, loaded[at], grads[way], loop.carried[len(found)]))
        loop.next(*found)
    for slot, value in zip(slots, loop.results):
        sums[slot] = value
    return sums


def _add_pairs(f, values):
    while len(values) > 1:
        values = [f.fadd(a, b) for a, b in zip(values[::2], values[1::2])] + list(values[len(values) & ~1:])
    return values[0]
