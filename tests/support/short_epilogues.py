"""Epilogues of several parts with operands of every kind, which show that each road of a matrix product runs them."""

from collections.abc import Callable
from dataclasses import dataclass

from ingot.passes.codegen.llvm.contract.epilogue import ColumnBias, Identity, Outside, RowBias, Short
from ingot.passes.codegen.llvm.ir.types import PTR, bytes_of, element_of, lanes_of, mangled

__all__ = ["Activation", "Chain", "ColumnBias", "Identity", "Outside", "Residual", "RowBias", "Scale"]


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
        other = place.columns(f, start, value.type, self.stored)
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


def _scalar(f, place, number, value):
    element = element_of(value.type)
    scalar = place.word(f, number, "double")
    return f.splat(scalar if bytes_of(element) == 8 else f.cast("fptrunc", scalar, element), lanes_of(value.type))
