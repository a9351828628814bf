"""Any elementwise computation as the epilogue of a matrix product.

It is a list of instructions in SSA form, as kernels have them (`ir/kernel.py`): `load` reads an operand at the place of the
value, and the load called `ACCUMULATED` is the product itself. Operand words: for each buffer its pointer, and its row and
batch strides in bytes; a buffer lies along the columns or is one number for all of them.
"""

import hashlib
from dataclasses import dataclass

from ....ir.dtype import DType
from ....ir.kernel import CAST, CONST, LOAD, Instr, instr_text
from .. import scalars
from .emit import Function
from .epilogue import Place
from .spelling import ELEMENT, LlvmBuilder
from .types import PTR, Value, lanes_of

ACCUMULATED = "accumulated"
WORDS_EACH = 3


@dataclass(frozen=True)
class Operand:
    """A buffer beside the product."""

    name: str
    dtype: DType
    along_columns: bool


@dataclass(frozen=True)
class Fused:
    """An epilogue; the last instruction gives the value to store."""

    dtype: DType
    operands: tuple
    body: tuple

    @property
    def words(self) -> int:
        """How many words of the operand block it reads."""
        return WORDS_EACH * len(self.operands)

    @property
    def name(self) -> str:
        """What tells it from all others."""
        said = "\n".join([str(self.dtype), *map(str, self.operands), *map(instr_text, self.body)])
        return f"fused_{hashlib.sha256(said.encode()).hexdigest()[:12]}"

    def apply(self, f: Function, value: Value, place: Place, base: int) -> Value:
        """The instructions on one vector (or, at dot products, one number) of the product."""
        s, env = LlvmBuilder(f, lanes_of(value.type)), {}
        number = {o.name: i for i, o in enumerate(self.operands)}
        for i in self.body:
            args = [env[a] for a in i.args]
            if i.op == LOAD:
                env[i.name] = self._load(s, i, number, value, place, base)
            elif i.op == CONST:
                env[i.name] = s.const(i.dtype, i.attr)
            else:
                env[i.name] = s.cast(args[0], i.dtype) if i.op == CAST else scalars.apply(s, i.op, *args)
        return env[self.body[-1].name].ref

    def _load(self, s, i: Instr, number, value, place, base):
        if i.attr == ACCUMULATED:
            return s.wrap(self.dtype, value)
        f, operand = s.f, self.operands[number[i.attr]]
        first = base + WORDS_EACH * number[i.attr]
        rows = f.mul(place.word(f, first + 1), place.row)
        start = f.at(f.at(place.word(f, first, PTR), f.mul(place.word(f, first + 2), place.batch)), rows)
        stored = ELEMENT[operand.dtype]
        if operand.along_columns:
            return s.wrap(operand.dtype, place.columns(f, start, value, stored))
        return s.wrap(operand.dtype, f.splat(f.load(stored, start), s.lanes))
