"""Microkernel: a register tile of C accumulated over a depth, for all contractions.

`outer_tile` holds `rows` x `vectors` accumulators, broadcasts elements of A and multiplies them with vectors of B. `dot_tile`
is for operands contiguous along the depth: it multiplies vectors of both, and sums across lanes at the end in a fixed tree.
Strides in bytes, ints or run-time values, describe rows and steps, so one kernel serves every layout. Callers finish the
accumulators (`epilogue.py`).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .....ir.target import Target
from ..ir.emit import Function
from ..ir.spelling import to_bfloat
from ..ir.types import BF16, F16, F32, F64, I16, I32, Value, bytes_of, element_of, lanes_of, like, mangled, vector, zero

TURN = 8                                         # rows whose lines `Lines` interleaves, a power of two
_LINE = 64                                       # bytes of a cache line


@dataclass(frozen=True)
class Precision:
    """Element types of a contraction: operands as stored, accumulators, result as stored."""

    a: str
    b: str
    accumulate: str
    out: str

    @classmethod
    def of(cls, stored: str, out: str | None = None) -> "Precision":
        """Return the precision of operands of one type; narrow floats accumulate in float."""
        return cls(stored, stored, F64 if stored == F64 else F32, out or stored)

    def __str__(self):
        return "_".join(mangled(type_) for type_ in (self.a, self.b, self.accumulate, self.out))


class Operand(NamedTuple):
    """Location of an operand: a pointer and the strides, in bytes, between its rows and between its steps in depth."""

    pointer: Value
    row_stride: Any
    step: Any


class Lines(NamedTuple):
    """Cache lines to prefetch: the first, and the bytes between them; each may have a `second` line so many bytes after it.

    From each `TURN`th line to the next it is `turn` bytes: lines of several rows, then the next lines of the same rows.
    """

    pointer: Value
    apart: Any
    second: Any
    turn: Any


@dataclass(frozen=True)
class TileShape:
    """The largest register tile of a target: rows, vectors of columns, lanes of a vector."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes


def tile_shape(target: Target, accumulate: str) -> TileShape:
    """Return 6 x 4 vectors for 32 registers (24 accumulators, 4 of B, broadcasts), 6 x 2 for 16."""
    return TileShape(6, 4 if target.vector_registers >= 32 else 2, target.lanes(bytes_of(accumulate)))


def memory_type(stored: str) -> str:
    """Return the type for loads and stores: 16-bit floats as integers, which every target loads, masks and stores."""
    return I16 if stored in (BF16, F16) else stored


def widen(f: Function, value: Value, stored: str, element: str) -> Value:
    """Convert a loaded value (`memory_type`) to the accumulating type, exactly."""
    if stored == element:
        return value
    if stored == BF16:
        bits = f.cast("zext", value, like(value.type, I32))
        value = f.bitcast(f.binary("shl", bits, 16), like(value.type, F32))
    elif stored == F16:
        value = f.bitcast(value, like(value.type, F16))
    return f.cast("fpext", value, like(value.type, element))


def narrow(f: Function, value: Value, stored: str) -> Value:
    """Round an accumulated value to nearest even, to the `memory_type` of its stored type."""
    if element_of(value.type) == stored:
        return value
    if stored == BF16:
        return to_bfloat(f, f.cast("fptrunc", value, like(value.type, F32)))
    short = f.cast("fptrunc", value, like(value.type, stored))
    return f.bitcast(short, like(value.type, memory_type(stored)))


def multiply_add(f: Function, a: Value, b: Value, c: Value) -> Value:
    """Return a * b + c, fused if the target can."""
    return f.fma(a, b, c) if f.module.target.fma else f.fadd(f.fmul(a, b), c)


def outer_tile(f: Function, precision: Precision, rows: int, vectors: int, lanes: int, depth, a: Operand, b: Operand,
               mask: Value | None = None, ahead=None, unroll: int = 1) -> list[list[Value]]:
    """Return accumulators [row][vector] of the sum over k of A[row, k] * B[k, columns]; `add_outer` explains the operands."""
    return add_outer(f, precision, zero_tile(precision, rows, vectors, lanes), depth, a, b, mask, ahead, unroll)


