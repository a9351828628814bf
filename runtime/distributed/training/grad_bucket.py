"""What hooks for the averaging of gradients are given."""

from ....ir.errors import ArgumentError
from ...core.tensor import Tensor

__all__ = ["GradBucket"]


class GradBucket:
    """What a hook for the averaging of gradients is given: gradients one after the other in one buffer."""

    def __init__(self, number, count, params, flat):
        self._number, self._count, self._params, self._flat = number, count, params, flat

    def index(self) -> int:
        """Return the bucket's number, in the order in which buckets are sent."""
        return self._number

    def is_last(self) -> bool:
        """Return whether no bucket comes after it."""
        return self._number == self._count - 1

    def buffer(self) -> Tensor:
        """Return all gradients one after the other."""
        return self._flat

    def set_buffer(self, buffer):
        """Put other values in the place of the buffer."""
        if buffer.shape != self._flat.shape:
            raise ArgumentError(f"the buffer of this bucket has {self._flat.numel()} values, got a tensor of shape "
                                f"{tuple(buffer.shape)}")
        self._flat = buffer

    def gradients(self) -> list:
        """Return the gradient of each parameter, as views of the buffer."""
        pieces = self._flat.split([p.numel() for p in self._params])
        return [piece.view(p.shape) for piece, p in zip(pieces, self._params)]

    def parameters(self) -> list:
        """Return the parameters."""
        return list(self._params)
