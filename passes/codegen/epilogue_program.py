"""Elementwise computations fused into matrix products, as data: an SSA program on each finished sum or each factor.

A program is a list of instructions as kernels have them (`ir/kernel/kernel.py`). `load` reads an operand at the place of the
value; the load called `ACCUMULATED` is the product itself.
"""

import hashlib
from dataclasses import dataclass

from ...ir.cached_property import cached_property
from ...ir.dtype import DType
from ...ir.kernel.kernel import LOAD, STORE, instr_text

ACCUMULATED = "accumulated"


@dataclass(frozen=True)
class Operand:
    """A buffer of an epilogue besides the product, read or written. Without `along_rows` it is the same in all rows."""

    name: str
    dtype: DType
    along_columns: bool
    along_rows: bool = True


@dataclass(frozen=True)
class EpilogueProgram:
    """An epilogue: `result` names the value that replaces the product; stores write further values."""

    dtype: DType
    operands: tuple
    body: tuple
    result: str

    @cached_property
    def name(self) -> str:
        """A name made of a digest of all fields."""
        text = "\n".join([str(self.dtype), *map(str, self.operands), *map(instr_text, self.body), self.result])
        return f"epilogue_{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @property
    def stored(self) -> DType:
        """The dtype of the result."""
        return next(i.dtype for i in self.body if i.name == self.result)

    @property
    def is_bias(self) -> bool:
        """Whether the program only adds one vector along the columns, the same in all rows."""
        if len(self.operands) != 1 or [i.op for i in self.body] != [LOAD, LOAD, "add"]:
            return False
        operand, (first, second, last) = self.operands[0], self.body
        return (operand.along_columns and not operand.along_rows and operand.dtype is self.dtype is last.dtype
                and {first.attr, second.attr} == {ACCUMULATED, operand.name}
                and set(last.args) == {first.name, second.name} and self.result == last.name)

    @cached_property
    def row_invariant(self) -> frozenset:
        """Names of values that are the same in all rows."""
        same, found = {o.name for o in self.operands if not o.along_rows}, set()
        for i in self.body:
            if i.op != STORE and (i.attr in same if i.op == LOAD else all(a in found for a in i.args)):
                found.add(i.name)
        return frozenset(found)
