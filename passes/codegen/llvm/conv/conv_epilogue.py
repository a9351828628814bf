"""Epilogues of blocked convolutions before their only store: `Lines` of work, or the `Usual` few, chosen at run time.

These are epilogues as in `epilogue.py`, called with a `BlockedPlace`: channels are columns, and an array of the result's own
layout is read at the result's own offset. `following` says which of them a kernel has for given lines.
"""

import functools
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .....ir import dtype as dt
from .....ir.opdef.op import OPS
from .....ir.opdef.params import param_key
from .....ir.ops.core.elementwise import add
from .....ir.ops.nn.activations import relu
from .....ir.ops.packed.blocked import run_epilogue
from ... import scalars
from ..contract.epilogue import ColumnBias, Place, Short
from ..ir.spelling import LlvmBuilder
from ..ir.types import F64, PTR, constant, element_of, lanes_of


@dataclass(frozen=True)
class BlockedPlace:
    """Where a vector of a blocked result belongs; `offset` is its place in bytes."""

    place: Place
    offset: object

    def __getattr__(self, name):
        return getattr(self.place, name)

    def beside(self, f, pointer, type_):
        """The elements of an array laid out as the result."""
        return f.load(type_, f.at(pointer, self.offset))


@dataclass(frozen=True, eq=False)
class Lines(Short):
    """Work said line by line, as `ir/ops/packed/blocked.py` says it. `kinds` tells of each array beside whether it is laid out
    as the result ("full") or holds a number per channel ("channel"). Operand words: a pointer for each."""

    lines: tuple
    kinds: tuple
    element: str

    @property
    def words(self) -> int:
        """Words it takes in the operand block."""
        return len(self.kinds)

    @property
    def name(self) -> str:
        """Its part of the kernel's name: what it does in short, and a number that tells it from others."""
        if not self.lines:
            return ""
        return f"{'_'.join(line[0] for line in self.lines)}_{zlib.crc32(self.exact.encode()):08x}"

    @functools.cached_property
    def exact(self) -> str:
        """What it is, told from everything else (0.0 and -0.0 are equal numbers, but not the same)."""
        return repr([self.kinds, self.element, [[param_key(x) for x in line] for line in self.lines]])

    def __eq__(self, other):
        return type(other) is Lines and other.exact == self.exact

    def __hash__(self):
        return hash(self.exact)

    def apply(self, f, value, place, base):
        """The value of the last line."""
        return self.ready(f, value.type, place, base)(value, place)

    def ready(self, f, type_, place, base):
        """The same of values of the same channels, one by one."""
        builder, kind = _builder(f, type_)
        pointers = [place.word(f, base + i, PTR) for i in range(self.words)]
        shared = [place.columns(f, pointer, type_, self.element) if how == "channel" else None
                  for pointer, how in zip(pointers, self.kinds)]

        def apply(value, place):
            beside = [place.beside(f, pointer, type_) if one is None else one for pointer, one in zip(pointers, shared)]
            return run_epilogue(self.lines, value, beside, lambda name, *arguments: _computed(builder, kind, name, arguments))

        return apply

    def beside(self, base):
        """Those that hold a number for each element."""
        return tuple([base + i for i, kind in enumerate(self.kinds) if kind == "full"])


@dataclass(frozen=True)
class Usual(Short):
    """What follows most convolutions: a number added for each channel, then maybe an array laid out as the result, then maybe
    ReLU. Run-time words say which, so that all such layers, in compiled graphs and in eager calls, share their code. Operand
    words: a pointer; a pointer or 0; whether there is a ReLU."""

    element: str
    name: str = "usual"
    words: int = 3

    def apply(self, f, value, place, base):
        """relu(value + number[channel] + array), or less."""
        return self.apply_all(f, [value], [place], base)[0]

    def apply_all(self, f, values, places, base):
        """The same for values of the same channels."""
        return self._finished(f, values, places, self._shared(f, values[0].type, places[0], base))

    def ready(self, f, type_, place, base):
        """The same, of values one by one."""
        shared = self._shared(f, type_, place, base)
        return lambda value, place: self._finished(f, [value], [place], shared)[0]

    def _shared(self, f, type_, place, base):
        """What values of the same channels have in common: the number, the array or 0, what ReLU gives at least."""
        least = f.select(f.compare("ne", place.word(f, base + 2), 0), constant(element_of(type_), 0.0),
                         constant(element_of(type_), -math.inf))
        return (place.columns(f, place.word(f, base, PTR), type_, self.element), place.word(f, base + 1),
                f.splat(least, lanes_of(type_)))

    def _finished(self, f, values, places, shared):
        added, array, least = shared
        sums = [f.fadd(value, added) for value in values]

        def with_array():
            start = f.cast("inttoptr", array, PTR)
            return [f.fadd(v, place.beside(f, start, v.type)) for v, place in zip(sums, places)]

        sums = f.choose(f.compare("ne", array, 0), with_array, lambda: sums)
        return [f.select(f.compare("ugt", v, least), v, least) for v in sums]      # nan stays

    def beside(self, base):
        """The array, if there is one."""
        return (base + 1,)


class Beside(NamedTuple):
    """The address of an array beside a convolution, as a word of its epilogue's operands."""

    number: int


@dataclass(frozen=True)
class Following:
    """The epilogue of a kernel, and what its operand words are: addresses (`Beside`), or numbers."""

    code: Any
    words: tuple

    def block(self, places: Sequence) -> list:
        """The operand words, where arrays beside are at these places."""
        return [places[word.number] if isinstance(word, Beside) else word for word in self.words]


def following(lines: Lines, shares: bool = True) -> Following:
    """What a kernel has for lines: the usual epilogue, where it `shares` that, or one that is made for them."""
    words = _usual_words(lines)
    if words and shares:
        return Following(Usual(lines.element), words)
    alone = words is not None and words[1:] == (0, 0)
    return Following(ColumnBias(lines.element) if alone else lines, tuple([Beside(i) for i in range(lines.words)]))


def _usual_words(lines: Lines) -> tuple | None:
    """The operand words of lines that `Usual` does, else None."""
    added: list[Beside] = []
    ends, value = 0, "a"
    for number, (name, *arguments) in enumerate(lines.lines):
        others = [x for x in arguments if x != value]
        if ends or len(others) + 1 != len(arguments):
            return None
        if OPS[name] is add and _kind(lines, others[0]) == ("channel", "full", None)[len(added)]:
            added.append(Beside(int(others[0][1:])))
        elif OPS[name] is relu and not others:
            ends = 1
        else:
            return None
        value = f"v{number}"
    if not added or len(added) != lines.words:
        return None
    return added[0], added[1] if len(added) > 1 else 0, ends


def _kind(lines, argument):
    """Of which kind an argument's array is; "" for what is no array beside."""
    return lines.kinds[int(argument[1:])] if isinstance(argument, str) and argument[0] == "o" else ""


def _computed(builder, kind, name, arguments):
    """What the scalar function of an operator gives for values and numbers."""
    wrapped = [builder.const(kind, x) if isinstance(x, (bool, int, float)) else builder.wrap(kind, x) for x in arguments]
    return scalars.apply(builder, OPS[name].lower.fn or name, *wrapped).ref


def _builder(f, type_):
    """What writes scalar functions of values of a type, and their dtype."""
    return LlvmBuilder(f, lanes_of(type_)), dt.float64 if element_of(type_) == F64 else dt.float32
