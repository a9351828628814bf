"""Running sums as pool tasks: y[r] = y[r - 1] + x[r], rounded at every element, along the middle dim of [outer, size, inner].

Where inner is 1, a row is one chain of additions, so `ROWS` rows run side by side; else vectors of inner elements are added row
by row, block by block of inner.
"""

from dataclasses import dataclass

from ....ir.target import Target
from .emit import Module
from .tasks import Words, chunk_share
from .types import bytes_of, constant, is_float, vector, zero

ARRAYS = ("x", "y")
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "items", "outer", "size", "inner")
ROWS = 8                # rows whose chains run side by side
BLOCK = 4               # vectors of inner elements that run side by side


@dataclass(frozen=True)
class ScanKernel:
    """What a module is made for: the type of elements."""

    target: Target
    element: str

    @property
    def along(self) -> str:
        """The task for inner = 1; an item is `ROWS` rows."""
        return f"scan_rows_{self.element}"

    @property
    def across(self) -> str:
        """The task for other inner; an item is a block of inner of one outer."""
        return f"scan_columns_{self.element}"

    @property
    def block(self) -> int:
        """Inner elements of an item."""
        return BLOCK * self.target.lanes(bytes_of(self.element))

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        _write_along(module, self)
        _write_across(module, self)
        return module.text()


def _add(f, kernel, a, b):
    return f.fadd(a, b) if is_float(kernel.element) else f.binary("add", a, b)


def _nothing(type_):
    """What leaves every element as it is when it is added: -0.0 for floats."""
    return constant(type_, -0.0) if is_float(type_) else zero(type_)


def _rows(f, kernel, job, first, count: int):
    """`count` rows from the row `first` on."""
    element, step = kernel.element, f.mul(job.size, bytes_of(kernel.element))
    starts = [f.mul(f.add(first, n), step) for n in range(count)]
    sources = [f.at(job.address("x"), start) for start in starts]
    targets = [f.at(job.address("y"), start) for start in starts]
    with f.loop(0, job.size, 1, [_nothing(element)] * count) as loop:
        sums = [_add(f, kernel, total, f.load(element, f.at(source, loop.index, element)))
                for total, source in zip(loop.carried, sources)]
        for total, target in zip(sums, targets):
            f.store(total, f.at(target, loop.index, element))
        loop.next(*sums)


def _write_along(module, kernel):
    f = module.task(kernel.along)
    arg, chunk, _ = f.params
    job = Words(f, arg, WORDS)
    low, high = chunk_share(f, job.items, job.chunks, chunk)
    first, end = f.mul(low, ROWS), f.min(f.mul(high, ROWS), job.outer)
    whole = f.add(first, f.bit_and(f.sub(end, first), -ROWS))
    with f.loop(first, whole, ROWS) as loop:
        _rows(f, kernel, job, loop.index, ROWS)
    with f.loop(whole, end) as loop:
        _rows(f, kernel, job, loop.index, 1)
    f.ret()


def _write_across(module, kernel):
    f, element = module.task(kernel.across), kernel.element
    arg, chunk, _ = f.params
    job, item, lanes = Words(f, arg, WORDS), bytes_of(kernel.element), f.lanes(kernel.element)
    low, high = chunk_share(f, job.items, job.chunks, chunk)
    blocks, type_ = f.ceil_div(job.inner, kernel.block), vector(lanes, element)
    with f.loop(low, high) as loop:
        column = f.mul(f.mod(loop.index, blocks), kernel.block)
        start = f.mul(f.add(f.mul(f.mul(f.div(loop.index, blocks), job.size), job.inner), column), item)
        x, y = f.at(job.address("x"), start), f.at(job.address("y"), start)
        masks = [f.mask(f.sub(f.sub(job.inner, column), n * lanes), lanes) for n in range(BLOCK)]
        with f.loop(0, job.size, 1, [_nothing(type_)] * BLOCK) as rows:
            at, sums = f.mul(f.mul(rows.index, job.inner), item), []
            for n, (total, mask) in enumerate(zip(rows.carried, masks)):
                value = f.load_masked(type_, f.at(f.at(x, at), n * lanes, element), mask)
                sums.append(_add(f, kernel, total, value))
                f.store_masked(sums[-1], f.at(f.at(y, at), n * lanes, element), mask)
            rows.next(*sums)
    f.ret()
