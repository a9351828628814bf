"""Winograd convolution F(m x m, 3 x 3) of stride 1 in blocked channels: a third to a fifth of the direct multiplications.

An item is a block of output tiles (m x m pixels each) with all their channels, or with a *share* of them, some panels. What it
works on stays in the second-level cache: the transformed input V[(m+2)^2][channel block][tile][lanes], one small product per
transformed pixel with the transformed weight U[(m+2)^2][vector of columns][channel][lanes], their results
M[(m+2)^2][vector][tile][lanes], and the output transform with the epilogue. U is larger than that cache, so a product asks for
the panel of a few vectors that the next one will read. Where U comes from memory and tiles are few, products are *tall*: all
tiles with one vector of columns, so that U is read once, in the order in which it lies, at an even pace.

A tile that comes out with an infinity or a NaN is computed again tap by tap, in the order of the direct kernel: transforms
would spread one such element of x, or an overflow, over results that have nothing to do with it. Its taps are read from the
plain weight, and multiplied by a factor for each output channel if U was made of such products.
"""

from dataclasses import dataclass, field
from typing import Any

from ....ir.target import Target
from .conv import tile_rows
from .conv_epilogue import BlockedPlace
from .emit import Module
from .epilogue import Identity, Place
from .microkernel import Operand, Precision, add_outer, multiply_add, tile_shape, zero_tile
from .tasks import WORD, Words, chunk_share, split_index
from .types import I1, I64, PTR, VOID, bytes_of, mangled, vector, zero
from .winograd_transforms import filter_line, input_line, output_line, square

WORDS = ("x", "w", "u", "y", "operands", "scratch", "scratch_bytes", "items", "chunks", "tiles", "block_tiles", "tile_rows",
         "tile_columns", "height", "width", "out_height", "out_width", "pad_h", "pad_w", "inputs", "x_blocks", "x_image",
         "x_block", "x_row", "y_blocks", "y_image", "y_block", "y_row", "panels", "outputs", "w_output", "w_input", "w_row",
         "w_column", "factors", "v_plane", "v_tile", "v_block", "m_plane", "m_vector", "m_start", "u_plane", "u_panel",
         "u_vector", "blocks", "share_panels", "tall")
FILTER_WORDS = ("source", "target", "items", "chunks", "panels", "inputs", "width", "panel", "block", "tap", "step",
                "u_plane", "u_panel", "u_vector", "outputs", "factors")
_TAPS = 3
_TALL_AHEAD = 12 << 10                           # bytes of U that a tall product asks for ahead: longer than memory takes
_LINE = 64                                       # bytes of a cache line


@dataclass(frozen=True)
class WinogradKernel:
    """What a module is made for; equal ones are the same code. `m` is 2 or 4."""

    target: Target
    m: int
    epilogue: Any = field(default_factory=Identity)
    element: str = "float"

    @property
    def lanes(self) -> int:
        """Channels of a block."""
        return self.target.lanes(bytes_of(self.element))

    @property
    def vectors(self) -> int:
        """Vectors of a panel."""
        return tile_shape(self.target, self.element).vectors

    @property
    def tall_rows(self) -> int:
        """The most tiles that one vector of columns takes at once."""
        return tile_rows(self.target, 1)

    @property
    def side(self) -> int:
        """Pixels of a side of an input tile."""
        return self.m + _TAPS - 1

    @property
    def symbol(self) -> str:
        """The task's name in the module."""
        return f"winograd_{self.m}{'_' + self.epilogue.name if self.epilogue.name else ''}"

    @property
    def filter_symbol(self) -> str:
        """The name of the task that transforms weights."""
        return f"winograd_filter_{self.m}"

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        item = _item(module, self)
        f = module.task(self.symbol)
        arg, chunk, worker = f.params
        job = Words(f, arg, WORDS)
        first, end = chunk_share(f, job.items, job.chunks, chunk)
        with f.loop(first, end) as loop:
            f.call(item, VOID, arg, loop.index, worker)
        f.ret()
        return module.text()

    def filter_text(self) -> str:
        """The module of the task that transforms weights, which is the same whatever the epilogue."""
        module = Module(self.target)
        _filter_task(module, self)
        return module.text()


