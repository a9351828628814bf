"""One step of a recurrent layer's backward walk as a pool task: the recurrent product, and the gates' slopes right after it.

    dh = gy[t] + carry + da[t+1] @ w        gives dz[t], da[t] and the part of dh that bypasses the recurrent product

Turn T, after the walk, leaves the gradient of the first state. `da` is dz except for GRUs, whose new gate multiplies the
recurrent product by the reset gate before adding it. `dh` (B, H) carries the bypassing part, `dc` the cell's gradient; both
start with zeros. `upstream` names the outside gradients gy, gc and gg (of states, cells and gates) that exist.
"""

from dataclasses import dataclass

from ...recurrent_cells import Cell
from ..contract.inline_gemm import write_product
from ..contract.microkernel import Precision, tile_shape
from ..contract.packing import PACK_ROWS, packers
from ..ir.emit import ModuleWriter
from ..ir.types import I64, PTR, VOID, bytes_of, null, zero
from ..pool.tasks import Words, write_task
from .recurrent import ROWS, Point, call_finish, fetch_streams, rows_of_item, rows_side_by_side, some_rows, time_of

UPSTREAM = ("gy", "gc", "gg")
ARRAYS = (*UPSTREAM, "y", "cells", "gates", "mask", "h", "c", "w", "dz", "da", "dh", "dc")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "row_blocks", "steps", "batch", "hidden", "size", "w_row", "reverse")


@dataclass(frozen=True)
class StepGradKernel(ModuleWriter):
    """Generator of a cell's backward step.

        upstream   existing gradients among gy, gc and gg
        direct     weights are not packed
    """

    element: str
    cell: Cell
    masked: bool
    upstream: tuple = ("gy",)
    direct: bool = False

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
        return self.vectors * self.lanes

    @property
    def packs(self) -> bool:
        """Whether a task packs the weights."""
        return not self.direct

    @property
    def symbol(self) -> str:
        return "_".join((self.cell.name, "grad", self.element, *["masked"] * self.masked, *self.upstream,
                         *["direct"] * self.direct))

    @property
    def rows_at_once(self) -> int:
        """Rows whose slopes are computed side by side."""
        return rows_side_by_side(self.target)

    @property
    def streams(self) -> tuple:
        """Arrays of a step that are not in cache: (array, parts, whether it is written)."""
        cell, sizes = self.cell, {"gy": 1, "gc": 1, "gg": self.cell.saved}
        found = [("dz", cell.gates, True)] + [("da", cell.gates, True)] * cell.apart
        found += [("gates", cell.saved, False)] * (cell.saved > 0) + [("cells", 1, False)] * cell.has_cells
        return (*found, *[(name, sizes[name], False) for name in self.upstream])

    def write(self, module):
        item = bytes_of(self.element)
        write_product(module, Precision.of(self.element), steps=(item, None if self.direct else self.units * item))
        for edge in (False, True):
            _write_finish(module, self, edge)
        if not self.direct:
            write_task(module, f"{self.symbol}_pack", _pack_item(module, self), WORDS, worker=False)
        write_task(module, self.symbol, _step_item(module, self), WORDS, worker=False)


def _pack_item(module, kernel):
    """Write the function that packs one panel: for each row of the weights, the columns of its units."""
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


def _slopes_after(f, job, kernel):
    """Return the address of the later step's da. In the first turn, which multiplies nothing, it is beyond the array."""
    cell, after = kernel.cell, time_of(f, job, f.sub(job.steps, job.turn))
    plane = f.mul(f.mul(job.batch, job.hidden), cell.gates * bytes_of(kernel.element))
    return f.at(job.address("da" if cell.apart else "dz"), f.mul(after, plane))


