"""The product of all other elements along the middle dim of [outer, size, inner], as pool tasks: y[r] first becomes the product
of the elements before, step by step, and is then multiplied by that of the elements after, from the end.

Rows and blocks run side by side as in scans (`scans.py`).
"""

from dataclasses import dataclass

from ..ir.emit import Module
from ..ir.types import constant, vector
from .scans import BLOCK, FEW, ScanKernel, across, along, load_square, places_of, store_square

OTHERS = "others"


@dataclass(frozen=True)
class OtherProducts(ScanKernel):
    """What a module is made for: the type of elements, floats."""

    how: str = OTHERS

    @property
    def cost(self) -> int:
        """Work of a step, in simple instructions."""
        return 8

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        _write_along(module, self)
        _write_across(module, self)
        return module.text()


def _row(f, kernel, job, row):
    """One row, one element after the other."""
    places, element = places_of(f, kernel, job, row), kernel.element

    def spot(name, at):
        return f.at(places[name][0], at, element)

    with f.loop(0, job.size, 1, [constant(element, 1.0)]) as loop:
        f.store(loop.carried[0], spot("y", loop.index))
        loop.next(f.fmul(loop.carried[0], f.load(element, spot("x", loop.index))))
    with f.loop(0, job.size, 1, [constant(element, 1.0)]) as loop:
        at = f.sub(f.sub(job.size, 1), loop.index)
        f.store(f.fmul(f.load(element, spot("y", at)), loop.carried[0]), spot("y", at))
        loop.next(f.fmul(loop.carried[0], f.load(element, spot("x", at))))


def _rows(f, kernel, job, first, count):
    """`count` rows from the row `first` on, at most as many as a vector has lanes, a lane each."""
    lanes, places = kernel.rows, places_of(f, kernel, job, first)
    whole = f.select(f.compare("eq", f.index(count), lanes), f.bit_and(job.size, -lanes), f.index(0))
    rest = f.mul(f.ceil_div(f.sub(job.size, whole), lanes), lanes)
    last = f.sub(f.add(whole, rest), lanes)
    with f.loop(0, whole, lanes, [constant(vector(lanes, kernel.element), 1.0)]) as loop:
        loop.next(_forwards(f, job, places, loop.index, None, lanes, *loop.carried))
    with f.loop(whole, job.size, lanes, loop.results) as loop:
        loop.next(_forwards(f, job, places, loop.index, count, lanes, *loop.carried))
    with f.loop(0, rest, lanes, [constant(vector(lanes, kernel.element), 1.0)]) as loop:
        loop.next(_backwards(f, job, places, f.sub(last, loop.index), count, lanes, *loop.carried))
    with f.loop(0, whole, lanes, loop.results) as loop:
        loop.next(_backwards(f, job, places, f.sub(f.sub(whole, lanes), loop.index), None, lanes, *loop.carried))


def _forwards(f, job, places, at, count, lanes, product):
    """Writes what comes before the elements of a square; `product` is what comes before that. What comes after that."""
    found = []
    for x in load_square(f, job, places["x"], at, count, lanes):
        found.append(product)
        product = f.fmul(product, x)
    store_square(f, job, places["y"], at, count, found)
    return product


def _backwards(f, job, places, at, count, lanes, product):
    """Multiplies what is there by what comes after the elements of a square, from its last one on."""
    xs, ys = [load_square(f, job, places[name], at, count, lanes) for name in ("x", "y")]
    for n in range(lanes - 1, -1, -1):
        ys[n], after = f.fmul(ys[n], product), f.fmul(product, xs[n])
        is_there = None if count is None else f.compare("slt", f.add(at, n), job.size)
        product = after if is_there is None else f.select(is_there, after, product)
    store_square(f, job, places["y"], at, count, ys)
    return product


def _write_along(module, kernel):
    def write(f, job, first, count, one_by_one):
        f.choose(f.compare("sle", count, FEW), lambda: one_by_one(_row), lambda: _rows(f, kernel, job, first, count))

    along(module, kernel, write)


def _write_across(module, kernel):
    element = kernel.element

    def write(f, job, start, masks):
        lanes, type_ = f.lanes(element), vector(f.lanes(element), element)

        def each(row, products, value):
            """A step of all vectors of the block."""
            at, after = f.add(start, f.mul(row, job.inner)), []
            for n, (mask, product) in enumerate(zip(masks, products)):
                x, y = [f.at(job.address(name), f.add(at, n * lanes), element) for name in ("x", "y")]
                f.store_masked(value(product, y, mask), y, mask)
                after.append(f.fmul(product, f.load_masked(type_, x, mask)))
            return after

        begin = [constant(type_, 1.0)] * BLOCK
        with f.loop(0, job.size, 1, begin) as rows:
            rows.next(*each(rows.index, rows.carried, lambda product, y, mask: product))
        with f.loop(0, job.size, 1, begin) as rows:
            back = f.sub(f.sub(job.size, 1), rows.index)
            rows.next(*each(back, rows.carried, lambda product, y, mask: f.fmul(f.load_masked(type_, y, mask), product)))

    across(module, kernel, write)
