"""Stored weights: rows of blocks are unpacked in registers, and multiplied there or written as floats.

    unpack_row    out = the float32 numbers of a row, with the bits of `WeightFormat.unpack`
    dots          out[i, j] = sum of x[i] * numbers of row j, plus bias[j]: each weight is read once for some rows of x

The code follows the description of a format (`ir/reference/weight_formats.py`): one generator serves all. Sums of a row have
`_CHAINS` accumulators, whatever rows are computed beside it. `StoredKernel` has the pool tasks:

    unpack   an item is a row
    dots     an item is a block of rows of the weight
"""

from dataclasses import dataclass

import numpy as np

from .....ir import dtype as dt
from .....ir.reference.weight_formats import UNIT, Codes, WeightFormat, format_named
from .....ir.target import Target
from ..ir.emit import Module, ModuleWriter
from ..ir.types import BF16, F16, F32, I8, I16, I32, I64, PTR, VOID, constant, lanes_of, vector, zero
from ..pool.tasks import Words, write_task
from .microkernel import add_lanes, multiply_add, widen

_CHAINS = 4             # accumulators of a sum: a chain of dependent multiply-adds has their latency
_AHEAD = 512            # bytes between a row's weights and prefetched ones
_STORED = {dt.float16: F16, dt.bfloat16: BF16}
_TABLE = 16             # entries of a table, bytes of the instruction that looks them up


def rows_together(target: Target) -> int:
    """Return the rows of x that are multiplied with unpacked numbers at a time; their accumulators stay in registers."""
    return 4 if target.vector_registers >= 32 else 2


def can_unpack(target: Target, form: WeightFormat) -> bool:
    """Return whether the target converts a format's floats by instructions."""
    return form.floats is not dt.float16 or target.half_conversions


