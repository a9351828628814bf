"""Factors of a product: in memory, or computed at load; with sizes and epilogue."""

from copy import copy
from typing import Any, NamedTuple

from .....ir import dtype as dt
from .....passes.codegen.triton.contract.prologue import Before
from .....passes.codegen.triton.ir.source import Kinds


class SideProgram:
    """An epilogue, or the prologue of a factor: its text, and (row stride, batch stride) of each operand in elements."""

    def __init__(self, fused, strides):
        self.fused, self.strides = fused, tuple(strides)
        self.along = tuple([(row != 0, batch != 0) for row, batch in self.strides])
        self.items = tuple([o.dtype.itemsize for o in fused.operands])

    def at(self, strides) -> "SideProgram":
        made = copy(self)
        made.strides = tuple(strides)
        return made

    def __eq__(self, other):
        return self is other or (type(other) is SideProgram and self.strides == other.strides and self.fused == other.fused)

    def __hash__(self):
        return hash((self.strides, self.fused.dtype, self.items))

    @property
    def sizes(self) -> dict:
        return {f"{letter}_{o.name}": v for o, pair in zip(self.fused.operands, self.strides) for letter, v in zip("rt", pair)}

    @property
    def steps(self) -> tuple:
        return tuple([batch * size for (_, batch), size in zip(self.strides, self.items)])

    def reach(self, batch, rows, columns) -> int:
        return max([batch * t + rows * r + columns for r, t in self.strides], default=0)


class Laid(NamedTuple):
    """Layout of a factor in memory: its dtype, and strides of batches, rows and columns in elements."""

    kind: dt.DType
    batch: int
    last: tuple

    @property
    def how(self) -> tuple:
        return tuple([s == 1 for s in self.last])

    @property
    def loaded(self) -> int:
        """Bytes loaded for an element."""
        return self.kind.itemsize

    @property
    def steps(self) -> tuple:
        return (self.batch * self.kind.itemsize,)

    def sizes(self, letter) -> dict:
        names = "mk" if letter == "x" else "kn"
        return dict(zip([f"s_{letter}b", *[f"s_{letter}{n}" for n in names]], (self.batch, *self.last)))

    def reach(self, batch, rows, columns) -> int:
        first, second = map(abs, self.last)
        return batch * abs(self.batch) + rows * first + columns * second


class Computed(NamedTuple):
    """A factor that is computed at load."""

    side: SideProgram
    transposed: bool

    @property
    def kind(self) -> dt.DType:
        return self.side.fused.dtype

    @property
    def how(self) -> Before:
        return Before(self.side.fused, self.side.along, self.transposed)

    @property
    def loaded(self) -> int:
        """Bytes of shared memory for an element.

        They count buffers with an element each; Triton keeps one tile less of them, and one of the result.
        """
        full = [o.dtype.itemsize for o in self.side.fused.operands if o.along_columns and o.along_rows]
        return max(self.kind.itemsize, sum(full))

    @property
    def steps(self) -> tuple:
        return self.side.steps

    def sizes(self, letter) -> dict:
        return self.side.sizes

    def reach(self, batch, rows, columns) -> int:
        return self.side.reach(batch, *((columns, rows) if self.transposed else (rows, columns)))


class Case(NamedTuple):
    """One product: its factors, its sizes and its result dtype."""

    x: Any
    y: Any
    z: dt.DType
    m: int
    n: int
    k: int
    batch: int
    device: int
    precision: str

    @property
    def kinds(self) -> Kinds:
        return Kinds(self.x.kind, self.y.kind, self.z)

    @property
    def in_memory(self) -> bool:
        """Whether both factors are in memory."""
        return type(self.x) is type(self.y) is Laid
