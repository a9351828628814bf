"""Exact products of bytes: rows of floats are quantised to unsigned bytes and multiplied with rows of signed bytes.

    quantize_row    a row's bytes, its step and its zero point
    bytes_product   out[i, j] = sums of numbers[i] * weights[j], scaled, plus bias[j]

`ir/ops/quantized/int8_linear.py` defines the result and its order of roundings. Sums are integers, so any way to add gives the
same: the dot instruction for bytes if the processor has it, else products of 16 bits. `Int8Kernel` has the pool tasks of
`linear_int8`:

    quantize   numbers[i], pairs[i] = bytes of x[i], its step and zero              an item is a row
    dots       out[i, j] = sums of numbers[i] * weight[j], scaled, plus bias        an item is a block of rows and columns
"""

from dataclasses import dataclass

from .....ir.ops.quantized.int8_conv import GROUP
from .....ir.ops.quantized.int8_linear import LEAST_STEP, STEPS
from .....ir.target import Target
from ..ir.emit import Module, ModuleWriter
from ..ir.types import F32, I1, I8, I16, I32, I64, PTR, VOID, bytes_of, constant, lanes_of, like, mangled, vector, zero
from ..pool.tasks import Words, write_task
from .microkernel import fold_lanes, fold_lanes_of

_PAIRS = {16: "llvm.x86.sse2.pmadd.wd", 32: "llvm.x86.avx2.pmadd.wd", 64: "llvm.x86.avx512.pmaddw.d.512"}
# by register bytes: multiply 16-bit lanes and add neighbours


def dots_bytes(target) -> bool:
    """Return whether products of four bytes are one instruction."""
    return target.has("avx512vnni") or target.has("avxvnni")


def add_fours(f, total, left, right):
    """Add to each i32 lane the four products of unsigned bytes of `left` and signed bytes of `right`."""
    if dots_bytes(f.module.target):
        return f.call(f"llvm.x86.avx512.vpdpbusd.{32 * lanes_of(total.type)}", total.type, total, left, right)
    if f.module.target.arch != "x86_64":
        for at in range(GROUP):
            one, other = (_byte(f, x, at, shift) for x, shift in ((left, "lshr"), (right, "ashr")))
            total = f.binary("add", total, f.binary("mul", one, other))
        return total
    words = like(total.type, I32)
    wide = vector(2 * lanes_of(words), I16)
    even, odd = f.binary("and", left, constant(words, 0x00FF00FF)), f.binary("lshr", left, constant(words, 8))
    odd = f.binary("and", odd, constant(words, 0x00FF00FF))
    signed = f.bitcast(right, wide)
    low = f.binary("ashr", f.binary("shl", signed, constant(wide, 8)), constant(wide, 8))
    high = f.binary("ashr", signed, constant(wide, 8))
    for one, other in ((even, low), (odd, high)):
        total = add_pairs(f, total, f.bitcast(one, wide), other)
    return total


def _byte(f, x, at, shift):
    """Widen one byte of each lane: lshr with zeros, ashr with its sign."""
    shifted = f.binary("shl", x, constant(x.type, 8 * (GROUP - 1 - at)))
    return f.binary(shift, shifted, constant(x.type, 8 * (GROUP - 1)))


def add_ones(f, total, left, right):
    """Add one product of 16-bit numbers to each lane."""
    if f.module.target.arch != "x86_64":
        return f.binary("add", total, f.binary("mul", left, right))
    wide = vector(2 * lanes_of(total.type), I16)
    left, right = f.bitcast(left, wide), f.bitcast(right, wide)
    return add_pairs(f, total, left, right)


def add_pairs(f, total, left, right):
    """Add the two products of adjacent 16-bit numbers to each lane (on x86-64)."""
    return f.binary("add", total, f.call(_PAIRS[bytes_of(total.type)], total.type, left, right))


COLUMNS = 4             # columns of a tile
PAIR = 8                # bytes of a row's two floats: its step and its zero point
LINE = 64               # rows of numbers start on lines of so many bytes, and vectors may read past their end


def tile_rows(target: Target) -> int:
    """Return the rows of a tile whose sums stay in registers."""
    return 4 if target.vector_registers >= 32 else 2


def numbers_row(f, depth):
    """Return the bytes between rows of numbers."""
    return f.bit_and(f.add(depth, LINE - 1), -LINE)


def write_products(module: Module, bias: bool):
    """Add `quantize_row` and `bytes_product`, which adds the vector at `bias` if `bias` is true."""
    _write_quantize(module)
    _write_product(module, bias)


# Rows to bytes.


