"""Winograd convolution F(2 x n, 3 x 3) with half-transformed weights.

Weights are transformed along columns only: 12 numbers per pair of channels instead of 16 or 24. With few tiles, products wait
for weights from memory, and have time for the other half.

The weight is in *ranges* of input channels, each with four rows, each row with panels of one or two vectors. For a range, an
item transforms the input of its tiles, channels that stay in cache, and reads the weight in memory order; sums M accumulate in
memory. A register tile has the planes of a row, of up to five tiles: a step of the depth reads three vectors of a column, makes
four or six of them, and multiplies. The omitted factors (`PLAIN_SCALES`) are in the transformed input. Tiles cut at the right
come last, in register tiles without the last plane. Results of F(2 x 2) are those of `winograd.py`.
"""

from dataclasses import dataclass
from typing import ClassVar

from ..contract.microkernel import multiply_add
from ..ir.types import I64, PTR, VOID, bytes_of, vector, zero
from ..pool.tasks import WORD, Words
from .winograd import WinogradKernel, store_sums
from .winograd_tiles import TAPS, WORDS, PartsOfTiles
from .winograd_transforms import PLAIN_SCALES, filter_line, plain_filter_line

HALF_WORDS = (*WORDS, "range_inputs", "all_panels")
_VECTORS = {2: 2, 4: 1}                          # vectors of a panel, by columns of a tile
_TILES = {2: {4: 3, 3: 4}, 4: {6: 4, 5: 5}}      # tiles of the largest register tile, by columns and planes
_LINE = 64                                       # bytes of a cache line


@dataclass(frozen=True)
class HalfKernel(WinogradKernel):
    """Generator of Winograd convolutions with half-transformed weights."""

    words: ClassVar[tuple] = HALF_WORDS
    cuts_last: ClassVar[bool] = True

    @property
    def weight_planes(self) -> int:
        return self.sides[0] * TAPS

    @property
    def vectors(self) -> int:
        return _VECTORS[self.tile[1]]

    @property
    def symbol(self) -> str:
        return f"half_{super().symbol}"

    @property
    def filter_symbol(self) -> str:
        return f"half_{super().filter_symbol}"

    def weights(self, f, taps: list) -> list:
        """Return the rows of three numbers that taps become."""
        columns = [filter_line(f, [row[j] for row in taps], self.tile[0]) for j in range(TAPS)]
        return [[column[i] for column in columns] for i in range(self.sides[0])]

    def input_scale(self, place: int) -> float:
        return PLAIN_SCALES[self.tile[1]][place % self.sides[1]]

    def place(self, f, job, panel, channel) -> tuple:
        """Return (address of an input channel in the weight's first row of a panel, bytes to the next row)."""
        within = f.mod(channel, job.range_inputs)
        first = f.sub(channel, within)
        start, row, u_panel = _range_of(f, self, job, first)
        at = f.add(start, f.add(f.mul(panel, u_panel), f.mul(within, _step(self))))
        return f.at(job.address("target"), at), row

    def write_products(self, module) -> str:
        return _row_products(module, self)

    def over_inputs(self, f, job, transform, products):
        """Take one range of input channels after the other; products get its first channel and its end."""
        inputs, range_inputs = job.inputs, job.range_inputs
        with f.loop(0, inputs, range_inputs) as range_:
            end = f.min(f.add(range_.index, range_inputs), inputs)
            transform(lambda: (f.div(range_.index, self.lanes), f.ceil_div(end, self.lanes)))
            products(range_.index, end)


def _step(kernel):
    """Return the bytes of a panel of the weight for one input channel."""
    return kernel.vectors * TAPS * bytes_of(vector(kernel.lanes, kernel.element))


def _range_of(f, kernel, job, first):
    """Return (start of a range of input channels in the weight, bytes of its rows, bytes of a panel of a row)."""
    panels = job.all_panels
    panel = f.mul(f.min(job.range_inputs, f.sub(job.inputs, first)), _step(kernel))
    return f.mul(f.mul(first, kernel.sides[0] * _step(kernel)), panels), f.mul(panel, panels), panel