class _Block:
    """Reader of one block: vectors of float32, unit by unit.

    A unit is a run of numbers whose code is written out: the block itself, or `UNIT` numbers of a group, at the same bytes and
    shifts in each unit. `fused` reads numbers for sums, which may round once where the format's definition rounds twice.
    """

    def __init__(self, f, form: WeightFormat, codes: Codes, fused: bool):
        self.f, self.form, self.codes, self.fused = f, form, codes, fused
        self.lanes = min(f.lanes(F32), _TABLE)
        self.unit = form.block if form.scales else min(form.block, UNIT)
        self.units = form.block // self.unit
        if codes.table:
            self.table = f.module.table("levels", I8, codes.table)

    def open(self, block):
        """Load the scales and minima of the block at an address."""
        f, form = self.f, self.form
        self.block = block
        self.scale = self._levels(form.scale, form.scales)
        self.minimum = None
        if form.minimum is not None:
            self.minimum = self._levels(form.minimum, form.minima)
            if form.minima:
                self.minimum = [f.fneg(level) for level in self.minimum] if self.fused else self.minimum
        if self.fused and self.codes.offset:
            shift = [f.fmul(level, float(self.codes.offset)) for level in self.scale]
            self.minimum = shift if self.minimum is None else [f.fadd(*pair) for pair in zip(self.minimum, shift)]

    def _levels(self, start, factors):
        """Return vectors of the levels of all parts; one number if the block has one part."""
        f, level = self.f, load_float(self.f, self.form.floats, self.f.at(self.block, start))
        if factors is None:
            return [level]
        lanes = min(self.lanes, factors.count)
        wide = f.splat(level, lanes)
        return [f.fmul(wide, f.cast("sitofp", self._integers(factors, at, lanes), wide.type))
                for at in range(0, factors.count, lanes)]

    def _integers(self, codes: Codes, at: int, lanes: int):
        numbers = self._codes(codes, at, lanes, self.block, 0)
        return self.f.binary("add", numbers, codes.offset) if codes.offset else numbers

    def _part(self, levels, at):
        """Return the level of the part that holds number `at`, in all lanes."""
        f = self.f
        if len(levels) == 1 and lanes_of(levels[0].type) == 1:
            return f.splat(levels[0], self.lanes)
        part, width = at // (self.form.block // self.form.parts), lanes_of(levels[0].type)
        return f.shuffle(levels[part // width], levels[part // width], [part % width] * self.lanes)

    def vectors(self, unit):
        """Yield (position in the unit, its numbers as a vector) for a unit of the open block."""
        f, codes = self.f, self.codes
        for at in range(0, self.unit, self.lanes):
            if codes.table:
                values = self._looked_up(at, unit)
            else:
                values = self._codes(codes, at, self.lanes, self.block, unit)
                if codes.offset and not self.fused:
                    values = f.binary("add", values, codes.offset)
            yield at, self._scaled(at, f.cast("sitofp", values, vector(self.lanes, F32)))

    def _scaled(self, at, values):
        f, scale = self.f, self._part(self.scale, at)
        if self.minimum is None:
            return f.fmul(scale, values)
        minimum = self._part(self.minimum, at)
        if self.fused:
            return multiply_add(f, scale, values, minimum)
        return f.fsub(f.fmul(scale, values), minimum) if self.form.minima else f.fadd(f.fmul(scale, values), minimum)

    def _codes(self, codes: Codes, at: int, lanes: int, block, unit):
        """Return codes `at` and following of a unit as i32, in two's complement if they are signed."""
        f, total = self.f, None
        for bytes, shifts, width, position in codes.pieces:
            b, s = bytes[at:at + lanes], shifts[at:at + lanes]
            address = f.at(block, f.add(int(b.min()), f.mul(unit, self._apart(codes, bytes))))
            # a whole byte is signed by its widening
            value = f.cast("sext" if codes.signed else "zext", _spread(f, address, b - b.min()), vector(lanes, I32))
            if s.any():
                value = f.binary("lshr", value, _numbers(s))
            if (s + width).min() < 8:
                value = f.binary("and", value, constant(value.type, (1 << width) - 1))
            if position:
                value = f.binary("shl", value, constant(value.type, position))
            total = value if total is None else f.binary("or", total, value)
        return total

    def _apart(self, codes, bytes):
        """Return the bytes from a piece of one unit to the next one's."""
        return int(bytes[self.unit] - bytes[0]) if codes is self.codes and self.units > 1 else 0

    def _looked_up(self, at, unit):
        """Return entries of the table, by nibbles of 16 bytes."""
        f, codes = self.f, self.codes
        (bytes, shifts, *_), first = codes.pieces[0], at // _TABLE * _TABLE
        address = f.at(self.block, f.add(int(bytes[first]), f.mul(unit, self._apart(codes, bytes))))
        packed = f.load(vector(_TABLE, I8), address)
        index = f.binary("and", f.binary("lshr", packed, int(shifts[first])) if shifts[first] else packed,
                         constant(packed.type, 15))
        entries = look_up(f, self.table, index)
        lanes = range(at - first, at - first + self.lanes)
        return f.cast("sext", f.shuffle(entries, entries, lanes), vector(self.lanes, I32))


def look_up(f, table, index):
    """Return the entries of a table of 16 bytes in memory at a vector of 16 indices below 16."""
    target = f.module.target
    if target.arch == "x86_64" and target.level != "x86-64":
        return f.call("llvm.x86.ssse3.pshuf.b.128", index.type, f.load(index.type, table), index)
    if target.arch == "aarch64":
        return f.call("llvm.aarch64.neon.tbl1.v16i8", index.type, f.load(index.type, table), index)
    entries = zero(index.type)
    for lane in range(_TABLE):
        place = f.at(table, f.cast("zext", f.extract(index, lane), I64))
        entries = f.insert(entries, f.load(I8, place), lane)
    return entries


def _spread(f, address, places):
    """Load bytes and bring those at `places` into the lanes of a vector."""
    span, lanes = int(places.max()) + 1, len(places)
    loaded = f.load(vector(span, I8), address, align=1)
    if span == 1:
        return f.splat(loaded, lanes)
    return loaded if np.array_equal(places, np.arange(lanes)) else f.shuffle(loaded, loaded, places.tolist())


def _numbers(shifts):
    """Return shifts as a constant vector."""
    first = constant(vector(len(shifts), I32), int(shifts[0]))
    if (shifts == shifts[0]).all():
        return first
    return first._replace(name="<" + ", ".join(f"i32 {n}" for n in shifts.tolist()) + ">")


def load_float(f, kind, address):
    """Load a float of any width as float32; its address may be odd."""
    if kind is dt.float32:
        return f.load(F32, address, align=1)
    return widen(f, f.load(I16, address, align=1), _STORED[kind], F32)


# A row as floats.


def _write_unpack(module: Module, form: WeightFormat):
    f = module.function("unpack_row", [(PTR, "row"), (PTR, "out"), (I64, "numbers")], internal=True)
    row, out, numbers = f.params
    if form.codes is None:
        lanes = f.lanes(F32)

        def convert(at, mask):
            words = f.load_masked(vector(lanes, I16), f.at(row, at, I16), mask)
            f.store_masked(widen(f, words, _STORED[form.floats], F32), f.at(out, at, F32), mask)

        f.vectors(numbers, lanes, convert)
        f.ret()
        return
    reader, whole = _Block(f, form, form.codes, fused=False), f.div(numbers, form.block)

    def write(number, end):
        """Write the numbers of a block below `end` (None: all)."""
        start = f.mul(number, form.block)
        reader.open(f.at(row, f.mul(number, form.nbytes)))
        with f.loop(0, reader.units) as units:
            first = f.add(start, f.mul(units.index, reader.unit))
            for at, values in reader.vectors(units.index):
                place = f.add(first, at)
                mask = None if end is None else f.mask(f.sub(end, place), reader.lanes)
                f.store_masked(values, f.at(out, place, F32), mask)

    with f.loop(0, whole) as blocks:
        write(blocks.index, None)
    with f.when(f.compare("sgt", numbers, f.mul(whole, form.block))):
        write(whole, numbers)
    f.ret()


# Products.

_TILE = ((PTR, "x"), (I64, "x_row"), (PTR, "row"), (PTR, "bias"), (PTR, "out"), (I64, "out_row"), (I64, "numbers"))


def _write_tile(module: Module, form: WeightFormat, height: int, bias: bool) -> str:
    """Write the product of `height` rows of x with one row of the weight. Rows of x are as long as whole blocks."""
    name = f"stored_dots_{height}"
    f = module.function(name, _TILE, internal=True)
    x, x_row, row, added, out, out_row, numbers = f.params
    lanes = f.lanes(F32)
    xs = [f.at(x, f.mul(x_row, i)) for i in range(height)]
    start = [zero(vector(lanes, F32))] * (height * _CHAINS)

    def add(sums, chain, values, place, mask=None):
        for i in range(height):
            factor = f.load_masked(values.type, f.at(xs[i], place, F32), mask)
            number = i * _CHAINS + chain % _CHAINS
            sums[number] = multiply_add(f, values, factor, sums[number])

    if form.codes is None:
        sums = _float_sums(f, form, row, numbers, start, add)
    else:
        reader = _Block(f, form, form.codes, fused=True)
        with f.loop(0, f.ceil_div(numbers, form.block), 1, start) as blocks:
            address = f.at(row, f.mul(blocks.index, form.nbytes))
            f.prefetch(f.at(address, _AHEAD))
            reader.open(address)
            first = f.mul(blocks.index, form.block)
            with f.loop(0, reader.units, 1, blocks.carried) as units:
                sums = list(units.carried)
                place = f.add(first, f.mul(units.index, reader.unit))
                for at, values in reader.vectors(units.index):
                    add(sums, at // lanes, values, f.add(place, at))
                units.next(*sums)
            blocks.next(*units.results)
        sums = blocks.results
    for i in range(height):
        a, b, c, d = sums[i * _CHAINS:(i + 1) * _CHAINS]
        total = add_lanes(f, f.fadd(f.fadd(a, b), f.fadd(c, d)))
        if bias:
            total = f.fadd(total, f.load(F32, added))
        f.store(total, f.at(out, f.mul(out_row, i)))
    f.ret()
    return name


def _float_sums(f, form, row, numbers, start, add):
    """Return the sums over a row of narrow floats, which ends anywhere."""
    lanes = lanes_of(start[0].type)
    step = lanes * _CHAINS

    def read(sums, at, mask=None):
        for chain in range(_CHAINS if mask is None else 1):
            place = f.add(at, chain * lanes)
            words = f.load_masked(vector(lanes, I16), f.at(row, place, I16), mask)
            add(sums, chain, widen(f, words, _STORED[form.floats], F32), place, mask)
        return sums

    whole = f.bit_and(numbers, -step)
    with f.loop(0, whole, step, start) as loop:
        loop.next(*read(list(loop.carried), loop.index))
    with f.loop(whole, numbers, lanes, loop.results) as rest:
        rest.next(*read(list(rest.carried), rest.index, f.mask(f.sub(numbers, rest.index), lanes)))
    return rest.results


# Pool tasks.

ARRAYS = ("x", "weight", "bias", "out")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "rows", "columns", "numbers", "x_row", "weight_row", "out_row", "block")
# `columns` are rows of the weight, `block` so many of an item; strides are in bytes.
TASKS = ("unpack", "dots")


@dataclass(frozen=True)
class StoredKernel(ModuleWriter):
    """Generator of both tasks for a format, with or without a bias."""

    format: str
    bias: bool

    @property
    def symbols(self) -> list:
        """Names of the tasks, in order."""
        return [f"stored_{name}" for name in TASKS]

    def write(self, module):
        form = format_named(self.format)
        _write_unpack(module, form)
        tiles = {height: _write_tile(module, form, height, self.bias) for height in range(1, rows_together(self.target) + 1)}
        for name, symbol, write in zip(TASKS, self.symbols, (_unpack_item, _dots_item), strict=True):
            f = module.function(name, [(PTR, "job"), (I64, "number")], internal=True)
            write(f, Words(f, f.params[0], WORDS), f.params[1], tiles)
            write_task(module, symbol, name, WORDS, worker=False)


def _unpack_item(f, job, number, tiles):
    f.call("unpack_row", VOID, f.at(job.address("weight"), f.mul(number, job.weight_row)),
           f.at(job.address("out"), f.mul(number, job.out_row)), job.numbers)
    f.ret()


def _dots_item(f, job, number, tiles):
    most = max(tiles)
    first = f.mul(number, job.block)
    last = f.min(f.add(first, job.block), job.columns)
    x, weight, bias, out = (job.address(name) for name in ARRAYS)
    rows, numbers, x_row, weight_row, out_row = job.rows, job.numbers, job.x_row, job.weight_row, job.out_row
    with f.loop(0, rows, most) as down, f.loop(first, last) as along:
        column = along.index
        tile = (f.at(x, f.mul(down.index, x_row)), x_row, f.at(weight, f.mul(column, weight_row)), f.at(bias, column, F32),
                f.at(f.at(out, f.mul(down.index, out_row)), column, F32), out_row, numbers)
        f.switch(f.min(f.sub(rows, down.index), most), {
            height: (lambda name=name: f.call(name, VOID, *tile)) for height, name in tiles.items()})
    f.ret()
