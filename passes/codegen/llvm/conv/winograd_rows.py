"""Winograd convolution along the height alone, F(m, r) with six products for m rows of results.

It serves few input channels, read from their planes, with long windows and strides, as at the beginning of image networks. With
a stride of s, every s-th row of x is a *phase*, and taps r = ceil(taps / s) of each phase meet m = 7 - r rows of results. That
is 42 steps of six planes for 7 x 7 windows with a stride of 2, where the direct kernel has 49 of three for each row. The data
of an item (m rows of one image) stays near its core:

    T  [6][channel, phase][width with its padding]           the transformed rows of x
    U  [panel][6][channel, phase][tap along][columns]        the transformed weight
    M  [6][pixel][columns]                                   their products for some pixels and a panel

Results with an infinity or a NaN are computed again tap by tap, as in `winograd.py`.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..contract.epilogue import Identity
from ..contract.microkernel import multiply_add, tile_shape
from ..ir.emit import Module, ModuleWriter
from ..ir.types import I64, PTR, VOID, bytes_of, vector, zero
from ..pool.tasks import Words, split_index, write_task
from .winograd_tiles import all_finite, factors_of, store_result
from .winograd_transforms import filter_line, input_line, output_line

PLACES = 6                                       # products of a line
WORDS = ("x", "w", "u", "y", "operands", "scratch", "scratch_bytes", "items", "chunks", "row_tiles", "height", "width",
         "out_height", "out_width", "pad_h", "pad_w", "inputs", "taps_h", "x_image", "x_plane", "x_row", "y_image", "y_block",
         "y_row", "y_blocks", "panels", "outputs", "w_output", "factors", "t_row", "t_lead", "t_place", "m_start", "m_place",
         "block_pixels")
FILTER_WORDS = ("source", "target", "items", "chunks", "inputs", "taps_h", "outputs", "w_output", "factors", "u_place")
_ELEMENT, _ITEM = "float", 4


@dataclass(frozen=True)
class RowsKernel(ModuleWriter):
    """Generator for windows of `taps` along with a `stride` (down, along) and `reach` taps of a phase."""

    reach: int
    taps: int
    stride: tuple[int, int]
    epilogue: Any = field(default_factory=Identity)
    element: ClassVar[str] = _ELEMENT

    @property
    def rows(self) -> int:
        """Rows of results of an item."""
        return PLACES + 1 - self.reach

    @property
    def lanes(self) -> int:
        return self.target.lanes(_ITEM)

    @property
    def vectors(self) -> int:
        return tile_shape(self.target, _ELEMENT).vectors

    @property
    def pixels(self) -> int:
        """Pixels of a register tile."""
        return tile_shape(self.target, _ELEMENT).rows

    @property
    def size(self) -> str:
        """The window in the names of tasks."""
        return f"{self.reach}_{self.taps}_{self.stride[0]}_{self.stride[1]}"

    @property
    def symbol(self) -> str:
        return f"winograd_rows_{self.size}{'_' + self.epilogue.name if self.epilogue.name else ''}"

    @property
    def filter_symbol(self) -> str:
        return f"winograd_rows_filter_{self.size}"

    def write(self, module):
        write_task(module, self.symbol, _item(module, self), WORDS)

    def filter_text(self) -> str:
        """Return the module of the task that transforms weights."""
        module = Module(self.target)
        write_task(module, self.filter_symbol, _filter_item(module, self), FILTER_WORDS, worker=False)
        return module.text()


def _item(module, kernel):
    """Write the function of some rows of results of one image."""
    take, products, give = _take(module, kernel), _products(module, kernel), _give(module, kernel)
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    arg, number, worker = f.params
    job, line = Words(f, arg, WORDS), kernel.vectors * kernel.lanes * _ITEM
    image, tile = split_index(f, number, (1, job.row_tiles))
    t = f.at(job.address("scratch"), f.mul(worker, job.scratch_bytes))
    m, top = f.at(t, job.m_start), f.mul(tile, kernel.rows)
    f.call(take, VOID, arg, image, top, t)
    planes = f.mul(job.inputs, kernel.stride[0])
    u_place, lead = f.mul(planes, kernel.taps * line), f.sub(job.t_lead, f.mul(job.pad_w, _ITEM))
    with f.loop(0, job.panels) as panel, f.loop(0, job.out_width, job.block_pixels) as block:
        first, u = block.index, f.at(job.address("u"), f.mul(panel.index, f.mul(u_place, PLACES)))
        count = f.min(job.block_pixels, f.sub(job.out_width, first))
        with f.loop(0, PLACES) as place, f.loop(0, count, kernel.pixels) as pixel:
            column = f.add(lead, f.mul(f.add(first, pixel.index), kernel.stride[1] * _ITEM))
            f.call(products, VOID, arg, planes, f.at(t, f.add(f.mul(place.index, job.t_place), column)),
                   f.at(u, f.mul(place.index, u_place)),
                   f.at(m, f.add(f.mul(place.index, job.m_place), f.mul(pixel.index, line))))
        f.call(give, VOID, arg, image, top, first, count, panel.index, m)
    f.ret()
    return f.name


def _take(module, kernel):
    """Write the function that transforms all rows of x of an item; rows outside and both ends of lines of T are zeros."""
    f = module.function("take", [(PTR, "job"), (I64, "image"), (I64, "top"), (PTR, "t")], internal=True)
    arg, image, top, t = f.params
    job, type_, stride = Words(f, arg, WORDS), vector(kernel.lanes, _ELEMENT), kernel.stride[0]
    size, t_row, t_place, width, x_row = bytes_of(type_), job.t_row, job.t_place, job.width, job.x_row
    nothing, x = f.at(t, f.mul(t_place, PLACES)), f.at(job.address("x"), f.mul(image, job.x_image))
    lead, tail = job.t_lead, f.add(job.t_lead, f.mul(f.bit_and(width, -kernel.lanes), _ITEM))
    with f.loop(0, t_row, size) as clear:
        f.store(zero(type_), f.at(nothing, clear.index))
    with f.loop(0, job.inputs) as channel, f.loop(0, stride) as phase:
        first = f.sub(f.add(f.mul(top, stride), phase.index), job.pad_h)
        plane, rows = f.at(x, f.mul(channel.index, job.x_plane)), []
        for place in range(PLACES):
            row = f.add(first, place * stride)
            inside = f.binary("and", f.compare("sge", row, 0), f.compare("slt", row, job.height))
            rows.append(f.select(inside, f.at(plane, f.mul(row, x_row)), nothing))
        line = f.at(t, f.mul(f.add(f.mul(channel.index, stride), phase.index), t_row))
        for place in range(PLACES):
            for first, end in ((0, lead), (tail, t_row)):
                with f.loop(first, end, size) as clear:
                    f.store(zero(type_), f.at(line, f.add(f.mul(t_place, place), clear.index)))
        goal = f.at(line, lead)

        def body(at, mask, rows=rows, goal=goal):
            at = f.mul(at, _ITEM)
            spots = [f.at(row, at) for row in rows]
            values = [f.load_masked(type_, spot, mask) for spot in spots]
            for place, value in enumerate(input_line(f, values, 4)):
                spot = f.at(goal, f.add(f.mul(t_place, place), at))
                f.store(value, spot)

        f.vectors(width, kernel.lanes, body)
    f.ret()
    return f.name


def _products(module, kernel):
    """Write the function of one register tile: pixels of a line of T times a panel. Pixels beyond the last one meet zeros."""
    f = module.function("products", [(PTR, "job"), (I64, "planes"), ("ptr noalias readonly", "t"),
                                     ("ptr noalias readonly", "u"), ("ptr noalias", "m")], internal=True)
    arg, planes, t, u, m = f.params
    lanes, vectors, pixels, type_ = kernel.lanes, kernel.vectors, kernel.pixels, vector(kernel.lanes, _ELEMENT)
    size, t_row = bytes_of(type_), Words(f, arg, WORDS).t_row
    with f.loop(0, planes, 1, [zero(type_)] * (pixels * vectors)) as loop:
        sums = list(loop.carried)
        line, weights = f.at(t, f.mul(loop.index, t_row)), f.at(u, f.mul(loop.index, kernel.taps * vectors * size))
        for tap in range(kernel.taps):
            factors = [f.load(type_, f.at(weights, (tap * vectors + number) * size)) for number in range(vectors)]
            for pixel in range(pixels):
                scalar = f.splat(f.load(_ELEMENT, f.at(line, (pixel * kernel.stride[1] + tap) * _ITEM)), lanes)
                for number, factor in enumerate(factors):
                    place = pixel * vectors + number
                    sums[place] = multiply_add(f, scalar, factor, sums[place])
        loop.next(*sums)
    for place, value in enumerate(loop.results):
        f.store(value, f.at(m, place * size))
    f.ret()
    return f.name


def _give(module, kernel):
    """Write the function of the output transform and epilogue of a panel's pixels; results not finite are computed again."""
    exact = _exact(module, kernel)
    f = module.function("give", [(PTR, "job"), (I64, "image"), (I64, "top"), (I64, "first"), (I64, "count"), (I64, "panel"),
                                 ("ptr readonly", "m")], internal=True)
    arg, image, top, first, count, panel, m = f.params
    job, type_ = Words(f, arg, WORDS), vector(kernel.lanes, _ELEMENT)
    size, m_place, y_row = bytes_of(type_), job.m_place, job.y_row
    block = f.mul(panel, kernel.vectors)
    vectors, rows = f.min(f.sub(job.y_blocks, block), kernel.vectors), f.min(f.sub(job.out_height, top), kernel.rows)
    start = f.add(f.mul(image, job.y_image), f.add(f.mul(top, y_row), f.mul(first, size)))
    whole = f.compare("eq", rows, kernel.rows)
    with f.loop(0, count) as pixel, f.loop(0, vectors) as each:
        number, column = f.add(block, each.index), f.add(first, pixel.index)
        here = f.add(start, f.add(f.mul(number, job.y_block), f.mul(pixel.index, size)))
        at = f.at(m, f.add(f.mul(pixel.index, kernel.vectors * size), f.mul(each.index, size)))
        products = [f.load(type_, f.at(at, f.mul(m_place, place))) for place in range(PLACES)]
        values = output_line(f, products, kernel.rows)
        offsets = [f.add(here, f.mul(y_row, row)) for row in range(kernel.rows)]

        def store_all():
            for value, offset in zip(values, offsets):
                store_result(f, kernel, job, value, offset, image, number)

        def store_some():
            for row, (value, offset) in enumerate(zip(values, offsets)):
                with f.when(f.compare("slt", f.index(row), rows)):
                    store_result(f, kernel, job, value, offset, image, number)

        f.choose(all_finite(f, values), lambda: f.choose(whole, store_all, store_some),
                 lambda: f.call(exact, VOID, arg, image, top, rows, column, number, here))
    f.ret()
    return f.name


