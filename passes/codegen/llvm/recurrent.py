"""One step of a recurrent layer as a pool task: the recurrent product, and the gates in its epilogue.

    sums = z[t] + h[t-1] @ w'        (the new gate of a GRU keeps the two apart)

A panel of weights holds, for some units, the columns of all their gates side by side, so a register tile has everything that a
unit's state needs, and the state is stored with no pass of its own. The launcher runs the task once for each step.

Layouts: z (T, B, gates H), states and cells (T, B, H), gates as the operators in `ir/ops/recurrent.py` give them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ....ir import dtype as dt
from ....ir.target import Target
from ..scalars import apply
from .conv_steps import Words, chunk_share
from .emit import Module
from .microkernel import Operand, Precision, TileShape, add_outer, tile_shape
from .packing import PACK_TRANSPOSED, packers
from .spelling import LlvmBuilder
from .types import F32, F64, I8, I64, PTR, VOID, bytes_of, lanes_of, vector

ARRAYS = ("z", "mask", "h", "c", "w", "bias", "y", "cells", "gates")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "row_blocks", "steps", "batch", "hidden", "size", "w_row", "reverse")
DTYPES = {F32: dt.float32, F64: dt.float64}
HEIGHTS = {32: (6, 4, 2, 1), 16: (2, 1)}    # rows of a tile of four vectors, by the registers there are


@dataclass(frozen=True)
class Cell:
    """A kind of layer: gates in z, gates kept, vectors of units in a panel, and what becomes of a tile's sums."""

    name: str
    gates: int
    kept: int
    units: int
    adds_input: bool                # whether z is part of the sums, or is added by `finish`
    finish: Callable


def _lstm(p, sums):
    i, f, o = (p.apply("sigmoid", sums[n]) for n in (0, 1, 3))
    g = p.apply("tanh", sums[2])
    before = p.before("c", "cells")
    c = f * before + i * g
    p.keep((i, f, g, o))
    p.state("cells", c, before)
    p.state("y", o * p.apply("tanh", c), p.before("h", "y"))


def _gru(p, sums):
    r, u = (p.apply("sigmoid", p.input(n) + sums[n]) for n in (0, 1))
    n = p.apply("tanh", p.input(2) + r * sums[2])
    before = p.before("h", "y")
    p.keep((r, u, n, sums[2]))
    p.state("y", n + u * (before - n), before)


def _simple(activation):
    def finish(p, sums):
        p.state("y", p.apply(activation, sums[0]), p.before("h", "y"))

    return finish


CELLS = {cell.name: cell for cell in (Cell("lstm", 4, 4, 1, True, _lstm), Cell("gru", 3, 4, 1, False, _gru),
                                      Cell("rnn_tanh", 1, 0, 4, True, _simple("tanh")),
                                      Cell("rnn_relu", 1, 0, 4, True, _simple("relu")))}


@dataclass(frozen=True)
class StepKernel:
    """What a module is made for."""

    target: Target
    element: str
    cell: Cell
    masked: bool

    @property
    def lanes(self) -> int:
        """Units in a vector."""
        return tile_shape(self.target, self.element).lanes

    @property
    def units(self) -> int:
        """Units in a panel."""
        return self.cell.units * self.lanes

    @property
    def columns(self) -> int:
        """Columns of a panel: all gates of its units."""
        return self.cell.gates * self.units

    @property
    def symbol(self) -> str:
        """The step's task; that which packs the weights ends in _pack."""
        return f"{self.cell.name}_{self.element}{'_masked' * self.masked}"

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        heights = HEIGHTS[self.target.vector_registers]
        tables = [module.function_table(f"tiles_{edge:d}", [_tile(module, self, height, edge) for height in heights])
                  for edge in (False, True)]
        write_panel_task(module, f"{self.symbol}_pack", _pack_item(module, self), WORDS)
        write_panel_task(module, self.symbol, _step_item(module, self, heights, tables), WORDS)
        return module.text()


