"""Weight gradient of a 3x3 convolution of stride 1 by Winograd's F(2 x 2, 3 x 3): 16 multiplications instead of 36.

    dw = G' [sum over tiles of (A dy A') * (B' x B)] G

An item is a *part* of the tiles (2 x 2 pixels of dy) and a *share* of the output channels, some panels. It takes its tiles in
blocks that fit the cache when transformed: V[16][tile][channel] of x, D[16][tile][columns] of dy. Sums
U[16][panel][channel][columns] accumulate in memory, separately for each part. The second task, `finish`, adds the parts in
order and transforms them into a packed dw. Results with an infinity or a NaN are computed again pixel by pixel.
"""

from dataclasses import dataclass

from ..contract.microkernel import Operand, Precision, multiply_add, outer_tile, tile_shape
from ..ir.emit import ModuleWriter
from ..ir.types import I1, I64, PTR, VOID, bytes_of, vector, zero
from ..pool.tasks import WORD, Words, split_index, write_task
from .winograd import WinogradKernel, store_sums
from .winograd_tiles import WORDS as FORWARD_WORDS
from .winograd_tiles import all_finite, input_transform
from .winograd_transforms import gradient_line, transformed, weight_line

WORDS = (*FORWARD_WORDS, "w_panel", "w_block", "w_tap", "w_step", "d_plane", "d_tile", "d_start", "u_part", "parts", "shares")
_M, _SIDE, _TAPS = 2, 4, 3
_AHEAD = 128                                     # bytes of U that each step of a product prefetches


@dataclass(frozen=True)
class WinogradGradKernel(ModuleWriter):
    """Generator of the weight gradient and its final transform."""

    element: str = "float"
    symbol: str = "winograd_weight"
    finish_symbol: str = "winograd_weight_finish"

    @property
    def forward(self) -> WinogradKernel:
        """The kernel whose input transform this one shares."""
        return WinogradKernel(self.target, (_M, _M), element=self.element)

    def write(self, module):
        for symbol, item in ((self.symbol, _item(module, self)), (self.finish_symbol, _finish(module, self))):
            write_task(module, symbol, item, WORDS)


def _item(module, kernel):
    """Write the function of one part of the tiles and one share of the output channels."""
    block_of = _block(module, kernel, input_transform(module, kernel.forward), _gradient_transform(module, kernel),
                      _products(module, kernel))
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    arg, number, worker = f.params
    job = Words(f, arg, WORDS)
    part, share = split_index(f, number, (1, job.shares))
    room = f.at(job.address("scratch"), f.mul(worker, job.scratch_bytes))
    blocks, parts = job.blocks, job.parts
    low, high = f.div(f.mul(blocks, part), parts), f.div(f.mul(blocks, f.add(part, 1)), parts)
    with f.loop(low, high) as loop:
        f.call(block_of, VOID, arg, loop.index, f.cast("zext", f.compare("sgt", loop.index, low), I64), part, share, room)
    f.ret()
    return "item"


def _block(module, kernel, take, take_gradient, products):
    """Write the function of one block of tiles: both transforms, then the products of all transformed pixels."""
    f = module.function("block", [(PTR, "job"), (I64, "number"), (I64, "again"), (I64, "part"), (I64, "share"),
                                  (PTR, "v")], internal=True)
    arg, number, again, part, share, v = f.params
    job, shape, size = Words(f, arg, WORDS), tile_shape(kernel.target, kernel.element), bytes_of(kernel.element)
    d, line = f.at(v, job.d_start), shape.columns * size
    first = f.mul(number, job.block_tiles)
    end = f.min(f.add(first, job.block_tiles), job.tiles)
    panel, columns = f.mul(share, job.share_panels), shape.vectors
    panel_end = f.min(f.add(panel, job.share_panels), job.panels)
    with f.loop(first, end) as loop:
        image, row, column = split_index(f, loop.index, (1, job.tile_rows, job.tile_columns))
        tile = f.sub(loop.index, first)
        f.call(take, VOID, arg, image, row, column, f.at(v, f.mul(tile, job.v_tile)), f.index(0), job.x_blocks)
        f.call(take_gradient, VOID, arg, image, row, column, f.at(d, f.mul(tile, job.d_tile)), f.mul(panel, columns),
               f.mul(panel_end, columns))
    count, inputs = f.sub(end, first), job.inputs
    parts = f.ceil_div(inputs, shape.rows)
    low, extra = f.div(inputs, parts), f.mod(inputs, parts)
    u = f.at(job.address("u"), f.mul(part, job.u_part))
    with f.loop(0, _SIDE * _SIDE) as plane, f.loop(panel, panel_end) as each:
        at_v = f.at(v, f.mul(plane.index, job.v_plane))
        at_d = f.at(d, f.add(f.mul(plane.index, job.d_plane), f.mul(f.sub(each.index, panel), line)))
        at_u = f.at(u, f.add(f.mul(plane.index, job.u_plane), f.mul(each.index, job.u_panel)))
        with f.loop(0, parts) as rows:
            tall = f.cast("zext", f.compare("slt", rows.index, extra), I64)
            at = f.add(f.mul(rows.index, low), f.min(rows.index, extra))
            product = f.load(PTR, f.at(f.at(products, f.add(low, tall), PTR), -WORD))
            f.call_pointer(product, VOID, arg, f.at(at_v, f.mul(at, size)), at_d, f.at(at_u, f.mul(at, line)), count, again)
    f.ret()
    return "block"


