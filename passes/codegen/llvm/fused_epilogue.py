"""Any elementwise computation as the epilogue of a matrix product.

It is a list of instructions in SSA form, as kernels have them (`ir/kernel.py`): `load` reads an operand at the place of the
value, and the load called `ACCUMULATED` is the product itself. Operand words: the function's address, then for each buffer
its pointer, and its row and batch strides in bytes; a buffer lies along the columns or is one number for all of them.
"""

import hashlib
from dataclasses import dataclass

from ....ir.dtype import DType
from ....ir.kernel import CAST, CONST, LOAD, STORE, instr_text
from ....ir.target import Target
from .. import scalars
from .emit import Function, Module
from .epilogue import Place
from .spelling import ELEMENT, LlvmBuilder
from .types import I64, PTR, Value, element_of, lanes_of, vector

ACCUMULATED = "accumulated"
WORDS_EACH = 3


@dataclass(frozen=True)
class Operand:
    """A buffer beside the product, read or written."""

    name: str
    dtype: DType
    along_columns: bool


@dataclass(frozen=True)
class Fused:
    """An epilogue: `result` names the value that takes the product's place; stores write others beside it."""

    dtype: DType
    operands: tuple
    body: tuple
    result: str

    @property
    def name(self) -> str:
        """What tells it from all others."""
        said = "\n".join([str(self.dtype), *map(str, self.operands), *map(instr_text, self.body), self.result])
        return f"epilogue_{hashlib.sha256(said.encode()).hexdigest()[:12]}"

    def text(self, target: Target) -> str:
        """The module of the function that `epilogue.Outside` describes."""
        module = Module(target)
        f = module.function(self.name, [(PTR, "operands"), (PTR, "c"), (I64, "c_row"), (I64, "row"), (I64, "column"),
                                        (I64, "height"), (I64, "width"), (I64, "batch")])
        operands, c, c_row, row, column, height, width, batch = f.params
        lanes, stored = target.lanes(self.dtype.itemsize), ELEMENT[self.dtype]
        whole, kind = f.bit_and(width, -lanes), vector(lanes, stored)
        with f.loop(0, height) as line:
            start = f.at(c, f.mul(c_row, line.index))

            def work(index, mask):
                spot = f.at(start, index, stored)
                place = Place(operands, batch, f.add(row, line.index), f.add(column, index), mask)
                value = f.load(kind, spot) if mask is None else f.load_masked(kind, spot, mask)
                _put(f, self._apply(f, value, place), spot, mask)

            with f.loop(0, whole, lanes) as loop:
                work(loop.index, None)
            rest = f.sub(width, whole)
            with f.when(f.compare("sgt", rest, 0)):
                work(whole, f.mask(rest, lanes))
        f.ret()
        return module.text()

    def _apply(self, f: Function, value: Value, place: Place) -> Value:
        """The instructions on one vector of the product."""
        s, env = LlvmBuilder(f, lanes_of(value.type)), {}
        number = {o.name: i for i, o in enumerate(self.operands)}
        for i in self.body:
            args = [env[a] for a in i.args]
            if i.op == STORE:
                self._store(s, args[0], number[i.attr], place)
            elif i.op == LOAD:
                own = i.attr == ACCUMULATED
                env[i.name] = s.wrap(self.dtype, value) if own else self._load(s, number[i.attr], place, value)
            elif i.op == CONST:
                env[i.name] = s.const(i.dtype, i.attr)
            else:
                env[i.name] = s.cast(args[0], i.dtype) if i.op == CAST else scalars.apply(s, i.op, *args)
        return env[self.result].ref

    @staticmethod
    def _start(f, number, place):
        """Where the place's row begins in a buffer."""
        first = 1 + WORDS_EACH * number
        rows = f.mul(place.word(f, first + 1), place.row)
        return f.at(f.at(place.word(f, first, PTR), f.mul(place.word(f, first + 2), place.batch)), rows)

    def _store(self, s, result, number, place):
        raw = s.to_memory(result)
        spot = s.f.at(self._start(s.f, number, place), place.column, element_of(raw.type))
        _put(s.f, raw, spot, place.mask)

    def _load(self, s, number, place, value):
        f, operand = s.f, self.operands[number]
        start, stored = self._start(f, number, place), ELEMENT[operand.dtype]
        if operand.along_columns:
            return s.wrap(operand.dtype, place.columns(f, start, value, stored))
        return s.wrap(operand.dtype, f.splat(f.load(stored, start), s.lanes))


def _put(f, value, spot, mask):
    """Stores a vector, or the part of it that a mask leaves."""
    if mask is None:
        f.store(value, spot)
    else:
        f.store_masked(value, spot, mask)
