"""Factorisations of batches of small matrices, one matrix per lane (`codegen/small_matrices.py`)."""

import functools

from .....ir import dtype as dt
from ...small_matrices import ROUTINES
from ..ir.source import POINTER, SIZE, Parameter, Source, emit
from ..ir.spelling import Text, TritonBuilder

OPERANDS, RESULTS = ("x", "b"), ("first", "second", "third", "fourth")
MOST = 4            # rows and columns


@functools.lru_cache(64)
def source(routine: str, kind: dt.DType, shapes: tuple) -> Source:
    """Return the kernel of a routine for a dtype, and rows and columns of each operand; N matrices, one after the other."""
    text = Text(frozenset((*OPERANDS, *RESULTS, "at", "inside", "N", "BLOCK", "INDEX")))
    s, operands = TritonBuilder(text), []
    for name, (rows, columns) in zip(OPERANDS, shapes):
        found = [s.load(kind, name, f"at * {rows * columns} + {i}", "inside, 0") for i in range(rows * columns)]
        operands.append([found[row * columns:(row + 1) * columns] for row in range(rows)])
    parameters = [Parameter(name, POINTER, kind) for name in OPERANDS[:len(shapes)]]
    for name, rows in zip(RESULTS, ROUTINES[routine](s, *operands)):
        values = [a for row in rows for a in row]
        parameters.append(Parameter(name, POINTER, values[0].dtype))
        for i, value in enumerate(values):
            s.store(value, name, f"at * {len(values)} + {i}", "inside")
    heading = ["at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)", "inside = at < N"]
    sizes = "_".join(f"{rows}x{columns}" for rows, columns in shapes)
    return emit(f"{routine}_{sizes}_{kind.short}", [*parameters, Parameter("N", SIZE)], ("BLOCK", "INDEX"),
                [*heading, *[line.removeprefix("    ") for line in text.lines]])
