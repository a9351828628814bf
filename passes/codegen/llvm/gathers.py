"""Elements by index along the middle dim of [outer, size, inner], as pool tasks:

    gather     y[o][j][i] = x[o][index[o][j][i]][i]
    scatter    x[o][index[o][j][i]][i] = y[o][j][i], or += in the order of j

An index that is out of range reads and writes nothing; the word that `wrong` points at is set.
"""

from dataclasses import dataclass

from ....ir.target import Target
from .emit import Module
from .tasks import Words, chunk_share
from .types import I64, Value, is_float

ARRAYS = ("x", "index", "y", "wrong")
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "items", "size", "count", "inner")


@dataclass(frozen=True)
class GatherKernel:
    """What a module is made for: the bytes of an element. An item is one (o, j)."""

    target: Target
    item: int

    @property
    def symbol(self) -> str:
        """The task."""
        return f"gather_{self.item}"

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        _write(module, self)
        return module.text()


@dataclass(frozen=True)
class ScatterKernel:
    """What a module is made for: the type of elements, and whether they are added. An item is one o."""

    target: Target
    element: str
    adds: bool

    @property
    def symbol(self) -> str:
        """The task."""
        return f"scatter_{self.element}{'_add' if self.adds else ''}"

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        _write_scatter(module, self)
        return module.text()


def _checked(f, job, index, at, wrong) -> tuple[Value, Value]:
    """(an index, whether it is in range); notes one that is not."""
    place = f.load(I64, f.at(index, at, I64))
    inside = f.compare("ult", place, job.size)
    with f.when(f.compare("uge", place, job.size)):
        f.store(f.index(1), wrong)
    return place, inside


def _write_scatter(module, kernel):
    f, element = module.task(kernel.symbol), kernel.element
    arg, chunk, _ = f.params
    job = Words(f, arg, WORDS)
    low, high = chunk_share(f, job.items, job.chunks, chunk)
    inner, count, wrong = job.inner, job.count, job.address("wrong")
    index, y = job.address("index"), job.address("y")
    with f.loop(low, high) as outer:
        x = f.at(job.address("x"), f.mul(f.mul(outer.index, job.size), inner), element)
        with f.loop(0, count) as loop, f.loop(0, inner) as column:
            at = f.add(f.mul(f.add(f.mul(outer.index, count), loop.index), inner), column.index)
            place, inside = _checked(f, job, index, at, wrong)
            with f.when(inside):
                value, spot = f.load(element, f.at(y, at, element)), f.at(x, f.add(f.mul(place, inner), column.index), element)
                if kernel.adds:
                    before = f.load(element, spot)
                    value = f.fadd(before, value) if is_float(element) else f.binary("add", before, value)
                f.store(value, spot)
    f.ret()


def _write(module, kernel):
    f, element = module.task(kernel.symbol), f"i{8 * kernel.item}"
    arg, chunk, _ = f.params
    job = Words(f, arg, WORDS)
    low, high = chunk_share(f, job.items, job.chunks, chunk)
    size, inner, wrong = job.size, job.inner, job.address("wrong")
    plane = f.mul(size, inner)
    index, y = job.address("index"), job.address("y")

    def copy(x, at, column):
        place, inside = _checked(f, job, index, at, wrong)
        safe = f.select(inside, place, 0)
        f.store(f.load(element, f.at(x, f.add(f.mul(safe, inner), column), element)), f.at(y, at, element))

    def alone():
        """inner = 1: items of one outer follow each other."""
        with f.loop(f.div(low, job.count), f.ceil_div(high, job.count)) as outer:
            x, start = f.at(job.address("x"), f.mul(outer.index, plane), element), f.mul(outer.index, job.count)
            first, end = f.max(low, start), f.min(high, f.add(start, job.count))
            with f.loop(first, end) as loop:
                copy(x, loop.index, 0)

    def planes():
        with f.loop(low, high) as loop:
            x = f.at(job.address("x"), f.mul(f.div(loop.index, job.count), plane), element)
            with f.loop(0, inner) as column:
                copy(x, f.add(f.mul(loop.index, inner), column.index), column.index)

    f.choose(f.compare("eq", inner, 1), alone, planes)
    f.ret()
