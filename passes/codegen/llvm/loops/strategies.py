"""From a Kernel to LLVM IR: which strategy writes it."""

import math

from .....ir.kernel.kernel import Kernel, buffer_of
from .....ir.target import Target
from ...cost import kernel_cost
from ..ir.emit import Module
from . import columns, elementwise, few_columns, panels, register_rows, rows, short_rows, streaming, transposed_rows
from .reduce import has_scan

NARROW = 16         # rows shorter than this are done side by side
FEW = 3, 6          # columns, of short bodies and of long ones, of which fewer are done one after the other


def strategy(kernel: Kernel):
    """The module of this package that writes the kernel."""
    if not kernel.reduce:
        return elementwise
    if not kernel.parallel:
        return rows
    if has_scan(kernel):
        return columns
    across, along = 0, 0
    last, inner = len(kernel.parallel) - 1, len(kernel.dims) - 1
    for i in kernel.instructions():
        if i.op in ("load", "store"):
            strides = kernel.buffer(buffer_of(i)).strides
            along += strides[inner] == 1 and strides[last] != 0
            across += strides[last] == 1 and strides[inner] != 0
    return columns if across > along else rows


def suited(kernel: Kernel, extents, same_length: bool = True):
    """The strategy for these extents of the kernel's dims; None where the usual one is right. `same_length` says that the last
    of them never differs: some strategies hold for short rows alone."""
    if not kernel.reduce:
        if streaming.suits(kernel, math.prod(extents)):
            return streaming
        return short_rows if short_rows.suits(kernel, extents) else None
    if not kernel.parallel or has_scan(kernel):
        return None
    inner, across, usual = extents[-1], extents[len(kernel.parallel) - 1], strategy(kernel)
    if usual is rows and same_length:
        if transposed_rows.suits(kernel, extents):
            return transposed_rows
        if register_rows.suits(kernel, extents):
            return register_rows.strategy(inner)
    if across < NARROW <= inner and (across < FEW[kernel_cost(kernel) >= columns.SHORT_BODY] or usual is rows):
        return rows
    if usual is columns:
        if panels.suits(kernel, across):
            return panels
        return few_columns if few_columns.suits(kernel, across) else None
    return columns if inner < NARROW <= across else None


def write(module: Module, kernel: Kernel, how=None):
    """Adds `<name>(arg)` and its tasks to the module, by the strategy `how` or the one that suits the strides."""
    return (how or strategy(kernel)).write(module, kernel)


def kernel_text(kernel: Kernel, target: Target, how=None) -> str:
    """The kernel's module as LLVM IR."""
    module = Module(target)
    write(module, kernel, how)
    return module.text()