def _gradient_transform(module, kernel):
    """Write the function that transforms one tile of dy, some blocks of channels; outside of dy is zero."""
    f = module.function("take_gradient", [(PTR, "job"), (I64, "image"), (I64, "row"), (I64, "column"), ("ptr noalias", "d"),
                                          (I64, "first"), (I64, "end")], internal=True)
    arg, image, row, column, d, first, end = f.params
    job, type_ = Words(f, arg, WORDS), vector(f.lanes(kernel.element), kernel.element)
    size, top, left = bytes_of(type_), f.mul(row, _M), f.mul(column, _M)
    down, right = (f.compare("slt", f.add(at, 1), end) for at, end in ((top, job.out_height), (left, job.out_width)))
    y, y_row, plane = f.at(job.address("y"), f.mul(image, job.y_image)), job.y_row, job.d_plane
    corner, there = f.add(f.mul(top, y_row), f.mul(left, size)), f.min(end, job.y_blocks)

    def put(block, values):
        goal = f.at(d, f.mul(f.sub(block, first), size))
        for place, value in enumerate(values):
            f.store(value, f.at(goal, f.mul(plane, place)))

    with f.loop(first, there) as loop:
        at = f.at(y, f.add(f.mul(loop.index, job.y_block), corner))
        pixels = [[f.load(type_, at), _if(f, right, f.at(at, size), type_)],
                  [_if(f, down, f.at(at, y_row), type_),
                   _if(f, f.binary("and", down, right), f.at(f.at(at, y_row), size), type_)]]
        factors = transformed(f, pixels, gradient_line, (_M, _M))
        put(loop.index, [value for line in factors for value in line])
    with f.loop(there, end) as loop:
        put(loop.index, [zero(type_)] * _SIDE ** 2)
    f.ret()
    return "take_gradient"


def _if(f, condition, pointer, type_):
    return f.choose(condition, lambda: (f.load(type_, pointer),), lambda: (zero(type_),))[0]


def _products(module, kernel):
    """Write the table of register tiles by rows: channels of x times a panel of dy, summed over tiles, stored or added to U."""
    shape, names = tile_shape(kernel.target, kernel.element), []
    precision, size = Precision.of(kernel.element), bytes_of(kernel.element)
    for rows in range(1, shape.rows + 1):
        f = module.function(f"product_{rows}", [(PTR, "job"), ("ptr noalias readonly", "v"), ("ptr noalias readonly", "d"),
                                                ("ptr noalias", "u"), (I64, "count"), (I64, "again")], internal=True)
        arg, v, d, u, count, again = f.params
        job = Words(f, arg, WORDS)
        tile = outer_tile(f, precision, rows, shape.vectors, shape.lanes, count, Operand(v, size, job.v_tile),
                          Operand(d, 0, job.d_tile), ahead=(u, _AHEAD))
        values = [value for line in tile for value in line]
        spots = [f.at(u, number * shape.lanes * size) for number in range(len(values))]
        store_sums(f, f.compare("ne", again, 0), values, spots)
        f.ret()
        names.append(f.name)
    return module.function_table("products", names)