def zero_tile(precision: Precision, rows: int, vectors: int, lanes: int, narrow: bool = False) -> list[list[Value]]:
    """Return zero accumulators; `narrow` halves the lanes of the last vector."""
    widths = [lanes] * (vectors - narrow) + [lanes // 2] * narrow
    return [[zero(vector(width, precision.accumulate)) for width in widths] for _ in range(rows)]


def add_outer(f: Function, precision: Precision, tile: list[list[Value]], depth, a: Operand, b: Operand,
              mask: Value | None = None, ahead=None, unroll: int = 1) -> list[list[Value]]:
    """Add to accumulators [row][vector] the sum over k of A[row, k] * B[k, columns], one step of the depth after the other.

    `b.row_stride` is a tuple of byte offsets of the vectors in a step of B; 0 means adjacent vectors. `mask` limits the last of
    them.

    `ahead` is the distance from each step of B to a line to prefetch; or (pointer, bytes) of a stream beside B, of which each
    step prefetches the first and the last line of that many bytes. Or it is `Lines`, of which each round of the loop prefetches
    one or two.

    `unroll` steps (a power of two) form one round, because loop counters compete with multiply-adds for ports.
    """
    lines = ahead if type(ahead) is Lines else None
    step = _OuterStep(f, precision, tile, a, b, mask, ahead if lines is None else None)
    addresses, sums = step.starts, [value for line in tile for value in line]
    streams, end, whole = len(addresses), len(addresses) + len(sums), f.bit_and(depth, -unroll) if unroll > 1 else 0
    for low, high, count in ((0, whole, unroll), (whole, depth, 1))[unroll == 1:]:
        prefetched = [lines.pointer] if lines is not None and count == unroll else []
        with f.loop(low, high, count, [*addresses, *sums, *prefetched]) as loop:
            now, sums = loop.carried[:streams], loop.carried[streams:end]
            following = _prefetch_round(f, lines, loop.carried[end], loop.index, count) if prefetched else []
            for number in range(count):
                sums = step.add(now, number, sums)
            loop.next(*step.advanced(now, count), *sums, *following)
        addresses, sums = loop.results[:streams], loop.results[streams:end]
    vectors = len(tile[0])
    return [list(sums[row * vectors:(row + 1) * vectors]) for row in range(len(tile))]


def _prefetch_round(f, lines, line, index, count):
    """Prefetch a round's lines, and return the next round's."""
    f.prefetch(line, 2)
    f.prefetch(f.at(line, lines.second), 2)
    last = f.compare("eq", f.bit_and(index, (TURN - 1) * count), (TURN - 1) * count)
    return [f.at(line, f.select(last, lines.turn, lines.apart))]


def add_written(f: Function, precision: Precision, tile: list[list[Value]], depth: int, a: Operand,
                b: Operand) -> list[list[Value]]:
    """`add_outer` for a constant depth, with all its steps unrolled."""
    step = _OuterStep(f, precision, tile, a, b, None, None)
    sums = [value for line in tile for value in line]
    for number in range(depth):
        sums = step.add(step.starts, number, sums)
    return [sums[row * step.vectors:(row + 1) * step.vectors] for row in range(step.rows)]


class _OuterStep:
    """One step of the depth of `add_outer`. The streams A, B and the prefetched one move on with it."""

    def __init__(self, f, precision, tile, a, b, mask, ahead):
        self.f, self.precision, self.mask, self.ahead = f, precision, mask, ahead
        self.rows, self.vectors = len(tile), len(tile[0])
        self.row = row_offsets(f, a.row_stride, self.rows)
        self.widths = [lanes_of(value.type) for value in tile[0]]
        size = bytes_of(memory_type(precision.b))
        self.across = b.row_stride or [number * self.widths[0] * size for number in range(self.vectors)]
        streams = [(a.pointer, a.step), (b.pointer, b.step), *([ahead[:2]] if isinstance(ahead, tuple) else [])]
        self.starts, self.strides = [list(part) for part in zip(*streams)]

    def advanced(self, addresses, count):
        return [self.f.at(address, self.f.mul(stride, count)) for address, stride in zip(addresses, self.strides)]

    def add(self, addresses, number, sums):
        """Add to `sums` the products of the step that is `number` steps after the addresses."""
        f, precision, sums = self.f, self.precision, list(sums)
        at_a, at_b, *stream = self.advanced(addresses, number) if number else addresses
        at_a = f.opaque(at_a) if number else at_a
        self._prefetch(at_b, stream)
        columns = [_load_columns(f, precision, f.at(at_b, self.across[i]), self.widths[i],
                                 self.mask if i == self.vectors - 1 else None) for i in range(self.vectors)]
        for row in range(self.rows):
            scalar = f.load(memory_type(precision.a), f.at(at_a, self.row(row)))
            scalar = widen(f, scalar, precision.a, precision.accumulate)
            spread = {width: f.splat(scalar, width) for width in dict.fromkeys(self.widths)}
            for i in range(self.vectors):
                place = row * self.vectors + i
                sums[place] = multiply_add(f, spread[self.widths[i]], columns[i], sums[place])
        return sums

    def _prefetch(self, at_b, stream):
        f, ahead = self.f, self.ahead
        if type(ahead) is tuple:
            for line in (0, f.sub(ahead[1], _LINE)):
                f.prefetch(f.at(stream[0], line), 2)
        elif ahead is not None:
            f.prefetch(f.at(at_b, ahead), 2)


def row_offsets(f: Function, stride, rows: int):
    """Return a function that gives the offset of a row from the first. Few registers serve many rows, because addresses may
    scale a register by a power of two."""
    odd = {number: f.opaque(f.mul(stride, number)) for number in range(1, rows, 2)}

    def place(row):
        scale = row & -row
        return f.mul(odd[row // scale], scale) if row else 0

    return place


def widen_lanes(f: Function, value: Value, lanes: int) -> Value:
    """Extend a value with zero lanes up to `lanes`."""
    have = lanes_of(value.type)
    if have == 1 < lanes:
        return f.insert(zero(vector(lanes, value.type)), value, 0)
    return value if have == lanes else f.shuffle(value, zero(value.type), range(lanes))


def _load_columns(f, precision, place, lanes, mask):
    type_ = vector(lanes, memory_type(precision.b))
    value = f.load_masked(type_, place, mask)
    return widen(f, value, precision.b, precision.accumulate)


def pair_tile(f: Function, rows: int, vectors: int, lanes: int, depth, a: Operand, b: Operand) -> list[list[Value]]:
    """`outer_tile` for bfloat pairs with the dot instruction: a step is two elements of the depth.

    A is contiguous along the depth; B is packed as [depth / 2][columns][2].
    """
    total, pairs = vector(lanes, F32), vector(2 * lanes, BF16)
    offsets = [f.mul(a.row_stride, row) for row in range(rows)]
    with f.loop(0, depth, 1, [a.pointer, b.pointer, *[zero(total)] * (rows * vectors)]) as loop:
        at_a, at_b, *sums = loop.carried
        columns = [f.load(pairs, f.at(at_b, 4 * lanes * number)) for number in range(vectors)]
        for row in range(rows):
            scalar = f.load(I32, f.at(at_a, offsets[row]), align=2)
            spread = f.bitcast(f.splat(scalar, lanes), pairs)
            for number in range(vectors):
                place = row * vectors + number
                sums[place] = _dot_pairs(f, sums[place], spread, columns[number])
        loop.next(f.at(at_a, 4), f.at(at_b, b.step), *sums)
    sums = loop.results[2:]
    return [list(sums[row * vectors:(row + 1) * vectors]) for row in range(rows)]


def _dot_pairs(f, total, left, right):
    """Return total + left * right, pairs of adjacent bfloat lanes summed into one float lane."""
    return f.call(f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes_of(total.type)}", total.type, total, left, right)


def dot_tile(f: Function, precision: Precision, rows: int, columns: int, lanes: int, depth, a: Operand, b: Operand,
             ahead=None) -> list[Value]:
    """Return, for each row, a vector (a scalar for one column) of the sum over k of A[row, k] * B[column, k].

    Both operands are contiguous along the depth (steps unused), and columns are a power of two. `ahead` is the distance in
    bytes from reads of B to lines to prefetch.
    """
    pairs = precision.a == precision.b == BF16 and f.module.target.has("avx512bf16")
    wide = 2 * lanes if pairs else lanes
    whole = f.bit_and(depth, -wide)
    start = [zero(vector(lanes, precision.accumulate))] * (rows * columns)

    def load(stored, operand, row, at, mask):
        place = f.at(f.at(operand.pointer, f.mul(operand.row_stride, row)), at, stored)
        type_ = vector(wide, memory_type(stored))
        value = f.load_masked(type_, place, mask)
        return f.bitcast(value, vector(wide, BF16)) if pairs else widen(f, value, stored, precision.accumulate)

    def step(sums, at, mask=None):
        if ahead is not None and mask is None:
            for column in range(columns):
                f.prefetch(f.at(f.at(b.pointer, f.add(f.mul(b.row_stride, column), ahead)), at, memory_type(precision.b)), 2)
        left = [load(precision.a, a, row, at, mask) for row in range(rows)]
        right = [load(precision.b, b, column, at, mask) for column in range(columns)]
        if pairs:
            return [_dot_pairs(f, total, left[i // columns], right[i % columns]) for i, total in enumerate(sums)]
        return [multiply_add(f, left[i // columns], right[i % columns], total) for i, total in enumerate(sums)]

    with f.loop(0, whole, wide, start) as loop:
        loop.next(*step(loop.carried, loop.index))
    rest = f.sub(depth, whole)
    sums = f.choose(f.compare("sgt", f.index(rest), 0), lambda: step(loop.results, whole, f.mask(rest, wide)),
                    lambda: loop.results)
    return _rows_of(f, add_lanes_of(f, list(sums)), rows, columns)


def _rows_of(f, totals, rows, columns):
    """Split sums that stand one after the other in vectors into rows of `columns`."""
    while lanes_of(totals[0].type) < columns:
        lanes = 2 * lanes_of(totals[0].type)
        totals = [f.shuffle(low, high, range(lanes)) for low, high in zip(totals[::2], totals[1::2], strict=True)]
    each = lanes_of(totals[0].type) // columns
    return [_lanes(f, totals[row // each], row % each * columns, columns) for row in range(rows)]


def _lanes(f, value, first, count):
    if count == lanes_of(value.type):
        return value
    return f.extract(value, first) if count == 1 else f.shuffle(value, value, range(first, first + count))


def add_lanes(f: Function, value: Value) -> Value:
    """Return the sum over lanes, halves added to halves."""
    lanes = lanes_of(value.type)
    while lanes > 1:
        lanes //= 2
        low = f.shuffle(value, value, range(lanes))
        high = f.shuffle(value, value, range(lanes, 2 * lanes))
        if lanes == 1:
            return f.fadd(f.extract(value, 0), f.extract(value, 1))
        value = f.fadd(low, high)
    return value


def fold_lanes(f: Function, value: Value, join) -> Value:
    """Return the scalar that `join` makes of a vector's lanes, halves with halves."""
    lanes = lanes_of(value.type)
    while lanes > 1:
        lanes //= 2
        low, high = (f.shuffle(value, value, range(start, start + lanes)) if lanes > 1 else f.extract(value, start)
                     for start in (0, lanes))
        value = join(low, high)
    return value


def add_lanes_of(f: Function, values: list[Value]) -> list[Value]:
    """Return the lane sums of several vectors, in the order of `add_lanes`, packed into as few vectors as hold them; unused
    lanes hold any values."""
    return fold_lanes_of(f, values, f.fadd) if len(values) > 1 else [add_lanes(f, values[0])]


def fold_lanes_of(f: Function, values: list[Value], join) -> list[Value]:
    """Join the lanes of each vector, halves with halves, packed into as few vectors as hold the results; unused lanes hold any
    values. The tree is the same for any number of vectors."""
    part = lanes_of(values[0].type)
    values = values + values[:1] * ((1 << (len(values) - 1).bit_length()) - len(values))
    while part > 1:
        part //= 2                              # lanes of a vector that belong to one sum
        pairs = list(zip(values[::2], values[1::2])) or [(values[0], values[0])]
        lanes = lanes_of(values[0].type)
        first = [lane for lane in range(2 * lanes if len(values) > 1 else lanes) if not lane & part]
        values = [join(f.shuffle(a, b, first), f.shuffle(a, b, [lane + part for lane in first])) for a, b in pairs]
    return values


def transpose(f: Function, rows: list[Value]) -> list[Value]:
    """Transpose a square block of n vectors of n lanes, n a power of two."""
    count, rows, span = len(rows), list(rows), len(rows) // 2
    while span:
        low = [lane if not lane & span else count + (lane ^ span) for lane in range(count)]
        high = [lane | span if not lane & span else count + lane for lane in range(count)]
        done = list(rows)
        for i in range(count):
            if not i & span:
                done[i], done[i + span] = f.shuffle(rows[i], rows[i + span], low), f.shuffle(rows[i], rows[i + span], high)
        rows, span = done, span // 2
    return rows
