"""Sorting of rows, as pool tasks: the indices that sort a row, or those of its first few elements in sorted order.

An element becomes an *entry*: an unsigned key that sorts as the element does (`ir/ops/index/sort.py` defines it), above its
index. So entries have a total order, in which equal elements keep theirs. Few entries are placed by the number of smaller ones.
More are radix sorted, a byte at a time, least significant first, without the digits that all entries share. For the first few
of many, a buffer of `room` entries is filled, sorted and cut to `keep` repeatedly, and only elements before the last kept one
enter it.
"""

from dataclasses import dataclass

from ..ir.emit import ModuleWriter
from ..ir.types import I8, I32, I64, PTR, Value, constant, iota, vector
from ..pool.tasks import Words, open_task

ARRAYS = ("x", "out")
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "rows", "size", "keep", "room", "flip", "scratch_bytes")
FLOATS = {"f16": (16, 0x7C00), "bf16": (16, 0x7F80), "f32": (32, 0x7F800000), "f64": (64, 0x7FF0000000000000)}
_DIGITS = 256
_FEW_VECTORS = {32: 10, 64: 18}     # most vectors of keys, by key bits, for which counting smaller ones is fastest
_COUNT, _LIMIT = 0, 8   # offsets in a selection's state: the number of entries, the last kept key


