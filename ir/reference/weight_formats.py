"""Formats of stored weights: blocks of bytes for runs of numbers in a row.

A `WeightFormat` says as data which bits of a block form each number, and which floats scale it. NumPy runs this description
here. `FORMATS` holds the formats of GGUF files under their names there. `format_named` also makes formats of groups:
`int4_group128` has signed codes with a scale, `uint4_group128` unsigned codes with a scale and a minimum.
"""

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .. import dtype as dt
from ..errors import ArgumentError, ShapeError
from ..process_state import ignore_float_errors

UNIT = 32                   # numbers of a group are laid out in runs of so many
LARGEST_GROUP = 1 << 16
LARGEST_ROW = 1 << 31       # numbers of a row
_ROWS = 1 << 22             # numbers that are decoded or encoded at once, to bound the arrays between


class Piece(NamedTuple):
    """Bits of each code: `width` bits of byte `bytes[i]` from bit `shifts[i]` on are bits of code `i` from `position` on."""

    bytes: np.ndarray
    shifts: np.ndarray
    width: int
    position: int


def fields(start: int, count: int, width: int, run: int, position: int = 0) -> Piece:
    """Return a piece of `count` codes that lie in bytes from `start` on.

    The low fields of `run` bytes belong to `run` successive codes, their next fields to the next `run` codes.
    """
    i, fields_of_byte = np.arange(count), 8 // width
    return Piece(start + i // (run * fields_of_byte) * run + i % run, width * (i // run % fields_of_byte), width, position)


def _at(bytes: Sequence[int], shifts: Sequence[int], width: int, position: int = 0) -> Piece:
    return Piece(np.array(bytes), np.array(shifts), width, position)


class Codes(NamedTuple):
    """Whole numbers of a block: unsigned codes plus `offset`, two's complement if `signed`, entries of `table` if there is one.
    """

    pieces: tuple[Piece, ...]
    offset: int = 0
    signed: bool = False
    table: tuple[int, ...] | None = None

    @property
    def count(self) -> int:
        return len(self.pieces[0].bytes)

    @property
    def width(self) -> int:
        return max(p.width + p.position for p in self.pieces)

    @property
    def lowest(self) -> int:
        return self.table[0] if self.table else -(1 << (self.width - 1)) if self.signed else self.offset

    @property
    def highest(self) -> int:
        return self.table[-1] if self.table else (1 << self.width) - 1 + self.lowest

    def read(self, blocks: np.ndarray) -> np.ndarray:
        """Return the numbers of blocks [n, bytes] as int32 [n, count]."""
        codes = np.zeros((len(blocks), self.count), np.int32)
        for bytes, shifts, width, position in self.pieces:
            codes |= ((blocks[:, bytes].astype(np.int32) >> shifts) & ((1 << width) - 1)) << position
        if self.table:
            return np.array(self.table, np.int32)[codes]
        if self.signed:
            return (codes ^ (1 << (self.width - 1))) + self.lowest
        return codes + self.offset

    def write(self, blocks: np.ndarray, numbers: np.ndarray) -> None:
        """Put numbers [n, count] into blocks whose bits for them are zero."""
        if self.table:
            codes = np.searchsorted(np.array(self.table), numbers)
        elif self.signed:
            codes = numbers & ((1 << self.width) - 1)
        else:
            codes = numbers - self.offset
        for bytes, shifts, width, position in self.pieces:
            values = (((codes >> position) & ((1 << width) - 1)) << shifts).astype(np.uint8)
            for shift in np.unique(shifts):         # codes of one shift lie in different bytes
                chosen = shifts == shift
                blocks[:, bytes[chosen]] |= values[:, chosen]

    def nearest(self, ratios: np.ndarray) -> np.ndarray:
        """Return the numbers nearest to finite floats."""
        if self.table:
            levels = np.array(self.table)
            return levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, ratios)]
        return np.clip(np.rint(ratios), self.lowest, self.highest).astype(np.int32)

    def step(self, values: np.ndarray) -> np.ndarray:
        """Return the factor for which these numbers span the values along the last dim.

        Offset codes reach one further below zero than above. There the value of the largest magnitude becomes the lowest
        number, and the factor may be negative.
        """
        if self.lowest == 0:
            return values.max(-1) / np.float32(self.highest)
        if self.signed:
            return np.abs(values).max(-1) / np.float32(self.highest)
        extreme = np.take_along_axis(values, np.abs(values).argmax(-1)[..., None], -1)[..., 0]
        return extreme / np.float32(self.lowest)


