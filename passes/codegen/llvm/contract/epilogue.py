"""Epilogues of contractions: operations on a finished accumulator before its only store.

An epilogue takes the function being written, the accumulated value (a vector, or a scalar of a dot product) and its `Place`,
and returns the value to store. Operands (a bias, a residual) are words in a block at run time, whose address the job carries.
`name` and `words` belong to the kernel's identity.

A program of operations (`epilogue_program.py`) is a function of its own module (`epilogue_text`). Its operand words are the
function's address, then the pointer, row stride and batch stride of each buffer, in bytes. A buffer is contiguous along the
columns, or one number for all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .....ir.dtype import bool_
from .....ir.kernel.kernel import CAST, CONST, LOAD, STORE
from .....ir.target import Target
from ... import scalars
from ...epilogue_program import ACCUMULATED, EpilogueProgram, Operand
from ..ir.emit import Function, Module
from ..ir.memory_types import ELEMENT
from ..ir.spelling import LlvmBuilder
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

    def apply_all(self, f: Function, values, positions, base: int) -> list:
        """Apply the epilogue to values of the same columns."""
        apply = self.ready(f, values[0].type, positions[0], base)
        return [apply(value, place) for value, place in zip(values, positions)]

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


# Programs.

WORDS_EACH = 3


def epilogue_text(program: EpilogueProgram, target: Target) -> str:
    """Return the module of an `epilogue.Outside` function. It takes one vector of columns down all rows, so that row-invariant
    values are computed once."""
    module = Module(target)
    f = module.function(program.name, [(PTR, "operands"), (PTR, "c"), (I64, "c_row"), (I64, "row"), (I64, "column"),
                                       (I64, "height"), (I64, "width"), (I64, "batch")])
    operands, c, c_row, row, column, height, width, batch = f.params
    lanes, stored = target.lanes(program.dtype.itemsize), ELEMENT[program.dtype]
    buffers = [_Buffer(f, o, number, Place(operands, batch, row, column, None)) for number, o in enumerate(program.operands)]

    def work(index, mask):
        down = _Columns(program, LlvmBuilder(f, lanes), buffers, f.at(c, index, stored), index, mask)
        with f.loop(0, height) as line:
            down.prefetch_next(line.index, width)
            down.one_row(line.index, f.mul(c_row, line.index))

    f.vectors(width, lanes, work)
    f.ret()
    return module.text()


class _Buffer:
    """Addresses of an epilogue's buffer; `start` is for the first row and column of the tile."""

    def __init__(self, f: Function, operand: Operand, number: int, place: Place):
        first, stored = 1 + WORDS_EACH * number, "i8" if operand.dtype is bool_ else ELEMENT[operand.dtype]
        self.operand, self.stored = operand, stored
        self.step = place.word(f, first + 1)
        start = f.at(place.word(f, first, PTR), f.mul(place.word(f, first + 2), place.batch))
        start = f.at(start, f.mul(self.step, place.row))
        self.start = f.at(start, place.column, stored) if operand.along_columns else start

    def at(self, f: Function, column: Value, row: Value | None) -> Value:
        start = self.start if row is None else f.at(self.start, f.mul(self.step, row))
        return f.at(start, column, self.stored) if self.operand.along_columns else start


class _Columns:
    """A vector of columns of a tile, row after row."""

    def __init__(self, program: EpilogueProgram, s: LlvmBuilder, buffers: list, c: Value, column: Value, mask: Value | None):
        self.program, self.s, self.c, self.column, self.mask = program, s, c, column, mask
        self.buffers = {b.operand.name: b for b in buffers}
        self.written = {i.attr for i in program.body if i.op == STORE}
        self.env: dict = {}
        self._run([i for i in program.body if i.name in program.row_invariant], self.env, None)

    def prefetch_next(self, row: Value, width: Value):
        f = self.s.f
        for b in self.buffers.values():
            if b.operand.along_columns and b.operand.along_rows:
                f.prefetch(b.at(f, f.add(self.column, width), row), write=b.operand.name in self.written)

    def one_row(self, row: Value, offset: Value):
        program, spot, env = self.program, self.s.f.at(self.c, offset), dict(self.env)
        value = self.s.wrap(program.dtype, self.s.f.load_masked(vector(self.s.lanes, ELEMENT[program.dtype]), spot, self.mask))
        env |= {i.name: value for i in program.body if i.op == LOAD and i.attr == ACCUMULATED}
        self._run([i for i in program.body if i.name not in env], env, row)
        self.s.f.store_masked(env[program.result].ref, spot, self.mask)

    def _run(self, body, env, row):
        """Run instructions whose loads and stores are in `row`; None means any row."""
        s, f = self.s, self.s.f
        for i in body:
            args = [env[a] for a in i.args]
            if i.op == STORE:
                self.s.f.store_masked(s.to_memory(args[0]), self.buffers[i.attr].at(f, self.column, row), self.mask)
            elif i.op == LOAD:
                env[i.name] = self._operand(self.buffers[i.attr], row)
            elif i.op == CONST:
                env[i.name] = s.const(i.dtype, i.attr)
            else:
                env[i.name] = s.cast(args[0], i.dtype) if i.op == CAST else scalars.apply(s, i.op, *args)

    def _operand(self, buffer, row):
        f, stored = self.s.f, buffer.stored
        spot, dtype = buffer.at(f, self.column, row), buffer.operand.dtype
        if not buffer.operand.along_columns:
            return self.s.wrap(dtype, f.splat(f.load(stored, spot), self.s.lanes))
        return self.s.wrap(dtype, f.load_masked(vector(self.s.lanes, memory_type(stored)), spot, self.mask))