@dataclass(frozen=True)
class OrderKernel(ModuleWriter):
    """Generator for a kind of element, i8 .. u64 or a float."""

    kind: str

    @property
    def symbol(self) -> str:
        return f"order_rows_{self.kind}"

    @property
    def bits(self) -> int:
        return FLOATS[self.kind][0] if self.kind in FLOATS else int(self.kind[1:])

    @property
    def key_bits(self) -> int:
        return 64 if self.bits == 64 else 32

    @property
    def entry_type(self) -> str:
        return f"i{2 * self.key_bits}"

    @property
    def entry_bytes(self) -> int:
        return self.key_bits // 4

    @property
    def lanes(self) -> int:
        """Keys in a vector."""
        return self.target.lanes(self.key_bits // 8)

    def flip(self, descending: bool) -> int:
        """Return the word `flip`, which turns signed keys into unsigned ones of the requested order."""
        return (1 << (self.bits - 1)) - 1 if descending else -(1 << (self.bits - 1))

    def write(self, module):
        _write_ranks(module, self)
        _write_radix(module, self)
        _write_sort(module, self)
        _write_append(module, self)
        _write_task(module, self)


def _entry_at(f, kernel, buffer, index):
    return f.at(buffer, index, kernel.entry_type)


def _load(f, kernel, buffer, index):
    return f.load(kernel.entry_type, _entry_at(f, kernel, buffer, index), align=8)


def _store(f, kernel, entry, buffer, index):
    f.store(entry, _entry_at(f, kernel, buffer, index), align=8)


def _keys(f, kernel, raw: Value, flip: Value) -> Value:
    """Return unsigned keys of elements given as integers; `flip` has their type."""
    bits, type_ = kernel.bits, raw.type
    if kernel.kind in FLOATS:
        most = (1 << (bits - 1)) - 1
        size = f.bit_and(raw, most)
        signed = f.select(f.compare("slt", raw, 0), f.binary("xor", raw, most), raw)
        signed = f.select(f.compare("eq", size, 0), constant(type_, 0), signed)
        raw = f.select(f.compare("ugt", size, FLOATS[kernel.kind][1]), constant(type_, most), signed)
    elif kernel.kind[0] == "u":
        raw = f.binary("xor", raw, -(1 << (bits - 1)))
    wide = f"i{kernel.key_bits}"
    lanes = type_[1:type_.index(" ")] if type_[0] == "<" else ""
    return f.cast("zext", f.binary("xor", raw, flip), f"<{lanes} x {wide}>" if lanes else wide)


def _entry(f, kernel, key: Value, index: Value) -> Value:
    high = f.binary("shl", f.cast("zext", key, kernel.entry_type), kernel.key_bits)
    return f.binary("or", high, f.cast("zext", index, kernel.entry_type))


def _raw_at(f, kernel, row, index):
    type_ = f"i{kernel.bits}"
    return f.load(type_, f.at(row, index, type_), align=kernel.bits // 8)


def _flip_of(f, kernel, word: Value) -> Value:
    return f.cast("trunc", word, f"i{kernel.bits}")


# Sorting entries.


def _write_ranks(module, kernel):
    """Write void ranks(buffer, other, count): put each entry at the number of entries before it; equal keys keep order."""
    f = module.function("ranks", [(PTR, "buffer"), (PTR, "other"), (I64, "count")], internal=True)
    buffer, other, count = f.params
    lanes, key = kernel.lanes, f"i{kernel.key_bits}"
    ranks = f.local(kernel.key_bits // 8 * lanes)
    with f.loop(0, count, lanes) as block:      # reads past the last entry stay in the scratch
        both = f.load(vector(2 * lanes, key), _entry_at(f, kernel, buffer, block.index), align=8)
        here, zero = f.shuffle(both, both, range(1, 2 * lanes, 2)), constant(vector(lanes, key), 0)
        start, end = block.index, f.min(f.add(block.index, lanes), count)
        counts = _count_of(f, kernel, buffer, 0, start, zero, lambda one, _: f.compare("ule", one, here))
        counts = _count_of(f, kernel, buffer, end, count, counts, lambda one, _: f.compare("ult", one, here))

        def within(one, at):
            stands = f.compare("ult", f.splat(f.cast("trunc", f.sub(at, start), key), lanes), iota(lanes, key))
            return f.binary("or", f.compare("ult", one, here), f.bit_and(f.compare("eq", one, here), stands))

        f.store(_count_of(f, kernel, buffer, start, end, counts, within), ranks, align=8)
        with f.loop(0, f.sub(end, start)) as lane:
            place = f.cast("zext", f.load(key, f.at(ranks, lane.index, key)), I64)
            _store(f, kernel, _load(f, kernel, buffer, f.add(start, lane.index)), other, place)
    f.ret()


def _count_of(f, kernel, buffer, first, end, counts, holds):
    """Count in each lane the entries of a range whose key compares by `holds` with the key of the lane."""
    key, lanes = f"i{kernel.key_bits}", kernel.lanes
    with f.loop(first, end, 1, [counts]) as each:
        high = f.at(_entry_at(f, kernel, buffer, each.index), kernel.key_bits // 8)
        one = f.splat(f.load(key, high), lanes)
        each.next(f.sub(each.carried[0], f.cast("sext", holds(one, each.index), vector(lanes, key))))
    return each.results[0]


def _digit(f, kernel, entry, number):
    shifted = f.binary("lshr", entry, kernel.key_bits + 8 * number)
    return f.bit_and(f.cast("trunc", shifted, I64), _DIGITS - 1)


def _write_radix(module, kernel):
    """Write ptr radix(buffer, other, count): sort by keys, stably; return the buffer with the result."""
    f = module.function("radix", [(PTR, "buffer"), (PTR, "other"), (I64, "count")], PTR, internal=True)
    source, target, count = f.params
    digits = kernel.key_bits // 8 if kernel.bits >= 32 else kernel.bits // 8
    counts = f.local(4 * _DIGITS * digits)
    with f.loop(0, _DIGITS * digits, 16) as loop:
        f.store(constant(vector(16, I32), 0), f.at(counts, loop.index, I32))
    with f.loop(0, count) as loop:
        entry = _load(f, kernel, source, loop.index)
        for number in range(digits):
            spot = f.at(f.at(counts, _digit(f, kernel, entry, number), I32), 4 * _DIGITS * number)
            f.store(f.add(f.load(I32, spot), 1), spot)
    first = _load(f, kernel, source, 0)
    for number in range(digits):
        table = f.at(counts, 4 * _DIGITS * number)
        common = f.load(I32, f.at(table, _digit(f, kernel, first, number), I32))
        differs = f.compare("ne", f.cast("zext", common, I64), count)
        source, target = f.choose(differs, lambda: _one_digit(f, kernel, source, target, count, table, number),
                                  lambda: (source, target))
    f.ret(source)


def _one_digit(f, kernel, source, target, count, table, number):
    with f.loop(0, _DIGITS, 1, [constant(I32, 0)]) as loop:
        spot = f.at(table, loop.index, I32)
        here = f.load(I32, spot)
        f.store(loop.carried[0], spot)
        loop.next(f.add(loop.carried[0], here))
    with f.loop(0, count) as loop:
        entry = _load(f, kernel, source, loop.index)
        spot = f.at(table, _digit(f, kernel, entry, number), I32)
        place = f.load(I32, spot)
        f.store(f.add(place, 1), spot)
        _store(f, kernel, entry, target, f.cast("zext", place, I64))
    return target, source


def _write_sort(module, kernel):
    """Write ptr sort(buffer, other, count), by the faster way."""
    f = module.function("sort", [(PTR, "buffer"), (PTR, "other"), (I64, "count")], PTR, internal=True)
    buffer, other, count = f.params

    def few():
        f.call("ranks", "void", buffer, other, count)
        return other,

    few_enough = f.compare("sle", count, _FEW_VECTORS[kernel.key_bits] * kernel.lanes)
    found, = f.choose(few_enough, few, lambda: (f.call("radix", PTR, buffer, other, count),))
    f.ret(found)


# Selecting.


def _cut(f, kernel, job, buffer, other, state):
    """Sort the entries, keep the first of them, and store the last kept key."""
    found = f.call("sort", PTR, buffer, other, f.load(I64, f.at(state, _COUNT)))
    with f.when(f.compare("ne", found, buffer)), f.loop(0, job.keep) as loop:
        _store(f, kernel, _load(f, kernel, found, loop.index), buffer, loop.index)
    last = _load(f, kernel, buffer, f.sub(job.keep, 1))
    f.store(f.cast("trunc", f.binary("lshr", last, kernel.key_bits), f"i{kernel.key_bits}"), f.at(state, _LIMIT))
    f.store(job.keep, f.at(state, _COUNT))


def _write_append(module, kernel):
    """Write void append(job, row, first, end, buffer, other, state): add elements before the last kept key."""
    f = module.function("append", [(PTR, "job"), (PTR, "row"), (I64, "first"), (I64, "end"), (PTR, "buffer"), (PTR, "other"),
                                   (PTR, "state")], internal=True)
    arg, row, first, end, buffer, other, state = f.params
    job = Words(f, arg, WORDS)
    flip, key_type = _flip_of(f, kernel, job.flip), f"i{kernel.key_bits}"
    with f.loop(first, end) as loop:
        key = _keys(f, kernel, _raw_at(f, kernel, row, loop.index), flip)
        with f.when(f.compare("ult", key, f.load(key_type, f.at(state, _LIMIT)))):
            count = f.load(I64, f.at(state, _COUNT))
            index = loop.index if key_type == I64 else f.cast("trunc", loop.index, I32)
            _store(f, kernel, _entry(f, kernel, key, index), buffer, count)
            f.store(f.add(count, 1), f.at(state, _COUNT))
            with f.when(f.compare("eq", f.add(count, 1), job.room)):
                _cut(f, kernel, job, buffer, other, state)
    f.ret()


def _select(f, kernel, arg, job, row, buffer, other, state):
    """Select from the rest of a row whose first `room` elements are in the buffer."""
    f.store(job.room, f.at(state, _COUNT))
    _cut(f, kernel, job, buffer, other, state)
    lanes, type_, key_type = f.lanes(f"i{kernel.key_bits}"), f"i{kernel.bits}", f"i{kernel.key_bits}"
    flips = f.splat(_flip_of(f, kernel, job.flip), lanes)
    whole = f.add(job.room, f.bit_and(f.sub(job.size, job.room), -lanes))
    with f.loop(job.room, whole, lanes) as loop:
        raw = f.load(vector(lanes, type_), f.at(row, loop.index, type_), align=kernel.bits // 8)
        before = f.compare("ult", _keys(f, kernel, raw, flips), f.splat(f.load(key_type, f.at(state, _LIMIT)), lanes))
        found = f.call(f"llvm.vector.reduce.or.v{lanes}i1", "i1", before)
        with f.when(found):
            f.call("append", "void", arg, row, loop.index, f.add(loop.index, lanes), buffer, other, state)
    f.call("append", "void", arg, row, whole, job.size, buffer, other, state)


# The task.


def _fill(f, kernel, job, row, buffer):
    """Store the first `room` elements of a row as entries."""
    flip, whole, type_ = _flip_of(f, kernel, job.flip), 0, f"i{kernel.bits}"
    if kernel.key_bits == 32:
        lanes = f.lanes(I32)
        wide, whole = vector(lanes, kernel.entry_type), f.bit_and(job.room, -lanes)
        with f.loop(0, whole, lanes) as loop:
            raw = f.load(vector(lanes, type_), f.at(row, loop.index, type_), align=kernel.bits // 8)
            keys = f.cast("zext", _keys(f, kernel, raw, f.splat(flip, lanes)), wide)
            indices = f.binary("add", f.splat(loop.index, lanes), iota(lanes, I64))
            entries = f.binary("or", f.binary("shl", keys, kernel.key_bits), indices)
            f.store(entries, _entry_at(f, kernel, buffer, loop.index), align=8)
    with f.loop(whole, job.room) as loop:
        key = _keys(f, kernel, _raw_at(f, kernel, row, loop.index), flip)
        index = loop.index if kernel.key_bits == 64 else f.cast("trunc", loop.index, I32)
        _store(f, kernel, _entry(f, kernel, key, index), buffer, loop.index)


def _write_task(module, kernel):
    f, job, share = open_task(module, kernel.symbol, WORDS, "rows")
    buffer = f.at(job.address("scratch"), f.mul(f.params[2], job.scratch_bytes))
    other = f.at(buffer, f.mul(job.room, kernel.entry_bytes))
    state = f.local(16)
    with f.loop(*share) as loop:
        row = f.at(job.address("x"), f.mul(f.mul(loop.index, job.size), kernel.bits // 8), I8)
        _fill(f, kernel, job, row, buffer)
        f.store(job.room, f.at(state, _COUNT))
        with f.when(f.compare("slt", job.room, job.size)):
            _select(f, kernel, job.pointer, job, row, buffer, other, state)
        found = f.call("sort", PTR, buffer, other, f.load(I64, f.at(state, _COUNT)))
        out = f.at(job.address("out"), f.mul(f.mul(loop.index, job.keep), 8), I8)
        with f.loop(0, job.keep) as each:
            entry = f.cast("trunc", _load(f, kernel, found, each.index), I64)
            index = entry if kernel.key_bits == 64 else f.bit_and(entry, 0xFFFFFFFF)
            f.store(index, f.at(out, each.index, I64))
    f.ret()
