"""Exact products of bytes and of 16-bit words, added to i32 sums by the target's instructions."""

from .....ir.ops.quantized.int8_conv import GROUP
from ..ir.types import I16, I32, bytes_of, constant, lanes_of, like, vector

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
    moved = f.binary("shl", x, constant(x.type, 8 * (GROUP - 1 - at)))
    return f.binary(shift, moved, constant(x.type, 8 * (GROUP - 1)))


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
