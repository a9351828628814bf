"""Discrete Fourier transforms as pool tasks, on arrays of interleaved complex numbers.

A column transform takes as many columns as a vector has lanes side by side. Rows of the scratch are a vector of real parts and
one of imaginary parts, on which passes of radix 2, 3, 4, 5 and 8 work in place (`_write_pass`), from a permuted order of rows
to the natural one. Twiddle factors are numbers, the same for all lanes; the last pass writes results in their order.

A row of n = lanes * m numbers is such a transform, too. x[j * m + c] for j = 0 .. lanes - 1 are transformed in registers, side
by side for adjacent c, multiplied by exp(-2 pi i c k / n), and stored with k along lanes: m rows, whose transform gives X[k +
lanes * r] in row r, in order. A row of real numbers is a row of half as many complex ones (even indices, odd indices), whose
frequencies k and -k are separated afterwards; a row of frequencies of real numbers is combined like this before.
"""

from dataclasses import dataclass

from ..contract.microkernel import multiply_add, transpose
from ..ir.emit import ModuleWriter
from ..ir.types import I64, PTR, VOID, Value, bytes_of, mangled, vector
from ..pool.tasks import Words, write_task
from .butterflies import complex_product, transform

ARRAYS = ("x", "out", "factors")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "rows", "places", "count", "passes", "x_outer", "x_row", "out_outer",
         "out_row", "width", "blocks", "between", "halves", "inverse", "scale", "scratch_bytes")
# `factors` holds numbers: those of the passes, from byte `between` those between the two parts of a row, vector by vector, and
# from `halves` those of real rows. `places` gives the byte of the scratch for each row; `passes` has `count` rows of
# PASS_WORDS. Items are x_outer and out_outer bytes apart; columns have `blocks` of `width` in all.
RADICES = (8, 5, 4, 3, 2)
PASS_WORDS = 4              # words of a pass: radix, rows of its inputs (0 for the first: single rows), number of results, byte
                            # of its factors
TASKS = ("rows", "columns", "halves", "wholes")
SPARE = 1                   # spare rows of the scratch, for numbers of no row


