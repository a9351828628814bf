"""One step of a recurrent layer's backward walk as a pool task: the recurrent product, and the gates' slopes in its epilogue.

    dh = gy[t] + carry + da[t+1] @ w        and from it dz[t], da[t] and what of dh goes past the recurrent product

Turn T, after the walk, leaves the gradient of the first state. `da` is dz but for GRUs, whose new gate adds the recurrent
product after it was multiplied by the reset gate. `dh` (B, H) carries what goes past, `dc` the cell's gradient; both start
with zeros.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ....ir.target import Target
from .conv_steps import Words
from .emit import Module
from .microkernel import Operand, Precision, add_outer, tile_shape
from .packing import PACK_ROWS, packers
from .recurrent import HEIGHTS, Point, all_tiles, rows_of_item, time_of, write_panel_task
from .types import I64, PTR, VOID, bytes_of, zero

ARRAYS = ("gy", "gc", "gg", "y", "cells", "gates", "mask", "h", "c", "w", "dz", "da", "dh", "dc")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "row_blocks", "steps", "batch", "hidden", "w_row", "reverse")


@dataclass(frozen=True)
class CellGrad:
    """A kind of layer: gates in z, whether da is apart from dz, and the slopes."""

    name: str
    gates: int
    apart: bool
    finish: Callable


def _logistic(gradient, out):
    return gradient * (out * (1.0 - out))


def _hyperbolic(gradient, out):
    return gradient * (1.0 - out * out)


def _lstm(p, dh):
    i, f, g, o = p.kept("gates", 4)
    di, df, dg, do = p.kept("gg", 4)
    arrived = p.load(p.spot("gc", p.t)) + p.load(p.spot("dc", None))
    inside, squashed = p.inside(arrived), p.apply("tanh", p.load(p.spot("cells", p.t)))
    slope = inside + _hyperbolic(dh * o, squashed)
    p.give("dz", (_logistic(di + slope * g, i), _logistic(df + slope * p.before("c", "cells"), f),
                  _hyperbolic(dg + slope * i, g), _logistic(do + dh * squashed, o)))
    p.store(p.past(slope * f, arrived), p.spot("dc", None))
    return p.wrap(zero(p.type))


def _gru(p, dh):
    r, u, n, m = p.kept("gates", 4)
    dr, du, dn, dm = p.kept("gg", 4)
    dn = _hyperbolic(dn + dh * (1.0 - u), n)
    du = _logistic(du + dh * (p.before("h", "y") - n), u)
    dr = _logistic(dr + dn * m, r)
    p.give("dz", (dr, du, dn))
    p.give("da", (dr, du, dm + dn * r))
    return dh * u


def _simple(slope):
    def finish(p, dh):
        p.give("dz", (slope(p, dh, p.load(p.spot("y", p.t))),))
        return p.wrap(zero(p.type))

    return finish


CELLS = {cell.name: cell for cell in (
    CellGrad("lstm", 4, False, _lstm), CellGrad("gru", 3, True, _gru),
    CellGrad("rnn_tanh", 1, False, _simple(lambda p, dh, y: _hyperbolic(dh, y))),
    CellGrad("rnn_relu", 1, False, _simple(lambda p, dh, y: p.s.select(y > 0.0, dh, p.wrap(zero(p.type))))))}


@dataclass(frozen=True)
class StepGradKernel:
    """What a module is made for."""

    target: Target
    element: str
    cell: CellGrad
    masked: bool

    @property
    def lanes(self) -> int:
        """Units in a vector."""
        return tile_shape(self.target, self.element).lanes

    @property
    def vectors(self) -> int:
        """Vectors of units in a panel."""
        return tile_shape(self.target, self.element).vectors

    @property
    def units(self) -> int:
        """Units in a panel."""
        return self.vectors * self.lanes

    @property
    def symbol(self) -> str:
        """The step's task; that which packs the weights ends in _pack."""
        return f"{self.cell.name}_grad_{self.element}{'_masked' * self.masked}"

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        heights = HEIGHTS[self.target.vector_registers]
        kinds = [(edge, last) for last in (False, True) for edge in (False, True)]
        tables = [module.function_table(f"tiles_{edge:d}{last:d}", [_tile(module, self, n, edge, last) for n in heights])
                  for edge, last in kinds]
        write_panel_task(module, f"{self.symbol}_pack", _pack_item(module, self), WORDS)
        write_panel_task(module, self.symbol, _step_item(module, self, heights, tables), WORDS)
        return module.text()