def write_panel_task(module, symbol, item, words):
    """The pool task: a chunk's share of the items."""
    f = module.task(symbol)
    arg, chunk, _ = f.params
    job = Words(f, arg, words)
    first, end = chunk_share(f, job.items, job.chunks, chunk)
    with f.loop(first, end) as loop:
        f.call(item, VOID, arg, loop.index)
    f.ret()


def time_of(f, job, turn):
    """The step that is done in a turn."""
    return f.select(f.compare("ne", job.reverse, 0), f.sub(f.sub(job.steps, 1), turn), turn)


def rows_of_item(f, job, number):
    """(panel, first row, end) of an item."""
    blocks = job.row_blocks
    panel, block = f.div(number, blocks), f.mod(number, blocks)
    return panel, *chunk_share(f, job.batch, blocks, block)


def all_tiles(f, heights, table, low, high, call):
    """call(kernel, row) for tiles of each height in turn, largest first."""
    at = low
    for number, height in enumerate(heights):
        left = f.sub(high, at)
        end = f.add(at, f.sub(left, f.mod(left, height)))
        kernel = f.load(PTR, f.at(table, 8 * number))
        with f.loop(at, end, height) as loop:
            call(kernel, loop.index)
        at = end


# Weights.


def _pack_item(module, kernel):
    """Function that lays out one panel: for each step of the depth, the columns of all gates of its units."""
    cell, lanes, item = kernel.cell, kernel.lanes, bytes_of(kernel.element)
    shape = TileShape(1, cell.gates * cell.units, lanes)
    turn = packers(module, shape, kernel.element)[PACK_TRANSPOSED]
    f = module.function("pack", [(PTR, "arg"), (I64, "panel")], internal=True)
    arg, panel = f.params
    job = Words(f, arg, WORDS)
    w, row, size, hidden = job.address("w"), job.w_row, job.size, job.hidden
    target = f.at(job.address("scratch"), f.mul(f.mul(panel, size), kernel.columns * item))
    first = f.mul(panel, kernel.units)
    for gate in range(cell.gates):
        for part in range(cell.units):
            unit = f.add(first, part * lanes)
            count = f.max(f.min(f.sub(hidden, unit), lanes), 0)
            source = f.at(w, f.mul(f.add(f.mul(hidden, gate), unit), row))
            f.call(turn, VOID, source, f.index(item), row, count, size, f.at(target, (gate * cell.units + part) * lanes * item))
    f.ret()
    return "pack"


# A step.


def _step_item(module, kernel, heights, tables):
    """Function of one panel and some rows of the batch."""
    f = module.function("step", [(PTR, "arg"), (I64, "number")], internal=True)
    arg, number = f.params
    job, item = Words(f, arg, WORDS), bytes_of(kernel.element)
    panel, low, high = rows_of_item(f, job, number)
    turn, size = job.turn, job.size
    t, before = time_of(f, job, turn), time_of(f, job, f.sub(turn, 1))
    first = f.compare("eq", turn, 0)
    h, c = (f.select(first, job.address(start), f.at(job.address(states), f.mul(f.mul(f.mul(before, job.batch), width), item)))
            for start, states, width in (("h", "y", size), ("c", "cells", job.hidden)))
    weights = f.at(job.address("scratch"), f.mul(f.mul(panel, size), kernel.columns * item))
    unit = f.mul(panel, kernel.units)
    edge = f.compare("slt", f.sub(job.hidden, unit), kernel.units)
    table = f.select(edge, tables[1], tables[0])
    all_tiles(f, heights, table, low, high, lambda tile, row: f.call_pointer(tile, VOID, arg, weights, h, c, t, row, unit))
    f.ret()
    return "step"


