"""What may follow a blocked convolution before its only store: scale and bias of a channel, an array beside it, a function.

These are epilogues as in `epilogue.py`, called with a `BlockedPlace`: channels are columns, and an array of the result's own
layout is read at the result's own offset.
"""

import functools
import zlib
from dataclasses import dataclass
from typing import Any

from ....ir import dtype as dt
from ....ir.op import OPS
from ....ir.ops.blocked import run_epilogue
from ....ir.params import param_key
from .. import scalars
from .epilogue import Chain, ColumnBias, Place, Short
from .spelling import LlvmBuilder
from .types import F64, PTR, element_of, lanes_of, mangled


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


@dataclass(frozen=True)
class BlockedResidual(Short):
    """Add an array laid out as the result. Operand words: pointer."""

    name: str = "beside"
    words: int = 1

    def apply(self, f, value, place, base):
        """value + residual, at the same place."""
        return f.fadd(value, f.load(value.type, f.at(place.word(f, base, PTR), place.offset)))

    def beside(self, base):
        """The array."""
        return (base,)


@dataclass(frozen=True)
class ChannelScale(Short):
    """Multiply by a number for each channel. Operand words: pointer."""

    stored: str
    words: int = 1

    @property
    def name(self) -> str:
        """Its part of the kernel's name."""
        return f"scale_{mangled(self.stored)}"

    def apply(self, f, value, place, base):
        """value * scale[channel]"""
        return f.fmul(value, place.columns(f, place.word(f, base, PTR), value, self.stored))


@dataclass(frozen=True)
class ScalarFunction(Short):
    """A scalar function of the value and numbers: ScalarFunction("clamp", (0.0, 6.0))."""

    function: str
    numbers: tuple = ()
    words: int = 0

    @property
    def name(self) -> str:
        """Its part of the kernel's name."""
        return "_".join([self.function, *(float(n).hex().replace("-", "m").replace("+", "").replace(".", "d")
                                          for n in self.numbers)])

    def apply(self, f, value, place, base):
        """function(value, *numbers)"""
        kind = dt.float64 if element_of(value.type) == F64 else dt.float32
        builder = LlvmBuilder(f, lanes_of(value.type))
        wrapped = builder.wrap(kind, value)
        return scalars.apply(builder, self.function, wrapped, *(builder.const(kind, n) for n in self.numbers)).ref


@dataclass(frozen=True)
class Fusion:
    """What follows a convolution: act(conv * scale + bias + residual). `activation` is a scalar function's name, or a tuple of
    the name and numbers."""

    scale: bool = False
    residual: bool = False
    activation: Any = None

    def epilogue(self, element: str, residual=None) -> Chain:
        """The chain of epilogues; operand words are [scale], bias, [residual]. `residual` stands in for the blocked one."""
        parts: list[Any] = [ChannelScale(element)] if self.scale else []
        parts.append(ColumnBias(element))
        if self.residual:
            parts.append(residual or BlockedResidual())
        return Chain((*parts, *self.functions()))

    def functions(self) -> tuple:
        """The activation as epilogues."""
        if self.activation is None:
            return ()
        name, *numbers = (self.activation,) if isinstance(self.activation, str) else self.activation
        return ScalarFunction(name, tuple(numbers)),


@dataclass(frozen=True, eq=False)
class Lines(Short):
    """Work said line by line, as `ir/ops/blocked.py` says it. `kinds` tells of each array beside whether it is laid out as the
    result ("full") or holds a number per channel ("channel"). Operand words: a pointer for each."""

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
        kind = dt.float64 if element_of(value.type) == F64 else dt.float32
        builder = LlvmBuilder(f, lanes_of(value.type))
        beside = [self._operand(f, value, place, base + i, how) for i, how in enumerate(self.kinds)]

        def call(name, *arguments):
            wrapped = [builder.const(kind, x) if isinstance(x, (bool, int, float)) else builder.wrap(kind, x)
                       for x in arguments]
            return scalars.apply(builder, OPS[name].lower.fn or name, *wrapped).ref

        return run_epilogue(self.lines, value, beside, call)

    def beside(self, base):
        """Those that hold a number for each element."""
        return tuple([base + i for i, kind in enumerate(self.kinds) if kind == "full"])

    def _operand(self, f, value, place, word, how):
        pointer = place.word(f, word, PTR)
        return place.columns(f, pointer, value, self.element) if how == "channel" else place.beside(f, pointer, value.type)
