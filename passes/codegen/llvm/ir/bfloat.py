"""float to bfloat: to nearest even, subnormals kept, nan quieted; the same bits on every target.

Processors that convert in one instruction take subnormals for zeros. Where a vector holds one, which is rare, it is converted
by integers, as on all other processors.
"""

from .split_vectors import joined, pieces
from .types import BF16, I1, I16, I32, Value, lanes_of, like, vector

LANES = 16              # that the instruction converts
_SUBNORMAL = 0x20       # the class of numbers that it is asked about


def to_bfloat(f, value: Value) -> Value:
    """The bits of floats rounded to bfloats, as 16-bit integers."""
    if lanes_of(value.type) % LANES or not f.module.target.has("avx512bf16"):
        return _by_integers(f, value)
    parts, flags = pieces(f, value, LANES), vector(LANES, I1)
    small = joined(f, [f.call("llvm.x86.avx512.fpclass.ps.512", flags, part, Value(I32, str(_SUBNORMAL))) for part in parts])
    found = f.call(f"llvm.vector.reduce.or.v{lanes_of(value.type)}i1", I1, small)
    return f.choose(found, lambda: (_by_integers(f, value),), lambda: (joined(f, [_converted(f, part) for part in parts]),))[0]


def _converted(f, part):
    short = f.call("llvm.x86.avx512bf16.cvtneps2bf16.512", vector(LANES, BF16), part)
    return f.bitcast(short, vector(LANES, I16))


def _by_integers(f, value):
    bits = f.bitcast(value, like(value.type, I32))
    high = f.binary("lshr", bits, 16)
    rounded = f.binary("lshr", f.binary("add", f.binary("add", bits, 0x7FFF), f.binary("and", high, 1)), 16)
    quiet = f.binary("or", high, 0x40)
    return f.cast("trunc", f.select(f.compare("uno", value, value), quiet, rounded), like(value.type, I16))
