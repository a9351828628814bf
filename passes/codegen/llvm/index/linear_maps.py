"""Fixed linear maps along the middle dim of [outer, size, inner], as pool tasks: interpolation, even bins, borders.

    y[o][j][i] = sum over k of weights[k][j] * x[o][places[k][j]][i], rounded at each product and each sum

Without weights there is one place for each j, and elements of any kind are copied. Along the last dim (inner = 1) lanes are
adjacent j; adjacent places (`together`, for each k and vector of j) are read as one vector.
"""

from dataclasses import dataclass

from .....ir.target import Target
from ..ir.emit import Module
from ..ir.types import I64, bytes_of, vector
from ..pool.tasks import task_items

ARRAYS = ("x", "places", "together", "weights", "y")
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "items", "size", "count", "inner", "taps")


@dataclass(frozen=True)
class MapKernel:
    """Generator for an element type, weighted or not."""

    target: Target
    element: str
    weighted: bool

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.target.lanes(bytes_of(self.element))

    @property
    def along(self) -> str:
        """Name of the task for inner = 1; an item is one o."""
        return f"map_rows_{self.element}{'_weighted' if self.weighted else ''}"

    @property
    def across(self) -> str:
        """Name of the task for other inner; an item is one (o, j)."""
        return f"map_columns_{self.element}{'_weighted' if self.weighted else ''}"

    def text(self, symbol: str) -> str:
        """Return the module with one of the tasks as LLVM IR."""
        module = Module(self.target)
        with task_items(module, symbol, WORDS) as (f, job, item):
            (_write_row if symbol == self.along else _write_column)(f, self, job, item)
        return module.text()


def _total(f, kernel, taps, term):
    if not kernel.weighted:
        return term(0)
    with f.loop(1, taps, 1, [term(0)]) as loop:
        loop.next(f.fadd(loop.carried[0], term(loop.index)))
    return loop.results[0]


def _write_column(f, kernel, job, item):
    element, inner, count = kernel.element, job.inner, job.count
    plane = f.at(job.address("x"), f.mul(f.mul(f.div(item, count), job.size), inner), element)
    y, number = f.at(job.address("y"), f.mul(item, inner), element), f.mod(item, count)
    type_ = vector(kernel.lanes, element)

    def block(at, mask):
        def term(k):
            entry = f.add(f.mul(k, count), number)
            place = f.load(I64, f.at(job.address("places"), entry, I64))
            value = f.load_masked(type_, f.at(plane, f.add(f.mul(place, inner), at), element), mask)
            if not kernel.weighted:
                return value
            return f.fmul(value, f.splat(f.load(element, f.at(job.address("weights"), entry, element)), kernel.lanes))

        f.store_masked(_total(f, kernel, job.taps, term), f.at(y, at, element), mask)

    f.vectors(inner, kernel.lanes, block)


def _write_row(f, kernel, job, item):
    element, count, lanes = kernel.element, job.count, kernel.lanes
    x, y = (f.at(job.address(name), f.mul(item, n), element) for name, n in (("x", job.size), ("y", count)))
    type_, wide, vectors = vector(lanes, element), vector(lanes, I64), f.ceil_div(count, lanes)

    def block(at, mask):
        def term(k):
            entry = f.add(f.mul(k, count), at)
            sources = f.at(job.address("places"), entry, I64)
            joined = f.load(I64, f.at(job.address("together"), f.add(f.mul(k, vectors), f.div(at, lanes)), I64))

            def one():
                return (f.load_masked(type_, f.at(x, f.load(I64, sources), element), mask),)

            def several():
                numbers = f.load_masked(wide, sources, mask)
                spots = f.op(vector(lanes, "ptr"), f"getelementptr {element}, {x}, {numbers}")
                return (f.gather(type_, spots, mask),)

            value, = f.choose(f.compare("ne", joined, 0), one, several)
            if not kernel.weighted:
                return value
            return f.fmul(value, f.load_masked(type_, f.at(job.address("weights"), entry, element), mask))

        f.store_masked(_total(f, kernel, job.taps, term), f.at(y, at, element), mask)

    f.vectors(count, lanes, block)
