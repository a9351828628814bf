"""Products with stored weights: `out[i, j] = sum of x[i] * numbers of row j`, plus bias[j], for few rows of x.

Each block of a weight is read once for some rows of x. There are two ways to add up a row:

    floats     numbers are unpacked to float32 and multiplied there: narrow floats, and processors without the instruction below
    integers   x is rounded to 16 bits, relative to the largest number of each group of a block, and integers are multiplied.
               An error of 2 ** -16 of that number is small beside the rounding of 8-bit weights, which is 2 ** -8.

The order of a sum does not depend on the rows beside it. `StoredKernel` has the pool tasks:

    unpack   out = the float32 numbers of rows                          an item is a row of the weight
    round    the 16-bit numbers of a row of x, their steps and sums     an item is a row of x
    dots     out = the sums of either way                               an item is a block of rows of the weight
"""

from dataclasses import dataclass

from .....ir.reference.weight_formats import UNIT, Codes, WeightFormat, format_named
from .....ir.target import Target
from ..ir.emit import Module, ModuleWriter
from ..ir.types import F32, I16, I32, I64, PTR, VOID, constant, lanes_of, vector, zero
from ..pool.tasks import Words, write_task
from .int8_products import LINE, add_pairs
from .microkernel import add_lanes, fold_lanes, multiply_add, widen
from .stored_weights import STORED, Block, write_unpack

_CHAINS = 4             # accumulators of a sum of floats: a chain of dependent multiply-adds has their latency
_AHEAD, _LINE = 512, 64 # bytes between a row's weights and prefetched ones, and of a cache line
_JOINED = 8             # blocks of one part whose scales are vectors


def rows_together(target: Target) -> int:
    """Return the rows of x that are multiplied with unpacked numbers at a time; their accumulators stay in registers."""
    return 4 if target.vector_registers >= 32 else 2


_TILE = ((PTR, "x"), (I64, "x_row"), (PTR, "row"), (PTR, "bias"), (PTR, "out"), (I64, "out_row"), (I64, "numbers"))


def multiplies_integers(target: Target, form: WeightFormat) -> bool:
    """Return whether sums are those of integers: a format with codes, and registers of 32 bytes that multiply pairs."""
    return form.codes is not None and target.arch == "x86_64" and target.level != "x86-64"


def _store(f, total, bias, place):
    f.store(total if bias is None else f.fadd(total, f.load(F32, bias)), place)


# Products of floats.


def _write_float_tile(module: Module, form: WeightFormat, height: int, bias: bool) -> str:
    """Write the product of `height` rows of floats, as long as whole blocks, with one row of the weight."""
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
        reader = Block(f, form, form.codes, folded=True)
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
        _store(f, total, added if bias else None, f.at(out, f.mul(out_row, i)))
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
            add(sums, chain, widen(f, words, STORED[form.floats], F32), place, mask)
        return sums

    whole = f.bit_and(numbers, -step)
    with f.loop(0, whole, step, start) as loop:
        loop.next(*read(list(loop.carried), loop.index))
    with f.loop(whole, numbers, lanes, loop.results) as rest:
        rest.next(*read(list(rest.carried), rest.index, f.mask(f.sub(numbers, rest.index), lanes)))
    return rest.results


# Products of integers.

TOP = 32767                 # a group's largest magnitude in 16 bits
LEAST_STEP = 1e-35          # groups of smaller steps are zeros, whose steps could not be inverted
_ROUND = ((PTR, "x"), (PTR, "halves"), (I64, "numbers"))


