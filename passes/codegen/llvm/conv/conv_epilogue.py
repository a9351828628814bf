"""Epilogues of blocked convolutions before their only store: `Lines` of work, or the common `Usual` one.

They are epilogues as in `epilogue.py`, called with a `BlockedPlace`: channels are columns, and an array with the result's
layout is read at the result's own offset. `following` chooses a kernel's epilogue for given lines.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .....ir.cached_property import cached_property
from .....ir.opdef.op import OPS
from .....ir.opdef.params import param_key
from .....ir.ops.core.elementwise import add
from .....ir.ops.nn.activations import relu
from .....ir.ops.packed.blocked import run_epilogue
from ... import scalars
from ..contract.epilogue import ColumnBias, Place, Short
from ..ir.memory_types import FLOAT_DTYPES
from ..ir.spelling import LlvmBuilder
from ..ir.types import PTR, constant, element_of, lanes_of


@dataclass(frozen=True)
class BlockedPlace:
    """Place of a vector of a blocked result; `offset` is in bytes."""

    place: Place
    offset: object

    def __getattr__(self, name):
        return getattr(self.place, name)

    def load_operand(self, f, pointer, type_):
        """Load the elements of an array with the result's layout."""
        return f.load(type_, f.at(pointer, self.offset))


@dataclass(frozen=True, eq=False)
class Lines(Short):
    """A program of lines as in `ir/ops/packed/blocked.py`.

    `kinds` says of each operand array whether it has the result's layout ("full") or a number per channel ("channel"). Operand
    words: a pointer for each.
    """

    lines: tuple
    kinds: tuple
    element: str

    @property
    def words(self) -> int:
        return len(self.kinds)

    @property
    def name(self) -> str:
        """A short form of the program, and a number that identifies it."""
        if not self.lines:
            return ""
        return f"{'_'.join(line[0] for line in self.lines)}_{zlib.crc32(self.exact.encode()):08x}"

    @cached_property
    def exact(self) -> str:
        """Identity of the program; 0.0 and -0.0 differ."""
        return repr([self.kinds, self.element, [[param_key(x) for x in line] for line in self.lines]])

    def __eq__(self, other):
        return type(other) is Lines and other.exact == self.exact

    def __hash__(self):
        return hash(self.exact)

    def apply(self, f, value, place, base):
        return self.ready(f, value.type, place, base)(value, place)

    def ready(self, f, type_, place, base):
        builder, kind = _builder(f, type_)
        pointers = [place.word(f, base + i, PTR) for i in range(self.words)]
        shared = [place.columns(f, pointer, type_, self.element) if how == "channel" else None
                  for pointer, how in zip(pointers, self.kinds)]

        def apply(value, place):
            operands = [place.load_operand(f, pointer, type_) if one is None else one for pointer, one in zip(pointers, shared)]
            return run_epilogue(self.lines, value, operands, lambda name, *arguments: _computed(builder, kind, name, arguments))

        return apply

    def operand_words(self, base):
        """Return the operands with a number per element."""
        return tuple([base + i for i, kind in enumerate(self.kinds) if kind == "full"])


@dataclass(frozen=True)
class Usual(Short):
    """The common epilogue: add a number per channel, then maybe an array of the result's layout, then maybe ReLU.

    Run-time words choose, so all such layers, compiled or eager, share their code. Operand words: a pointer; a pointer or 0;
    whether there is a ReLU.
    """

    element: str
    name: str = "usual"
    words: int = 3

    def apply(self, f, value, place, base):
        """Return relu(value + number[channel] + array), or less of it."""
        return self.apply_all(f, [value], [place], base)[0]

    def apply_all(self, f, values, positions, base):
        return self._finished(f, values, positions, self._shared(f, values[0].type, positions[0], base))

    def ready(self, f, type_, place, base):
        shared = self._shared(f, type_, place, base)
        return lambda value, place: self._finished(f, [value], [place], shared)[0]

    def _shared(self, f, type_, place, base):
        """Return what values of the same channels share: the number, the array or 0, the lower limit of ReLU."""
        least = f.select(f.compare("ne", place.word(f, base + 2), 0), constant(element_of(type_), 0.0),
                         constant(element_of(type_), -math.inf))
        return (place.columns(f, place.word(f, base, PTR), type_, self.element), place.word(f, base + 1),
                f.splat(least, lanes_of(type_)))

    def _finished(self, f, values, positions, shared):
        added, array, least = shared
        sums = [f.fadd(value, added) for value in values]

        def with_array():
            start = f.cast("inttoptr", array, PTR)
            return [f.fadd(v, place.load_operand(f, start, v.type)) for v, place in zip(sums, positions)]

        sums = f.choose(f.compare("ne", array, 0), with_array, lambda: sums)
        return [f.select(f.compare("ugt", v, least), v, least) for v in sums]      # nan stays

    def operand_words(self, base):
        return (base + 1,)


class Address(NamedTuple):
    """Address of an operand array, as a word of an epilogue's operands."""

    number: int


@dataclass(frozen=True)
class Following:
    """A kernel's epilogue and its operand words: addresses (`Address`) or numbers."""

    code: Any
    words: tuple

    def block(self, addresses: Sequence) -> list:
        """Return the operand words for operand arrays at these places."""
        return [addresses[word.number] if isinstance(word, Address) else word for word in self.words]


def following(lines: Lines, shares: bool = True) -> Following:
    """Choose the epilogue of lines: `Usual` if it can and `shares` permits it, else one made for them."""
    words = _usual_words(lines)
    if words and shares:
        return Following(Usual(lines.element), words)
    alone = words is not None and words[1:] == (0, 0)
    return Following(ColumnBias(lines.element) if alone else lines, tuple([Address(i) for i in range(lines.words)]))


def _usual_words(lines: Lines) -> tuple | None:
    """Return the operand words of lines that `Usual` does, else None."""
    added: list[Address] = []
    ends, value = 0, "a"
    for number, (name, *arguments) in enumerate(lines.lines):
        others = [x for x in arguments if x != value]
        if ends or len(others) + 1 != len(arguments):
            return None
        if OPS[name] is add and _kind(lines, others[0]) == ("channel", "full", None)[len(added)]:
            added.append(Address(int(others[0][1:])))
        elif OPS[name] is relu and not others:
            ends = 1
        else:
            return None
        value = f"v{number}"
    if not added or len(added) != lines.words:
        return None
    return added[0], added[1] if len(added) > 1 else 0, ends


def _kind(lines, argument):
    """Return the kind of an argument's array; "" for other arguments."""
    return lines.kinds[int(argument[1:])] if isinstance(argument, str) and argument[0] == "o" else ""


def _computed(builder, kind, name, arguments):
    wrapped = [builder.const(kind, x) if isinstance(x, (bool, int, float)) else builder.wrap(kind, x) for x in arguments]
    return scalars.apply(builder, OPS[name].lower.fn or name, *wrapped).ref


def _builder(f, type_):
    return LlvmBuilder(f, lanes_of(type_)), FLOAT_DTYPES[element_of(type_)]
