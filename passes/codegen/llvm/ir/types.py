"""LLVM types as strings, SSA values with their types, and constants spelled exactly.

A type is LLVM's own text ("float", "i64", "ptr", "<16 x float>"). A `Value` is a type and a name, and prints as both ("float
%t3"), the form of most operands. Python numbers become constants where a type is known.
"""

import math
import struct
from functools import lru_cache
from typing import NamedTuple

import numpy as np

I1, I8, I16, I32, I64, PTR, VOID = "i1", "i8", "i16", "i32", "i64", "ptr", "void"
F16, BF16, F32, F64 = "half", "bfloat", "float", "double"
FLOATS = frozenset({F16, BF16, F32, F64})
FLOATS_BY_NP = {np.dtype(np.float32): F32, np.dtype(np.float64): F64}
NUMBERS_BY_NP = FLOATS_BY_NP | {np.dtype(np.int32): I32, np.dtype(np.int64): I64}
_BYTES = {I1: 1, I8: 1, I16: 2, I32: 4, I64: 8, PTR: 8, F16: 2, BF16: 2, F32: 4, F64: 8}
_MANGLED = {F16: "f16", BF16: "bf16", F32: "f32", F64: "f64", PTR: "p0"}


class Value(NamedTuple):
    """An SSA value or constant: its type and LLVM's text for it."""

    type: str
    name: str

    def __str__(self):
        return f"{self.type} {self.name}"


@lru_cache(None)
def vector(lanes: int, element: str) -> str:
    """Return the vector type of `lanes` elements; the element type itself for one lane."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


@lru_cache(None)
def lanes_of(type_: str) -> int:
    """Return the lanes of a type, 1 for a scalar."""
    return int(type_[1:type_.index(" ")]) if type_[0] == "<" else 1


@lru_cache(None)
def element_of(type_: str) -> str:
    """Return the element type of a vector type, or a scalar's own type."""
    return type_[type_.index(" x ") + 3:-1] if type_[0] == "<" else type_


@lru_cache(None)
def like(type_: str, element: str) -> str:
    """Return `type_` with another element type and as many lanes."""
    return vector(lanes_of(type_), element)


@lru_cache(None)
def bytes_of(type_: str) -> int:
    """Return the bytes of a value of this type in memory (i1 as a byte)."""
    return lanes_of(type_) * _BYTES[element_of(type_)]


def struct_of(types) -> str:
    """Return the struct type of several types; a single type stays as it is."""
    return types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"


@lru_cache(None)
def is_float(type_: str) -> bool:
    """Return whether a type is a float or a vector of floats."""
    return element_of(type_) in FLOATS


@lru_cache(None)
def mangled(type_: str) -> str:
    """Return LLVM's spelling of a type in the name of an overloaded intrinsic: v16f32, i64, p0."""
    element = element_of(type_)
    lanes = f"v{lanes_of(type_)}" if type_[0] == "<" else ""
    return lanes + _MANGLED.get(element, element)


def float_text(element: str, number) -> str:
    """Return a float constant in hexadecimal, rounded to nearest even where the type is narrower."""
    if element == F64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    if element == F16:
        return f"0xH{struct.unpack('<H', struct.pack('<e', number))[0]:04X}"
    single = _to_f32(number)
    if element == F32:
        return f"0x{struct.unpack('<Q', struct.pack('<d', single))[0]:016X}"
    bits = struct.unpack("<I", struct.pack("<f", single))[0]
    if math.isnan(single):
        return "0xR7FC0"
    return f"0xR{(bits + 0x7FFF + (bits >> 16 & 1)) >> 16:04X}"


def _to_f32(number):
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def scalar_text(element: str, number) -> str:
    """Return LLVM's text of a scalar constant."""
    if element in FLOATS:
        return float_text(element, float(number))
    if element == PTR:
        return "null" if not number else f"inttoptr (i64 {int(number)} to ptr)"
    return ("true" if number else "false") if element == I1 else str(int(number))


def constant(type_: str, number) -> Value:
    """Return a constant; for a vector type, the same number in every lane."""
    text = scalar_text(element_of(type_), number)
    return Value(type_, f"splat ({element_of(type_)} {text})" if type_[0] == "<" else text)


def vector_constant(element: str, numbers) -> Value:
    """Return a vector constant from one number per lane."""
    numbers = list(numbers)
    if len(numbers) == 1:
        return constant(element, numbers[0])
    lanes = ", ".join(f"{element} {scalar_text(element, number)}" for number in numbers)
    return Value(vector(len(numbers), element), f"<{lanes}>")


def iota(lanes: int, element: str = I32, start: int = 0, step: int = 1) -> Value:
    """Return the vector start, start+step, ..."""
    return vector_constant(element, (start + step * lane for lane in range(lanes)))


def zero(type_: str) -> Value:
    """Return a value of zero bits."""
    return Value(type_, "zeroinitializer") if type_[0] == "<" else constant(type_, 0)


def poison(type_: str) -> Value:
    """Return an undefined value that nobody reads."""
    return Value(type_, "poison")


def null() -> Value:
    """Return the null pointer."""
    return Value(PTR, "null")
