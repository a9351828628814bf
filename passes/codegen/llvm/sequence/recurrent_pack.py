"""Weights of recurrent layers packed by themselves, for layers that are called many times with the same ones."""

from dataclasses import dataclass

from ..ir.emit import Module
from ..pool.tasks import write_task
from .recurrent import WORDS, StepKernel, pack_item


@dataclass(frozen=True)
class PackKernel(StepKernel):
    """The task that packs the weights, by itself: from w to y."""

    weights = "y"

    @property
    def symbol(self) -> str:
        """The task."""
        return f"{self.cell.name}_{self.element}_pack"

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        write_task(module, self.symbol, pack_item(module, self), WORDS, worker=False)
        return module.text()
