"""Epilogues of contractions: work on a finished accumulator before its only store.

An epilogue is called with the function being written, the accumulated value (a vector or, at dot products, a scalar) and its
`Place`; it gives the value to go on with. Operands (a bias, a residual) come at run time as words in a block whose address the
job carries. `name` and `words` enter the kernel's identity.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..ir.emit import Function
from ..ir.types import I64, PTR, Value, element_of, lanes_of, mangled, vector
from .microkernel import memory_type, widen


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

    def columns(self, f: Function, pointer: Value, kind: str, stored: str) -> Value:
        """The elements at `pointer` for the columns of a value, widened to its type."""
        lanes = lanes_of(kind)
        place, type_ = f.at(pointer, self.column, stored), vector(lanes, memory_type(stored))
        value = f.load_masked(type_, place, self.mask)
        return widen(f, value, stored, element_of(kind))


class Short:
    """An epilogue that is written into every tile. A long one is a function that works on tiles just stored."""

    is_long = False
    apply: Callable

    def apply_all(self, f: Function, values, places, base: int) -> list:
        """What comes of values of the same columns."""
        apply = self.ready(f, values[0].type, places[0], base)
        return [apply(value, place) for value, place in zip(values, places)]

    def ready(self, f: Function, type_: str, place, base: int) -> Callable:
        """A function (value, place) of values of a type whose columns are those of `place`: what they share is done here."""
        return lambda value, place: self.apply(f, value, place, base)

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
        return self.ready(f, value.type, place, base)(value, place)

    def ready(self, f, type_, place, base):
        """The same of values of the same columns, one by one."""
        added = place.columns(f, place.word(f, base, PTR), type_, self.stored)
        return lambda value, _: f.fadd(value, added)


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
