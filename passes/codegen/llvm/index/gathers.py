"""Gather and scatter along the middle dim of [outer, size, inner], as pool tasks:

    gather     y[o][j][i] = x[o][index[o][j][i]][i]
    scatter    x[o][index[o][j][i]][i] = y[o][j][i], or combined with the old value, in the order of j

The index has its own strides, in elements; if that along i is 0, rows of i are moved or combined as vectors. An index out of
range reads and writes nothing, and sets the word at `wrong`.
"""

from dataclasses import dataclass

from ..ir.emit import ElementWriter, ModuleWriter
from ..ir.types import I64, element_of, is_float, vector, zero
from ..pool.tasks import open_task

ARRAYS = ("x", "index", "y", "wrong")
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "items", "size", "count", "inner", "by_outer", "by_count", "by_inner")
AT_ONCE = 4         # elements per step of the loop over valid indices
SET, ADD, MUL, MOST, LEAST = "set", "add", "mul", "amax", "amin"


@dataclass(frozen=True)
class GatherKernel(ModuleWriter):
    """Generator for elements of `item` bytes. An item is one (o, j)."""

    item: int

    @property
    def symbol(self) -> str:
        return f"gather_{self.item}"

    def write(self, module):
        _write(module, self)


@dataclass(frozen=True)
class ScatterKernel(ElementWriter):
    """Generator for an element type and a way to combine. An item is one o."""

    how: str

    @property
    def symbol(self) -> str:
        return f"scatter_{self.element}_{self.how}"

    def write(self, module):
        _write_scatter(module, self)


def _put_inside(f, size, wrong, index, at, put):
    place = f.load(I64, f.at(index, at, I64))
    f.choose(f.compare("ult", place, size), lambda: put(place), lambda: f.store(f.index(1), wrong))


def _combined(f, how, before, more):
    """Combine an old value with a new one; nan wins over numbers."""
    real = is_float(element_of(before.type))
    if how in (ADD, MUL):
        return f.binary(f"f{how}" if real else how, before, more)
    if not real:
        return f.intrinsic("smax" if how == MOST else "smin", before.type, before, more)
    stays = f.compare("oge" if how == MOST else "ole", before, more)
    return f.select(f.binary("or", stays, f.compare("uno", before, before)), before, more)


def _write_scatter(module, kernel):
    (f, job, share), element, how = open_task(module, kernel.symbol, WORDS), kernel.element, kernel.how
    # Words are read before the loops, because LLVM must assume that stores change them.
    inner, count, lanes, size, wrong = job.inner, job.count, f.lanes(element), job.size, job.address("wrong")
    by_count, by_inner = job.by_count, job.by_inner

    def put(type_, spot, source, mask=None):
        value = f.load_masked(type_, source, mask)
        value = value if how == SET else _combined(f, how, f.load_masked(type_, spot, mask), value)
        f.store_masked(value, spot, mask)

    with f.loop(*share) as outer:
        index = f.at(job.address("index"), f.mul(outer.index, job.by_outer), I64)
        x = f.at(job.address("x"), f.mul(f.mul(outer.index, size), inner), element)
        y = f.at(job.address("y"), f.mul(f.mul(outer.index, count), inner), element)

        def alone():
            with f.loop(0, count) as loop:
                _put_inside(f, size, wrong, index, f.mul(loop.index, by_count), lambda place: put(
                    element, f.at(x, place, element), f.at(y, loop.index, element)))

        def rows():
            with f.loop(0, count) as loop:
                source = f.at(y, f.mul(loop.index, inner), element)

                def row(place):
                    spot = f.at(x, f.mul(place, inner), element)
                    f.vectors(inner, lanes, lambda at, mask: put(vector(lanes, element), f.at(spot, at, element),
                                                                 f.at(source, at, element), mask))

                _put_inside(f, size, wrong, index, f.mul(loop.index, by_count), row)

        def elements():
            with f.loop(0, count) as loop, f.loop(0, inner) as column:
                source = f.at(y, f.add(f.mul(loop.index, inner), column.index), element)
                at = f.add(f.mul(loop.index, by_count), f.mul(column.index, by_inner))
                _put_inside(f, size, wrong, index, at, lambda place: put(
                    element, f.at(x, f.add(f.mul(place, inner), column.index), element), source))

        f.choose(f.compare("eq", inner, 1), alone, lambda: f.choose(_moves_rows(f, job), rows, elements))
    f.ret()