def _row_products(module, kernel):
    """Write the function of the products of a range of channels of some tiles, by kind, with the panels of a share."""
    most = _TILES[kernel.tile[1]]
    tables = {planes: _products(module, kernel, planes) for planes in most}
    pixel, (rows, columns) = bytes_of(vector(kernel.lanes, kernel.element)), kernel.sides
    f = module.function("row_products", [(PTR, "job"), (PTR, "v"), (PTR, "m"), (PTR, "counts"), (I64, "panel"),
                                         (I64, "panel_end"), (I64, "done"), (I64, "range_end")], internal=True)
    arg, v, m, counts, first, end, done, range_end = f.params
    job, u = Words(f, arg, HALF_WORDS), Words(f, arg, HALF_WORDS).address("u")
    (start, u_row, u_panel), (after, _, panel_after) = (_range_of(f, kernel, job, at) for at in (done, range_end))
    start, after = (f.at(u, f.add(at, f.mul(first, panel))) for at, panel in ((start, u_panel), (after, panel_after)))
    count = f.sub(range_end, done)
    with f.loop(0, rows) as row:
        last = f.compare("eq", row.index, rows - 1)
        of_row = f.at(counts, f.select(last, f.index(2 * WORD), f.index(0)))
        whole = f.load(I64, f.at(of_row, WORD))
        groups = {planes: PartsOfTiles(f, tiles, most[planes]) for planes, tiles in
                  ((columns, whole), (columns - 1, f.sub(f.load(I64, of_row), whole)))}
        parts = f.add(groups[columns].count, groups[columns - 1].count)
        lines = f.mul(f.ceil_div(_step(kernel) // _LINE, f.max(parts, 1)), _LINE)
        at_v, at_m = (f.at(at, f.mul(row.index, f.mul(plane, columns))) for at, plane in ((v, job.v_plane), (m, job.m_plane)))
        at_row = f.at(start, f.mul(row.index, u_row))
        following = f.select(last, after, f.at(at_row, u_row))
        with f.loop(first, end) as panel:
            number = f.sub(panel.index, first)
            here = f.at(at_row, f.mul(number, u_panel))
            ahead = f.select(f.compare("slt", f.add(panel.index, 1), end), f.at(here, u_panel), following)
            goal = f.at(at_m, f.mul(f.mul(number, kernel.vectors), job.m_vector))
            for planes, (before, start_at) in ((columns, (0, 0)), (columns - 1, (groups[columns].count, whole))):
                with groups[planes].each() as (part, tile, height):
                    product = f.load(PTR, f.at(f.at(tables[planes], height, PTR), -WORD))
                    prefetched = f.at(ahead, f.mul(f.mul(f.add(before, part), count), lines))
                    at = f.mul(f.add(start_at, tile), pixel)
                    f.call_pointer(product, VOID, arg, f.at(at_v, at), here, f.at(goal, at), done, count, prefetched, lines)
    f.ret()
    return f.name


def _products(module, kernel, planes):
    """Write register tiles of a row's first planes; later ranges add to memory. A step prefetches up to two lines."""
    type_, size, names = vector(kernel.lanes, kernel.element), bytes_of(kernel.element), []
    pixel, vectors = bytes_of(type_), kernel.vectors
    for rows in range(1, _TILES[kernel.tile[1]][planes] + 1):
        f = module.function(f"product_{planes}_{rows}", [
            (PTR, "job"), ("ptr noalias readonly", "v"), ("ptr noalias readonly", "u"), ("ptr noalias", "m"), (I64, "done"),
            (I64, "count"), (PTR, "stream"), (I64, "lines")], internal=True)
        arg, v, u, m, done, count, stream, lines = f.params
        job = Words(f, arg, WORDS)
        v_block, v_plane, m_plane, m_vector = job.v_block, job.v_plane, job.m_plane, job.m_vector
        second = f.sub(lines, _LINE)
        spots = [f.at(m, f.add(f.mul(m_plane, column), f.add(f.mul(m_vector, number), row * pixel)))
                 for column in range(planes) for number in range(vectors) for row in range(rows)]
        with f.loop(0, count, kernel.lanes, [v, u, stream, *[zero(type_)] * len(spots)]) as loop:
            with f.loop(0, f.min(f.sub(count, loop.index), kernel.lanes), 1, loop.carried) as step:
                at_v, at_u, prefetched, *sums = step.carried
                f.prefetch(prefetched, 2)
                f.prefetch(f.at(prefetched, second), 2)

                def add(column, factors):
                    at = f.at(at_v, f.mul(v_plane, column))
                    for row in range(rows):
                        scalar = f.splat(f.load(kernel.element, f.at(at, row * pixel)), kernel.lanes)
                        for number, factor in enumerate(factors):
                            place = (column * vectors + number) * rows + row
                            sums[place] = multiply_add(f, scalar, factor, sums[place])

                taps = [[f.load(type_, f.at(at_u, (number * TAPS + tap) * pixel)) for tap in range(TAPS)]
                        for number in range(vectors)]
                for factors in zip(*(plain_filter_line(f, line, kernel.tile[1]) for line in taps)):
                    if factors[0][0] < planes:
                        add(factors[0][0], [factor for _, factor in factors])
                step.next(f.at(at_v, size), f.at(at_u, vectors * TAPS * pixel), f.at(prefetched, lines), *sums)
            at_v, *others = step.results
            loop.next(f.at(v, f.mul(f.add(f.div(loop.index, kernel.lanes), 1), v_block)), *others)
        store_sums(f, f.compare("sgt", done, 0), loop.results[3:], spots)
        f.ret()
        names.append(f.name)
    return module.function_table(f"products_{planes}", names)
