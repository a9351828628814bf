"""Tiles of Winograd kernels, m x n results each: input transform, output transform, and exact recomputation.

Tiles at the lower and the right border may be cut. Products of the last transformed row affect only the last row of results,
those of the last column only the last column. So planes of that row or column have only the tiles that are whole there: planes
are of four *kinds*, each with its own number of tiles.
"""

from contextlib import contextmanager

from ..contract.epilogue import Place
from ..contract.microkernel import multiply_add
from ..ir.types import I1, I64, PTR, VOID, bytes_of, constant, mangled, vector, zero
from ..pool.tasks import WORD, Words, split_index
from .conv_epilogue import BlockedPlace
from .winograd_transforms import transformed

WORDS = ("x", "w", "u", "y", "operands", "scratch", "scratch_bytes", "items", "chunks", "tiles", "block_tiles", "tile_rows",
         "tile_columns", "height", "width", "out_height", "out_width", "pad_h", "pad_w", "inputs", "x_blocks", "x_image",
         "x_block", "x_row", "y_blocks", "y_image", "y_block", "y_row", "panels", "outputs", "w_output", "w_input", "w_row",
         "w_column", "factors", "v_plane", "v_tile", "v_block", "m_plane", "m_vector", "m_start", "u_plane", "u_panel",
         "u_vector", "blocks", "share_panels", "whole_rows", "whole_columns", "v_share")
TAPS = 3
KINDS = 4                                        # kinds of planes: 2 and 3 are of the last row, 1 and 3 of the last column


def kind_of(f, plane, sides: tuple):
    """Return the kind of a plane among rows x columns of them."""
    rows, columns = sides
    last_row, last_column = f.compare("sge", plane, columns * (rows - 1)), f.compare("eq", f.mod(plane, columns), columns - 1)
    return f.add(f.mul(f.cast("zext", last_row, I64), 2), f.cast("zext", last_column, I64))


class BlockOfTiles:
    """Consecutive tiles; `counts` is a table of the tiles of each kind of planes. With `cut_last`, tiles cut at the right
    follow the others, also in planes that have both."""

    def __init__(self, f, job, first, end, cut_last: bool = False):
        self.f, self.job, self.first, self.end, self.cut_last = f, job, first, end, cut_last
        self.before, self.counts = _earlier_tiles(f, job, *self.place(first)), f.local(WORD * KINDS)
        for kind, (low, high) in enumerate(zip(self.before, _earlier_tiles(f, job, *self.place(end)))):
            f.store(f.sub(high, low), f.at(self.counts, kind * WORD))

    def place(self, tile):
        """Return (image, row, column) of a tile."""
        return split_index(self.f, tile, (1, self.job.tile_rows, self.job.tile_columns))

    @contextmanager
    def each(self):
        """Call the body for each tile with (image, row, column) and the number of earlier tiles of each kind."""
        f = self.f
        with f.loop(self.first, self.end) as loop:
            place = self.place(loop.index)
            at = [f.sub(at, low) for at, low in zip(_earlier_tiles(f, self.job, *place), self.before)]
            yield place, self._cut_last(at, *place[1:]) if self.cut_last else at

    def _cut_last(self, at, row, column):
        """Return a tile's place in each kind with cut tiles last; missing ones go behind all."""
        f, found = self.f, []
        whole = f.compare("slt", column, self.job.whole_columns)
        for kind in (0, 2):
            behind = f.add(self.count(kind + 1), f.sub(at[kind], at[kind + 1]))
            place = f.select(whole, at[kind + 1], behind)
            found += [place if kind == 0 else f.select(f.compare("slt", row, self.job.whole_rows), place, self.count(kind))] * 2
        return found

    def count(self, kind):
        return self.f.load(I64, self.f.at(self.counts, kind * WORD))


