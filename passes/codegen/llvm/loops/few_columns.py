"""Short bodies over few parallel points: one vector of lanes, as what further registers hold would be masked."""

from .....ir.kernel.kernel import Kernel
from ...cost import kernel_cost
from ..ir.emit import Module
from .columns import SHORT_BODY, Columns

FEW = 32            # parallel points up to which one vector at a time is enough


class FewColumns(Columns):
    """Writes the task and the launch of a kernel whose lanes are parallel points, of which there are few."""

    def wide(self) -> int:
        return self.lanes()


def suits(kernel: Kernel, across: int) -> bool:
    """Whether a kernel over so many parallel points side by side should take this way."""
    return across <= FEW and kernel_cost(kernel) < SHORT_BODY


def write(module: Module, kernel: Kernel):
    """Adds the kernel's functions to the module."""
    nest = FewColumns(module, kernel)
    nest.write()
    return nest