def _filter_task(module, kernel):
    """The task that makes U of a packed weight, times a factor for each output channel if there are such: one vector of output
    channels at one input channel after the other."""
    f = module.task(kernel.filter_symbol)
    arg, chunk, _ = f.params
    job, type_, side = Words(f, arg, FILTER_WORDS), vector(kernel.lanes, kernel.element), kernel.side
    first, end = chunk_share(f, job.items, job.chunks, chunk)
    with f.loop(first, end) as loop:
        panel, channel = split_index(f, loop.index, (job.panels, job.inputs))
        block, within = f.div(channel, job.width), f.mod(channel, job.width)
        source = f.at(job.address("source"), f.add(f.mul(panel, job.panel),
                                                   f.add(f.mul(block, job.block), f.mul(within, job.step))))
        target = f.at(job.address("target"), f.add(f.mul(panel, job.u_panel), f.mul(channel, bytes_of(type_))))
        with f.loop(0, kernel.vectors) as each:
            at = f.at(source, f.mul(each.index, bytes_of(type_)))
            taps = [[f.load(type_, f.at(at, f.mul(job.tap, i * _TAPS + j))) for j in range(_TAPS)] for i in range(_TAPS)]
            output = f.mul(f.add(f.mul(panel, kernel.vectors), each.index), kernel.lanes)
            factor = _factors(f, job, kernel, output)
            taps = [[f.fmul(tap, factor) for tap in line] for line in taps]
            factors = square(f, taps, filter_line, kernel.m)
            goal = f.at(target, f.mul(each.index, job.u_vector))
            for place in range(side * side):
                f.store(factors[place // side][place % side], f.at(goal, f.mul(job.u_plane, place)))
    f.ret()


def _factors(f, job, kernel, output):
    """The factors of a vector of output channels; ones where there are none."""
    type_ = vector(kernel.lanes, kernel.element)

    def given():
        at = f.at(job.address("factors"), f.mul(output, bytes_of(kernel.element)))
        return (f.load_masked(type_, at, f.mask(f.sub(job.outputs, output), kernel.lanes)),)

    return f.choose(f.compare("ne", job.factors, 0), given,
                    lambda: (f.splat(f.value(kernel.element, 1.0), kernel.lanes),))[0]


def _item(module, kernel):
    """Function of one block of tiles and one share of the channels."""
    take, give = input_transform(module, kernel), _output(module, kernel, _exact(module, kernel))
    products = _plane_products(module, kernel)
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    arg, number, worker = f.params
    job, pixel = Words(f, arg, WORDS), bytes_of(vector(kernel.lanes, kernel.element))
    share, block = split_index(f, number, (1, job.blocks))
    v = f.at(job.address("scratch"), f.mul(worker, job.scratch_bytes))
    m = f.at(v, job.m_start)
    first = f.mul(block, job.block_tiles)
    end = f.min(f.add(first, job.block_tiles), job.tiles)
    panel = f.mul(share, job.share_panels)
    panel_end = f.min(f.add(panel, job.share_panels), job.panels)
    with f.loop(first, end) as loop:
        image, row, column = split_index(f, loop.index, (1, job.tile_rows, job.tile_columns))
        f.call(take, VOID, arg, image, row, column, f.at(v, f.mul(f.sub(loop.index, first), job.v_tile)))
    f.call(products, VOID, arg, v, m, f.sub(end, first), panel, panel_end)
    with f.loop(first, end) as loop:
        image, row, column = split_index(f, loop.index, (1, job.tile_rows, job.tile_columns))
        f.call(give, VOID, arg, image, row, column, f.at(m, f.mul(f.sub(loop.index, first), pixel)),
               f.mul(panel, kernel.vectors), f.min(f.mul(panel_end, kernel.vectors), job.y_blocks))
    f.ret()
    return "item"


def _plane_products(module, kernel):
    """Function: the products of all transformed pixels of some tiles with the panels of a share."""
    shape, size = tile_shape(kernel.target, kernel.element), bytes_of(kernel.element)
    beside = _products(module, kernel, "product", shape.rows, shape.vectors)
    tall = _products(module, kernel, "tall", kernel.tall_rows, 1, _TALL_AHEAD, least=shape.rows + 1)
    f = module.function("plane_products", [(PTR, "job"), (PTR, "v"), (PTR, "m"), (I64, "count"), (I64, "panel"),
                                           (I64, "panel_end")], internal=True)
    arg, v, m, count, first, end = f.params
    job, pixel = Words(f, arg, WORDS), shape.lanes * size
    parts = f.ceil_div(count, shape.rows)
    low, extra = f.div(count, parts), f.mod(count, parts)
    lines = f.mul(f.ceil_div(shape.columns * size // _LINE, parts), _LINE)
    with f.loop(0, kernel.side ** 2) as plane, f.loop(first, end) as panel:
        at_v, at_m = f.at(v, f.mul(plane.index, job.v_plane)), f.at(m, f.mul(plane.index, job.m_plane))
        u = f.at(job.address("u"), f.add(f.mul(plane.index, job.u_plane), f.mul(panel.index, job.u_panel)))
        at_m = f.at(at_m, f.mul(f.mul(f.sub(panel.index, first), shape.vectors), job.m_vector))

        def some_by_some(at_v=at_v, at_m=at_m, u=u, panel=panel.index):
            ahead = _next_panel(f, job, u, panel, first, end)
            with f.loop(0, parts) as part:
                more = f.cast("zext", f.compare("slt", part.index, extra), I64)
                at = f.mul(f.add(f.mul(part.index, low), f.min(part.index, extra)), pixel)
                product = f.load(PTR, f.at(f.at(beside, f.add(low, more), PTR), -WORD))
                asked = f.at(ahead, f.mul(f.mul(part.index, job.inputs), lines))
                f.call_pointer(product, VOID, arg, f.at(at_v, at), u, f.at(at_m, at), asked, lines)

        def all_at_once(at_v=at_v, at_m=at_m, u=u):
            product = f.load(PTR, f.at(f.at(tall, count, PTR), -WORD))
            with f.loop(0, shape.vectors) as each:
                f.call_pointer(product, VOID, arg, at_v, f.at(u, f.mul(each.index, job.u_vector)),
                               f.at(at_m, f.mul(each.index, job.m_vector)), u, f.index(0))

        f.choose(f.compare("ne", job.tall, 0), all_at_once, some_by_some)
    f.ret()
    return "plane_products"


def _next_panel(f, job, u, panel, first, end):
    """Where the panel after this one lies: beside it, or the share's first of the next plane."""
    back = f.sub(job.u_plane, f.mul(f.sub(panel, first), job.u_panel))
    return f.at(u, f.select(f.compare("slt", f.add(panel, 1), end), job.u_panel, back))


def _products(module, kernel, name, most, vectors, ahead=None, least=1):
    """Table of the register tiles of so many vectors, by rows; those of fewer rows than `least` are not there. Each step of
    the depth asks for the line of U that lies so far `ahead`, or for up to two lines of the stream that it is given."""
    shape, names = tile_shape(kernel.target, kernel.element), []
    precision, size = Precision.of(kernel.element), bytes_of(kernel.element)
    pixel = shape.lanes * size
    for rows in range(least, most + 1):
        f = module.function(f"{name}_{rows}", [(PTR, "job"), ("ptr noalias readonly", "v"), ("ptr noalias readonly", "u"),
                                               ("ptr noalias", "m"), (PTR, "stream"), (I64, "lines")], internal=True)
        arg, v, u, m, stream, lines = f.params
        job = Words(f, arg, WORDS)
        inputs, v_block, across = job.inputs, job.v_block, tuple([f.mul(job.u_vector, number) for number in range(vectors)])
        start = [value for line in zero_tile(precision, rows, vectors, shape.lanes) for value in line]
        with f.loop(0, job.x_blocks, 1, start) as loop:
            done = f.mul(loop.index, shape.lanes)
            tile = [list(loop.carried[i:i + vectors]) for i in range(0, len(start), vectors)]
            tile = add_outer(f, precision, tile, f.min(f.sub(inputs, done), shape.lanes),
                             Operand(f.at(v, f.mul(loop.index, v_block)), pixel, size),
                             Operand(f.at(u, f.mul(done, pixel)), across, pixel),
                             ahead=ahead or (f.at(stream, f.mul(done, lines)), lines))
            loop.next(*(value for line in tile for value in line))
        for number, value in enumerate(loop.results):
            f.store(value, f.at(m, f.add(f.mul(job.m_vector, number % vectors), number // vectors * pixel)))
        f.ret()
        names.append(f.name)
    return module.function_table(f"{name}s", [names[0]] * (least - 1) + names)


def input_transform(module, kernel):
    """Function: the input transform of one tile, all channels; pixels outside of x are zeros."""
    f = module.function("take", [(PTR, "job"), (I64, "image"), (I64, "row"), (I64, "column"), ("ptr noalias", "v")],
                        internal=True)
    arg, image, row, column, v = f.params
    job, side, type_ = Words(f, arg, WORDS), kernel.side, vector(kernel.lanes, kernel.element)
    size = bytes_of(type_)
    top, left = f.sub(f.mul(row, kernel.m), job.pad_h), f.sub(f.mul(column, kernel.m), job.pad_w)
    inside = _all(f, (f.compare("sge", top, 0), f.compare("sge", left, 0),
                      f.compare("sle", f.add(top, side), job.height), f.compare("sle", f.add(left, side), job.width)))
    x, x_row, plane = f.at(job.address("x"), f.mul(image, job.x_image)), job.x_row, job.v_plane
    corner = f.add(f.mul(top, x_row), f.mul(left, size))
    room = f.local(side * side * size)
    with f.loop(0, job.x_blocks) as loop:
        at = f.at(x, f.add(f.mul(loop.index, job.x_block), corner))

        def border(at=at):
            for place in range(side * side):
                f.store(zero(type_), f.at(room, place * size))
            with (f.loop(f.max(f.sub(0, top), 0), f.min(f.sub(job.height, top), side)) as rows,
                  f.loop(f.max(f.sub(0, left), 0), f.min(f.sub(job.width, left), side)) as columns):
                pixel = f.load(type_, f.at(at, f.add(f.mul(rows.index, x_row), f.mul(columns.index, size))))
                f.store(pixel, f.at(room, f.mul(f.add(f.mul(rows.index, side), columns.index), size)))
            return room, f.index(side * size)

        start, step = f.choose(inside, lambda at=at: (at, x_row), border)
        pixels = [[f.load(type_, f.at(start, f.add(f.mul(step, i), j * size))) for j in range(side)] for i in range(side)]
        factors, goal = square(f, pixels, input_line, kernel.m), f.at(v, f.mul(loop.index, job.v_block))
        for place in range(side * side):
            f.store(factors[place // side][place % side], f.at(goal, f.mul(plane, place)))
    f.ret()
    return "take"


def _all(f, conditions):
    result = conditions[0]
    for condition in conditions[1:]:
        result = f.binary("and", result, condition)
    return result


def every(f, condition):
    """Whether a condition holds in all lanes."""
    return f.call(f"llvm.vector.reduce.and.{mangled(condition.type)}", I1, condition)


def _output(module, kernel, exact):
    """Function: the output transform of one tile, some channels; what comes out not finite is computed again."""
    f = module.function("give", [(PTR, "job"), (I64, "image"), (I64, "row"), (I64, "column"), ("ptr noalias readonly", "m"),
                                 (I64, "first_block"), (I64, "end_block")], internal=True)
    arg, image, row, column, m, first_block, end_block = f.params
    job, side, type_ = Words(f, arg, WORDS), kernel.side, vector(kernel.lanes, kernel.element)
    size, top, left, plane = bytes_of(type_), f.mul(row, kernel.m), f.mul(column, kernel.m), job.m_plane
    rows, columns = f.min(f.sub(job.out_height, top), kernel.m), f.min(f.sub(job.out_width, left), kernel.m)
    start = f.add(f.mul(image, job.y_image), f.add(f.mul(top, job.y_row), f.mul(left, size)))
    with f.loop(first_block, end_block) as loop:
        source = f.at(m, f.mul(f.sub(loop.index, first_block), job.m_vector))
        sums = [[f.load(type_, f.at(source, f.mul(plane, i * side + j))) for j in range(side)] for i in range(side)]
        pixels = square(f, sums, output_line, kernel.m)
        check = zero(type_)
        for line in pixels:
            for value in line:
                check = f.fma(value, zero(type_), check)
        finite = every(f, f.compare("ord", check, zero(type_)))
        y = f.add(start, f.mul(loop.index, job.y_block))

        def store(pixels=pixels, y=y, block=loop.index):
            for i, line in enumerate(pixels):
                with f.when(f.compare("slt", f.index(i), rows)):
                    for j, value in enumerate(line):
                        with f.when(f.compare("slt", f.index(j), columns)):
                            _store(f, kernel, job, value, f.add(y, f.add(f.mul(job.y_row, i), j * size)), image, block)

        def again(y=y, block=loop.index):
            f.call(exact, VOID, arg, image, top, left, rows, columns, block, y)

        f.choose(finite, store, again)
    f.ret()
    return "give"


def _store(f, kernel, job, value, offset, image, block):
    """The epilogue and the store of one vector of y."""
    if kernel.epilogue.name:
        place = Place(job.address("operands"), image, f.index(0), f.mul(block, kernel.lanes), None)
        value = kernel.epilogue.apply(f, value, BlockedPlace(place, offset), 0)
    f.store(value, f.at(job.address("y"), offset))


def _exact(module, kernel):
    """Function: one block of channels of one tile tap by tap; sums of all its pixels grow with each block of input channels."""
    turned = _turned_taps(module, kernel)
    f = module.function("exact", [(PTR, "job"), (I64, "image"), (I64, "top"), (I64, "left"), (I64, "rows"), (I64, "columns"),
                                  (I64, "block"), (I64, "y")], internal=True)
    arg, image, top, left, rows, columns, block, y = f.params
    job, type_, lanes = Words(f, arg, WORDS), vector(kernel.lanes, kernel.element), kernel.lanes
    size, item = bytes_of(type_), bytes_of(kernel.element)
    taps, sums = f.local(lanes * _TAPS * _TAPS * size), f.local(kernel.m * kernel.m * size)
    x = f.at(job.address("x"), f.mul(image, job.x_image))

    def sum_of(i, j):
        return f.at(sums, f.mul(f.add(f.mul(i, kernel.m), j), size))

    for place in range(kernel.m * kernel.m):
        f.store(zero(type_), f.at(sums, place * size))
    with f.loop(0, job.x_blocks) as blocks:
        first = f.mul(blocks.index, lanes)
        count = f.min(f.sub(job.inputs, first), lanes)
        f.call(turned, VOID, arg, block, first, count, taps)
        with f.loop(0, rows) as i, f.loop(0, columns) as j:
            at_h, at_w = (f.sub(f.add(a, b.index), pad) for a, b, pad in ((top, i, job.pad_h), (left, j, job.pad_w)))
            tap_rows = f.max(f.sub(0, at_h), 0), f.min(f.sub(job.height, at_h), _TAPS)
            tap_columns = f.max(f.sub(0, at_w), 0), f.min(f.sub(job.width, at_w), _TAPS)
            with f.loop(*tap_rows, 1, [f.load(type_, sum_of(i.index, j.index))]) as kh:
                with f.loop(*tap_columns, 1, kh.carried) as kw:
                    pixel = f.add(f.mul(f.add(at_h, kh.index), job.x_row), f.mul(f.add(at_w, kw.index), size))
                    at_x = f.at(x, f.add(f.mul(blocks.index, job.x_block), pixel))
                    at_tap = f.at(taps, f.mul(f.add(f.mul(kh.index, _TAPS), kw.index), size))
                    with f.loop(0, count, 1, kw.carried) as steps:
                        factor = f.splat(f.load(kernel.element, f.at(at_x, f.mul(steps.index, item))), lanes)
                        weight = f.load(type_, f.at(at_tap, f.mul(steps.index, _TAPS * _TAPS * size)))
                        steps.next(multiply_add(f, factor, weight, steps.carried[0]))
                    kw.next(*steps.results)
                kh.next(*kw.results)
            f.store(kh.results[0], sum_of(i.index, j.index))
    with f.loop(0, rows) as i, f.loop(0, columns) as j:
        place = f.add(y, f.add(f.mul(i.index, job.y_row), f.mul(j.index, size)))
        _store(f, kernel, job, f.load(type_, sum_of(i.index, j.index)), place, image, block)
    f.ret()
    return "exact"


def _turned_taps(module, kernel):
    """Function: the taps of one block of output channels at some input channels, from the plain weight, with output channels
    side by side; those that are missing repeat the last one."""
    f = module.function("turned_taps", [(PTR, "job"), (I64, "block"), (I64, "first"), (I64, "count"), (PTR, "taps")],
                        internal=True)
    arg, block, first, count, taps = f.params
    job, item, lanes = Words(f, arg, WORDS), bytes_of(kernel.element), kernel.lanes
    with f.loop(0, lanes) as lane:
        output = f.min(f.add(f.mul(block, lanes), lane.index), f.sub(job.outputs, 1))
        source = f.at(job.address("w"), f.add(f.mul(output, job.w_output), f.mul(first, job.w_input)))
        factor, = f.choose(f.compare("ne", job.factors, 0),
                           lambda: (f.load(kernel.element, f.at(job.address("factors"), f.mul(output, item))),),
                           lambda: (f.value(kernel.element, 1.0),))
        with f.loop(0, count) as step, f.loop(0, _TAPS) as row, f.loop(0, _TAPS) as column:
            at = f.add(f.mul(step.index, job.w_input), f.add(f.mul(row.index, job.w_row), f.mul(column.index, job.w_column)))
            place = f.add(f.mul(step.index, _TAPS * _TAPS), f.add(f.mul(row.index, _TAPS), column.index))
            tap = f.fmul(f.load(kernel.element, f.at(source, at)), factor)
            f.store(tap, f.at(taps, f.mul(f.add(f.mul(place, lanes), lane.index), item)))
    f.ret()
    return f.name