def _write_quantize(module):
    f = module.function("quantize_row", [(PTR, "x"), (PTR, "numbers"), (PTR, "pair"), (I64, "depth")], internal=True)
    x, numbers, pair, depth = f.params
    lanes = f.lanes(F32)
    low, high, finite = _extent(f, x, depth, lanes)
    share = constant(F32, 1 / STEPS)
    step = f.fsub(f.fmul(high, share), f.fmul(low, share))
    step = f.select(f.compare("ogt", step, LEAST_STEP), step, constant(F32, 1))
    inverse = f.fdiv(constant(F32, 1), step)
    zero_point = _within(f, f.intrinsic("rint", F32, f.fmul(f.fneg(low), inverse)))
    f.store(f.select(finite, step, constant(F32, float("nan"))), pair)
    f.store(zero_point, f.at(pair, 1, F32))
    each, inverse, zero_point = vector(lanes, F32), f.splat(inverse, lanes), f.splat(zero_point, lanes)

    def turn(at, mask):
        quantised = f.fadd(f.intrinsic("rint", each, f.fmul(_load(f, F32, x, at, lanes, mask), inverse)), zero_point)
        number = f.cast("fptosi", _within(f, quantised), vector(lanes, I32))
        f.store(f.cast("trunc", number, vector(lanes, I8)), f.at(numbers, at))

    f.vectors(depth, lanes, turn)
    f.ret()


def _load(f, element, pointer, at, lanes, mask):
    place, type_ = f.at(pointer, at, element), vector(lanes, element)
    return f.load_masked(type_, place, mask)


def _within(f, value):
    """Clamp a number to the steps; nan becomes 0."""
    value = f.select(f.compare("ogt", value, 0.0), value, constant(value.type, 0))
    return f.select(f.compare("olt", value, float(STEPS)), value, constant(value.type, STEPS))


def _extent(f, x, depth, lanes):
    """Return (smallest, largest, whether all are finite) of a row and 0, ignoring nan."""
    def step(extent, at, mask):
        low, high, odd = extent
        value = _load(f, F32, x, at, lanes, mask)
        low = f.select(f.compare("olt", value, low), value, low)
        high = f.select(f.compare("ogt", value, high), value, high)
        return low, high, f.fadd(odd, f.fsub(value, value))

    whole, start = f.bit_and(depth, -lanes), zero(vector(lanes, F32))
    with f.loop(0, whole, lanes, [start] * 3) as loop:
        loop.next(*step(loop.carried, loop.index, None))
    rest = f.sub(depth, whole)
    low, high, odd = f.choose(f.compare("sgt", rest, 0), lambda: step(loop.results, whole, f.mask(rest, lanes)),
                              lambda: loop.results)
    good = f.compare("ord", odd, odd)
    low, high = (f.intrinsic(f"vector.reduce.{name}", x.type, x, ret=F32) for name, x in (("fmin", low), ("fmax", high)))
    return low, high, f.call(f"llvm.vector.reduce.and.{mangled(good.type)}", I1, good)


# Products of bytes.

_POINTERS = ("numbers", "pairs", "weights", "scale", "bias", "out")
_SIZES = ("depth", "numbers_row", "out_row")


def _write_product(module, bias):
    """Write `bytes_product`, tile by tile; `out_row` is in bytes."""
    most = tile_rows(module.target)
    tiles = {(height, width): _write_tile(module, bias, height, width) for height in range(1, most + 1)
             for width in (COLUMNS, 1)}
    names = [*((PTR, name) for name in _POINTERS), (I64, "rows"), (I64, "columns"), *((I64, name) for name in _SIZES)]
    f = module.function("bytes_product", names, internal=True)
    numbers, pairs, weights, scale, added, out, rows, columns, depth, numbers_row, out_row = f.params
    whole = f.bit_and(columns, -COLUMNS)
    for width, low, high in ((COLUMNS, 0, whole), (1, whole, columns)):
        with f.loop(low, high, width) as along, f.loop(0, rows, most) as down:
            column, row = along.index, down.index
            tile = (f.at(numbers, f.mul(row, numbers_row)), f.at(pairs, f.mul(row, PAIR)), f.at(weights, f.mul(column, depth)),
                    f.at(scale, column, F32), f.at(added, column, F32),
                    f.at(f.at(out, f.mul(row, out_row)), column, F32), depth, numbers_row, out_row)
            f.switch(f.min(f.sub(rows, row), most), {
                height: (lambda name=tiles[height, width]: f.call(name, VOID, *tile)) for height in range(1, most + 1)})
    f.ret()


def _write_tile(module, bias, height, width) -> str:
    name = f"bytes_{height}x{width}"
    f = module.function(name, [*((PTR, name) for name in _POINTERS), *((I64, name) for name in _SIZES)], internal=True)
    numbers, pairs, weights, scale, added, out, depth, numbers_row, out_row = f.params
    sums, of_weights = _sums(f, numbers, weights, depth, numbers_row, height, width)
    scale = f.load(vector(width, F32), scale)
    for i in range(height):
        at = f.at(pairs, PAIR * i)
        zero_point = f.cast("fptosi", f.load(F32, f.at(at, 1, F32)), I32)
        exact = f.binary("sub", sums[i], f.binary("mul", of_weights, f.splat(zero_point, width)))
        factor = f.fmul(f.splat(f.load(F32, at), width), scale)
        value = f.fmul(f.cast("sitofp", exact, vector(width, F32)), factor)
        if bias:
            value = f.fadd(value, f.load(value.type, added))
        f.store(value, f.at(out, f.mul(out_row, i)))
    f.ret()
    return name


