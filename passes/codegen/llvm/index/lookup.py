"""Table lookups by index, as pool tasks: copying rows, adding rows, and sums of rows for bags of indices.

    take    out[i] = table[index[i]]            a chunk is a range of i
    add     table[index[i]] += values[i]        a chunk is a range of columns, so every sum runs in the order of i
    bag     out[b] = the sum of table[index[i]], or of table[index[i]] * scales[i], for i from offsets[b] to the next offset, in
            order                               a chunk is a range of bags

Indices and offsets are 64-bit and in range. The sums of bags stay in registers.
"""

from dataclasses import dataclass

from ..ir.emit import ElementWriter
from ..ir.types import F32, F64, I64, PTR, bytes_of, is_float, vector, zero
from ..pool.tasks import Words, chunk_share, open_task, write_task

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


# Bags.

BAG_ARRAYS, _SCALED_ARRAYS = ("table", "index", "offsets", "out"), ("table", "index", "offsets", "scales", "out")
BAG_WORDS = ("items", "chunks", "count", "width")           # after the scratch and the turn
_TOGETHER = 8                       # vectors of a row summed side by side


@dataclass(frozen=True)
class BagKernel(ElementWriter):
    """Generator for an element type, with or without scales."""

    scaled: bool = False

    @property
    def symbol(self) -> str:
        return f"{'scaled_' * self.scaled}bag_sums_{self.element}"

    @property
    def words(self) -> tuple:
        return (*(_SCALED_ARRAYS if self.scaled else BAG_ARRAYS), "scratch", "turn", *BAG_WORDS)

    def write(self, module):
        f = module.function("bag", [(PTR, "job"), (I64, "bag")], internal=True)
        _write_bag(self, f)
        write_task(module, self.symbol, "bag", self.words, worker=False)


def _write_bag(kernel, f):
    job, bag, element = Words(f, f.params[0], kernel.words), f.params[1], kernel.element
    lanes, size, width, offsets = f.lanes(element), bytes_of(element), job.width, job.address("offsets")
    start, row = f.load(I64, f.at(offsets, bag, I64)), f.mul(width, size)
    last = f.compare("eq", f.add(bag, 1), job.items)
    end, = f.choose(last, lambda: [job.count], lambda: [f.load(I64, f.at(offsets, f.add(bag, 1), I64))])
    table, index, out = job.address("table"), job.address("index"), f.at(job.address("out"), f.mul(bag, row))
    type_, scales = vector(lanes, element), job.address("scales") if kernel.scaled else None

    def columns(at, vectors, mask):
        with f.loop(start, end, 1, [zero(type_)] * vectors) as loop:
            number = f.load(I64, f.at(index, loop.index, I64))
            source = f.at(f.at(table, f.mul(number, row)), at, element)
            spots = [f.at(source, n * lanes, element) for n in range(vectors)]
            loaded = [f.load_masked(type_, spot, mask) for spot in spots]
            if kernel.scaled:
                scale = f.splat(f.load(element, f.at(scales, loop.index, element)), lanes)
                loaded = [f.fmul(x, scale) for x in loaded]
            loop.next(*map(f.fadd, loop.carried, loaded))
        for n, total in enumerate(loop.results):
            spot = f.at(f.at(out, at, element), n * lanes, element)
            f.store_masked(total, spot, mask)

    whole = f.bit_and(width, -_TOGETHER * lanes)
    with f.loop(0, whole, _TOGETHER * lanes) as loop:
        columns(loop.index, _TOGETHER, None)
    with f.loop(whole, width, lanes) as loop:
        columns(loop.index, 1, f.mask(f.sub(width, loop.index), lanes))
    f.ret()
