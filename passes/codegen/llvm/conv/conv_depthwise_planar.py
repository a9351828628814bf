"""Depthwise convolution of plain arrays: each channel is a plane, and lanes run along the width of the result.

Nothing is copied into blocks. A tile is some rows of one vector of columns. Each row of x that it meets is read once for each
tap along the width, and serves all rows of the result that meet it. Taps and rows are unrolled; a channel's weights are vectors
of one number. Tiles at borders mask columns and skip rows; inner ones do neither.

    x  [image][input channel][height][width]      w  [channel][tap h][tap w]      y  [image][channel][height][width]
"""

from dataclasses import dataclass, field
from typing import Any

from ..contract.epilogue import Identity, Place
from ..contract.microkernel import multiply_add
from ..ir.emit import ModuleWriter
from ..ir.types import I32, Value, bytes_of, iota, lanes_of, mangled, vector, zero
from ..pool.tasks import chunk_share, split_index, task_items

WORDS = ("x", "w", "y", "operands", "items", "chunks", "inputs", "channels", "times", "parts", "tiles", "x_plane", "y_plane",
         "height", "width", "out_height", "out_width", "pad_h", "pad_w", "inner_first", "inner_end")
STRIDES = (1, 2)                                 # along the width: adjacent elements, or every other one of two vectors


@dataclass(frozen=True)
class PlaneWindow:
    """Windows of a plane, each field as (down, along)."""

    taps: tuple
    stride: tuple
    dilation: tuple


