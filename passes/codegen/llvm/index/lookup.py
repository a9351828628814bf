"""Table lookups by index, as pool tasks: copying rows, and adding rows.

    take    out[i] = table[index[i]]            a chunk is a range of i
    add     table[index[i]] += values[i]        a chunk is a range of columns, so every sum runs in the order of i

Indices are 64-bit and in range.
"""

from dataclasses import dataclass

from ..ir.emit import ElementWriter
from ..ir.types import F32, F64, I64, bytes_of, is_float, vector, zero
from ..pool.tasks import Words, chunk_share, open_task

ARRAYS = ("table", "index", "rows")
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "count", "width", "table_rows", "table_row", "row", "clears")
_UNROLL = 4
_COLUMNS = 16                       # columns of a block: a cache line of floats


@dataclass(frozen=True)
class LookupKernel(ElementWriter):
    """Generator for an element type: any of its size for take, a float for add."""

    @property
    def adds(self) -> bool:
        """Whether the module has the task that adds."""
        return is_float(self.element) and self.element in (F32, F64)

    @property
    def take(self) -> str:
        """Name of the task that copies rows."""
        return f"take_rows_{self.element}"

    @property
    def add(self) -> str:
        """Name of the task that adds rows."""
        return f"add_rows_{self.element}"

    def write(self, module):
        _write_take(module, self)
        if self.adds:
            _write_add(module, self)


def _along(f, element, columns, each):
    """Call each(first column, mask) for vectors of a row."""
    lanes = f.lanes(element)
    whole = f.bit_and(columns, -_UNROLL * lanes)
    with f.loop(0, whole, _UNROLL * lanes) as loop:
        each([f.add(loop.index, n * lanes) for n in range(_UNROLL)], None)
    with f.loop(whole, columns, lanes) as loop:
        each([loop.index], f.mask(f.sub(columns, loop.index), lanes))


def _load(f, element, pointer, at, mask):
    kind, spot = vector(f.lanes(element), element), f.at(pointer, at, element)
    return f.load_masked(kind, spot, mask)


def _store(f, element, value, pointer, at, mask):
    spot = f.at(pointer, at, element)
    f.store_masked(value, spot, mask)


def _write_take(module, kernel):
    f, job, share = open_task(module, kernel.take, WORDS, "count")
    element = kernel.element
    with f.loop(*share) as loop:
        number = f.load(I64, f.at(job.address("index"), loop.index, I64))
        source = f.at(job.address("table"), f.mul(number, job.table_row))
        target = f.at(job.address("rows"), f.mul(loop.index, job.row))

        def copy(spots, mask, source=source, target=target):
            for at, value in [(at, _load(f, element, source, at, mask)) for at in spots]:
                _store(f, element, value, target, at, mask)

        _along(f, element, job.width, copy)
    f.ret()


def _write_add(module, kernel):
    f, element = module.task(kernel.add), kernel.element
    arg, chunk, _ = f.params
    job, size = Words(f, arg, WORDS), bytes_of(kernel.element)
    low, high = chunk_share(f, f.ceil_div(job.width, _COLUMNS), job.chunks, chunk)
    start, columns = f.mul(low, _COLUMNS), f.sub(f.min(f.mul(high, _COLUMNS), job.width), f.mul(low, _COLUMNS))
    table, rows = (f.at(job.address(name), f.mul(start, size)) for name in ("table", "rows"))
    nothing = zero(vector(f.lanes(element), element))
    with f.when(f.compare("ne", job.clears, 0)), f.loop(0, job.table_rows) as loop:
        target = f.at(table, f.mul(loop.index, job.table_row))
        _along(f, element, columns, lambda spots, mask: [_store(f, element, nothing, target, at, mask) for at in spots])
    with f.loop(0, job.count) as loop:
        number = f.load(I64, f.at(job.address("index"), loop.index, I64))
        target, source = f.at(table, f.mul(number, job.table_row)), f.at(rows, f.mul(loop.index, job.row))

        def add(spots, mask, source=source, target=target):
            pairs = [(_load(f, element, target, at, mask), _load(f, element, source, at, mask)) for at in spots]
            for at, (before, more) in zip(spots, pairs):
                _store(f, element, f.fadd(before, more), target, at, mask)

        _along(f, element, columns, add)
    f.ret()