class WeightFormat(NamedTuple):
    """A block of `block` numbers in `nbytes` bytes: number = scale * code + minimum.

    `floats` is the dtype of the floats in a block; `scale` and `minimum` are their bytes. `scales` and `minima` hold whole
    numbers by which they are multiplied, one for each of the equal parts of the block; then the minimum is subtracted. A format
    without codes stores the numbers as `floats`.
    """

    name: str
    block: int
    nbytes: int
    floats: dt.DType
    codes: Codes | None = None
    scale: int = 0
    minimum: int | None = None
    scales: Codes | None = None
    minima: Codes | None = None

    @property
    def parts(self) -> int:
        """Number of scales in a block."""
        return self.scales.count if self.scales else 1

    def bytes_of_row(self, numbers: int) -> int:
        """Return the bytes of a row. Its last block may be filled in part."""
        return -(-numbers // self.block) * self.nbytes

    @ignore_float_errors
    def unpack(self, rows: np.ndarray, numbers: int) -> np.ndarray:
        """Return the float32 numbers of rows [..., bytes] of uint8."""
        self._check_rows(rows, numbers)
        lead, blocks = rows.shape[:-1], rows.reshape(-1, self.nbytes)
        out = np.empty((len(blocks), self.block), np.float32)
        step = max(1, _ROWS // self.block)
        for i in range(0, len(blocks), step):
            out[i:i + step] = self._numbers(blocks[i:i + step])
        return out.reshape(*lead, -(-numbers // self.block) * self.block)[..., :numbers]

    @ignore_float_errors
    def pack(self, weights: np.ndarray) -> np.ndarray:
        """Return finite float32 numbers [..., n] as rows of bytes, each number rounded to the nearest of its group."""
        if weights.ndim < 1:
            raise ShapeError(f"a weight of the format {self.name} has rows, got a number")
        if not np.isfinite(weights).all():
            raise ArgumentError(f"a weight of the format {self.name} must be finite, and this one has infinities or nan")
        numbers = weights.shape[-1]
        lead, short = weights.shape[:-1], -numbers % self.block
        padded = np.pad(weights, [(0, 0)] * len(lead) + [(0, short)], "edge") if short and numbers else weights
        rows = np.zeros((*lead, self.bytes_of_row(numbers)), np.uint8)
        blocks, values = rows.reshape(-1, self.nbytes), padded.reshape(-1, self.block).astype(np.float32, copy=False)
        step = max(1, _ROWS // self.block)
        for i in range(0, len(blocks), step):
            self._write(blocks[i:i + step], values[i:i + step])
        return rows

    def _check_rows(self, rows, numbers):
        nbytes = self.bytes_of_row(numbers)
        if rows.dtype != np.uint8 or not rows.ndim or rows.shape[-1] != nbytes:
            raise ShapeError(f"rows of {numbers} numbers in the format {self.name} have {nbytes} bytes, got "
                             f"{list(rows.shape)} of {rows.dtype}")

    def _floats(self, blocks, start):
        return np.ascontiguousarray(blocks[:, start:start + self.floats.itemsize]).view(self.floats.np).astype(np.float32)

    def _numbers(self, blocks):
        if self.codes is None:
            return self._floats(blocks, 0)
        scale = self._floats(blocks, self.scale)
        if self.scales:
            scale = scale * self.scales.read(blocks).astype(np.float32)
        values = scale[..., None] * self.codes.read(blocks).astype(np.float32).reshape(len(blocks), self.parts, -1)
        if self.minimum is not None:
            minimum = self._floats(blocks, self.minimum)
            if self.minima:
                values -= (minimum * self.minima.read(blocks).astype(np.float32))[..., None]
            else:
                values += minimum[..., None]
        return values.reshape(len(blocks), -1)

    def _write(self, blocks, values):
        if self.codes is None:
            blocks[:] = self._stored(values).view(np.uint8)
            return
        values = values.reshape(len(blocks), self.parts, -1)
        low = np.zeros(values.shape[:2], np.float32)
        if self.minimum is not None:
            low = values.min(-1)
            low = self._write_level(blocks, self.minimum, self.minima, np.maximum(-low, 0)) if self.minima else (
                self._write_level(blocks, self.minimum, None, low))
            low = -low if self.minima else low
        above = values - low[..., None]
        scale = self._write_level(blocks, self.scale, self.scales, self.codes.step(above))
        ratios = np.where(scale[..., None] == 0, np.float32(0), above / scale[..., None])
        # A scale that a narrow float rounds to almost nothing makes ratios without bounds.
        ratios = np.clip(np.nan_to_num(ratios), self.codes.lowest, self.codes.highest)
        self.codes.write(blocks, self.codes.nearest(ratios).reshape(len(blocks), -1))

    def _write_level(self, blocks, start, factors, wanted):
        """Store one float a block, with whole factors for each part if the format has them; return the resulting numbers."""
        step = factors.step(wanted) if factors else wanted[:, 0]
        stored = self._stored(step)
        blocks[:, start:start + self.floats.itemsize] = stored.view(np.uint8).reshape(len(blocks), -1)
        level = stored.astype(np.float32)[:, None]
        if not factors:
            return level
        numbers = factors.nearest(np.nan_to_num(np.where(level == 0, np.float32(0), wanted / level)))
        factors.write(blocks, numbers)
        return level * numbers.astype(np.float32)

    def _stored(self, values):
        narrow = values.astype(self.floats.np)
        if not np.isfinite(narrow.astype(np.float32)).all():
            raise ArgumentError(f"the weight is too large for the format {self.name}: {self.floats.name} cannot hold "
                                f"{np.abs(values).max():g}")
        return narrow


def _nibbles_of_32(start):
    return fields(start, 32, 4, 16)


def _whole_bytes(start, count):
    return fields(start, count, 8, count)


# Scales and minima of 6 bits in 12 bytes: numbers 4 to 7 borrow the upper bits of numbers 0 to 3.
_UPPER = [12, 13, 14, 15]
_SCALES = Codes((_at([4, 5, 6, 7, *_UPPER], [0] * 8, 4), _at([4, 5, 6, 7] * 2, [4] * 4 + [6] * 4, 2, 4)))
_MINIMA = Codes((_at([8, 9, 10, 11, *_UPPER], [0] * 4 + [4] * 4, 4), _at([8, 9, 10, 11] * 2, [4] * 4 + [6] * 4, 2, 4)))
_UNEVEN = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)     # levels of IQ4

_F16 = dt.float16
FORMATS: dict[str, WeightFormat] = {f.name: f for f in (
    WeightFormat("F16", 1, 2, _F16),
    WeightFormat("BF16", 1, 2, dt.bfloat16),
    WeightFormat("Q4_0", 32, 18, _F16, Codes((_nibbles_of_32(2),), -8)),
    WeightFormat("Q4_1", 32, 20, _F16, Codes((_nibbles_of_32(4),)), minimum=2),
    WeightFormat("Q5_0", 32, 22, _F16, Codes((_nibbles_of_32(6), fields(2, 32, 1, 1, 4)), -16)),
    WeightFormat("Q5_1", 32, 24, _F16, Codes((_nibbles_of_32(8), fields(4, 32, 1, 1, 4))), minimum=2),
    WeightFormat("Q8_0", 32, 34, _F16, Codes((_whole_bytes(2, 32),), signed=True)),
    WeightFormat("Q2_K", 256, 84, _F16, Codes((fields(16, 256, 2, 32),)), 80, 82,
                 Codes((_at(range(16), [0] * 16, 4),)), Codes((_at(range(16), [4] * 16, 4),))),
    WeightFormat("Q3_K", 256, 110, _F16, Codes((fields(32, 256, 2, 32), fields(0, 256, 1, 32, 2)), -4), 108,
                 scales=Codes((fields(96, 16, 4, 8), fields(104, 16, 2, 4, 4)), -32)),
    WeightFormat("Q4_K", 256, 144, _F16, Codes((fields(16, 256, 4, 32),)), 0, 2, _SCALES, _MINIMA),
    WeightFormat("Q5_K", 256, 176, _F16, Codes((fields(48, 256, 4, 32), fields(16, 256, 1, 32, 4))), 0, 2, _SCALES, _MINIMA),
    WeightFormat("Q6_K", 256, 210, _F16, Codes((fields(0, 256, 4, 64), fields(128, 256, 2, 32, 4)), -32), 208,
                 scales=Codes((_whole_bytes(192, 16),), signed=True)),
    WeightFormat("IQ4_NL", 32, 18, _F16, Codes((_nibbles_of_32(2),), table=_UNEVEN)),
    WeightFormat("IQ4_XS", 256, 136, _F16, Codes((fields(8, 256, 4, 16),), table=_UNEVEN),
                 scales=Codes((fields(4, 8, 4, 1), fields(2, 8, 2, 1, 4)), -32)),
)}

GROUP_BITS = (4, 5, 6, 8)
_GROUP_NAME = re.compile(r"(u?)int([4568])_group(\d{1,6})")


@functools.lru_cache(256)
def format_named(name: str) -> WeightFormat:
    """Return the format with a name, such as `Q4_K` or `int4_group128`."""
    if name in FORMATS:
        return FORMATS[name]
    parsed = _GROUP_NAME.fullmatch(name)
    if parsed is None:
        raise ArgumentError(f"no weight format is called {name!r}; there are {', '.join(FORMATS)}, and groups of "
                            f"{', '.join(map(str, GROUP_BITS))} bits such as int4_group128 and uint4_group128")
    return _group_format(name, int(parsed[2]), int(parsed[3]), has_minimum=bool(parsed[1]))


def _group_format(name, bits, size, has_minimum):
    if size % UNIT or not 0 < size <= LARGEST_GROUP:
        raise ArgumentError(f"the weight format {name} has groups of {size} numbers; a size is a multiple of {UNIT} up to "
                            f"{LARGEST_GROUP}")
    start = 8 if has_minimum else 4
    if bits == 8:
        pieces: tuple[Piece, ...] = (_whole_bytes(start, size),)
    else:
        pieces = (fields(start, size, 4, 16),)
        if bits > 4:
            pieces += (fields(start + size // 2, size, bits - 4, 4 * (bits - 4), 4),)
    signed = bits == 8 and not has_minimum
    codes = Codes(pieces, 0 if has_minimum or signed else -(1 << (bits - 1)), signed)
    return WeightFormat(name, size, start + size * bits // 8, dt.float32, codes, minimum=4 if has_minimum else None)
