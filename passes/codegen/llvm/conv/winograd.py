"""Winograd convolution F(m x n, 3 x 3) in blocked channels: a quarter to a half of the direct multiplications, two thirds with
stride 2.

An item is a block of output tiles (m rows of n pixels) with all their channels, or with a *share* of them, some panels. Its
data stays in the second-level cache: the transformed input V[(m+2)(n+2)][channel block][tile][lanes], one small product per
transformed pixel with the transformed weight U[(m+2)(n+2)][vector of columns][channel][lanes], the results
M[(m+2)(n+2)][vector][tile][lanes], and the output transform with the epilogue.

U exceeds that cache, so a product prefetches the next one's panel of a few vectors; if V exceeds it too, also part of the next
transformed pixel's V. If U comes from memory and tiles are few, products are *tall*: all tiles with one vector of columns, so
that U is read once, in memory order, at an even pace.

Windows with a stride of 2 transform 5 x 5 pixels for 2 x 2 results, and U has 4 x 4 planes: the middle two lines of pixels
share theirs.

A tile with an infinity or a NaN in its result is computed again tap by tap, in the order of the direct kernel: transforms would
spread one such element of x, or an overflow, over unrelated results. Its taps come from the plain weight, times a factor per
output channel if U has such factors.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..contract.epilogue import Identity
from ..contract.microkernel import Operand, Precision, add_outer, tile_shape, zero_tile
from ..ir.emit import Module, ModuleWriter
from ..ir.types import I64, PTR, VOID, bytes_of, vector
from ..pool.tasks import WORD, Words, split_index, task_items, write_task
from .winograd_tiles import (
    KINDS,
    TAPS,
    WORDS,
    BlockOfTiles,
    PartsOfTiles,
    factors_of,
    input_transform,
    kind_of,
    output_transform,
)
from .winograd_transforms import (
    filter_line,
    input_line,
    output_line,
    strided_filter_line,
    strided_input_line,
    strided_output_line,
    transformed,
)

FILTER_WORDS = ("source", "target", "items", "chunks", "panels", "inputs", "width", "panel", "block", "tap", "step",
                "u_plane", "u_panel", "u_vector", "outputs", "factors", "range_inputs", "first_panel", "all_panels")
DEPTH = 64                                       # channels of one sum, before it is added to others
_STRIDED_SIDE = 4                                # planes of a line of the weight with a stride of 2
_LINE = 64                                       # bytes of a cache line


@dataclass(frozen=True)
class WinogradKernel(ModuleWriter):
    """Generator of Winograd convolutions of a tile and an epilogue.

    A `tile` has 2 or 4 rows, and 2 or 4 columns; with a `stride` of 2 it has two of each.
    """

    tile: tuple[int, int]
    epilogue: Any = field(default_factory=Identity)
    element: str = "float"
    stride: int = 1
    words: ClassVar[tuple] = WORDS
    cuts_last: ClassVar[bool] = False       # whether tiles cut at the right come last

    @property
    def lanes(self) -> int:
        """Channels of a block."""
        return self.target.lanes(bytes_of(self.element))

    @property
    def vectors(self) -> int:
        return tile_shape(self.target, self.element).vectors

    @property
    def sides(self) -> tuple[int, int]:
        """Rows and columns of an input tile."""
        return (self.tile[0] - 1) * self.stride + TAPS, (self.tile[1] - 1) * self.stride + TAPS

    @property
    def lines(self) -> tuple:
        """Line transforms of x, of sums of products, and of a weight."""
        return ((input_line, output_line, filter_line) if self.stride == 1 else
                (strided_input_line, strided_output_line, strided_filter_line))

    @property
    def tile_pixels(self) -> int:
        """Pixels of an input tile: planes of V and M."""
        return self.sides[0] * self.sides[1]

    @property
    def weight_planes(self) -> int:
        """Planes of U: numbers of the transformed weight per pair of channels."""
        return self.tile_pixels if self.stride == 1 else _STRIDED_SIDE ** 2

    @property
    def size(self) -> str:
        """The tile in the names of tasks."""
        return f"{self.tile[0]}x{self.tile[1]}{'_strided' * (self.stride > 1)}"

    @property
    def symbol(self) -> str:
        return f"winograd_{self.size}{'_' + self.epilogue.name if self.epilogue.name else ''}"

    @property
    def filter_symbol(self) -> str:
        return f"winograd_filter_{self.size}"

    def place(self, f, job, panel, channel) -> tuple:
        """Return (address of an input channel in the weight's first plane of a panel, bytes to the next plane)."""
        at = f.add(f.mul(panel, job.u_panel), f.mul(channel, bytes_of(vector(self.lanes, self.element))))
        return f.at(job.address("target"), at), job.u_plane

    def weights(self, f, taps: list) -> list:
        """Return the vectors of each plane of the weight that taps become."""
        return [[value] for line in transformed(f, taps, self.lines[2], self.tile) for value in line]

    def weight_of(self, f, plane):
        """Return the plane of the weight for a plane of x: with a stride, the middle ones of a line share one."""
        if self.stride == 1:
            return plane
        row, column = split_index(f, plane, self.sides)
        row, column = (f.sub(at, f.cast("zext", f.compare("sge", at, 3), I64)) for at in (row, column))
        return f.add(f.mul(row, _STRIDED_SIDE), column)

    def input_scale(self, place: int) -> float:
        """Return the factor of a plane of the transformed input."""
        return 1.0

    def write_products(self, module) -> str:
        """Write the function of all products of some tiles with the panels of a share."""
        return _plane_products(module, self)

    def over_inputs(self, f, job, transform, products):
        """Call transform(function that gives the first channel block and the end), then products(), for all input channels."""
        transform(lambda: (f.index(0), job.x_blocks))
        products()

    def write(self, module):
        write_task(module, self.symbol, _item(module, self), self.words)

    def filter_text(self) -> str:
        """Return the module of the task that transforms weights, the same for all epilogues."""
        module = Module(self.target)
        _filter_task(module, self)
        return module.text()


def _filter_task(module, kernel):
    """Write the task that makes U of a packed weight, times optional factors of output channels, by vectors of these."""
    type_ = vector(kernel.lanes, kernel.element)
    with task_items(module, kernel.filter_symbol, FILTER_WORDS) as (f, job, number):
        panel, channel = split_index(f, number, (job.panels, job.inputs))
        block, within = f.div(channel, job.width), f.mod(channel, job.width)
        source = f.at(job.address("source"), f.add(f.mul(panel, job.panel),
                                                   f.add(f.mul(block, job.block), f.mul(within, job.step))))
        target, u_plane = kernel.place(f, job, f.add(job.first_panel, panel), channel)
        with f.loop(0, kernel.vectors) as each:
            at = f.at(source, f.mul(each.index, bytes_of(type_)))
            taps = [[f.load(type_, f.at(at, f.mul(job.tap, i * TAPS + j))) for j in range(TAPS)] for i in range(TAPS)]
            output = f.mul(f.add(f.mul(panel, kernel.vectors), each.index), kernel.lanes)
            factor = factors_of(f, job, kernel, output)
            taps = [[f.fmul(tap, factor) for tap in line] for line in taps]
            goal = f.at(target, f.mul(each.index, job.u_vector))
            for plane, values in enumerate(kernel.weights(f, taps)):
                for at, value in enumerate(values):
                    f.store(value, f.at(goal, f.add(f.mul(u_plane, plane), at * bytes_of(type_))))


def _item(module, kernel):
    """Write the function of one block of tiles and one share of the channels."""
    take, give = input_transform(module, kernel, KINDS), output_transform(module, kernel)
    products = kernel.write_products(module)
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    arg, number, worker = f.params
    job, pixel = Words(f, arg, kernel.words), bytes_of(vector(kernel.lanes, kernel.element))
    share, block = split_index(f, number, (1, job.blocks))
    v = f.at(job.address("scratch"), f.mul(worker, job.scratch_bytes))
    m = f.at(v, job.m_start)
    first = f.mul(block, job.block_tiles)
    tiles = BlockOfTiles(f, job, first, f.min(f.add(first, job.block_tiles), job.tiles), kernel.cuts_last)
    panel = f.mul(share, job.share_panels)
    panel_end = f.min(f.add(panel, job.share_panels), job.panels)

    def transform(channels):
        with tiles.each() as (place, at):
            f.call(take, VOID, arg, *place, *[f.at(v, f.mul(tile, job.v_tile)) for tile in at], *channels())

    kernel.over_inputs(f, job, transform, lambda *channels: f.call(products, VOID, arg, v, m, tiles.counts, panel, panel_end,
                                                                   *channels))
    with tiles.each() as (place, at):
        f.call(give, VOID, arg, *place, *[f.at(m, f.mul(tile, pixel)) for tile in at],
               f.mul(panel, kernel.vectors), f.min(f.mul(panel_end, kernel.vectors), job.y_blocks))
    f.ret()
    return "item"


def _plane_products(module, kernel):
    """Write the function of the products of all transformed pixels of some tiles, by kind, with the panels of a share."""
    shape, size = tile_shape(kernel.target, kernel.element), bytes_of(kernel.element)
    table = _products(module, kernel, shape)
    f = module.function("plane_products", [(PTR, "job"), (PTR, "v"), (PTR, "m"), (PTR, "counts"), (I64, "panel"),
                                           (I64, "panel_end")], internal=True)
    arg, v, m, counts, first, end = f.params
    job, pixel = Words(f, arg, kernel.words), shape.lanes * size
    with f.loop(0, kernel.tile_pixels) as plane:
        parts = PartsOfTiles(f, f.load(I64, f.at(counts, kind_of(f, plane.index, kernel.sides), I64)), shape.rows)
        lines = f.mul(f.ceil_div(shape.columns * size // _LINE, f.max(parts.count, 1)), _LINE)
        at_v, at_m = f.at(v, f.mul(plane.index, job.v_plane)), f.at(m, f.mul(plane.index, job.m_plane))
        at_u, following = (f.at(job.address("u"), f.add(f.mul(kernel.weight_of(f, at), job.u_plane), f.mul(first, job.u_panel)))
                           for at in (plane.index, f.add(plane.index, 1)))
        with f.loop(first, end) as panel:
            u = f.at(at_u, f.mul(f.sub(panel.index, first), job.u_panel))
            goal = f.at(at_m, f.mul(f.mul(f.sub(panel.index, first), shape.vectors), job.m_vector))
            ahead = f.select(f.compare("slt", f.add(panel.index, 1), end), f.at(u, job.u_panel), following)
            next_v = f.at(at_v, f.add(job.v_plane, f.mul(f.sub(panel.index, first), job.v_share)))
            v_is_far = f.compare("ne", job.v_share, 0)
            with parts.each() as (part, tile, rows):
                product = f.load(PTR, f.at(f.at(table, rows, PTR), -WORD))
                prefetched, at = f.mul(f.mul(part, job.inputs), lines), f.mul(tile, pixel)
                u_is_prefetched = f.binary("and", v_is_far, f.compare("sge", prefetched, job.u_panel))
                prefetched = f.select(u_is_prefetched, f.at(next_v, f.sub(prefetched, job.u_panel)), f.at(ahead, prefetched))
                f.call_pointer(product, VOID, arg, f.at(at_v, at), u, f.at(goal, at), prefetched, lines)
    f.ret()
    return "plane_products"


def store_sums(f, more, sums, spots):
    """Store sums, or add them to memory if they are of further channels (`more`)."""
    totals = f.choose(more, lambda: [f.fadd(f.load(value.type, spot), value) for value, spot in zip(sums, spots)],
                      lambda: list(sums))
    for total, spot in zip(totals, spots):
        f.store(total, spot)


def _products(module, kernel, shape):
    """Write the table of register tiles, by rows. Each step of the depth prefetches up to two lines of a given stream."""
    precision, size, names, vectors = Precision.of(kernel.element), bytes_of(kernel.element), [], shape.vectors
    pixel = shape.lanes * size
    for rows in range(1, shape.rows + 1):
        f = module.function(f"product_{rows}", [(PTR, "job"), ("ptr noalias readonly", "v"), ("ptr noalias readonly", "u"),
                                                ("ptr noalias", "m"), (PTR, "stream"), (I64, "lines")], internal=True)
        arg, v, u, m, stream, lines = f.params
        job = Words(f, arg, kernel.words)
        inputs, v_block, across = job.inputs, job.v_block, tuple([f.mul(job.u_vector, number) for number in range(vectors)])
        start = [value for line in zero_tile(precision, rows, vectors, shape.lanes) for value in line]
        spots = [f.at(m, f.add(f.mul(job.m_vector, number % vectors), number // vectors * pixel))
                 for number in range(len(start))]
        with f.loop(0, job.x_blocks, DEPTH // shape.lanes) as range_:
            end = f.min(f.add(range_.index, DEPTH // shape.lanes), job.x_blocks)
            with f.loop(range_.index, end, 1, start) as loop:
                done = f.mul(loop.index, shape.lanes)
                tile = [list(loop.carried[i:i + vectors]) for i in range(0, len(start), vectors)]
                tile = add_outer(f, precision, tile, f.min(f.sub(inputs, done), shape.lanes),
                                 Operand(f.at(v, f.mul(loop.index, v_block)), pixel, size),
                                 Operand(f.at(u, f.mul(done, pixel)), across, pixel),
                                 ahead=(f.at(stream, f.mul(done, lines)), lines))
                loop.next(*(value for line in tile for value in line))
            store_sums(f, f.compare("sgt", range_.index, 0), loop.results, spots)
        f.ret()
        names.append(f.name)
    return module.function_table("products", names)