class PartsOfTiles:
    """Tiles in parts of at most `most` rows of a register tile, of one or two heights."""

    def __init__(self, f, tiles, most: int):
        count = f.max(f.ceil_div(tiles, most), 1)
        self.f, self.count = f, f.min(count, tiles)
        self.low, self.extra = f.div(tiles, count), f.mod(tiles, count)

    @contextmanager
    def each(self):
        """Call the body for each part with its number, its first tile, and its tiles."""
        f = self.f
        with f.loop(0, self.count) as part:
            more = f.cast("zext", f.compare("slt", part.index, self.extra), I64)
            yield part.index, f.add(f.mul(part.index, self.low), f.min(part.index, self.extra)), f.add(self.low, more)


def _earlier_tiles(f, job, image, row, column) -> list:
    """Return the earlier tiles of each kind: only the last row and column may be cut."""
    whole_row, earlier = f.compare("slt", row, job.whole_rows), []
    for kind in range(KINDS):
        rows, columns = (job.whole_rows if kind & 2 else job.tile_rows), (job.whole_columns if kind & 1 else job.tile_columns)
        across = f.select(whole_row, column, f.index(0)) if kind & 2 else column
        earlier.append(f.add(f.mul(f.add(f.mul(image, rows), row), columns), across))
    return earlier


