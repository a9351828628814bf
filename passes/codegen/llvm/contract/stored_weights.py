"""Stored weights: blocks of bytes become vectors of numbers in registers, by the description of their format.

    Block           reader of one block, for sums and for floats with the bits of `WeightFormat.unpack`
    write_unpack    unpack_row(row, out, numbers): out = the float32 numbers of a row
    write_numbers   the numbers of a unit, somewhere in a row, to memory

The code follows `ir/reference/weight_formats.py`: one generator serves all formats. `stored_products.py` multiplies.
"""

import numpy as np

from .....ir import dtype as dt
from .....ir.reference.weight_formats import UNIT, Codes, Piece, WeightFormat
from .....ir.target import Target
from ..ir.emit import Module
from ..ir.types import BF16, F16, F32, I8, I16, I32, I64, PTR, constant, lanes_of, like, vector, zero
from .microkernel import multiply_add, widen

STORED = {dt.float16: F16, dt.bfloat16: BF16}
_TABLE = 16             # entries of a table, bytes of the instruction that looks them up


def can_unpack(target: Target, form: WeightFormat) -> bool:
    """Return whether the target converts a format's floats by instructions."""
    return form.floats is not dt.float16 or target.half_conversions


class Block:
    """Reader of one block, unit by unit.

    A unit is a run of numbers whose code is written out: the block itself, or `UNIT` numbers of a group, at the same bytes and
    shifts in each unit. `exact` numbers have the bits of the format's definition, which rounds each step. Others are for sums:
    the offset of codes is part of the minimum then if it is `folded`, and of the codes if not. Blocks of one part that are
    `joined` are one unit with as many parts.
    """

    def __init__(self, f, form: WeightFormat, codes: Codes, exact: bool = False, folded: bool = False, joined: int = 1):
        self.f, self.form, self.exact, self.folded, self.joined = f, form, exact, folded, joined
        self.codes = codes if joined == 1 else _joined(codes, form.nbytes, joined)
        self.numbers, self.nbytes, self.parts = joined * form.block, joined * form.nbytes, joined * form.parts
        self.lanes = min(f.lanes(F32), _TABLE)
        self.unit = self.numbers if self.parts > 1 else min(form.block, UNIT)
        self.units = self.numbers // self.unit
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
            if form.minima and not self.exact:
                self.minimum = [f.fneg(level) for level in self.minimum]
        if self.folded and self.codes.offset:
            shift = [f.fmul(level, float(self.codes.offset)) for level in self.scale]
            self.minimum = shift if self.minimum is None else [f.fadd(*pair) for pair in zip(self.minimum, shift)]

    def _levels(self, start, factors):
        """Return vectors of the levels of all parts; one number if the block has one part."""
        f, places = self.f, [self.f.at(self.block, start + i * self.form.nbytes) for i in range(self.joined)]
        if factors is None:
            return [load_floats(f, self.form.floats, places)]
        level, lanes = load_floats(f, self.form.floats, places), min(self.lanes, factors.count)
        wide = f.splat(level, lanes)
        return [f.fmul(wide, f.cast("sitofp", self._integers(factors, at, lanes), wide.type))
                for at in range(0, factors.count, lanes)]

    def _integers(self, codes: Codes, at: int, lanes: int):
        numbers = self._codes(codes, at, lanes, 0, I32)
        return self.f.binary("add", numbers, codes.offset) if codes.offset else numbers

    def level(self, levels, at: int, lanes: int):
        """Return the level of the part that holds number `at` of the block, in all lanes."""
        f, part, width = self.f, at // (self.numbers // self.parts), lanes_of(levels[0].type)
        if width == 1:
            return f.splat(levels[0], lanes)
        return f.shuffle(levels[part // width], levels[part // width], [part % width] * lanes)

    def whole_numbers(self, at: int, lanes: int, unit, element: str):
        """Return numbers before scaling, `lanes` of them from `at` on in a unit of the open block, as integers."""
        if self.codes.table:
            return self._looked_up(at, lanes, unit, element)
        numbers = self._codes(self.codes, at, lanes, unit, element)
        return numbers if self.folded or not self.codes.offset else self.f.binary("add", numbers, self.codes.offset)

    def vectors(self, unit):
        """Yield (position in the unit, its numbers as floats) for a unit of the open block."""
        for at in range(0, self.unit, self.lanes):
            numbers = self.whole_numbers(at, self.lanes, unit, I32)
            yield at, self._scaled(at, self.f.cast("sitofp", numbers, like(numbers.type, F32)))

    def _scaled(self, at, values):
        f, scale = self.f, self.level(self.scale, at, self.lanes)
        if self.minimum is None:
            return f.fmul(scale, values)
        minimum = self.level(self.minimum, at, self.lanes)
        if not self.exact:
            return multiply_add(f, scale, values, minimum)
        return f.fsub(f.fmul(scale, values), minimum) if self.form.minima else f.fadd(f.fmul(scale, values), minimum)

    def _codes(self, codes: Codes, at: int, lanes: int, unit, element: str):
        """Return codes `at` and following of a unit in wider integers, in two's complement if they are signed."""
        f, total = self.f, None
        for bytes, shifts, width, position in codes.pieces:
            b, s = bytes[at:at + lanes], shifts[at:at + lanes]
            address = f.at(self.block, f.add(int(b.min()), f.mul(unit, self._apart(codes, bytes))))
            # a whole byte is signed by its widening
            value = f.cast("sext" if codes.signed else "zext", _spread(f, address, b - b.min()), vector(lanes, element))
            down, up = np.maximum(s - position, 0), np.maximum(position - s, 0)     # one shift takes bits to their position
            for opcode, by in (("lshr", down), ("shl", up)):
                if by.any():
                    value = f.binary(opcode, value, _numbers(by, element))
            if position or (s + width).min() < 8:
                value = f.binary("and", value, constant(value.type, ((1 << width) - 1) << position))
            total = value if total is None else f.binary("or", total, value)
        return total

    def _apart(self, codes, bytes):
        """Return the bytes from a piece of one unit to the next one's."""
        return int(bytes[self.unit] - bytes[0]) if codes is self.codes and self.units > 1 else 0

    def _looked_up(self, at, lanes, unit, element):
        """Return entries of the table, by nibbles of 16 bytes; `lanes` is at most 16."""
        f, codes = self.f, self.codes
        (bytes, shifts, *_), first = codes.pieces[0], at // _TABLE * _TABLE
        address = f.at(self.block, f.add(int(bytes[first]), f.mul(unit, self._apart(codes, bytes))))
        packed = f.load(vector(_TABLE, I8), address)
        index = f.binary("and", f.binary("lshr", packed, int(shifts[first])) if shifts[first] else packed,
                         constant(packed.type, 15))
        entries = look_up(f, self.table, index)
        chosen = entries if lanes == _TABLE else f.shuffle(entries, entries, range(at - first, at - first + lanes))
        return f.cast("sext", chosen, vector(lanes, element))


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


def _numbers(shifts, element):
    """Return shifts as a constant vector."""
    first = constant(vector(len(shifts), element), int(shifts[0]))
    if (shifts == shifts[0]).all():
        return first
    return first._replace(name="<" + ", ".join(f"{element} {n}" for n in shifts.tolist()) + ">")


def _joined(codes: Codes, nbytes: int, count: int) -> Codes:
    """Return the codes of several blocks one after another."""
    return codes._replace(pieces=tuple([
        Piece((bytes + nbytes * np.arange(count)[:, None]).reshape(-1), np.tile(shifts, count), width, position)
        for bytes, shifts, width, position in codes.pieces]))


def load_floats(f, kind, places):
    """Load floats of any width as a vector of float32, or one float; their addresses may be odd."""
    element = F32 if kind is dt.float32 else I16
    if kind is dt.float32 and len(places) == 1:
        return f.load(F32, places[0], align=1)
    # LLVM takes the other lanes of a lone half from any register, such as an accumulator: each block then waits for the sum.
    words = zero(vector(max(4, len(places)), element))
    for lane, place in enumerate(places):
        words = f.insert(words, f.load(element, place, align=1), lane)
    wide = widen(f, words, STORED.get(kind, F32), F32)
    return f.extract(wide, 0) if len(places) == 1 else wide


def write_unpack(module: Module, form: WeightFormat):
    """Write `unpack_row(row, out, numbers)`."""
    f = module.function("unpack_row", [(PTR, "row"), (PTR, "out"), (I64, "numbers")], internal=True)
    row, out, numbers = f.params
    if form.codes is None:
        write_numbers(f, form, None, row, 0, numbers, out)
        f.ret()
        return
    reader, whole = Block(f, form, form.codes, exact=True), f.div(numbers, form.block)

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


def write_numbers(f, form: WeightFormat, reader: Block | None, row, first, count, out):
    """Store numbers from `first` on, the first of a unit: `count` narrow floats, or the unit of a format with codes."""
    if reader is None:
        lanes = f.lanes(F32)

        def convert(at, mask):
            words = f.load_masked(vector(lanes, I16), f.at(row, f.add(first, at), I16), mask)
            f.store_masked(widen(f, words, STORED[form.floats], F32), f.at(out, at, F32), mask)

        f.vectors(count, lanes, convert)
        return
    number = f.div(first, form.block)
    reader.open(f.at(row, f.mul(number, form.nbytes)))
    for at, values in reader.vectors(f.div(f.sub(first, f.mul(number, form.block)), reader.unit)):
        f.store(values, f.at(out, at, F32))
