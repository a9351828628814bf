"""Chains of instructions over rows that a single vector holds: one vector at a time, as the second would be empty."""

from .....ir.kernel.kernel import Kernel
from ...cost import kernel_cost
from ..ir.emit import Module
from .elementwise import CHAIN, Elementwise

SHORT = 16          # elements of a row


class ShortRows(Elementwise):
    """Writes the task and the launch of an elementwise kernel for short rows."""

    def width(self) -> int:
        return self.lanes()


def suits(kernel: Kernel, extents) -> bool:
    """Whether a kernel over these extents should take this way."""
    return len(extents) > 1 and extents[-1] <= SHORT and kernel_cost(kernel) >= CHAIN


def write(module: Module, kernel: Kernel):
    """Adds the kernel's functions to the module."""
    nest = ShortRows(module, kernel)
    nest.write()
    return nest
