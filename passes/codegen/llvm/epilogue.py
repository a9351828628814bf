"""What happens to a finished accumulator before its only store: how contractions fuse with what follows them.

An epilogue is called with the function being written, the accumulated value (a vector or, at dot products, a scalar) and its
`Place`; it gives the value to go on with. Operands (a bias, a residual) come at run time as words in a block whose address the
job carries; `Chain` lays its parts one after the other. `name` and `words` enter the kernel's identity.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .emit import Function
from .microkernel import memory_type, widen
from .types import I64, PTR, Value, bytes_of, element_of, lanes_of, mangled, vector


class Place(NamedTuple):
    """Where a value belongs: its row and first column in C, its batch, its mask at an edge, the operand block."""

    operands: Value
    batch: Value
    row: Value
    column: Value
    mask: Value | None

    def word(self, f: Function, number: int, type_: str = I64) -> Value:
        """A word of the operand block."""
        return f.load(type_, f.at(self.operands, 8 * number))

    def columns(self, f: Function, pointer: Value, like_value: Value, stored: str) -> Value:
        """The elements at `pointer` for the columns of a value, widened to its type."""
        lanes = lanes_of(like_value.type)
        place, type_ = f.at(pointer, self.column, stored), vector(lanes, memory_type(stored))
        value = f.load(type_, place) if self.mask is None else f.load_masked(type_, place, self.mask)
        return widen(f, value, stored, element_of(like_value.type))


class Short:
    """An epilogue that is written into every tile. A long one is a function that works on tiles just stored."""

    is_long = False
    apply: Callable

    def apply_all(self, f: Function, values, places, base: int) -> list:
        """What comes of values of the same columns."""
        return [self.apply(f, value, place, base) for value, place in zip(values, places)]

    def beside(self, base: int) -> tuple:
        """The operand words that are addresses of arrays laid out as the result, if the epilogue's own begin at `base`."""
        return ()


@dataclass(frozen=True)
class Identity(Short):
    """Nothing happens."""

    name: str = ""
    words: int = 0

    def apply(self, f: Function, value: Value, place: Place, base: int) -> Value:
        """The value itself."""
        return value


@dataclass(frozen=True)
class Outside:
    """A function of a module of its own, `void f(operands, c, c_row, row, column, height, width, batch)`, so that all of them
    share the product's code. Operand words: its address, then its own."""

    name: str = "outside"
    words: int = 1
    is_long = True


@dataclass(frozen=True)
class ColumnBias(Short):
    """Add a vector along the columns. Operand words: pointer."""

    stored: str
    words: int = 1

    @property
    def name(self) -> str:
        """Its part of the kernel's name."""
        return f"bias_{mangled(self.stored)}"

    def apply(self, f, value, place, base):
        """value + bias[column]."""
        return f.fadd(value, place.columns(f, place.word(f, base, PTR), value, self.stored))


@dataclass(frozen=True)
class RowBias(Short):
    """Add one number per row. Operand words: pointer."""

    stored: str
    words: int = 1

    @property
    def name(self) -> str:
        """Its part of the kernel's name."""
        return f"rowbias_{mangled(self.stored)}"

    def apply(self, f, value, place, base):
        """value + bias[row]."""
        number = f.load(memory_type(self.stored), f.at(place.word(f, base, PTR), place.row, self.stored))
        return f.fadd(value, f.splat(widen(f, number, self.stored, element_of(value.type)), lanes_of(value.type)))


@dataclass(frozen=True)
class Residual(Short):
    """Add a matrix (scaled by a word when `scaled`). Operand words: pointer, row stride, batch stride (bytes), scale."""

    stored: str
    scaled: bool = False

    @property
    def name(self) -> str:
        """Its part of the kernel's name."""
        return f"residual{'_scaled' if self.scaled else ''}_{mangled(self.stored)}"

    @property
    def words(self) -> int:
        """Words it takes in the operand block."""
        return 4 if self.scaled else 3

    def apply(self, f, value, place, base):
        """value + residual[batch, row, column]."""
        batch = f.mul(place.word(f, base + 2), place.batch)
        start = f.at(f.at(place.word(f, base, PTR), batch), f.mul(place.word(f, base + 1), place.row))
        other = place.columns(f, start, value, self.stored)
        if self.scaled:
            other = f.fmul(other, _scalar(f, place, base + 3, value))
        return f.fadd(value, other)


@dataclass(frozen=True)
class Scale(Short):
    """Multiply by a number. Operand words: the number as a double."""

    name: str = "scale"
    words: int = 1

    def apply(self, f, value, place, base):
        """value * scale."""
        return f.fmul(value, _scalar(f, place, base, value))


@dataclass(frozen=True)
class Activation(Short):
    """Any function of the value alone; `function(f, value)` writes it."""

    name: str
    function: Callable
    words: int = 0

    def apply(self, f, value, place, base):
        """function(value)."""
        return self.function(f, value)


@dataclass(frozen=True)
class Chain(Short):
    """Epilogues one after the other."""

    parts: tuple

    @property
    def name(self) -> str:
        """The parts' names."""
        return "_".join(part.name for part in self.parts)

    @property
    def words(self) -> int:
        """The parts' words together."""
        return sum(part.words for part in self.parts)

    def apply(self, f, value, place, base):
        """Each part in turn."""
        for part in self.parts:
            value = part.apply(f, value, place, base)
            base += part.words
        return value

    def beside(self, base):
        """Those of all parts."""
        found = []
        for part in self.parts:
            found += part.beside(base)
            base += part.words
        return tuple(found)


def _scalar(f, place, number, value):
    element = element_of(value.type)
    scalar = place.word(f, number, "double")
    return f.splat(scalar if bytes_of(element) == 8 else f.cast("fptrunc", scalar, element), lanes_of(value.type))