def _pack_item(module, kernel):
    """Function that lays out one panel: for each row of the weights, the columns of its units."""
    item = bytes_of(kernel.element)
    pack = packers(module, tile_shape(module.target, kernel.element), kernel.element)[PACK_ROWS]
    f = module.function("pack", [(PTR, "arg"), (I64, "panel")], internal=True)
    arg, panel = f.params
    job, unit = Words(f, arg, WORDS), f.mul(panel, kernel.units)
    depth = f.mul(job.hidden, kernel.cell.gates)
    f.call(pack, VOID, f.at(job.address("w"), f.mul(unit, item)), job.w_row, f.index(item),
           f.min(f.sub(job.hidden, unit), kernel.units), depth,
           f.at(job.address("scratch"), f.mul(f.mul(panel, depth), kernel.units * item)))
    f.ret()
    return "pack"


def _step_item(module, kernel, heights, tables):
    """Function of one panel of units and some rows of the batch."""
    f = module.function("step", [(PTR, "arg"), (I64, "number")], internal=True)
    arg, number = f.params
    job, item, cell = Words(f, arg, WORDS), bytes_of(kernel.element), kernel.cell
    panel, low, high = rows_of_item(f, job, number)
    turn, plane = job.turn, f.mul(job.batch, job.hidden)
    # The walk goes against the reading order: in turn k it is at reading step T - 1 - k.
    reading = f.sub(f.sub(job.steps, 1), turn)
    t, after, before = (time_of(f, job, f.add(reading, n)) for n in (0, 1, -1))
    depth = f.select(f.compare("eq", turn, 0), f.index(0), f.mul(job.hidden, cell.gates))
    da = f.at(job.address("da" if cell.apart else "dz"), f.mul(f.mul(after, plane), cell.gates * item))
    first = f.compare("sle", reading, 0)
    h, c = (f.select(first, job.address(start), f.at(job.address(states), f.mul(f.mul(before, plane), item)))
            for start, states in (("h", "y"), ("c", "cells")))
    unit = f.mul(panel, kernel.units)
    weights = f.at(job.address("scratch"), f.mul(f.mul(f.mul(job.hidden, cell.gates), unit), item))
    edge, last = f.compare("slt", f.sub(job.hidden, unit), kernel.units), f.compare("slt", reading, 0)
    table = f.select(last, f.select(edge, tables[3], tables[2]), f.select(edge, tables[1], tables[0]))
    all_tiles(f, heights, table, low, high,
              lambda tile, row: f.call_pointer(tile, VOID, arg, weights, da, h, c, depth, t, row, unit))
    f.ret()
    return "step"


def _tile(module, kernel, height, edge, last):
    """Function of some rows and one panel; the last turn stores sums as they are."""
    lanes, element, gates = kernel.lanes, kernel.element, kernel.cell.gates
    name, item = f"tile_{height}{'_edge' * edge}{'_last' * last}", bytes_of(element)
    f = module.function(name, [*((PTR, n) for n in ("arg", "weights", "da", "h", "c")),
                               *((I64, n) for n in ("depth", "t", "row", "unit"))], internal=True)
    arg, weights, da, h, c, depth, t, row, unit = f.params
    job = Words(f, arg, WORDS)
    points = [[GradPoint(f, kernel, job, {"h": h, "c": c}, t, f.add(row, i), f.add(unit, v * lanes), edge)
               for v in range(kernel.vectors)] for i in range(height)]
    a_row = f.mul(job.hidden, gates * item)
    carried = [[p.load(p.spot("dh", None)) for p in line] for line in points]
    tile = add_outer(f, Precision.of(element), [[v.ref for v in line] for line in carried], lanes, depth,
                     Operand(f.at(da, f.mul(row, a_row)), a_row, item), Operand(weights, 0, kernel.units * item))
    for line, sums in zip(points, tile):
        for p, total in zip(line, sums):
            p.store(p.wrap(total) if last else p.finish(p.wrap(total)), p.spot("dh", None))
    f.ret()
    return name


class GradPoint(Point):
    """A vector of units of one row in the backward walk."""

    def finish(self, carried):
        """Everything that the gradient of a state decides; gives what goes past the recurrent product."""
        arrived = self.load(self.spot("gy", self.t)) + carried
        direct = self.kernel.cell.finish(self, self.inside(arrived))
        return self.past(direct, arrived)

    def inside(self, gradient):
        """What of a gradient goes into the step: nothing where the step is not real."""
        return self._choose(gradient, self.wrap(zero(self.type)))

    def past(self, value, gradient):
        """What goes to the step before without the recurrent product: all of it where the step is not real."""
        return self._choose(value, gradient)

    def _choose(self, real, other):
        return self.wrap(self.f.select(self.live, real.ref, other.ref)) if self.kernel.masked else real

    def kept(self, name, parts):
        """The parts of an array (T, B, parts * hidden)."""
        return [self.load(self.spot(name, self.t, parts, part)) for part in range(parts)]

    def give(self, name, values):
        """Stores the parts of a gradient."""
        for part, value in enumerate(values):
            self.store(value, self.spot(name, self.t, len(values), part))