def _step_item(module, kernel):
    """Write the function of one panel of units and some rows of the batch."""
    f = module.function("step", [(PTR, "arg"), (I64, "number")], internal=True)
    arg, number = f.params
    job, item, cell, lanes = Words(f, arg, WORDS), bytes_of(kernel.element), kernel.cell, kernel.lanes
    panel, low, high = rows_of_item(f, job, number)
    turn, hidden = job.turn, job.hidden
    plane, row_bytes = f.mul(f.mul(job.batch, hidden), item), f.mul(hidden, cell.gates * item)
    # The walk reverses the reading order: turn k is reading step T - 1 - k.
    reading = f.sub(f.sub(job.steps, 1), turn)
    t, before = time_of(f, job, reading), time_of(f, job, f.sub(reading, 1))
    depth = f.select(f.compare("eq", turn, 0), f.index(0), f.mul(hidden, cell.gates))
    da = _slopes_after(f, job, kernel)
    first, last = f.compare("sle", reading, 0), f.cast("zext", f.compare("slt", reading, 0), I64)
    h, c = (f.select(first, job.address(start), f.at(job.address(states), f.mul(before, plane)))
            for start, states in (("h", "y"), ("c", "cells")))
    start, width = f.mul(panel, kernel.units), f.index(kernel.units * item)
    sums, columns = f.local(ROWS * kernel.units * item), f.index(kernel.units)
    weights, below = f.at(job.address("scratch"), f.mul(start, row_bytes)), width
    if kernel.direct:
        weights, below = f.at(job.address("w"), f.mul(start, item)), job.w_row
        columns = f.min(f.sub(hidden, start), kernel.units)

    def multiply(row, rows):
        # In the last turn, t is before the first step: these prefetches are unused and may have any address.
        fetch_streams(f, job, kernel.streams, t, (row, f.add(row, rows)), (start, kernel.units), item)
        f.call("product", VOID, f.at(da, f.mul(row, row_bytes)), weights, sums, row_bytes, f.index(item), below, width, width,
               rows, columns, depth, null(), null(), f.index(0))

    def finish(row, place, other, vector_):
        unit = f.add(start, f.mul(vector_, lanes))
        at = f.at(sums, f.add(f.mul(place, width), f.mul(vector_, lanes * item)))
        call_finish(f, job, unit, lanes, arg, at, h, c, t, row, other, unit, last)

    vectors = f.min(kernel.vectors, f.ceil_div(f.sub(hidden, start), lanes))
    some_rows(f, low, high, ROWS, finish, vectors, multiply, kernel.rows_at_once)
    f.ret()
    return "step"


def _write_finish(module, kernel, edge):
    """Write the function of a vector of units of a row: from the recurrent sum to the slopes; the last turn stores the sum."""
    f = module.function(f"finish{'_edge' * edge}", [*((PTR, n) for n in ("arg", "sums", "h", "c")),
                                                    *((I64, n) for n in ("t", "row", "other", "unit", "last"))], internal=True)
    arg, sums, h, c, t, row, other, unit, last = f.params
    p = GradPoint(f, kernel, Words(f, arg, WORDS), {"h": h, "c": c}, t, (row, other), unit, edge)
    total = p.sums(sums, kernel.units, 0) + p.load(p.spot("dh", None))
    done, = f.choose(f.compare("ne", last, 0), lambda: (total.ref,), lambda: (p.finish(total).ref,))
    p.store(p.wrap(done), p.spot("dh", None))
    f.ret()


class GradPoint(Point):
    """A vector of units of one row, or of two, in the backward walk."""

    def finish(self, carried):
        """Compute all that the gradient of a state decides; return the part that bypasses the recurrent product."""
        arrived = self.plus("gy", carried)
        direct = self.kernel.cell.slopes(self, self.inside(arrived))
        return self.past(direct, arrived)

    def inside(self, gradient):
        """Return the gradient that enters the step: zero if the step is padding."""
        return self._choose(gradient, self.nothing())

    def nothing(self):
        return self.wrap(zero(self.type))

    def past(self, value, gradient):
        """Return the gradient that bypasses the product: all of it if the step is padding."""
        return self._choose(value, gradient)

    def _choose(self, real, other):
        return self.wrap(self.f.select(self.live, real.ref, other.ref)) if self.kernel.masked else real

    def saved_parts(self, name, parts):
        """Load the parts of an array (T, B, parts * hidden)."""
        return [self.load(self.spot(name, self.t, parts, part)) for part in range(parts)]

    def saved_array(self, name):
        """Load a saved array at this step."""
        return self.load(self.spot(name, self.t))

    def carried(self, name):
        """Load a gradient from the later step."""
        return self.load(self.spot(name, None))

    def carry(self, name, value):
        """Store a gradient for the earlier step."""
        self.store(value, self.spot(name, None))

    def plus(self, name, value, parts=1, part=0):
        """Return a value plus an outside gradient, if there is one."""
        return self.load(self.spot(name, self.t, parts, part)) + value if name in self.kernel.upstream else value