def _sums(f, numbers, weights, depth, numbers_row, height, width):
    """Return ([sums of each row's numbers times each weight], [sums of each weight]) as vectors of i32."""
    lanes = f.lanes(I32)
    wide = 4 * lanes if dots_bytes(f.module.target) else 2 * lanes        # bytes that one vector of sums consumes
    whole, start = f.bit_and(depth, -wide), [zero(vector(lanes, I32))] * ((height + 1) * width)
    ones = constant(vector(wide, I8), 1)

    def step(sums, at, mask=None):
        if mask is None and width > 1:
            _prefetch_rows(f, f.at(weights, f.mul(depth, width)), at, depth, width)
        right = [_load(f, I8, f.at(weights, f.mul(depth, j)), at, wide, mask) for j in range(width)]
        left = [*[f.load(vector(wide, I8), f.at(f.at(numbers, f.mul(numbers_row, i)), at)) for i in range(height)], ones]
        return [_add_dots(f, total, left[i // width], right[i % width]) for i, total in enumerate(sums)]

    with f.loop(0, whole, wide, start) as loop:
        loop.next(*step(loop.carried, loop.index))
    rest = f.sub(depth, whole)
    sums = f.choose(f.compare("sgt", rest, 0), lambda: step(loop.results, whole, f.mask(rest, wide)), lambda: loop.results)
    found = [_across(f, sums[i * width:(i + 1) * width]) for i in range(height + 1)]
    return found[:-1], found[-1]


def _prefetch_rows(f, weights, at, depth, width):
    """Prefetch the rows of the next tile: each is on a page of its own, where hardware prefetching stops."""
    for j in range(width):
        f.prefetch(f.at(f.at(weights, f.mul(depth, j)), at), 2)


def _add_dots(f, total, left, right):
    """Add products of unsigned and signed bytes, neighbours in one lane: four, or two without the instruction."""
    if dots_bytes(f.module.target):
        return add_fours(f, total, *[f.bitcast(x, total.type) for x in (left, right)])
    left, right = (f.cast(kind, x, like(x.type, I16)) for kind, x in (("zext", left), ("sext", right)))
    if f.module.target.arch == "x86_64":
        return add_pairs(f, total, left, right)
    for first in (0, 1):
        one, other = (f.cast("sext", f.shuffle(x, x, range(first, lanes_of(x.type), 2)), total.type) for x in (left, right))
        total = f.binary("add", total, f.binary("mul", one, other))
    return total


def _across(f, vectors):
    """Return the sums of all lanes of each vector (a power of two of them) as the lanes of one vector."""
    def add(a, b):
        return f.binary("add", a, b)

    return fold_lanes_of(f, vectors, add)[0] if len(vectors) > 1 else fold_lanes(f, vectors[0], add)


# Pool tasks of a linear layer.

ARRAYS = ("x", "weight", "scale", "bias", "out")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "rows", "columns", "depth", "numbers_row", "pairs", "blocks",
         "block_rows", "block_columns")
# The scratch holds the numbers, rows `numbers_row` bytes apart, and from `pairs` on the two floats of each row.
TASKS = ("quantize", "dots")


@dataclass(frozen=True)
class Int8Kernel(ModuleWriter):
    """Generator of both tasks, with or without a bias."""

    bias: bool

    @property
    def symbols(self) -> list:
        """Names of the tasks, in order."""
        return [f"int8_{name}" for name in TASKS]

    def write(self, module):
        write_products(module, self.bias)
        for name, symbol, write in zip(TASKS, self.symbols, (_quantize_item, _dots_item), strict=True):
            write(module.function(name, [(PTR, "job"), (I64, "number")], internal=True))
            write_task(module, symbol, name, WORDS, worker=False)


def _row(f, job, row):
    scratch = job.address("scratch")
    return f.at(scratch, f.mul(row, job.numbers_row)), f.at(f.at(scratch, job.pairs), f.mul(row, PAIR))


def _quantize_item(f):
    job, row = Words(f, f.params[0], WORDS), f.params[1]
    f.call("quantize_row", VOID, f.at(job.address("x"), f.mul(row, job.depth), F32), *_row(f, job, row), job.depth)
    f.ret()


def _dots_item(f):
    job, number = Words(f, f.params[0], WORDS), f.params[1]
    row, column = f.mul(f.div(number, job.blocks), job.block_rows), f.mul(f.mod(number, job.blocks), job.block_columns)
    rows, columns = f.min(f.sub(job.rows, row), job.block_rows), f.min(f.sub(job.columns, column), job.block_columns)
    weights = f.at(job.address("weight"), f.mul(column, job.depth))
    scale, bias = (f.at(job.address(name), column, F32) for name in ("scale", "bias"))
    out = f.at(job.address("out"), f.add(f.mul(row, job.columns), column), F32)
    f.call("bytes_product", VOID, *_row(f, job, row), weights, scale, bias, out, rows, columns, job.depth, job.numbers_row,
           f.mul(job.columns, 4))
    f.ret()
