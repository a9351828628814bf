"""Epilogues of contractions: operations on a finished accumulator before its only store.

An epilogue takes the function being written, the accumulated value (a vector, or a scalar of a dot product) and its `Place`,
and returns the value to store. Operands (a bias, a residual) are words in a block at run time, whose address the job carries.
`name` and `words` belong to the kernel's identity.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..ir.emit import Function
from ..ir.types import I64, PTR, Value, element_of, lanes_of, mangled, vector
from .microkernel import memory_type, widen


class Place(NamedTuple):
    """Position of a value: batch, row and first column in C, the mask at an edge, and the operand block."""

    operands: Value
    batch: Value
    row: Value
    column: Value
    mask: Value | None

    def word(self, f: Function, number: int, type_: str = I64) -> Value:
        """Load a word of the operand block."""
        return f.load(type_, f.at(self.operands, 8 * number))

    def columns(self, f: Function, pointer: Value, kind: str, stored: str) -> Value:
        """Load the elements at `pointer` for the columns of a value, widened to its type."""
        lanes = lanes_of(kind)
        place, type_ = f.at(pointer, self.column, stored), vector(lanes, memory_type(stored))
        value = f.load_masked(type_, place, self.mask)
        return widen(f, value, stored, element_of(kind))


class Short:
    """An epilogue that is written into every tile. A long one is a function that works on tiles just stored."""

    is_long = False
    apply: Callable

    def apply_all(self, f: Function, values, places, base: int) -> list:
        """Apply the epilogue to values of the same columns."""
        apply = self.ready(f, values[0].type, places[0], base)
        return [apply(value, place) for value, place in zip(values, places)]

    def ready(self, f: Function, type_: str, place, base: int) -> Callable:
        """Return a function (value, place) for values of the columns of `place`; load what they share here."""
        return lambda value, place: self.apply(f, value, place, base)

    def operand_words(self, base: int) -> tuple:
        """Return the operand words that address arrays with the result's layout, if the epilogue's words begin at `base`."""
        return ()


@dataclass(frozen=True)
class Identity(Short):
    """No epilogue."""

    name: str = ""
    words: int = 0

    def apply(self, f: Function, value: Value, place: Place, base: int) -> Value:
        return value


@dataclass(frozen=True)
class Outside:
    """A function of another module: `void f(operands, c, c_row, row, column, height, width, batch)`. All such epilogues share
    the product's code. Operand words: its address, then its own."""

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
        return f"bias_{mangled(self.stored)}"

    def apply(self, f, value, place, base):
        return self.ready(f, value.type, place, base)(value, place)

    def ready(self, f, type_, place, base):
        added = place.columns(f, place.word(f, base, PTR), type_, self.stored)
        return lambda value, _: f.fadd(value, added)


@dataclass(frozen=True)
class RowBias(Short):
    """Add one number per row. Operand words: pointer."""

    stored: str
    words: int = 1

    @property
    def name(self) -> str:
        return f"rowbias_{mangled(self.stored)}"

    def apply(self, f, value, place, base):
        number = f.load(memory_type(self.stored), f.at(place.word(f, base, PTR), place.row, self.stored))
        return f.fadd(value, f.splat(widen(f, number, self.stored, element_of(value.type)), lanes_of(value.type)))
