"""Casts between float8 and f32 in instructions of `builder.Builder`; `ir/reference/float8.py` defines them."""

from dataclasses import dataclass

from ....ir import dtype as dt


@dataclass(frozen=True)
class Format:
    """Layout of a float8 format, compared with f32.

        mantissa   bits of the mantissa
        bias       bias of the exponent
        beyond     the least f32 that becomes `largest`
        largest    bits of the largest finite number, or of infinity
    """

    mantissa: int
    bias: int
    beyond: float
    largest: int

    @property
    def dropped(self) -> int:
        """Mantissa bits of f32 that rounding drops."""
        return 23 - self.mantissa


FORMATS = {dt.float8_e4m3fn: Format(3, 7, 464.0, 0x7E), dt.float8_e5m2: Format(2, 15, 61440.0, 0x7C)}
NAN = 0x7F
_INF32, _NAN32 = 0x7F800000, 0x7FC00000


def _bits32(x: float) -> int:
    """Return the bits of a positive float that is a power of two times a short integer."""
    mantissa, exponent = x, 127
    while mantissa >= 2.0:
        mantissa, exponent = mantissa / 2.0, exponent + 1
    while mantissa < 1.0:
        mantissa, exponent = mantissa * 2.0, exponent - 1
    return (exponent << 23) + int((mantissa - 1.0) * 2 ** 23)


def widened(s, x):
    """Convert f8 to f32 exactly. The bits, shifted to f32's positions, are too small by a power of two, for subnormals too."""
    form = FORMATS[x.dtype]
    bits = s.cast(x.as_(dt.uint8), dt.uint32)
    size = bits & 0x7F
    value = ((size << form.dropped).as_(dt.float32) * 2.0 ** (127 - form.bias)).ubits()
    if form.largest == 0x7C:
        value = s.select(size.eq(0x7C), _INF32, value)
    value = s.select(size > form.largest, _NAN32, value)
    return (value | ((bits & 0x80) << 24)).as_(dt.float32)


def narrowed(s, x, dtype, signed=None):
    """Round f32 to f8, to nearest even.

    Bit 7 of `signed` is the sign, for an x that may have lost it: GPUs widen every nan of f16 to the same one. Where results
    are subnormal, adding a power of two aligns their last bit with the end of the mantissa, so the addition rounds. Elsewhere
    half of the dropped range is added, less one where the last bit is 0.
    """
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