@dataclass(frozen=True)
class FourierKernel(ModuleWriter):
    """Generator for an element type and the vectors' lanes."""

    element: str
    lanes: int

    @property
    def row_bytes(self) -> int:
        return 2 * self.lanes * bytes_of(self.element)

    @property
    def symbols(self) -> list:
        """Names of the tasks, in the order of TASKS."""
        return [f"fourier_{name}_{mangled(self.element)}_{self.lanes}" for name in TASKS]

    def write(self, module):
        for radix in RADICES:
            for kind in _KINDS:
                _write_pass(module, self, radix, kind)
        _write_passes(module, self)
        _write_row(module, self)
        writers = (_write_rows, _write_columns, _write_halves, _write_wholes)
        for name, symbol, write in zip(TASKS, self.symbols, writers, strict=True):
            f = module.function(name, [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
            write(self, f)
            write_task(module, symbol, name, WORDS)


# Pairs of vectors.


def _load(f, kernel, place):
    """Load (real parts, imaginary parts) of a row of the scratch, or of a vector of factors."""
    type_ = vector(kernel.lanes, kernel.element)
    return f.load(type_, place), f.load(type_, f.at(place, kernel.row_bytes // 2))


def _store(f, kernel, pair, place):
    f.store(pair[0], place)
    f.store(pair[1], f.at(place, kernel.row_bytes // 2))


def _take(f, kernel, place, backwards=False, count=None):
    """Load (real parts, imaginary parts) of complex numbers in memory, all or the first `count`."""
    lanes, type_ = kernel.lanes, vector(kernel.lanes, kernel.element)
    spots = [place, f.at(place, kernel.row_bytes // 2)]
    if count is None:
        low, high = (f.load(type_, spot) for spot in spots)
    else:
        twice = f.mul(count, 2)
        low, high = (f.load_masked(type_, spot, f.mask(left, lanes)) for spot, left in zip(spots, (twice, f.sub(twice, lanes))))
    order = range(lanes - 1, -1, -1) if backwards else range(lanes)
    return tuple([f.shuffle(low, high, [2 * lane + part for lane in order]) for part in range(2)])


def _mixed(f, kernel, pair) -> list:
    """Return the two vectors of interleaved complex numbers."""
    lanes = kernel.lanes
    return [f.shuffle(*pair, [part * lanes + start + lane for lane in range(lanes // 2) for part in range(2)])
            for start in (0, lanes // 2)]


def _put(f, kernel, pair, place, count=None):
    low, high = _mixed(f, kernel, pair)
    spots = [place, f.at(place, kernel.row_bytes // 2)]
    if count is None:
        f.store(low, spots[0])
        f.store(high, spots[1])
    else:
        twice = f.mul(count, 2)
        f.store_masked(low, spots[0], f.mask(twice, kernel.lanes))
        f.store_masked(high, spots[1], f.mask(f.sub(twice, kernel.lanes), kernel.lanes))


def _swapped(f, condition: Value, pair):
    """Exchange real and imaginary parts if the condition holds: before and after a transform this makes its inverse."""
    return f.select(condition, pair[1], pair[0]), f.select(condition, pair[0], pair[1])


def _inverse(f, job):
    return f.compare("ne", job.inverse, 0)


# Passes over the scratch.

_KINDS = ("first", "middle", "last")


def _write_pass(module, kernel, radix, kind):
    """Write `void pass(...)`: join `radix` transforms of `span` rows, `made` times; the last pass, once, stores results."""
    f = module.function(f"{kind}_{radix}", [(PTR, "job"), (PTR, "scratch"), (I64, "span"), (I64, "made"), (PTR, "factors"),
                                            (PTR, "target")], internal=True)
    _, scratch, span, made, factors, target = f.params
    apart = f.mul(span, kernel.row_bytes)
    if kind == "last":
        job = Words(f, f.params[0], WORDS)
        inverse, out_row = _inverse(f, job), job.out_row
        scale = f.splat(job.number("scale", kernel.element), kernel.lanes)
        with f.loop(0, span) as loop:
            by = _factors(f, kernel, factors, loop.index, radix)
            values = _times_factors(f, _of_pass(f, kernel, scratch, loop.index, apart, radix), by)
            for number, pair in enumerate(transform(f, values)):
                row = f.add(loop.index, f.mul(span, number))
                pair = _swapped(f, inverse, tuple([f.fmul(x, scale) for x in pair]))
                _put(f, kernel, pair, f.at(target, f.mul(row, out_row)))
    elif kind == "middle":
        with f.loop(0, span) as loop:
            by = _factors(f, kernel, factors, loop.index, radix)
            with f.loop(0, made) as each:
                start = f.add(loop.index, f.mul(each.index, f.mul(span, radix)))
                values = _times_factors(f, _of_pass(f, kernel, scratch, start, apart, radix), by)
                _keep(f, kernel, transform(f, values), scratch, start, apart)
    else:
        with f.loop(0, made) as each:
            start = f.mul(each.index, radix)
            values = _of_pass(f, kernel, scratch, start, kernel.row_bytes, radix)
            _keep(f, kernel, transform(f, values), scratch, start, kernel.row_bytes)
    f.ret()


def _of_pass(f, kernel, scratch, start, apart, radix):
    first = f.at(scratch, f.mul(start, kernel.row_bytes))
    return [_load(f, kernel, f.at(first, f.mul(apart, number))) for number in range(radix)]


def _keep(f, kernel, values, scratch, start, apart):
    first = f.at(scratch, f.mul(start, kernel.row_bytes))
    for number, pair in enumerate(values):
        _store(f, kernel, pair, f.at(first, f.mul(apart, number)))


def _factors(f, kernel, factors, index, radix):
    """Return the factors of all but the first input of a butterfly."""
    start = f.at(factors, f.mul(index, 2 * (radix - 1)), kernel.element)
    numbers = [f.load(kernel.element, f.at(start, place, kernel.element)) for place in range(2 * (radix - 1))]
    return [tuple([f.splat(n, kernel.lanes) for n in numbers[place:place + 2]]) for place in range(0, len(numbers), 2)]


def _times_factors(f, values, by):
    return [values[0], *[complex_product(f, value, factor) for value, factor in zip(values[1:], by)]]


def _write_passes(module, kernel):
    """Write `void passes(job, scratch, target)`: the transform of the rows in the scratch."""
    f = module.function("passes", [(PTR, "job"), (PTR, "scratch"), (PTR, "target")], internal=True)
    job_, scratch, target = f.params
    job = Words(f, job_, WORDS)
    passes, last, factors = job.address("passes"), f.sub(job.count, 1), job.address("factors")

    def call(kind, index):
        spot = f.at(passes, f.mul(index, PASS_WORDS), I64)
        radix, span, made, start = (f.load(I64, f.at(spot, number, I64)) for number in range(PASS_WORDS))
        f.switch(radix, {r: lambda r=r: f.call(f"{kind}_{r}", VOID, job_, scratch, span, made, f.at(factors, start), target)
                         for r in RADICES})

    with f.when(f.compare("sgt", last, 0)):
        call("first", f.index(0))
    with f.loop(1, last) as loop:
        call("middle", loop.index)
    call("last", last)
    f.ret()


# Rows and columns.


def _write_row(module, kernel):
    """Write `void row(job, scratch, source, target)`: the transform of a row."""
    f = module.function("row", [(PTR, "job"), (PTR, "scratch"), (PTR, "source"), (PTR, "target")], internal=True)
    job_, scratch, source, target = f.params
    job, lanes, number_bytes = Words(f, job_, WORDS), kernel.lanes, 2 * bytes_of(kernel.element)
    rows, offsets, inverse = job.rows, job.address("places"), _inverse(f, job)
    apart, by = f.mul(rows, number_bytes), f.at(job.address("factors"), job.between)

    def lay(at, count):
        start = f.at(source, f.mul(at, number_bytes))
        values = [_swapped(f, inverse, _take(f, kernel, f.at(start, f.mul(apart, j)), count=count)) for j in range(lanes)]
        spot = f.at(by, f.mul(at, (lanes - 1) * number_bytes))
        found = transform(f, values)
        found[1:] = [complex_product(f, pair, _load(f, kernel, f.at(spot, k * kernel.row_bytes)))
                     for k, pair in enumerate(found[1:])]
        lines = zip(*[transpose(f, [pair[part] for pair in found]) for part in range(2)])
        for c, pair in enumerate(lines):
            _store(f, kernel, pair, f.at(scratch, f.load(I64, f.at(offsets, f.add(at, c), I64))))

    whole = f.bit_and(rows, -lanes)
    with f.loop(0, whole, lanes) as loop:
        lay(loop.index, None)
    with f.when(f.compare("slt", whole, rows)):
        lay(whole, f.sub(rows, whole))
    f.call("passes", VOID, job_, scratch, target)
    f.ret()


def _own_scratch(f, job):
    return f.at(job.address("scratch"), f.mul(f.params[2], job.scratch_bytes))


def _ends(f, job):
    return [f.at(job.address(name), f.mul(f.params[1], f.load(I64, job.spot(f"{name}_outer")))) for name in ("x", "out")]


def _write_rows(kernel, f):
    job = Words(f, f.params[0], WORDS)
    f.call("row", VOID, f.params[0], _own_scratch(f, job), *_ends(f, job))
    f.ret()


def _write_columns(kernel, f):
    job, lanes, number_bytes = Words(f, f.params[0], WORDS), kernel.lanes, 2 * bytes_of(kernel.element)
    scratch, rows, offsets, inverse = _own_scratch(f, job), job.rows, job.address("places"), _inverse(f, job)
    outer, start = f.div(f.params[1], job.blocks), f.mul(f.mod(f.params[1], job.blocks), lanes)
    starts = [f.at(job.address(name), f.mul(outer, f.load(I64, job.spot(f"{name}_outer")))) for name in ("x", "out")]
    source, target = (f.at(place, f.mul(start, number_bytes)) for place in starts)
    wide, x_row, out_row = f.min(f.sub(job.width, start), lanes), job.x_row, job.out_row

    def lay(count):
        with f.loop(0, rows) as loop:
            pair = _swapped(f, inverse, _take(f, kernel, f.at(source, f.mul(loop.index, x_row)), count=count))
            _store(f, kernel, pair, f.at(scratch, f.load(I64, f.at(offsets, loop.index, I64))))

    whole = f.compare("eq", wide, lanes)
    f.choose(whole, lambda: lay(None), lambda: lay(wide))
    with f.when(whole):
        f.call("passes", VOID, f.params[0], scratch, target)
    with f.when(f.compare("slt", wide, lanes)):         # results go to spare scratch first
        own = f.local(8 * len(WORDS))
        for number in range(len(WORDS)):
            f.store(f.load(I64, f.at(f.params[0], number, I64)), f.at(own, number, I64))
        Words(f, own, WORDS).put(out_row=kernel.row_bytes)
        spare = f.at(scratch, f.mul(f.add(rows, SPARE), kernel.row_bytes))
        f.call("passes", VOID, own, scratch, spare)
        with f.loop(0, rows) as loop:
            pair = _take(f, kernel, f.at(spare, f.mul(loop.index, kernel.row_bytes)))
            _put(f, kernel, pair, f.at(target, f.mul(loop.index, out_row)), wide)
    f.ret()


# Rows of real numbers.


def _write_halves(kernel, f):
    """Write real numbers' frequencies: Z[k] + conj(Z[h - k]) is twice that of even indices, the difference 2i of odd ones."""
    job, number_bytes = Words(f, f.params[0], WORDS), 2 * bytes_of(kernel.element)
    scratch, rows, (source, target) = _own_scratch(f, job), job.rows, _ends(f, job)
    h, by = f.mul(rows, kernel.lanes), f.at(job.address("factors"), job.halves)
    middle = f.at(scratch, f.mul(f.add(rows, SPARE + 1), kernel.row_bytes))       # a vector before it and one after it are read
    f.call("row", VOID, f.params[0], scratch, source, middle)
    for part in range(2):
        place = f.at(middle, part, kernel.element)
        f.store(f.load(kernel.element, place), f.at(place, f.mul(h, number_bytes)))

    def part_of(at, count):
        even, odd = _apart(f, kernel, middle, h, at)
        c, s = _load(f, kernel, f.at(by, f.mul(at, number_bytes)))
        re = multiply_add(f, s, odd[0], multiply_add(f, c, odd[1], even[0]))
        im = multiply_add(f, s, odd[1], multiply_add(f, f.fneg(c), odd[0], even[1]))
        _put(f, kernel, (re, im), f.at(target, f.mul(at, number_bytes)), count)

    with f.loop(0, h, kernel.lanes) as loop:
        part_of(loop.index, None)
    part_of(h, f.index(1))
    f.ret()


def _write_wholes(kernel, f):
    """Write the real numbers of these frequencies: those of even and odd indices, as complex numbers."""
    job, number_bytes = Words(f, f.params[0], WORDS), 2 * bytes_of(kernel.element)
    scratch, rows, (source, target) = _own_scratch(f, job), job.rows, _ends(f, job)
    h, by = f.mul(rows, kernel.lanes), f.at(job.address("factors"), job.halves)
    middle = f.at(scratch, f.mul(f.add(rows, SPARE + 1), kernel.row_bytes))
    with f.loop(0, h, kernel.lanes) as loop:
        even, odd = _apart(f, kernel, source, h, loop.index)
        c, s = _load(f, kernel, f.at(by, f.mul(loop.index, number_bytes)))
        re = multiply_add(f, s, odd[0], multiply_add(f, f.fneg(c), odd[1], even[0]))
        im = multiply_add(f, s, odd[1], multiply_add(f, c, odd[0], even[1]))
        _put(f, kernel, (re, im), f.at(middle, f.mul(loop.index, number_bytes)))
    first, last = (f.load(kernel.element, place) for place in (source, f.at(source, f.mul(h, number_bytes))))
    f.store(f.fadd(first, last), middle)                # the first and the last frequency are real
    f.store(f.fsub(first, last), f.at(middle, 1, kernel.element))
    f.call("row", VOID, f.params[0], scratch, middle, target)
    f.ret()


def _apart(f, kernel, numbers, h, at):
    """Return (a + conj(b), a - conj(b)) of the numbers from an index on, and the mirrored ones from h."""
    number_bytes = 2 * bytes_of(kernel.element)
    mirrored = f.at(numbers, f.mul(f.sub(h, f.add(at, kernel.lanes - 1)), number_bytes))
    (a, ai), (b, bi) = _take(f, kernel, f.at(numbers, f.mul(at, number_bytes))), _take(f, kernel, mirrored, backwards=True)
    return (f.fadd(a, b), f.fsub(ai, bi)), (f.fsub(a, b), f.fadd(ai, bi))