def _moves_rows(f, job):
    """Return whether an index stands for several adjacent elements."""
    return f.binary("and", f.compare("eq", job.by_inner, 0), f.compare("ne", job.inner, 1))


def _largest(f, index, number):
    """Return the largest of adjacent indices, as unsigned numbers."""
    lanes = f.lanes(I64)
    type_, whole = vector(lanes, I64), f.bit_and(number, -lanes)
    with f.loop(0, whole, lanes, (zero(type_),)) as loop:
        loop.next(f.intrinsic("umax", type_, loop.carried[0], f.load(type_, f.at(index, loop.index, I64))))
    rest = f.load_masked(type_, f.at(index, whole, I64), f.mask(f.sub(number, whole), lanes))
    return f.intrinsic("vector.reduce.umax", type_, f.intrinsic("umax", type_, loop.results[0], rest), ret=I64)


def _take(f, element, x, index, number, target):
    """Load elements by adjacent indices, all in range."""
    def move(at):
        f.store(f.load(element, f.at(x, f.load(I64, f.at(index, at, I64)), element)), f.at(target, at, element))

    whole = f.bit_and(number, -AT_ONCE)
    with f.loop(0, whole, AT_ONCE) as loop:
        for n in range(AT_ONCE):
            move(f.add(loop.index, n))
    with f.loop(whole, number) as loop:
        move(loop.index)


def _write(module, kernel):
    (f, job, (low, high)), element = open_task(module, kernel.symbol, WORDS), f"i{8 * kernel.item}"
    size, inner, count, wrong, lanes = job.size, job.inner, job.count, job.address("wrong"), f.lanes(element)
    plane, by_count, by_inner = f.mul(size, inner), job.by_count, job.by_inner
    y = job.address("y")

    def valid_index(index, at):
        """Return an index that may be read; set the error word if it is out of range."""
        place = f.load(I64, f.at(index, at, I64))
        with f.when(f.compare("uge", place, size)):
            f.store(f.index(1), wrong)
        return f.select(f.compare("ult", place, size), place, 0)

    def alone():
        """Write inner = 1: items of one outer follow each other."""
        with f.loop(f.div(low, count), f.ceil_div(high, count)) as outer:
            index = f.at(job.address("index"), f.mul(outer.index, job.by_outer), I64)
            x, start = f.at(job.address("x"), f.mul(outer.index, plane), element), f.mul(outer.index, count)
            first, end = f.max(low, start), f.min(high, f.add(start, count))
            number, index = f.sub(end, first), f.at(index, f.mul(f.sub(first, start), by_count), I64)
            target = f.at(y, first, element)

            def each():
                with f.loop(0, number) as loop:
                    place = valid_index(index, f.mul(loop.index, by_count))
                    f.store(f.load(element, f.at(x, place, element)), f.at(target, loop.index, element))

            def neighbours():
                f.choose(f.compare("ult", _largest(f, index, number), size),
                         lambda: _take(f, element, x, index, number, target), each)

            f.choose(f.compare("eq", by_count, 1), neighbours, each)

    def planes():
        with f.loop(low, high) as loop:
            outer, number = f.div(loop.index, count), f.mod(loop.index, count)
            x = f.at(job.address("x"), f.mul(outer, plane), element)
            out = f.at(y, f.mul(loop.index, inner), element)
            index = f.at(job.address("index"), f.add(f.mul(outer, job.by_outer), f.mul(number, by_count)), I64)

            def row():
                source, type_ = f.at(x, f.mul(valid_index(index, 0), inner), element), vector(lanes, element)

                def copy(at, mask):
                    spot, target = f.at(source, at, element), f.at(out, at, element)
                    f.store_masked(f.load_masked(type_, spot, mask), target, mask)

                f.vectors(inner, lanes, copy)

            def elements():
                with f.loop(0, inner) as column:
                    place = f.mul(valid_index(index, f.mul(column.index, by_inner)), inner)
                    f.store(f.load(element, f.at(x, f.add(place, column.index), element)), f.at(out, column.index, element))

            f.choose(_moves_rows(f, job), row, elements)

    f.choose(f.compare("eq", inner, 1), alone, planes)
    f.ret()