def group_of(form: WeightFormat) -> int:
    """Return the numbers of x that share a step: those of a part of a block, at most a unit."""
    return min(form.block // form.parts, UNIT)


def rounded_bytes(form: WeightFormat, numbers: int) -> int:
    """Return the bytes of a rounded row of x."""
    padded = -(-numbers // form.block) * form.block
    return -(-(2 * padded + 8 * (padded // group_of(form))) // LINE) * LINE


def _places(f, form, halves, numbers):
    """Return the addresses of the steps and of the sums of a rounded row, behind its numbers, and the number of groups."""
    padded = f.mul(f.ceil_div(numbers, form.block), form.block)
    groups = f.div(padded, group_of(form))
    steps = f.at(halves, padded, I16)
    return steps, f.at(steps, groups, F32), groups


def _write_round(module: Module, form: WeightFormat):
    """Write `round_row(x, halves, numbers)`: 16-bit numbers up to the end of the last block, then the step of each group, then
    its sum. A group with an infinity or nan has a step of nan, so that all results are nan."""
    f = module.function("round_row", _ROUND, internal=True)
    x, halves, numbers = f.params
    group, lanes = group_of(form), f.lanes(F32)
    lanes = min(lanes, group)
    steps, sums, groups = _places(f, form, halves, numbers)

    def turn(number, end):
        """Round a group, of which numbers from `end` on (None: nowhere) are zeros."""
        first = f.mul(number, group)
        places = [f.add(first, at) for at in range(0, group, lanes)]
        masks = [None if end is None else f.mask(f.sub(end, place), lanes) for place in places]
        values = [f.load_masked(vector(lanes, F32), f.at(x, place, F32), mask)
                  for place, mask in zip(places, masks, strict=True)]
        most, odd = zero(values[0].type), zero(values[0].type)
        for value in values:
            size = f.intrinsic("fabs", value.type, value)
            most, odd = f.select(f.compare("ogt", size, most), size, most), f.fadd(odd, f.fsub(value, value))
        most = fold_lanes(f, most, lambda a, b: f.select(f.compare("ogt", a, b), a, b))
        finite = f.compare("ord", add_lanes(f, odd), 0.0)
        step = f.fmul(most, constant(F32, 1 / TOP))
        is_large = f.bit_and(finite, f.compare("ogt", step, LEAST_STEP))
        step = f.select(is_large, step, f.select(finite, constant(F32, 0), constant(F32, float("nan"))))
        inverse = f.splat(f.select(is_large, f.fdiv(constant(F32, 1), step), constant(F32, 0)), lanes)
        total = zero(vector(lanes, I32))
        for value, place in zip(values, places, strict=True):
            scaled = f.select(f.splat(is_large, lanes), f.fmul(value, inverse), zero(value.type))
            whole = f.cast("fptosi", f.intrinsic("rint", value.type, scaled), total.type)
            total = f.binary("add", total, whole)
            f.store(f.cast("trunc", whole, vector(lanes, I16)), f.at(halves, place, I16))
        total = fold_lanes(f, total, lambda a, b: f.binary("add", a, b))
        f.store(step, f.at(steps, number, F32))
        f.store(f.fmul(f.cast("sitofp", total, F32), step), f.at(sums, number, F32))

    whole = f.div(numbers, group)
    with f.loop(0, whole) as loop:
        turn(loop.index, None)
    with f.loop(whole, groups) as loop:
        turn(loop.index, numbers)
    f.ret()


class _IntegerTile:
    """Product of `height` rounded rows of x with one row of the weight.

    A row has two accumulators of products, for every other group. Minima, times the sums of x, are added up beside them: a lane
    for each part of a block. Blocks of one part are joined, so that their scales are converted and multiplied as vectors.
    """

    def __init__(self, module: Module, form: WeightFormat, codes: Codes, height: int):
        self.f = f = module.function(f"stored_dots_{height}", _TILE, internal=True)
        self.form, self.codes, self.group = form, codes, group_of(form)
        x, x_row, self.row, self.bias, self.out, self.out_row, self.numbers = f.params
        self.rows = [f.at(x, f.mul(x_row, i)) for i in range(height)]
        self.steps, self.sums = zip(*[_places(f, form, row, self.numbers)[:2] for row in self.rows], strict=True)
        self.lanes = min(2 * f.lanes(I32), self.group, *([16] if codes.table else []))     # of 16 bits

    def write(self, bias: bool) -> str:
        f, blocks = self.f, self.f.ceil_div(self.numbers, self.form.block)
        products, minima = [zero(vector(self.lanes // 2, F32))] * (2 * len(self.rows)), [constant(F32, 0)] * len(self.rows)
        joined, whole = 1, 0
        if self.form.block == self.group:
            joined, whole = _JOINED, f.div(blocks, _JOINED)
            several = Block(f, self.form, self.codes, folded=True, joined=joined)
            products, minima = self._sweep(several, 0, whole, products, minima)
        last = Block(f, self.form, self.codes, folded=self.form.parts > 1)
        products, minima = self._sweep(last, f.mul(whole, joined), blocks, products, minima)
        for i, total in enumerate(minima):
            total = f.fadd(add_lanes(f, f.fadd(*products[2 * i:2 * i + 2])), total)
            _store(f, total, self.bias if bias else None, f.at(self.out, f.mul(self.out_row, i)))
        f.ret()
        return f.name

    def _sweep(self, reader, low, high, products, minima):
        """Add blocks, as many together as the reader joins; return the products and the minima, which are one number a row."""
        f, lanes = self.f, min(reader.lanes, reader.parts)
        with f.loop(low, high, 1, [*products, *[zero(vector(lanes, F32))] * len(minima)]) as loop:
            address = f.at(self.row, f.mul(loop.index, reader.nbytes))
            for line in range(0, reader.nbytes, _LINE):
                f.prefetch(f.at(address, _AHEAD + line))
            reader.open(address)
            first = f.mul(loop.index, reader.numbers // self.group)        # of the block's groups
            if reader.units == 1:
                sums = self._add_unit(reader, loop.index, 0, first, loop.carried, 0)
            else:
                turns = 2 - reader.units % 2
                with f.loop(0, reader.units, turns, loop.carried) as units:
                    sums = units.carried
                    for turn in range(turns):
                        unit = f.add(units.index, turn)
                        sums = self._add_unit(reader, loop.index, unit, f.add(first, unit), sums, turn)
                    units.next(*sums)
                sums = units.results
            loop.next(*sums)
        products, added = loop.results[:len(products)], loop.results[len(products):]
        return products, [f.fadd(total, add_lanes(f, more)) for total, more in zip(minima, added, strict=True)]

    def _add_unit(self, reader, number, unit, first, sums, chain):
        """Return the sums with a unit, whose first group is `first`."""
        f, sums = self.f, list(sums)
        levels = [self._levels(reader, i, first, sums) for i in range(len(self.rows))]
        place = f.add(f.mul(number, reader.numbers), f.mul(unit, reader.unit))
        for group, at in enumerate(range(0, reader.unit, self.group)):
            starts = range(at, at + self.group, self.lanes)
            numbers = [reader.whole_numbers(start, self.lanes, unit, I16) for start in starts]
            for i, row in enumerate(self.rows):
                total, chosen = zero(vector(self.lanes // 2, I32)), 2 * i + (group + chain) % 2
                for start, whole in zip(starts, numbers, strict=True):
                    total = add_pairs(f, total, whole, f.load(whole.type, f.at(row, f.add(place, start), I16)))
                level = reader.level(levels[i], at, self.lanes // 2)
                sums[chosen] = multiply_add(f, f.cast("sitofp", total, level.type), level, sums[chosen])
        return sums

    def _levels(self, reader, i, first, sums):
        """Return the scales of a unit times the steps of a row of x; add its minima times the sums of x."""
        f, levels = self.f, []
        for number, part in enumerate(reader.scale):
            place = f.add(first, number * lanes_of(part.type))
            levels.append(f.fmul(part, f.load(part.type, f.at(self.steps[i], place, F32))))
            if reader.minimum is not None:
                total, factor = 2 * len(self.rows) + i, f.load(part.type, f.at(self.sums[i], place, F32))
                sums[total] = multiply_add(f, reader.minimum[number], factor, sums[total])
        return levels


# Pool tasks.

ARRAYS = ("x", "weight", "bias", "out")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "rows", "columns", "numbers", "x_row", "weight_row", "out_row", "block")
# `columns` are rows of the weight, `block` so many of an item; strides are in bytes.
TASKS = ("unpack", "round", "dots")


@dataclass(frozen=True)
class StoredKernel(ModuleWriter):
    """Generator of the tasks for a format, with or without a bias. Only products of integers round."""

    format: str
    bias: bool

    @property
    def symbols(self) -> list:
        """Names of the tasks, in order."""
        return [f"stored_{name}" for name in TASKS if name != "round" or self._rounds]

    @property
    def _rounds(self) -> bool:
        return multiplies_integers(self.target, format_named(self.format))

    def write(self, module):
        form, heights = format_named(self.format), range(1, rows_together(self.target) + 1)
        write_unpack(module, form)
        if form.codes is not None and self._rounds:
            _write_round(module, form)
            tiles = {height: _IntegerTile(module, form, form.codes, height).write(self.bias) for height in heights}
        else:
            tiles = {height: _write_float_tile(module, form, height, self.bias) for height in heights}
        for symbol in self.symbols:
            name = symbol.removeprefix("stored_")
            f = module.function(name, [(PTR, "job"), (I64, "number")], internal=True)
            _ITEMS[name](f, Words(f, f.params[0], WORDS), f.params[1], tiles)
            write_task(module, symbol, name, WORDS, worker=False)


def _unpack_item(f, job, number, tiles):
    f.call("unpack_row", VOID, f.at(job.address("weight"), f.mul(number, job.weight_row)),
           f.at(job.address("out"), f.mul(number, job.out_row)), job.numbers)
    f.ret()


def _round_item(f, job, number, tiles):
    f.call("round_row", VOID, f.at(job.address("x"), f.mul(number, f.mul(job.numbers, 4))),
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


_ITEMS = {"unpack": _unpack_item, "round": _round_item, "dots": _dots_item}
