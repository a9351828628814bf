"""What convolutions of bytes share: products of bytes that are added to sums of i32, and what is done with finished sums.

`ir/ops/int8_conv.py` says what comes out. Sums are whole numbers, so they are the same however they are added up.
"""

from ....ir.ops.int8_conv import BLOCK, GROUP
from .types import F32, F64, I8, I16, I32, bytes_of, constant, lanes_of, like, vector

FINISH = ("beside_image", "beside_row", "beside_pixel", "beside_zero", "beside_scale", "zero", "low", "high")
ITEM = {"u8": 1, "f32": 4}                      # bytes of a result
_MAGIC, _MAGIC_BITS = 1.5 * 2 ** 23, 0x4B400000         # a float32, and its bits
_PAIRS = {16: "llvm.x86.sse2.pmadd.wd", 32: "llvm.x86.avx2.pmadd.wd", 64: "llvm.x86.avx512.pmaddw.d.512"}
# multiplies lanes of 16 bits and adds up neighbours, by the bytes of a register


def dots_bytes(target) -> bool:
    """Whether products of four bytes are one instruction."""
    return target.has("avx512vnni")


def add_fours(f, total, left, right):
    """total plus, in each lane of i32, the four products of unsigned bytes of `left` and signed ones of `right`."""
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
        total = f.binary("add", total, _add_pairs(f, f.bitcast(one, wide), other, total.type))
    return total


def _byte(f, x, at, shift):
    """One byte of each lane, widened as `shift` says: lshr with zeros, ashr with its sign."""
    moved = f.binary("shl", x, constant(x.type, 8 * (GROUP - 1 - at)))
    return f.binary(shift, moved, constant(x.type, 8 * (GROUP - 1)))


def add_ones(f, total, left, right):
    """total plus one product in each lane, of numbers that 16 bits hold."""
    if f.module.target.arch != "x86_64":
        return f.binary("add", total, f.binary("mul", left, right))
    wide = vector(2 * lanes_of(total.type), I16)
    left, right = f.bitcast(left, wide), f.bitcast(right, wide)
    return f.binary("add", total, _add_pairs(f, left, right, total.type))


def _add_pairs(f, left, right, type_):
    return f.call(_PAIRS[bytes_of(type_)], type_, left, right)


class Finish:
    """What is done with sums before they are stored: `kind` of the results, and whether something is added (`beside`).

    Adding `_MAGIC`, whose last bit counts ones, rounds a number; limits are whole, so they may come first.
    """

    def __init__(self, f, job, kind: str, beside: bool):
        self.f, self.kind, self.beside = f, kind, beside
        if beside:
            self.beside_zero, self.beside_scale = (self._number(job, name) for name in ("beside_zero", "beside_scale"))
        if kind == "u8":
            zero, low, high = (self._number(job, name) for name in ("zero", "low", "high"))
            self.low, self.high = f.fsub(low, zero), f.fsub(high, zero)
            self.zero = f.binary("sub", f.cast("fptosi", zero, I32), _MAGIC_BITS)

    def _number(self, job, name):
        return self.f.cast("fptrunc", self.f.load(F64, job.spot(name)), F32)

    def values(self, sums, factor, beside, mask=None):
        """What sums (vectors of i32) come to: floats, or bytes in lanes of i32. `beside` is where what is added lies."""
        f, floats, lanes = self.f, like(sums.type, F32), lanes_of(sums.type)
        value = f.fmul(f.cast("sitofp", sums, floats), factor)
        if self.beside:
            kind = like(sums.type, I8)
            added = f.load(kind, beside) if mask is None else f.load_masked(kind, beside, mask)
            added = f.cast("sitofp", f.cast("zext", added, sums.type), floats)
            added = f.fmul(f.fsub(added, f.splat(self.beside_zero, lanes)), f.splat(self.beside_scale, lanes))
            value = f.fadd(value, added)
        if self.kind != "u8":
            return value
        for order, limit in (("ogt", self.low), ("olt", self.high)):
            limit = f.splat(limit, lanes)
            value = f.select(f.compare(order, value, limit), value, limit)
        return f.binary("add", f.bitcast(f.fadd(value, _MAGIC), sums.type), f.splat(self.zero, lanes))

    def store(self, sums, factor, beside, y, mask=None):
        """Stores what sums come to at y."""
        f, value = self.f, self.values(sums, factor, beside, mask)
        value = f.cast("trunc", value, like(sums.type, I8)) if self.kind == "u8" else value
        if mask is None:
            f.store(value, y)
        else:
            f.store_masked(value, y, mask)


def packs_bytes(target) -> bool:
    """Whether `packed` can be used."""
    return target.arch == "x86_64" and target.vector_bytes == 64


def packed(f, values):
    """Two or four vectors of 16 bytes in lanes of i32 as one of bytes: four lanes of each in turn, then the next four."""
    pairs = [f.call("llvm.x86.avx512.packusdw.512", vector(32, I16), a, b) for a, b in zip(values[::2], values[1::2])]
    return f.call("llvm.x86.avx512.packuswb.512", vector(64, I8), pairs[0], pairs[-1])


def packed_in_order(f, values):
    """The same, vector after vector."""
    count, fours = len(values), f.bitcast(packed(f, values), vector(16, I32))
    order = [4 * lane + number for number in range(count) for lane in range(4)]
    return f.bitcast(f.shuffle(fours, fours, order), vector(16 * count, I8))


def block_mask(f, count):
    """The lanes of a block that are among `count` channels."""
    return f.mask(count, BLOCK)
