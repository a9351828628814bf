"""Template of a recorded call's results, as a structure over tensors, and of its writes to Python state."""

from dataclasses import dataclass
from typing import Any

from ...ir.cached_property import cached_property
from ...ir.symbols.substitute import at_hint, bound_values, has_symbols, replaced
from ...ir.symbols.symbolic import source_of
from ..guards.arg_pytree import TENSOR, flatten, has_reads, unflatten
from ..guards.locations import EXTEND


def _holds(target, spec) -> bool:
    tensors: list = []
    return target.kind != EXTEND and flatten(target.value(), tensors) == spec and not tensors


@dataclass(frozen=True, eq=False)
class OutputTemplate:
    """Structure of results, and of values that are written to the targets `effects`.

    spec          of (result, values to write), or of the result alone if nothing is written
    has_proxies   whether the function's own result holds proxies for numbers
    order         for each tensor its number among the different ones; None if all differ
    """

    spec: Any
    order: tuple | None
    effects: tuple
    has_proxies: bool = False

    @staticmethod
    def of(result, effects, made=None, read=None, met=None):
        """Return (template, the different tensors in it); `made`, `read` and `met` as `flatten` takes them."""
        leaves: list = []
        spec = flatten((result, tuple([t.value() for t in effects])) if effects else result, leaves, None, made, read,
                       met)
        numbers: dict = {}
        order = tuple([numbers.setdefault(id(t), len(numbers)) for t in leaves])
        different = list({id(t): t for t in leaves}.values())
        return OutputTemplate(spec, order if len(different) < len(leaves) else None,
                       tuple([t.without_values() for t in effects]), has_symbols(spec)), different

    def leaves_the_same(self, other) -> bool:
        """Return whether calls leave the same state as one recorded with another template, which need not write what is
        there."""
        theirs = set(other._locations)
        mine = [(t, spec) for t, spec in zip(self.effects, self._written) if t.place in theirs]
        return (len(mine) == len(other.effects) and self.order == other.order
                and (self._result, [(t.place, spec) for t, spec in mine])
                == (other._result, [*zip(other._locations, other._written)])
                and all(_holds(t, spec) for t, spec in zip(self.effects, self._written) if t.place not in theirs))

    @property
    def _result(self):
        return self._text[1][0] if self.effects else self._text

    @property
    def _written(self) -> tuple:
        return self._text[1][1][1] if self.effects else ()

    @cached_property
    def _text(self):
        return replaced(self.spec, source_of)

    @property
    def _locations(self):
        return [t.place for t in self.effects]

    @cached_property
    def has_symbols(self) -> bool:
        """Return whether numbers in it depend on sizes or numbers of the arguments."""
        return has_symbols(self.spec)

    @property
    def has_reads(self) -> bool:
        """Return whether numbers in it are read out of results."""
        return has_reads(self.spec)

    @property
    def is_single(self) -> bool:
        return self.spec == TENSOR

    def tensors(self, different) -> list:
        return different if self.order is None else [different[i] for i in self.order]

    def give(self, different, symbols=(), containers=()):
        """Make the result of a call with these containers among its arguments, and write the effects."""
        return self.write(self.made(different, symbols, containers), containers, [])

    def made(self, different, symbols=(), containers=()) -> tuple:
        """Return (the result of a call with these containers among its arguments, the values of the effects)."""
        spec = bound_values(self.spec, symbols) if self.has_symbols else self.spec
        rebuilt = unflatten(spec, iter(self.tensors(different)), containers=containers)
        return rebuilt if self.effects else (rebuilt, ())

    def write(self, made, containers, done: list):
        """Write the effects of what was `made`, and return the result. `done` has an item for each that is written already."""
        result, values = made
        for i in range(len(done), len(values)):
            self.effects[i].write(values[i], containers, done)
        return result

    def recorded_result(self, different, containers=()):
        """Make the result of the recorded call, with plain numbers, and write the effects over those of the function itself."""
        rebuilt = unflatten(at_hint(self.spec), iter(self.tensors(different)), containers=containers)
        if not self.effects:
            return rebuilt
        result, values = rebuilt
        for target, value in zip(self.effects, values):
            target.rewrite(value, containers)
        return result