@dataclass(frozen=True)
class PlanesKernel(ModuleWriter):
    """Generator for windows, rows and lanes of a tile, and an epilogue. `flipped` weights are read from the last tap on."""

    element: str
    window: PlaneWindow
    rows: int
    lanes: int
    flipped: bool = False
    epilogue: Any = field(default_factory=Identity)

    @property
    def symbol(self) -> str:
        return f"planes_{mangled(self.element)}{'_' + self.epilogue.name if self.epilogue.name else ''}"

    @property
    def span(self) -> tuple:
        """(rows of x that a tile meets, elements of each that it reads)."""
        (taps_h, taps_w), (step_h, step_w), (gap_h, gap_w) = self.window.taps, self.window.stride, self.window.dilation
        reach = (taps_w - 1) * gap_w
        return ((self.rows - 1) * step_h + (taps_h - 1) * gap_h + 1,
                reach + self.lanes if step_w == 1 else reach // 2 * 2 + 2 * self.lanes)

    def write(self, module):
        with task_items(module, self.symbol, WORDS) as (f, job, number):
            _item(f, self, job, number)


class PlanePlace:
    """Place of a vector of a plane for epilogues: its channel is its column. Values common to a tile's rows are read once.

    At an `edge` (existing rows of the tile, this row, existing columns) all else is no memory.
    """

    def __init__(self, place: Place, offset, edge, words: dict):
        self.place, self.offset, self.edge, self.words = place, offset, edge, words

    def __getattr__(self, name):
        return getattr(self.place, name)

    def word(self, f, number, type_="i64"):
        if (number, type_) not in self.words:
            self.words[number, type_] = self.place.word(f, number, type_)
        return self.words[number, type_]

    def columns(self, f, pointer, kind, stored):
        """Return the channel's number in all lanes."""
        if pointer not in self.words:
            self.words[pointer] = f.splat(f.load(stored, f.at(pointer, self.place.column, stored)), lanes_of(kind))
        return self.words[pointer]

    def load_operand(self, f, pointer, type_):
        """Load the elements of an array with the result's layout."""
        at = f.at(pointer, self.offset)
        if not self.edge:
            return f.load(type_, at)
        rows, row, exists = self.edge
        mask = f.select(f.compare("sgt", rows, row), exists, zero(exists.type))
        return f.load_masked(type_, at, mask)


@dataclass(frozen=True)
class _Plane:
    """One channel: its arrays, its weights in all lanes, and the place for epilogues."""

    x: Value
    y: Value
    weights: tuple
    place: Place


def _item(f, kernel, job, number):
    item, rows = bytes_of(kernel.element), kernel.rows
    number, part = split_index(f, number, (1, job.parts))
    image, channel = split_index(f, number, (1, job.channels))
    taps_h, taps_w = kernel.window.taps
    w = f.at(job.address("w"), f.mul(channel, taps_h * taps_w * item))
    order = range(taps_h * taps_w)[::-1 if kernel.flipped else 1]
    weights = tuple([f.splat(f.load(kernel.element, f.at(w, tap * item)), kernel.lanes) for tap in order])
    source = f.add(f.mul(image, job.inputs), f.div(channel, job.times))
    plane = _Plane(f.at(job.address("x"), f.mul(source, job.x_plane)), f.mul(number, job.y_plane), weights,
                   Place(job.address("operands"), image, f.index(0), channel, None))
    first, end = chunk_share(f, job.tiles, job.parts, part)
    with f.loop(first, end) as tile:
        row = f.mul(tile.index, rows)
        in_h = f.sub(f.mul(row, kernel.window.stride[0]), job.pad_h)
        whole = f.binary("and", f.compare("sge", in_h, 0), f.binary(
            "and", f.compare("sle", f.add(in_h, kernel.span[0]), job.height),
            f.compare("sle", f.add(row, rows), job.out_height)))
        inner_first, inner_end = f.select(whole, job.inner_first, job.out_width), job.inner_end
        with f.loop(0, job.out_width, kernel.lanes) as columns:
            at = columns.index
            inner = f.binary("and", f.compare("sge", at, inner_first), f.compare("slt", at, inner_end))
            f.choose(inner, lambda: _tile(f, kernel, job, plane, row, in_h, at, False),
                     lambda: _tile(f, kernel, job, plane, row, in_h, at, True))


def _tile(f, kernel, job, plane, row, in_h, column, edge):
    item, type_ = bytes_of(kernel.element), vector(kernel.lanes, kernel.element)
    in_w, rows = f.sub(f.mul(column, kernel.window.stride[1]), job.pad_w), f.sub(job.out_height, row)
    x_row = f.mul(job.width, item)
    here = f.at(plane.x, f.add(f.mul(in_h, x_row), f.mul(in_w, item)))
    load = _masked_loads(f, kernel, in_w, job.width) if edge else lambda pointer, at: f.load(type_, f.at(pointer, at * item))
    sums, (first, count) = [zero(type_)] * kernel.rows, _lines_met(f, kernel, job, rows, in_h) if edge else (0, 0)
    for line, meets in _lines(kernel):
        def add(line=line, meets=meets, sums=tuple(sums)):
            return _add_line(f, kernel, plane, f.at(here, f.mul(x_row, line)), load, meets, sums)

        if edge:
            met = f.compare("ult", f.sub(line, first), count)
            changed = f.choose(met, add, lambda meets=meets, sums=tuple(sums): [sums[at] for at, _ in meets])
        else:
            changed = add()
        for (at, _), value in zip(meets, changed):
            sums[at] = value
    _store_rows(f, kernel, job, plane, sums, row, column, edge)


def _store_rows(f, kernel, job, plane, sums, row, column, edge):
    """Apply the epilogue and store a tile's rows; at an edge only existing ones."""
    rows, item = f.sub(job.out_height, row), bytes_of(kernel.element)
    exists, y_row = f.mask(f.sub(job.out_width, column), kernel.lanes) if edge else None, f.mul(job.out_width, item)
    start, to, words = f.add(plane.y, f.add(f.mul(row, y_row), f.mul(column, item))), job.address("y"), {}
    offsets = [f.add(start, f.mul(y_row, at)) for at in range(kernel.rows)]
    if kernel.epilogue.name:
        sums = [kernel.epilogue.apply(f, value, PlanePlace(plane.place, at, edge and (rows, number, exists), words), 0)
                for number, (value, at) in enumerate(zip(sums, offsets))]
    for number, (value, at) in enumerate(zip(sums, offsets)):
        if not edge:
            f.store(value, f.at(to, at))
            continue
        with f.when(f.compare("sgt", rows, number)):
            f.store_masked(value, f.at(to, at), exists)


def _lines_met(f, kernel, job, rows, in_h):
    """Return (first, number) of the tile's lines inside x that a row of the result meets."""
    first = f.max(f.sub(0, in_h), 0)
    most = f.add(f.mul(f.sub(rows, 1), kernel.window.stride[0]), (kernel.window.taps[0] - 1) * kernel.window.dilation[0] + 1)
    return first, f.max(f.sub(f.min(f.sub(job.height, in_h), most), first), 0)


def _lines(kernel):
    """Return [(row of x, [(row of the result, tap down)])] of a tile, from top to bottom."""
    (taps, _), (step, _), (gap, _) = kernel.window.taps, kernel.window.stride, kernel.window.dilation
    found: dict = {}
    for row in range(kernel.rows):
        for tap in range(taps):
            found.setdefault(row * step + tap * gap, []).append((row, tap))
    return sorted(found.items())


def _masked_loads(f, kernel, in_w, width):
    """Return a loader of vectors of a row of x, zero outside; masks are computed once per tile."""
    type_, lanes, masks = vector(kernel.lanes, kernel.element), kernel.lanes, {}
    first = f.binary("add", f.splat(f.cast("trunc", in_w, I32), lanes), iota(lanes))
    ends = f.splat(f.cast("trunc", width, I32), lanes)
    for at in _reads(kernel):
        masks[at] = f.compare("ult", f.binary("add", first, iota(lanes, start=at, step=0)), ends)
    return lambda pointer, at: f.load_masked(type_, f.at(pointer, at * bytes_of(kernel.element)), masks[at])


def _reads(kernel):
    """Return the offsets of the vectors that a tile loads along a row."""
    gap, lanes, taps = kernel.window.dilation[1], kernel.lanes, range(kernel.window.taps[1])
    if kernel.window.stride[1] == 1:
        return [tap * gap for tap in taps]
    return sorted({tap * gap // 2 * 2 + half for tap in taps for half in (0, lanes)})


def _add_line(f, kernel, plane, pointer, load, meets, sums):
    """Add the taps of a row of x to the sums of the rows that meet it."""
    gap, lanes, taps = kernel.window.dilation[1], kernel.lanes, kernel.window.taps[1]
    vectors = {at: load(pointer, at) for at in _reads(kernel)}
    if kernel.window.stride[1] == 1:
        values = [vectors[tap * gap] for tap in range(taps)]
    else:
        pairs = [(tap * gap // 2 * 2, tap * gap % 2) for tap in range(taps)]
        values = [f.shuffle(vectors[at], vectors[at + lanes], range(odd, 2 * lanes, 2)) for at, odd in pairs]
    found = [sums[row] for row, _ in meets]
    for tap, value in enumerate(values):              # adjacent instructions are independent
        for number, (_, down) in enumerate(meets):
            found[number] = multiply_add(f, value, plane.weights[down * taps + tap], found[number])
    return found
