"""Protocol buffers as bytes: the kinds of fields that event files have.

A message is a list of fields, (number, value): an int is a varint, a float a double, a `Float` a 32-bit one; text and bytes
stay as they are; a NumPy array of doubles or floats is packed. None leaves a field out.
"""

import struct

import numpy as np

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_BITS64 = (1 << 64) - 1


class Float(float):
    """A number that its message keeps in 32 bits."""


def varint(number: int) -> bytes:
    """Return an int as seven bits a byte, the lowest first; negative numbers are 64-bit ones."""
    number &= _BITS64
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def message(*fields) -> bytes:
    """Return the fields that have values, one after the other."""
    return b"".join([_field(number, value) for number, value in fields if value is not None])


def _field(number, value):
    if isinstance(value, Float):
        with np.errstate(over="ignore"):
            return varint(number << 3 | _FIXED32) + np.array(value, "<f4").tobytes()
    if isinstance(value, float):
        return varint(number << 3 | _FIXED64) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3 | _VARINT) + varint(value)
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    elif isinstance(value, np.ndarray):
        value = value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
    return varint(number << 3 | _BYTES) + varint(len(value)) + value
