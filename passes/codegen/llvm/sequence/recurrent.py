"""One step of a recurrent layer as a pool task: the recurrent product h[t-1] @ w', and the gates right after it.

A panel of weights holds, for some units, the columns of all their gates side by side. So the sums of a few rows, which stay in
the nearest cache, have all that the units' states need. The launcher runs the task once for each step.

`size` is the width of the multiplied state: that of all others, unless the call is a single step.

Layouts: z (T, B, gates H), states and cells (T, B, H), gates as the operators in `ir/ops/nn/recurrent.py` define. A kernel that
saves nothing for gradients writes no gates, and has one cell (B, H) for each sequence, the last one.
"""

from dataclasses import dataclass

from .....ir.target import Target
from ...recurrent_cells import BEFORE, Cell
from ..contract.inline_gemm import HEIGHTS as TILE_HEIGHTS
from ..contract.inline_gemm import write_product
from ..contract.int8_products import PAIR, numbers_row, write_products
from ..contract.microkernel import Operand, Precision, TileShape, dot_tile, tile_shape
from ..contract.packing import PACK_TRANSPOSED, packers
from ..ir.emit import Module, ModuleWriter
from ..ir.memory_types import FLOAT_DTYPES
from ..ir.spelling import LlvmBuilder
from ..ir.types import F32, I8, I64, PTR, VOID, bytes_of, lanes_of, null, vector
from ..pool.tasks import Words, chunk_share, write_task

ARRAYS = ("z", "mask", "h", "c", "w", "bias", "y", "cells", "gates", "scale")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "row_blocks", "steps", "batch", "hidden", "size", "w_row", "reverse")
LINE = 64                           # bytes of a cache line
UNITS = {"lstm": 1, "gru": 4, "rnn_tanh": 4, "rnn_relu": 4}      # vectors of units in a panel of weights
BYTES_UNITS = 4                     # the same for int8 weights
ROWS = 2 * TILE_HEIGHTS[0]          # most rows whose sums are computed before their gates


@dataclass(frozen=True)
class StepKernel(ModuleWriter):
    """Generator of a cell's step.

        keeps    cells and gates are saved for gradients
        direct   weights are not packed
        packed   weights come packed
        bytes    weights are int8, with the scales of their rows
    """

    element: str
    cell: Cell
    masked: bool
    keeps: bool = True
    direct: bool = False
    packed: bool = False
    bytes: bool = False

    @property
    def lanes(self) -> int:
        """Units in a vector."""
        return tile_shape(self.target, self.element).lanes

    @property
    def units(self) -> int:
        """Units in a panel; many if rows are quantised per panel."""
        return (BYTES_UNITS if self.bytes else UNITS[self.cell.name]) * self.lanes

    @property
    def columns(self) -> int:
        """Columns of a panel: all gates of its units."""
        return self.cell.gates * self.units

    @property
    def packs(self) -> bool:
        """Whether a task packs the weights."""
        return not (self.direct or self.packed or self.bytes)

    @property
    def weights(self) -> str:
        """Name of the word with the packed weights' address."""
        return "w" if self.packed else "scratch"

    @property
    def rows(self) -> int:
        """Rows whose sums are computed before their gates: few if little memory has to be waited for."""
        return ROWS if self.keeps else ROWS // 2

    @property
    def rows_at_once(self) -> int:
        """Rows whose gates are computed side by side."""
        return rows_side_by_side(self.target)

    @property
    def streams(self) -> tuple:
        """Arrays of a step that are not in cache: (array, parts, whether it is written)."""
        cell, found = self.cell, [("z", self.cell.gates, False), ("y", 1, True)]
        if self.keeps:
            found += [("gates", cell.saved, True)] * (cell.saved > 0) + [("cells", 1, True)] * cell.has_cells
        return tuple(found)

    @property
    def symbol(self) -> str:
        options = f"{'_masked' * self.masked}{'' if self.keeps else '_states'}{'_direct' * self.direct}"
        options += f"{'_packed' * self.packed}{'_bytes' * self.bytes}"
        return f"{self.cell.name}_{self.element}{options}"

    def write(self, module):
        precision = Precision.of(self.element)
        if self.direct:
            write_dots(module, precision, self.cell.gates, self.units)
        elif self.bytes:
            write_products(module, bias=False)
        else:
            write_product(module, precision, steps=(bytes_of(self.element), _tile_bytes(self)))
        if self.packs:
            write_task(module, f"{self.symbol}_pack", pack_item(module, self), WORDS, worker=False)
        for edge in (False, True):
            _write_finish(module, self, edge)
        write_task(module, self.symbol, _step_item(module, self), WORDS, worker=False)