def input_transform(module, kernel, kinds: int = 1):
    """Write the function that transforms the input of one tile, some channels, into its planes of each kind; pixels outside of
    x are zeros. In planes that lack a cut tile, the next tile there overwrites it."""
    f = module.function("take", [(PTR, "job"), (I64, "image"), (I64, "row"), (I64, "column"),
                                 *[(PTR, f"v{kind}") for kind in range(kinds)], (I64, "first_block"), (I64, "end_block")],
                        internal=True)
    arg, image, row, column, *v, first_block, end_block = f.params
    job, (rows, columns), type_ = Words(f, arg, WORDS), kernel.sides, vector(kernel.lanes, kernel.element)
    size = bytes_of(type_)
    top, left = (f.sub(f.mul(at, size * kernel.stride), pad)
                 for at, size, pad in ((row, kernel.tile[0], job.pad_h), (column, kernel.tile[1], job.pad_w)))
    inside = _all(f, (f.compare("sge", top, 0), f.compare("sge", left, 0),
                      f.compare("sle", f.add(top, rows), job.height), f.compare("sle", f.add(left, columns), job.width)))
    x, x_row, plane = f.at(job.address("x"), f.mul(image, job.x_image)), job.x_row, job.v_plane
    corner = f.add(f.mul(top, x_row), f.mul(left, size))
    room = f.local(kernel.tile_pixels * size)
    with f.loop(first_block, end_block) as loop:
        at = f.at(x, f.add(f.mul(loop.index, job.x_block), corner))

        def border(at=at):
            for place in range(kernel.tile_pixels):
                f.store(zero(type_), f.at(room, place * size))
            with (f.loop(f.max(f.sub(0, top), 0), f.min(f.sub(job.height, top), rows)) as i,
                  f.loop(f.max(f.sub(0, left), 0), f.min(f.sub(job.width, left), columns)) as j):
                pixel = f.load(type_, f.at(at, f.add(f.mul(i.index, x_row), f.mul(j.index, size))))
                f.store(pixel, f.at(room, f.mul(f.add(f.mul(i.index, columns), j.index), size)))
            return room, f.index(columns * size)

        start, step = f.choose(inside, lambda at=at: (at, x_row), border)
        pixels = [[f.load(type_, f.at(start, f.add(f.mul(step, i), j * size))) for j in range(columns)] for i in range(rows)]
        factors = transformed(f, pixels, kernel.lines[0], kernel.tile)
        along = f.mul(f.sub(loop.index, first_block), job.v_block)
        goals = [f.at(goal, along) for goal in v]
        for place in range(kernel.tile_pixels):
            value, scale = factors[place // columns][place % columns], kernel.input_scale(place)
            value = value if scale == 1 else f.fmul(value, constant(type_, scale))
            f.store(value, f.at(goals[_kind(place, kernel.sides) % kinds], f.mul(plane, place)))
    f.ret()
    return "take"


def _kind(place, sides):
    rows, columns = sides
    return 2 * (place // columns == rows - 1) + (place % columns == columns - 1)


def _all(f, conditions):
    result = conditions[0]
    for condition in conditions[1:]:
        result = f.binary("and", result, condition)
    return result


def all_finite(f, values, missing=lambda: None):
    """Return whether vectors have neither infinities nor NaNs in lanes other than `missing()`."""
    check = nothing = zero(values[0].type)
    for value in values:
        check = f.fma(value, nothing, check)
    lanes, good = missing(), f.compare("ord", check, nothing)
    good = good if lanes is None else f.binary("or", good, lanes)
    return f.call(f"llvm.vector.reduce.and.{mangled(good.type)}", I1, good)


def output_transform(module, kernel):
    """Write the function that transforms the sums of one tile, some channels; results that are not finite are computed again.
    """
    exact = _exact(module, kernel)
    f = module.function("give", [(PTR, "job"), (I64, "image"), (I64, "row"), (I64, "column"),
                                 *[("ptr readonly", f"m{kind}") for kind in range(KINDS)],
                                 (I64, "first_block"), (I64, "end_block")], internal=True)
    arg, image, row, column, *m, first_block, end_block = f.params
    job, sides, (most_rows, most_columns) = Words(f, arg, WORDS), kernel.sides, kernel.tile
    type_ = vector(kernel.lanes, kernel.element)
    size, top, left, plane = bytes_of(type_), f.mul(row, most_rows), f.mul(column, most_columns), job.m_plane
    rows, columns = f.min(f.sub(job.out_height, top), most_rows), f.min(f.sub(job.out_width, left), most_columns)
    start = f.add(f.mul(image, job.y_image), f.add(f.mul(top, job.y_row), f.mul(left, size)))
    down, right = f.compare("eq", rows, f.index(most_rows)), f.compare("eq", columns, f.index(most_columns))
    there = None, right, down, f.binary("and", down, right)

    def sum_of(sources, place):
        kind = _kind(place, sides)
        value = f.load(type_, f.at(sources[kind], f.mul(plane, place)))
        return f.select(there[kind], value, zero(type_)) if kind else value

    with f.loop(first_block, end_block) as loop:
        across = f.mul(f.sub(loop.index, first_block), job.m_vector)
        sources = [f.at(source, across) for source in m]
        sums = [[sum_of(sources, i * sides[1] + j) for j in range(sides[1])] for i in range(sides[0])]
        pixels = transformed(f, sums, kernel.lines[1], kernel.tile)
        finite = all_finite(f, [value for line in pixels for value in line])
        y = f.add(start, f.mul(loop.index, job.y_block))

        def store(pixels=pixels, y=y, block=loop.index):
            for i, line in enumerate(pixels):
                with f.when(f.compare("slt", f.index(i), rows)):
                    for j, value in enumerate(line):
                        with f.when(f.compare("slt", f.index(j), columns)):
                            store_result(f, kernel, job, value, f.add(y, f.add(f.mul(job.y_row, i), j * size)), image, block)

        def again(y=y, block=loop.index):
            f.call(exact, VOID, arg, image, top, left, rows, columns, block, y)

        f.choose(finite, store, again)
    f.ret()
    return "give"


def factors_of(f, job, kernel, output):
    """Return the factors of a vector of output channels; ones without factors."""
    type_ = vector(kernel.lanes, kernel.element)

    def load_factors():
        at = f.at(job.address("factors"), f.mul(output, bytes_of(kernel.element)))
        return (f.load_masked(type_, at, f.mask(f.sub(job.outputs, output), kernel.lanes)),)

    return f.choose(f.compare("ne", job.factors, 0), load_factors,
                    lambda: (f.splat(f.value(kernel.element, 1.0), kernel.lanes),))[0]


def store_result(f, kernel, job, value, offset, image, block):
    """Apply the epilogue to one vector of y and store it."""
    if kernel.epilogue.name:
        place = Place(job.address("operands"), image, f.index(0), f.mul(block, kernel.lanes), None)
        value = kernel.epilogue.apply(f, value, BlockedPlace(place, offset), 0)
    f.store(value, f.at(job.address("y"), offset))


def _exact(module, kernel):
    """Write the function of one block of channels of a tile, tap by tap; all pixels' sums grow with each input block."""
    transposed_taps = _transposed_weights(module, kernel)
    f = module.function("exact", [(PTR, "job"), (I64, "image"), (I64, "top"), (I64, "left"), (I64, "rows"), (I64, "columns"),
                                  (I64, "block"), (I64, "y")], internal=True)
    arg, image, top, left, rows, columns, block, y = f.params
    job, type_, lanes = Words(f, arg, WORDS), vector(kernel.lanes, kernel.element), kernel.lanes
    size, item = bytes_of(type_), bytes_of(kernel.element)
    (most_rows, most_columns) = kernel.tile
    taps, sums = f.local(lanes * TAPS * TAPS * size), f.local(most_rows * most_columns * size)
    x = f.at(job.address("x"), f.mul(image, job.x_image))

    def sum_of(i, j):
        return f.at(sums, f.mul(f.add(f.mul(i, most_columns), j), size))

    for place in range(most_rows * most_columns):
        f.store(zero(type_), f.at(sums, place * size))
    with f.loop(0, job.x_blocks) as blocks:
        first = f.mul(blocks.index, lanes)
        count = f.min(f.sub(job.inputs, first), lanes)
        f.call(transposed_taps, VOID, arg, block, first, count, taps)
        with f.loop(0, rows) as i, f.loop(0, columns) as j:
            at_h, at_w = (f.sub(f.mul(f.add(a, b.index), kernel.stride), pad)
                          for a, b, pad in ((top, i, job.pad_h), (left, j, job.pad_w)))
            tap_rows = f.max(f.sub(0, at_h), 0), f.min(f.sub(job.height, at_h), TAPS)
            tap_columns = f.max(f.sub(0, at_w), 0), f.min(f.sub(job.width, at_w), TAPS)
            with f.loop(*tap_rows, 1, [f.load(type_, sum_of(i.index, j.index))]) as kh:
                with f.loop(*tap_columns, 1, kh.carried) as kw:
                    pixel = f.add(f.mul(f.add(at_h, kh.index), job.x_row), f.mul(f.add(at_w, kw.index), size))
                    at_x = f.at(x, f.add(f.mul(blocks.index, job.x_block), pixel))
                    at_tap = f.at(taps, f.mul(f.add(f.mul(kh.index, TAPS), kw.index), size))
                    with f.loop(0, count, 1, kw.carried) as steps:
                        factor = f.splat(f.load(kernel.element, f.at(at_x, f.mul(steps.index, item))), lanes)
                        weight = f.load(type_, f.at(at_tap, f.mul(steps.index, TAPS * TAPS * size)))
                        steps.next(multiply_add(f, factor, weight, steps.carried[0]))
                    kw.next(*steps.results)
                kh.next(*kw.results)
            f.store(kh.results[0], sum_of(i.index, j.index))
    with f.loop(0, rows) as i, f.loop(0, columns) as j:
        place = f.add(y, f.add(f.mul(i.index, job.y_row), f.mul(j.index, size)))
        store_result(f, kernel, job, f.load(type_, sum_of(i.index, j.index)), place, image, block)
    f.ret()
    return "exact"


def _transposed_weights(module, kernel):
    """Write the function of a block's taps of the plain weight, output channels side by side; missing ones repeat the last."""
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
        with f.loop(0, count) as step, f.loop(0, TAPS) as row, f.loop(0, TAPS) as column:
            at = f.add(f.mul(step.index, job.w_input), f.add(f.mul(row.index, job.w_row), f.mul(column.index, job.w_column)))
            place = f.add(f.mul(step.index, TAPS * TAPS), f.add(f.mul(row.index, TAPS), column.index))
            tap = f.fmul(f.load(kernel.element, f.at(source, at)), factor)
            f.store(tap, f.at(taps, f.mul(f.add(f.mul(place, lanes), lane.index), item)))
    f.ret()
    return f.name
