"""Requantisation of int8 convolutions: i32 sums become results (`ir/ops/quantized/int8_conv.py`)."""

from ..ir.types import F32, I8, I16, I32, lanes_of, like, vector

FINISH = ("beside_image", "beside_row", "beside_pixel", "beside_zero", "beside_scale", "zero", "low", "high")
ITEM = {"u8": 1, "f32": 4}                      # bytes of a result
_MAGIC, _MAGIC_BITS = 1.5 * 2 ** 23, 0x4B400000         # a float32, and its bits


class Finish:
    """Conversion of sums to results of a `kind`, with an added array or not.

    Adding `_MAGIC`, whose last bit counts ones, rounds a number; limits are whole, so they may be applied first.
    """

    def __init__(self, f, job, kind: str, adds: bool):
        self.f, self.kind, self.adds = f, kind, adds
        if adds:
            self.added_zero, self.added_scale = (job.number(name, F32) for name in ("beside_zero", "beside_scale"))
        if kind == "u8":
            zero, low, high = (job.number(name, F32) for name in ("zero", "low", "high"))
            self.low, self.high = f.fsub(low, zero), f.fsub(high, zero)
            self.zero = f.binary("sub", f.cast("fptosi", zero, I32), _MAGIC_BITS)

    def values(self, sums, factor, added, mask=None):
        """Return the results of i32 sums: floats, or bytes in i32 lanes. `added` is the array's address."""
        f, floats, lanes = self.f, like(sums.type, F32), lanes_of(sums.type)
        value = f.fmul(f.cast("sitofp", sums, floats), factor)
        if self.adds:
            kind = like(sums.type, I8)
            number = f.load_masked(kind, added, mask)
            number = f.cast("sitofp", f.cast("zext", number, sums.type), floats)
            number = f.fmul(f.fsub(number, f.splat(self.added_zero, lanes)), f.splat(self.added_scale, lanes))
            value = f.fadd(value, number)
        if self.kind != "u8":
            return value
        for order, limit in (("ogt", self.low), ("olt", self.high)):
            limit = f.splat(limit, lanes)
            value = f.select(f.compare(order, value, limit), value, limit)
        return f.binary("add", f.bitcast(f.fadd(value, _MAGIC), sums.type), f.splat(self.zero, lanes))

    def store(self, sums, factor, added, y, mask=None):
        f, value = self.f, self.values(sums, factor, added, mask)
        value = f.cast("trunc", value, like(sums.type, I8)) if self.kind == "u8" else value
        f.store_masked(value, y, mask)


def packs_bytes(target) -> bool:
    """Return whether `packed` can be used."""
    return target.arch == "x86_64" and target.vector_bytes == 64


def packed(f, values):
    """Pack two or four vectors of 16 bytes in i32 lanes: four lanes of each in turn, then the next four."""
    pairs = [f.call("llvm.x86.avx512.packusdw.512", vector(32, I16), a, b) for a, b in zip(values[::2], values[1::2])]
    return f.call("llvm.x86.avx512.packuswb.512", vector(64, I8), pairs[0], pairs[-1])


def packed_in_order(f, values):
    """Pack them vector after vector."""
    count, fours = len(values), f.bitcast(packed(f, values), vector(16, I32))
    order = [4 * lane + number for number in range(count) for lane in range(4)]
    return f.bitcast(f.shuffle(fours, fours, order), vector(16 * count, I8))