def rows_side_by_side(target: Target) -> int:
    """Return the rows whose gates are computed side by side. One chain of exponentials leaves half of the processor idle; two
    need the registers of AVX-512 or AArch64."""
    return 2 if target.vector_registers >= 32 else 1


def time_of(f, job, turn):
    """Return the time step of a turn."""
    return f.select(f.compare("ne", job.reverse, 0), f.sub(f.sub(job.steps, 1), turn), turn)


def rows_of_item(f, job, number):
    """Return (panel, first row, end) of an item."""
    blocks = job.row_blocks
    panel, block = f.div(number, blocks), f.mod(number, blocks)
    return panel, *chunk_share(f, job.batch, blocks, block)


def some_rows(f, low, high, most, finish, units, multiply, at_once):
    """For at most `most` rows at a time, call multiply(first row, rows), then finish(row, its place among the sums, distance of
    its partner row, vector of units). The last of an odd number is its own partner."""
    with f.loop(low, high, most) as loop:
        count = f.min(f.sub(high, loop.index), most)
        multiply(loop.index, count)
        with f.loop(0, count, at_once) as rows, f.loop(0, units) as vectors:
            other = f.min(f.sub(f.sub(count, 1), rows.index), at_once - 1)
            finish(f.add(loop.index, rows.index), rows.index, other, vectors.index)


def _state_before(f, job, start, states, item):
    before = time_of(f, job, f.sub(job.turn, 1))
    plane = f.mul(f.mul(job.batch, job.hidden), item)
    return f.select(f.compare("eq", job.turn, 0), job.address(start), f.at(job.address(states), f.mul(before, plane)))


def fetch_streams(f, job, streams, step, rows, units, item):
    """Prefetch the lines that the gates of some rows (first, end) and units (first, count) will access, during the product.
    Lines beyond an array do no harm."""
    size = f.mul(job.hidden, item)
    starts = [(f.at(job.address(array), f.mul(units[0], item)), parts, written) for array, parts, written in streams]
    with f.loop(*rows) as loop:
        row = f.mul(f.add(f.mul(step, job.batch), loop.index), size)
        for start, parts, written in starts:
            own = f.at(start, f.mul(row, parts))
            for part in range(parts):
                for line in range(0, units[1] * item, LINE):
                    f.prefetch(f.at(f.at(own, f.mul(size, part)), line), write=written)


# Weights.


def pack_item(module, kernel):
    """Write the function that packs one panel, the columns of all gates of its units: tile by tile in steps of the depth, so
    that one row reads weights in memory order."""
    cell, lanes, item, units = kernel.cell, kernel.lanes, bytes_of(kernel.element), UNITS[kernel.cell.name]
    shape = TileShape(1, tile_shape(kernel.target, kernel.element).vectors, lanes)
    turn = packers(module, shape, kernel.element)[PACK_TRANSPOSED]
    f = module.function("pack", [(PTR, "arg"), (I64, "panel")], internal=True)
    arg, panel = f.params
    job = Words(f, arg, WORDS)
    w, row, size, hidden = job.address("w"), job.w_row, job.size, job.hidden
    target = f.at(job.address(kernel.weights), f.mul(f.mul(panel, size), kernel.columns * item))
    first = f.mul(panel, kernel.units)
    for gate in range(cell.gates):
        for part in range(units):
            unit = f.add(first, part * lanes)
            count = f.max(f.min(f.sub(hidden, unit), lanes), 0)
            source = f.at(w, f.mul(f.add(f.mul(hidden, gate), unit), row))
            tile, vector_ = divmod(gate * units + part, shape.vectors)
            place = f.add(f.mul(size, tile * shape.columns), vector_ * lanes)
            f.call(turn, VOID, source, f.index(item), row, count, size, f.at(target, place, kernel.element))
    f.ret()
    return "pack"