def _exact(module, kernel):
    """Write the function of a pixel of some rows, one block of channels, by plain weights; missing lanes repeat the last."""
    f = module.function("exact", [(PTR, "job"), (I64, "image"), (I64, "top"), (I64, "rows"), (I64, "column"), (I64, "block"),
                                  (I64, "y")], internal=True)
    arg, image, top, rows, column, block, y = f.params
    job, type_, lanes = Words(f, arg, WORDS), vector(kernel.lanes, _ELEMENT), kernel.lanes
    taps, weights, window = job.taps_h, f.local(bytes_of(type_)), f.mul(job.taps_h, kernel.taps)
    x, left = f.at(job.address("x"), f.mul(image, job.x_image)), f.sub(f.mul(column, kernel.stride[1]), job.pad_w)
    first_tap, end_tap = f.max(f.sub(0, left), 0), f.min(f.sub(job.width, left), kernel.taps)
    factors = factors_of(f, job, kernel, f.mul(block, lanes))
    with f.loop(0, rows) as row:
        above = f.sub(f.mul(f.add(top, row.index), kernel.stride[0]), job.pad_h)
        tap_rows = f.max(f.sub(0, above), 0), f.min(f.sub(job.height, above), taps)
        with f.loop(0, job.inputs, 1, [zero(type_)]) as channel:
            with f.loop(*tap_rows, 1, channel.carried) as kh:
                line = f.at(x, f.add(f.mul(channel.index, job.x_plane), f.mul(f.add(above, kh.index), job.x_row)))
                with f.loop(first_tap, end_tap, 1, kh.carried) as kw:
                    tap = f.add(f.mul(channel.index, window), f.add(f.mul(kh.index, kernel.taps), kw.index))
                    with f.loop(0, lanes) as lane:
                        output = f.min(f.add(f.mul(block, lanes), lane.index), f.sub(job.outputs, 1))
                        source = f.at(job.address("w"), f.add(f.mul(output, job.w_output), f.mul(tap, _ITEM)))
                        f.store(f.load(_ELEMENT, source), f.at(weights, lane.index, _ELEMENT))
                    weight = f.fmul(f.load(type_, weights), factors)
                    pixel = f.splat(f.load(_ELEMENT, f.at(line, f.mul(f.add(left, kw.index), _ITEM))), lanes)
                    kw.next(multiply_add(f, pixel, weight, kw.carried[0]))
                kh.next(*kw.results)
            channel.next(*kh.results)
        store_result(f, kernel, job, channel.results[0], f.add(y, f.mul(row.index, job.y_row)), image, block)
    f.ret()
    return f.name


