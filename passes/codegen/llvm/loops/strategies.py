"""Strategies: how the loops of a kernel are ordered and vectorised, and the choice for given strides and sizes."""

import math
from dataclasses import dataclass

from .....ir.kernel.kernel import Kernel, buffer_of
from .....ir.target import Target
from ...cost import kernel_cost
from ..ir.emit import Module
from . import columns, elementwise, panels, register_rows, rows, streaming, transposed_rows
from .nest import Nest
from .reduce import has_scan

NARROW = 16         # rows shorter than this are reduced side by side
FEW = 3, 6          # columns, of short bodies and of long ones, below which each column is reduced by itself


@dataclass(frozen=True)
class Strategy:
    """A class of nests with its arguments. Equal strategies write equal code."""

    nest: type
    arguments: tuple = ()

    @property
    def name(self) -> str:
        """A name for keys of code on disk."""
        return "_".join([self.nest.__name__, *map(str, self.arguments)])

    def write(self, module: Module, kernel: Kernel) -> Nest:
        """Add the functions of a kernel to the module."""
        nest = self.nest(module, kernel, *self.arguments)
        nest.write()
        return nest


ELEMENTWISE, SHORT_ROWS = Strategy(elementwise.Elementwise), Strategy(elementwise.ShortRows)
STREAMING = Strategy(streaming.Streaming)
ROWS, TRANSPOSED_ROWS = Strategy(rows.Rows), Strategy(transposed_rows.TransposedRows)
COLUMNS, FEW_COLUMNS, PANELS = Strategy(columns.Columns), Strategy(columns.FewColumns), Strategy(panels.Panels)


def in_registers(length: int) -> Strategy:
    """Return the strategy that reduces rows of this length in registers."""
    return Strategy(register_rows.RegisterRows, (register_rows.longest_row(length),))


def strategy(kernel: Kernel) -> Strategy:
    """Return the strategy for the strides of a kernel, whatever its sizes."""
    if not kernel.reduce:
        return ELEMENTWISE
    if not kernel.parallel:
        return ROWS
    if has_scan(kernel):
        return COLUMNS
    across, along = 0, 0
    last, inner = len(kernel.parallel) - 1, len(kernel.dims) - 1
    for i in kernel.instructions():
        if i.op in ("load", "store"):
            strides = kernel.buffer(buffer_of(i)).strides
            along += strides[inner] == 1 and strides[last] != 0
            across += strides[last] == 1 and strides[inner] != 0
    return COLUMNS if across > along else ROWS


def suited(kernel: Kernel, extents, same_length: bool = True) -> Strategy | None:
    """Return the best strategy for these extents of the kernel's dims; None means `strategy(kernel)`.

    `same_length` promises that the last extent is the same at all calls: some strategies serve short rows only.
    """
    if not kernel.reduce:
        if streaming.suits(kernel, math.prod(extents)):
            return STREAMING
        return SHORT_ROWS if elementwise.are_short(kernel, extents) else None
    if not kernel.parallel or has_scan(kernel):
        return None
    inner, across, usual = extents[-1], extents[len(kernel.parallel) - 1], strategy(kernel)
    if usual is ROWS and same_length:
        if transposed_rows.suits(kernel, extents):
            return TRANSPOSED_ROWS
        if register_rows.suits(kernel, extents):
            return in_registers(inner)
    if across < NARROW <= inner and (across < FEW[kernel_cost(kernel) >= columns.SHORT_BODY] or usual is ROWS):
        return ROWS
    if usual is COLUMNS:
        if panels.suits(kernel, across):
            return PANELS
        return FEW_COLUMNS if columns.are_few(kernel, across) else None
    return COLUMNS if inner < NARROW <= across else None


def write(module: Module, kernel: Kernel, how: Strategy | None = None) -> Nest:
    """Add `<name>(arg)` and its tasks to the module, by `how` or the strategy for the kernel's strides."""
    return (how or strategy(kernel)).write(module, kernel)


def kernel_text(kernel: Kernel, target: Target, how: Strategy | None = None) -> str:
    """Return the module of a kernel as LLVM IR."""
    module = Module(target)
    write(module, kernel, how)
    return module.text()
