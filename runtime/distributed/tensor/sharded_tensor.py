"""Pieces of sharded tensors in state dicts."""

from dataclasses import dataclass
from typing import Any

from ...autograd.grad_mode import no_grad

__all__ = ["Piece"]


@dataclass
class Piece:
    """Consecutive elements of a tensor, counted row by row: those of `tensor`, from number `start` on."""

    tensor: Any
    start: int
    shape: tuple

    @property
    def stop(self) -> int:
        """Number of the element after the last one."""
        return self.start + self.tensor.numel()

    def fill(self, values, start: int = 0):
        """Copy its elements from a segment that begins at number `start`; return how many these were."""
        values = values.reshape(-1)
        first, last = max(start, self.start), min(start + values.numel(), self.stop)
        if first >= last:
            return 0
        with no_grad():
            self.tensor[first - self.start:last - self.start].copy_(values[first - start:last - start])
        return last - first