def _tile(module, kernel, height, edge):
    """Function of some rows and one panel."""
    cell, lanes, element = kernel.cell, kernel.lanes, kernel.element
    name, item = f"tile_{height}{'_edge' * edge}", bytes_of(element)
    f = module.function(name, [*((PTR, n) for n in ("arg", "weights", "h", "c")), *((I64, n) for n in ("t", "row", "unit"))],
                        internal=True)
    arg, weights, h, c, t, row, unit = f.params
    points = [[Point(f, kernel, Words(f, arg, WORDS), {"h": h, "c": c}, t, f.add(row, i), f.add(unit, u * lanes), edge)
               for u in range(cell.units)] for i in range(height)]
    size = points[0][0].job.size
    start = [[p.start(gate) for gate in range(cell.gates) for p in line] for line in points]
    at = f.at(h, f.mul(f.mul(row, size), item))
    tile = add_outer(f, Precision.of(element), start, lanes, size, Operand(at, f.mul(size, item), item),
                     Operand(weights, 0, kernel.columns * item))
    for line, sums in zip(points, tile):
        for number, p in enumerate(line):
            cell.finish(p, [p.wrap(sums[gate * cell.units + number]) for gate in range(cell.gates)])
    f.ret()
    return name


class Point:
    """A vector of units of one row at one step: what epilogues load and store."""

    def __init__(self, f, kernel, job, befores, t, row, unit, edge):
        self.f, self.kernel, self.job, self.befores = f, kernel, job, befores
        self.t, self.row, self.unit = t, row, unit
        self.type = vector(kernel.lanes, kernel.element)
        self.mask = f.mask(f.sub(job.hidden, unit), kernel.lanes) if edge else None
        self.s = LlvmBuilder(f, kernel.lanes)
        self._live = None

    def wrap(self, value):
        """An LLVM value as one that scalar functions take."""
        return self.s.wrap(DTYPES[self.kernel.element], value)

    def apply(self, name, *values):
        """A scalar function."""
        return apply(self.s, name, *values)

    def spot(self, array, t, parts=1, part=0):
        """Where this point lies in an array (T, B, parts * hidden); `array` is a name or a pointer."""
        f, hidden, item = self.f, self.job.hidden, bytes_of(self.kernel.element)
        row = self.row if t is None else f.add(f.mul(t, self.job.batch), self.row)
        at = f.add(f.mul(f.add(f.mul(row, parts), part), hidden), self.unit)
        return f.at(self.job.address(array) if isinstance(array, str) else array, f.mul(at, item))

    def load(self, spot):
        """The vector at a place."""
        return self.wrap(self.f.load(self.type, spot) if self.mask is None else self.f.load_masked(self.type, spot, self.mask))

    def store(self, value, spot):
        """Stores a vector."""
        if self.mask is None:
            self.f.store(value.ref, spot)
        else:
            self.f.store_masked(value.ref, spot, self.mask)

    def input(self, gate):
        """z of a gate."""
        return self.load(self.spot("z", self.t, self.kernel.cell.gates, gate))

    def start(self, gate):
        """What a gate's sum starts from: the input, or the recurrent bias."""
        if self.kernel.cell.adds_input:
            return self.input(gate).ref
        f = self.f
        place = f.add(f.mul(self.job.hidden, gate), self.unit)
        return self.load(f.at(self.job.address("bias"), place, self.kernel.element)).ref

    def before(self, start, states):
        """The state before this step."""
        return self.load(self.spot(self.befores[start], None))

    @property
    def live(self):
        """In every lane, whether this step is real."""
        if self._live is None:
            f = self.f
            byte = f.load(I8, f.at(self.job.address("mask"), f.add(f.mul(self.t, self.job.batch), self.row)))
            self._live = f.compare("ne", f.splat(byte, lanes_of(self.type)), 0)
        return self._live

    def state(self, name, value, before):
        """Stores a state, or the one before where the step is not real."""
        if self.kernel.masked:
            value = self.wrap(self.f.select(self.live, value.ref, before.ref))
        self.store(value, self.spot(name, self.t))

    def keep(self, gates):
        """Stores the gates that gradients read."""
        for number, value in enumerate(gates):
            self.store(value, self.spot("gates", self.t, len(gates), number))
