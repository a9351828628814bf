"""Casts between the floats of 8 bits and f32, in the instructions of `builder.Builder`; `ir/reference/float8.py` says what they
mean."""

from dataclasses import dataclass

from ....ir import dtype as dt


@dataclass(frozen=True)
class Format:
    """How a float8 has its bits, beside those of f32.

    mantissa   bits of the mantissa
    bias       what the exponent field of 1 has
    beyond     the least f32 from which on all become the largest
    largest    that: the largest finite number, or infinity
    """

    mantissa: int
    bias: int
    beyond: float
    largest: int

    @property
    def dropped(self) -> int:
        """Bits of the mantissa of f32 that are rounded away."""
        return 23 - self.mantissa


FORMATS = {dt.float8_e4m3fn: Format(3, 7, 464.0, 0x7E), dt.float8_e5m2: Format(2, 15, 61440.0, 0x7C)}
NAN = 0x7F
_INF32, _NAN32 = 0x7F800000, 0x7FC00000


def _bits32(x: float) -> int:
    """The bits of a float that is a power of two times a short integer, and positive."""
    mantissa, exponent = x, 127
    while mantissa >= 2.0:
        mantissa, exponent = mantissa / 2.0, exponent + 1
    while mantissa < 1.0:
        mantissa, exponent = mantissa * 2.0, exponent - 1
    return (exponent << 23) + int((mantissa - 1.0) * 2 ** 23)


def widened(s, x):
    """f8 as f32, exactly. The bits, moved to where f32 has them, are too small by a power of two, also where they are
    subnormal."""
    form = FORMATS[x.dtype]
    bits = s.cast(x.as_(dt.uint8), dt.uint32)
    size = bits & 0x7F
    value = ((size << form.dropped).as_(dt.float32) * 2.0 ** (127 - form.bias)).ubits()
    if form.largest == 0x7C:
        value = s.select(size.eq(0x7C), _INF32, value)
    value = s.select(size > form.largest, _NAN32, value)
    return (value | ((bits & 0x80) << 24)).as_(dt.float32)


def narrowed(s, x, dtype, signed=None):
    """f32 as f8, to nearest even. Bit 7 of `signed` is the sign, if x may have lost it (GPUs widen each nan of f16 to the same
    one). Where results are subnormal, adding a power of two puts their last bit at the end of the
    mantissa, so that the addition rounds; elsewhere half of what is dropped is added, less one where the last bit is 0."""
    form = FORMATS[dtype]
    bits = x.ubits()
    size = bits & 0x7FFFFFFF
    least = 2.0 ** (1 - form.bias)                                     # normal number
    shift = 2.0 ** (1 - form.bias - form.mantissa + 23)
    small = (size.as_(dt.float32) + shift).ubits() - _bits32(shift)
    half = (1 << form.dropped - 1) - 1
    normal = (size - ((127 - form.bias) << 23) + half + ((size >> form.dropped) & 1)) >> form.dropped
    out = s.select(size < _bits32(least), small, normal)
    out = s.select(size >= _bits32(form.beyond), form.largest, out)
    out = s.select(size > _INF32, NAN, out)
    return s.cast(out | (((bits >> 24) if signed is None else signed) & 0x80), dt.uint8).as_(dtype)
