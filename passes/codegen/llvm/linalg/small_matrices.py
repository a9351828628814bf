"""Factorisations of batches of small matrices as pool tasks: a lane is a matrix, an item a vector of them.

Matrices follow each other in memory, so an element of all lanes is gathered. `codegen/small_matrices.py` has the routines.
"""

from dataclasses import dataclass

from ...small_matrices import ROUTINES
from ..ir.emit import ElementWriter
from ..ir.memory_types import FLOAT_DTYPES
from ..ir.spelling import LlvmBuilder
from ..ir.types import I64, PTR, element_of, iota, mangled, vector
from ..pool.tasks import Words, write_task

ARRAYS = ("x", "b", "first", "second", "third", "fourth")       # operands, then results; a routine may have fewer
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "count")


@dataclass(frozen=True)
class SmallMatrixKernel(ElementWriter):
    """Generator for a routine, an element type, rows and columns of each operand."""

    routine: str
    shapes: tuple

    @property
    def symbol(self) -> str:
        sizes = "_".join(f"{rows}x{columns}" for rows, columns in self.shapes)
        return f"{self.routine}_{sizes}_{mangled(self.element)}"

    def write(self, module):
        _write_item(module.function("item", [(PTR, "job"), (I64, "number")], internal=True), self)
        write_task(module, self.symbol, "item", WORDS, worker=False)


def _write_item(f, kernel):
    job, s = Words(f, f.params[0], WORDS), LlvmBuilder(f, kernel.lanes)
    start = f.mul(f.params[1], kernel.lanes)
    mask, operands = f.mask(f.sub(job.count, start), kernel.lanes), []
    for name, (rows, columns) in zip(ARRAYS, kernel.shapes):
        addresses = _addresses(f, job.address(name), start, kernel.element, rows * columns, kernel.lanes)
        found = [s.gather(FLOAT_DTYPES[kernel.element], at, mask) for at in addresses]
        operands.append([found[row * columns:(row + 1) * columns] for row in range(rows)])
    for name, rows in zip(ARRAYS[2:], ROUTINES[kernel.routine](s, *operands)):
        values = [a for row in rows for a in row]
        addresses = _addresses(f, job.address(name), start, element_of(values[0].ref.type), len(values), kernel.lanes)
        for value, at in zip(values, addresses):
            s.scatter(value, at, mask)
    f.ret()


def _addresses(f, array, start, element, count, lanes) -> list:
    """Return each element's addresses in all lanes."""
    first, far = f.at(array, f.mul(start, count), element), f.binary("mul", iota(lanes, I64), count)
    return [f.op(vector(lanes, PTR), f"getelementptr {element}, {f.at(first, i, element)}, {far}") for i in range(count)]
