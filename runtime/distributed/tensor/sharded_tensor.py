"""Tensors of which each rank has a part, as state dicts hold them."""

from dataclasses import dataclass
from typing import Any

from ...autograd.grad_mode import no_grad

__all__ = ["Piece"]


@dataclass
class Piece:
    """Some elements of a tensor, counted row by row: as many as `tensor` has, from number `start` on."""

    tensor: Any
    start: int
    shape: tuple

    @property
    def stop(self) -> int:
        """The number of the element behind the last one."""
        return self.start + self.tensor.numel()

    def fill(self, values, start: int = 0):
        """Take those elements that it has of a stretch that begins with number `start`; says how many these were."""
        values = values.reshape(-1)
        first, last = max(start, self.start), min(start + values.numel(), self.stop)
        if first >= last:
            return 0
        with no_grad():
            self.tensor[first - self.start:last - self.start].copy_(values[first - start:last - start])
        return last - first