# A step.


def _step_item(module, kernel):
    """Write the function of one panel and some rows of the batch."""
    f = module.function("step", [(PTR, "arg"), (I64, "number")], internal=True)
    arg, number = f.params
    job, item, lanes = Words(f, arg, WORDS), bytes_of(kernel.element), kernel.lanes
    panel, low, high = rows_of_item(f, job, number)
    t, h = time_of(f, job, job.turn), _state_before(f, job, "h", "y", item)
    c = _state_before(f, job, "c", "cells", item if kernel.keeps else 0)
    width, row_bytes = f.index(kernel.columns * item), f.mul(job.size, item)
    sums, start = f.local(kernel.rows * kernel.columns * item), f.mul(panel, kernel.units)
    product = (_dots(f, job, kernel, start) if kernel.direct else _bytes(f, job, kernel, start, number) if kernel.bytes
               else _tiles(f, job, kernel, panel))

    def multiply(row, rows):
        fetch_streams(f, job, kernel.streams, t, (row, f.add(row, rows)), (start, kernel.units), item)
        product(f.at(h, f.mul(row, row_bytes)), sums, rows)

    def finish(row, place, other, vector_):
        unit = f.add(start, f.mul(vector_, lanes))
        at = f.at(sums, f.add(f.mul(place, width), f.mul(vector_, lanes * item)))
        call_finish(f, job, unit, lanes, arg, at, h, c, t, row, other, unit)

    some_rows(f, low, high, kernel.rows, finish, kernel.units // lanes, multiply, kernel.rows_at_once)
    f.ret()
    return "step"


def _tile_bytes(kernel):
    """Return the bytes of a step of packed weights."""
    return tile_shape(kernel.target, kernel.element).columns * bytes_of(kernel.element)


def _tiles(f, job, kernel, panel):
    """Multiply some rows with a packed panel."""
    item, step = bytes_of(kernel.element), _tile_bytes(kernel)
    width, row_bytes = f.index(kernel.columns * item), f.mul(job.size, item)
    weights = f.at(job.address(kernel.weights), f.mul(f.mul(panel, job.size), width))

    def product(left, sums, rows):
        f.call("product", VOID, left, weights, sums, row_bytes, f.index(item), f.index(step), f.mul(job.size, step), width,
               rows, f.index(kernel.columns), job.size, null(), null(), f.index(0))

    return product


def _dots(f, job, kernel, start):
    """Multiply some rows with a panel's weights in place."""
    item, row = bytes_of(kernel.element), job.w_row
    weights, count = f.at(job.address("w"), f.mul(start, row)), f.min(f.sub(job.hidden, start), kernel.units)

    def product(left, sums, rows):
        f.call("dots", VOID, left, weights, sums, f.mul(job.size, item), row, f.mul(job.hidden, row),
               f.index(kernel.columns * item), rows, count, job.size)

    return product


def _bytes(f, job, kernel, start, number):
    """Multiply some rows, quantised into the item's scratch, with a panel's weights."""
    size, hidden, rows = job.size, job.hidden, kernel.rows
    apart, count = numbers_row(f, size), f.min(f.sub(hidden, start), kernel.units)
    numbers = f.at(job.address("scratch"), f.mul(f.mul(number, rows), f.add(apart, PAIR)))
    pairs = f.at(numbers, f.mul(apart, rows))

    def product(left, sums, rows):
        with f.loop(0, rows) as loop:
            row = loop.index
            f.call("quantize_row", VOID, f.at(left, f.mul(row, size), F32), f.at(numbers, f.mul(row, apart)),
                   f.at(pairs, f.mul(row, PAIR)), size)
        with f.loop(0, kernel.cell.gates) as loop:
            first = f.add(f.mul(loop.index, hidden), start)
            f.call("bytes_product", VOID, numbers, pairs, f.at(job.address("w"), f.mul(first, size)),
                   f.at(job.address("scale"), first, F32), null(), f.at(sums, f.mul(loop.index, kernel.units), F32), rows,
                   count, size, apart, f.index(4 * kernel.columns))

    return product


def call_finish(f, job, unit, lanes, *args):
    """Call `finish` for a whole vector of units or for the last ones."""
    left = f.sub(job.hidden, unit)
    whole, part, done = (f.new_block(hint) for hint in ("whole", "part", "done"))
    f.jump_if(f.compare("sge", left, lanes), whole, part)
    for label, name in ((whole, "finish"), (part, "finish_edge")):
        f.place(label)
        f.call(name, VOID, *args)
        f.jump(done)
    f.place(done)


def _write_finish(module, kernel, edge):
    """Write the function of a vector of units of a row and of the `other` after it: from sums of gates to states."""
    f = module.function(f"finish{'_edge' * edge}", [*((PTR, n) for n in ("arg", "sums", "h", "c")),
                                                    *((I64, n) for n in ("t", "row", "other", "unit"))], internal=True)
    arg, sums, h, c, t, row, other, unit = f.params
    p = Point(f, kernel, Words(f, arg, WORDS), {"h": h, "c": c}, t, (row, other), unit, edge)
    gap = kernel.units * bytes_of(kernel.element)
    kernel.cell.step(p, [p.sums(sums, kernel.columns, gate * gap) for gate in range(kernel.cell.gates)])
    f.ret()


class Point:
    """A vector of units of one row, or of two rows side by side, at one step, for `recurrent_cells`."""

    def __init__(self, f, kernel, job, befores, t, rows, unit, edge):
        self.f, self.kernel, self.job, self.befores = f, kernel, job, befores
        self.t, self.unit, (row, self.other) = t, unit, rows
        self.rows = [row] if kernel.rows_at_once == 1 else [row, f.add(row, self.other)]
        self.item, self.hidden = bytes_of(kernel.element), job.hidden
        self.size = f.mul(self.hidden, self.item)
        self.one = vector(kernel.lanes, kernel.element)                             # one row
        self.type = vector(kernel.lanes * len(self.rows), kernel.element)           # all rows
        self.mask = f.mask(f.sub(self.hidden, unit), kernel.lanes) if edge else None
        self.s = LlvmBuilder(f, lanes_of(self.type))
        self._starts: dict = {}
        self._before: dict = {}
        self._live = None

    def wrap(self, value):
        return self.s.wrap(FLOAT_DTYPES[self.kernel.element], value)

    def _joined(self, values):
        return values[0] if len(values) == 1 else self.f.shuffle(*values, range(2 * self.kernel.lanes))

    def sums(self, place, columns, offset):
        """Load the sums `offset` bytes from a place in a matrix of `columns` columns."""
        f = self.f
        spots = [f.at(place, offset), f.at(f.at(place, f.mul(self.other, columns * self.item)), offset)]
        return self.wrap(self._joined([f.load(self.one, spot) for spot in spots[:len(self.rows)]]))

    def spot(self, array, t, parts=1, part=0):
        """Return the point's address in an array (T, B, parts * hidden), per row; `array` is a name or a pointer."""
        key = str(array), str(t), parts
        if key not in self._starts:
            f, whole = self.f, self.job.address(array) if isinstance(array, str) else array
            base = None if t is None else f.mul(t, self.job.batch)
            self._starts[key] = [f.at(whole, f.mul(f.add(f.mul(row if base is None else f.add(base, row),
                                                               f.mul(self.hidden, parts)), self.unit), self.item))
                                 for row in self.rows]
        return [self.f.at(start, self.f.mul(self.size, part)) for start in self._starts[key]]

    def load(self, spots):
        f, mask = self.f, self.mask
        return self.wrap(self._joined([f.load_masked(self.one, spot, mask)
                                       for spot in spots]))

    def store(self, value, spots):
        f, lanes = self.f, self.kernel.lanes
        for number, spot in enumerate(spots):
            part = value.ref
            if len(spots) > 1:
                part = f.shuffle(part, part, range(number * lanes, (number + 1) * lanes))
            f.store_masked(part, spot, self.mask)

    def input(self, gate):
        return self.load(self.spot("z", self.t, self.kernel.cell.gates, gate))

    def biased(self, gate, total):
        """Return a recurrent sum with its bias."""
        f = self.f
        spot = f.at(self.job.address("bias"), f.add(f.mul(self.hidden, gate), self.unit), self.kernel.element)
        return self.load([spot] * len(self.rows)) + total

    def before(self, state):
        """Load the state h or c before this step."""
        if state not in self._before:
            self._before[state] = self.load(self.spot(self.befores[state], None))
        return self._before[state]

    @property
    def live(self):
        """Return whether this step is real, in every lane."""
        if self._live is None:
            f = self.f
            start = f.at(self.job.address("mask"), f.mul(self.t, self.job.batch))
            bytes_ = [f.splat(f.load(I8, f.at(start, row)), self.kernel.lanes) for row in self.rows]
            self._live = f.compare("ne", self._joined(bytes_), 0)
        return self._live

    def state(self, name, value):
        """Store a state, or the one before if the step is padding."""
        if self.kernel.masked:
            value = self.wrap(self.f.select(self.live, value.ref, self.before(BEFORE[name]).ref))
        self.store(value, self.spot(name, self.t if self.kernel.keeps or name != "cells" else None))

    def give(self, name, values):
        """Store the parts of an array (T, B, parts * hidden), except gates that are not saved."""
        if name == "gates" and not self.kernel.keeps:
            return
        for part, value in enumerate(values):
            self.store(value, self.spot(name, self.t, len(values), part))


HEIGHT, WIDTH = 4, 4                # rows of a tile, and its units of a gate
_SHAPE = ("a_row", "w_row", "gate", "c_row", "rows", "units", "depth")


def write_dots(module: Module, precision: Precision, gates: int, panel: int, name: str = "dots") -> str:
    """Add `void name(a, w, c, a_row, w_row, gate, c_row, rows, units, depth)`.

    c[row, gate * panel + unit] is, for each gate, the product of a row of a and the unit's row of weights; `gate` is the bytes
    between gates.
    """
    tables = {width: module.function_table(f"{name}_{width}", [_tile(module, precision, name, height, width)
                                                               for height in range(1, HEIGHT + 1)]) for width in (WIDTH, 1)}
    f = module.function(name, [(PTR, "a"), (PTR, "w"), (PTR, "c"), *((I64, word) for word in _SHAPE)], internal=True)
    a, w, c, a_row, w_row, gate, c_row, rows, units, depth = f.params
    item, whole = bytes_of(precision.out), f.bit_and(units, -WIDTH)
    with f.loop(0, gates) as outer:
        weights, sums = f.at(w, f.mul(gate, outer.index)), f.at(c, f.mul(outer.index, panel * item))
        for width, low, high in ((WIDTH, 0, whole), (1, whole, units)):
            with f.loop(low, high, width) as across, f.loop(0, rows, HEIGHT) as down:
                height = f.min(f.sub(rows, down.index), HEIGHT)
                kernel = f.load(PTR, f.at(f.at(tables[width], height, PTR), -8))
                target = f.at(f.at(sums, f.mul(across.index, item)), f.mul(down.index, c_row))
                f.call_pointer(kernel, VOID, f.at(a, f.mul(down.index, a_row)), f.at(weights, f.mul(across.index, w_row)),
                               target, a_row, w_row, c_row, depth)
    f.ret()
    return name


def _tile(module, precision, prefix, height, width):
    """Write the function of some rows and some units of a gate."""
    name = f"{prefix}_{height}x{width}"
    f = module.function(name, [("ptr noalias readonly", "a"), ("ptr noalias readonly", "w"), ("ptr noalias", "c"),
                               *((I64, word) for word in ("a_row", "w_row", "c_row", "depth"))], internal=True)
    a, w, c, a_row, w_row, c_row, depth = f.params
    lanes = tile_shape(module.target, precision.accumulate).lanes
    sums = dot_tile(f, precision, height, width, lanes, depth, Operand(a, a_row, 0), Operand(w, w_row, 0))
    for i, line in enumerate(sums):
        f.store(line, f.at(c, f.mul(c_row, i)))
    f.ret()
    return name


@dataclass(frozen=True)
class PackKernel(StepKernel):
    """Generator of the task that only packs the weights, from w to y."""

    weights = "y"

    @property
    def symbol(self) -> str:
        return f"{self.cell.name}_{self.element}_pack"

    def write(self, module):
        write_task(module, self.symbol, pack_item(module, self), WORDS, worker=False)