def _filter_item(module, kernel):
    """Write the function of a panel at a plane and tap: its phase's taps transformed, times factors of output channels."""
    f = module.function("item", [(PTR, "job"), (I64, "number")], internal=True)
    arg, number = f.params
    job, type_, lanes = Words(f, arg, FILTER_WORDS), vector(kernel.lanes, _ELEMENT), kernel.lanes
    panel, channel, phase, tap = split_index(f, number, (1, job.inputs, kernel.stride[0], kernel.taps))
    u_place, size, lines = job.u_place, bytes_of(type_), f.local(kernel.reach * bytes_of(type_))
    within = f.mul(f.mod(number, f.mul(job.inputs, kernel.stride[0] * kernel.taps)), kernel.vectors * size)
    goal = f.at(job.address("target"), f.add(f.mul(panel, f.mul(u_place, PLACES)), within))
    for at in range(kernel.reach):
        f.store(zero(type_), f.at(lines, at * size))
    with f.loop(0, kernel.vectors) as each:
        first = f.mul(f.add(f.mul(panel, kernel.vectors), each.index), lanes)
        with f.loop(0, kernel.reach) as at, f.loop(0, lanes) as lane:
            row, output = f.add(f.mul(at.index, kernel.stride[0]), phase), f.add(first, lane.index)
            place = f.at(lines, f.add(f.mul(at.index, lanes), lane.index), _ELEMENT)
            there = f.binary("and", f.compare("slt", row, job.taps_h), f.compare("slt", output, job.outputs))

            def load(row=row, output=output):
                flat = f.add(f.mul(f.add(f.mul(channel, job.taps_h), row), kernel.taps), tap)
                return f.load(_ELEMENT, f.at(job.address("source"), f.add(f.mul(output, job.w_output), f.mul(flat, _ITEM)))),

            f.store(f.choose(there, load, lambda: (f.value(_ELEMENT, 0.0),))[0], place)
        factors = factors_of(f, job, kernel, first)
        taps = [f.fmul(f.load(type_, f.at(lines, at * size)), factors) for at in range(kernel.reach)]
        for place, value in enumerate(filter_line(f, taps, kernel.rows)):
            f.store(value, f.at(goal, f.add(f.mul(u_place, place), f.mul(each.index, size))))
    f.ret()
    return f.name
