"""One step of a recurrent layer as a pool task: the recurrent product h[t-1] @ w', and the gates right after it.

A panel of weights holds, for some units, the columns of all their gates side by side, so the sums of a few rows, which stay in
the nearest cache, have everything that the units' states need. The launcher runs the task once for each step.

Layouts: z (T, B, gates H), states and cells (T, B, H), gates as the operators in `ir/ops/recurrent.py` give them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ....ir import dtype as dt
from ....ir.target import Target
from ..scalars.activations import relu
from .emit import Module
from .gates import sigmoid, tanh
from .microkernel import Precision, TileShape, tile_shape
from .packing import PACK_TRANSPOSED, packers
from .products import HEIGHTS as TILE_HEIGHTS
from .products import write_product
from .spelling import LlvmBuilder
from .tasks import Words, chunk_share, write_task
from .types import F32, F64, I8, I64, PTR, VOID, bytes_of, lanes_of, null, vector

ARRAYS = ("z", "mask", "h", "c", "w", "bias", "y", "cells", "gates")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "row_blocks", "steps", "batch", "hidden", "size", "w_row", "reverse")
DTYPES = {F32: dt.float32, F64: dt.float64}
ROWS = 2 * TILE_HEIGHTS[0]          # rows whose sums are made before their gates are done


@dataclass(frozen=True)
class Cell:
    """A kind of layer: gates in z, gates kept, vectors of units in a panel, and what becomes of the sums."""

    name: str
    gates: int
    kept: int
    units: int
    finish: Callable


def _lstm(p, sums):
    a = [p.input(n) + x for n, x in enumerate(sums)]
    i, f, o = (sigmoid(p.s, a[n]) for n in (0, 1, 3))
    g = tanh(p.s, a[2])
    before = p.before("c")
    c = f * before + i * g
    p.give("gates", (i, f, g, o))
    p.state("cells", c, before)
    p.state("y", o * tanh(p.s, c), p.before("h"))


def _gru(p, sums):
    a = [p.bias(n) + x for n, x in enumerate(sums)]
    r, u = (sigmoid(p.s, p.input(n) + a[n]) for n in (0, 1))
    n = tanh(p.s, p.input(2) + r * a[2])
    before = p.before("h")
    p.give("gates", (r, u, n, a[2]))
    p.state("y", n + u * (before - n), before)


def _simple(activation):
    def finish(p, sums):
        p.state("y", activation(p.s, p.input(0) + sums[0]), p.before("h"))

    return finish


CELLS = {cell.name: cell for cell in (Cell("lstm", 4, 4, 1, _lstm), Cell("gru", 3, 4, 4, _gru),
                                      Cell("rnn_tanh", 1, 0, 4, _simple(tanh)), Cell("rnn_relu", 1, 0, 4, _simple(relu)))}


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
        write_product(module, Precision.of(self.element))
        for edge in (False, True):
            _write_finish(module, self, edge)
        write_task(module, f"{self.symbol}_pack", _pack_item(module, self), WORDS, worker=False)
        write_task(module, self.symbol, _step_item(module, self), WORDS, worker=False)
        return module.text()


def time_of(f, job, turn):
    """The step that is done in a turn."""
    return f.select(f.compare("ne", job.reverse, 0), f.sub(f.sub(job.steps, 1), turn), turn)


def rows_of_item(f, job, number):
    """(panel, first row, end) of an item."""
    blocks = job.row_blocks
    panel, block = f.div(number, blocks), f.mod(number, blocks)
    return panel, *chunk_share(f, job.batch, blocks, block)


def some_rows(f, low, high, finish, units, multiply):
    """For a few rows at a time: multiply(first row, rows, where the sums go), then finish(row, vector of units, sums)."""
    with f.loop(low, high, ROWS) as loop:
        count = f.min(f.sub(high, loop.index), ROWS)
        multiply(loop.index, count)
        with f.loop(0, count) as rows, f.loop(0, units) as vectors:
            finish(f.add(loop.index, rows.index), rows.index, vectors.index)


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


def _step_item(module, kernel):
    """Function of one panel and some rows of the batch."""
    f = module.function("step", [(PTR, "arg"), (I64, "number")], internal=True)
    arg, number = f.params
    job, item, lanes = Words(f, arg, WORDS), bytes_of(kernel.element), kernel.lanes
    panel, low, high = rows_of_item(f, job, number)
    turn, hidden = job.turn, job.hidden
    t, before = time_of(f, job, turn), time_of(f, job, f.sub(turn, 1))
    first, plane = f.compare("eq", turn, 0), f.mul(f.mul(job.batch, hidden), item)
    h, c = (f.select(first, job.address(start), f.at(job.address(states), f.mul(before, plane)))
            for start, states in (("h", "y"), ("c", "cells")))
    width, row_bytes = f.index(kernel.columns * item), f.mul(hidden, item)
    weights, sums = f.at(job.address("scratch"), f.mul(f.mul(panel, hidden), width)), f.local(ROWS * kernel.columns * item)
    across = f.index(tile_shape(module.target, kernel.element).columns * item)

    def multiply(row, rows):
        f.call("product", VOID, f.at(h, f.mul(row, row_bytes)), weights, sums, row_bytes, f.index(item), width, across, width,
               rows,
               f.index(kernel.columns), hidden, null(), null(), f.index(0))

    def finish(row, place, vector_):
        unit = f.add(f.mul(panel, kernel.units), f.mul(vector_, lanes))
        at = f.at(sums, f.add(f.mul(place, width), f.mul(vector_, lanes * item)))
        call_finish(f, job, unit, lanes, arg, at, h, c, t, row, unit)

    some_rows(f, low, high, finish, kernel.cell.units, multiply)
    f.ret()
    return "step"


def call_finish(f, job, unit, lanes, *args):
    """Calls `finish`, for a whole vector of units or for the last ones."""
    left = f.sub(job.hidden, unit)
    whole, part, done = (f.new_block(hint) for hint in ("whole", "part", "done"))
    f.jump_if(f.compare("sge", left, lanes), whole, part)
    for label, name in ((whole, "finish"), (part, "finish_edge")):
        f.place(label)
        f.call(name, VOID, *args)
        f.jump(done)
    f.place(done)


def _write_finish(module, kernel, edge):
    """Function of a vector of units of one row: from the sums of its gates to its state."""
    cell = kernel.cell
    f = module.function(f"finish{'_edge' * edge}", [*((PTR, n) for n in ("arg", "sums", "h", "c")),
                                                    *((I64, n) for n in ("t", "row", "unit"))], internal=True)
    arg, sums, h, c, t, row, unit = f.params
    p = Point(f, kernel, Words(f, arg, WORDS), {"h": h, "c": c}, t, row, unit, edge)
    gap = kernel.units * bytes_of(kernel.element)
    cell.finish(p, [p.wrap(f.load(p.type, f.at(sums, gate * gap))) for gate in range(cell.gates)])
    f.ret()


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

    def bias(self, gate):
        """The recurrent bias of a gate."""
        f = self.f
        return self.load(f.at(self.job.address("bias"), f.add(f.mul(self.job.hidden, gate), self.unit), self.kernel.element))

    def before(self, state):
        """The state h or c before this step."""
        return self.load(self.spot(self.befores[state], None))

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

    def give(self, name, values):
        """Stores the parts of an array (T, B, parts * hidden)."""
        for part, value in enumerate(values):
            self.store(value, self.spot(name, self.t, len(values), part))