def _finish(module, kernel):
    """Write the function of one channel of x and one panel: sums of all parts to gradients of nine taps."""
    exact = _exact(module, kernel)
    f = module.function("finish", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    arg, number, _ = f.params
    job, shape = Words(f, arg, WORDS), tile_shape(kernel.target, kernel.element)
    type_ = vector(shape.lanes, kernel.element)
    size = bytes_of(type_)
    panel, channel = split_index(f, number, (1, job.inputs))
    u = f.at(job.address("u"), f.add(f.mul(panel, job.u_panel), f.mul(channel, shape.vectors * size)))
    block, within = f.div(channel, shape.lanes), f.mod(channel, shape.lanes)
    w = f.at(job.address("w"), f.add(f.mul(panel, job.w_panel), f.add(f.mul(block, job.w_block), f.mul(within, job.w_step))))
    first = f.mul(panel, shape.vectors)
    plane, part = job.u_plane, job.u_part
    with f.loop(first, f.min(f.add(first, shape.vectors), job.y_blocks)) as loop:
        across = f.mul(f.sub(loop.index, first), size)
        with f.loop(0, job.parts, 1, [zero(type_)] * _SIDE ** 2) as parts:
            at = f.at(f.at(u, across), f.mul(parts.index, part))
            parts.next(*(f.fadd(total, f.load(type_, f.at(at, f.mul(plane, place))))
                         for place, total in enumerate(parts.carried)))
        sums = [list(parts.results[i * _SIDE:(i + 1) * _SIDE]) for i in range(_SIDE)]
        taps = [value for line in transformed(f, sums, weight_line, (_M, _M)) for value in line]
        goal = f.at(w, across)

        def store(taps=taps, goal=goal):
            for tap, value in enumerate(taps):
                f.store(value, f.at(goal, f.mul(job.w_tap, tap)))

        f.choose(_finite(f, job, taps, loop.index), store,
                 lambda goal=goal, block=loop.index: f.call(exact, VOID, arg, channel, block, goal))
    f.ret()
    return "finish"


def _finite(f, job, values, block):
    """Return whether values are finite in all lanes that are channels."""
    lanes = f.lanes("float")

    def missing():
        there = f.mask(f.sub(job.outputs, f.mul(block, lanes)), lanes)
        every = f.splat(f.compare("eq", f.index(0), f.index(0)), lanes) if lanes > 1 else f.value(I1, True)
        return f.binary("xor", there, every)

    return all_finite(f, values, missing)


def _exact(module, kernel):
    """Write the function of the gradients of one block of output channels for one channel of x, pixel by pixel."""
    f = module.function("exact", [(PTR, "job"), (I64, "channel"), (I64, "block"), (PTR, "goal")], internal=True)
    arg, channel, block, goal = f.params
    job, lanes = Words(f, arg, WORDS), f.lanes(kernel.element)
    type_ = vector(lanes, kernel.element)
    size, item = bytes_of(type_), bytes_of(kernel.element)
    x = f.at(job.address("x"), f.add(f.mul(f.div(channel, lanes), job.x_block), f.mul(f.mod(channel, lanes), item)))
    y = f.at(job.address("y"), f.mul(block, job.y_block))
    images = f.div(job.tiles, f.mul(job.tile_rows, job.tile_columns))
    with f.loop(0, _TAPS) as i, f.loop(0, _TAPS) as j:
        shift = [f.sub(at, pad) for at, pad in ((i.index, job.pad_h), (j.index, job.pad_w))]
        ends = [f.min(out, f.sub(n, at)) for out, n, at in zip((job.out_height, job.out_width), (job.height, job.width), shift)]
        with f.loop(0, images, 1, [zero(type_)]) as outer:
            at_x, at_y = f.at(x, f.mul(outer.index, job.x_image)), f.at(y, f.mul(outer.index, job.y_image))
            with f.loop(f.max(f.sub(0, shift[0]), 0), ends[0], 1, outer.carried) as rows:
                line = f.at(at_x, f.mul(f.add(rows.index, shift[0]), job.x_row))
                with f.loop(f.max(f.sub(0, shift[1]), 0), ends[1], 1, rows.carried) as columns:
                    pixel = f.load(kernel.element, f.at(line, f.mul(f.add(columns.index, shift[1]), size)))
                    dy = f.load(type_, f.at(at_y, f.add(f.mul(rows.index, job.y_row), f.mul(columns.index, size))))
                    columns.next(multiply_add(f, f.splat(pixel, lanes), dy, columns.carried[0]))
                rows.next(*columns.results)
            outer.next(*rows.results)
        tap = f.add(f.mul(i.index, _TAPS), j.index)
        f.store(outer.results[0], f.at(goal, f.mul(job.w_tap, tap)))
    f.ret()
    return "exact"
