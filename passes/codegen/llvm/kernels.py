"""From a Kernel to LLVM IR: which strategy writes it."""

from ....ir.kernel import Kernel, buffer_of
from ....ir.target import Target
from . import columns, elementwise, rows
from .emit import Module
from .reduce import has_scan


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
            along += strides[inner] == 1
            across += strides[last] == 1 and strides[inner] != 0
    return columns if across > along else rows


def write(module: Module, kernel: Kernel, how=None):
    """Adds `<name>(arg)` and its tasks to the module, by the strategy `how` or the one that suits the strides."""
    return (how or strategy(kernel)).write(module, kernel)


def kernel_text(kernel: Kernel, target: Target) -> str:
    """The kernel's module as LLVM IR."""
    module = Module(target)
    write(module, kernel)
    return module.text()
