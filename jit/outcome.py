"""What a recorded call gives: its results as a structure over tensors, and what it writes to Python state."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..ir.substitute import at_hint, bound_values, has_symbols, replaced
from ..ir.symbolic import source_of
from .effects import Target
from .tree import TENSOR, flatten, has_reads, unflatten


@dataclass(frozen=True)
class Outcome:
    """The structure of results, and of values that are written to the targets of `effects`.

    spec     of (result, values to write), or of the result alone where nothing is written
    order    for each tensor in the structure its number among the different ones; None if all differ
    """

    spec: Any
    order: tuple | None
    effects: tuple

    @staticmethod
    def of(result, effects, attributes=None, read=None):
        """(the outcome, the different tensors in it); `attributes` and `read` as `flatten` takes them."""
        leaves: list = []
        spec = flatten((result, tuple([t.value() for t in effects])) if effects else result, leaves, None, attributes, read)
        numbers: dict = {}
        order = tuple([numbers.setdefault(id(t), len(numbers)) for t in leaves])
        different = list({id(t): t for t in leaves}.values())
        return Outcome(spec, order if len(different) < len(leaves) else None,
                       tuple([t.without_values() for t in effects])), different

    def __eq__(self, other):
        return (self._text, self.order, self._places) == (other._text, other.order, other._places)

    def __hash__(self):
        return hash((self._text, self.order))

    @cached_property
    def _text(self):
        return replaced(self.spec, source_of)

    @property
    def _places(self):
        return [t.place for t in self.effects]

    @property
    def has_symbols(self) -> bool:
        """Whether numbers in it depend on sizes or numbers of the arguments."""
        return has_symbols(self.spec)

    @property
    def has_reads(self) -> bool:
        """Whether numbers in it are read out of results."""
        return has_reads(self.spec)

    @property
    def is_single(self) -> bool:
        """Whether it is one tensor."""
        return self.spec == TENSOR

    def tensors(self, different) -> list:
        """The tensors of the structure, of the different ones."""
        return different if self.order is None else [different[i] for i in self.order]

    def give(self, different, symbols=()):
        """The result; what the function writes is written."""
        spec = bound_values(self.spec, symbols) if self.has_symbols else self.spec
        return self._handed_out(spec, different)

    def given(self, different):
        """The result of the call that was recorded, with plain numbers."""
        return self._handed_out(at_hint(self.spec), different, Target.rewrite)

    def _handed_out(self, spec, different, write=Target.write):
        made = unflatten(spec, iter(self.tensors(different)))
        if not self.effects:
            return made
        result, values = made
        for target, value in zip(self.effects, values):
            write(target, value)
        return result
