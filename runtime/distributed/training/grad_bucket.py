"""GradBucket, the argument of communication hooks."""

from ....ir.errors import ArgumentError
from ...core.tensor import Tensor

__all__ = ["GradBucket"]


class GradBucket:
    """Bucket of a communication hook: joined gradients in one buffer."""

    def __init__(self, number, count, params, flat):
        self._number, self._count, self._params, self._flat = number, count, params, flat

    def index(self) -> int:
        """Return the bucket's number, in the order of sending."""
        return self._number

    def is_last(self) -> bool:
        """Return whether it is the last bucket."""
        return self._number == self._count - 1

    def buffer(self) -> Tensor:
        """Return all gradients, joined."""
        return self._flat

    def set_buffer(self, buffer):
        """Replace the values of the buffer."""
        if buffer.shape != self._flat.shape:
            raise ArgumentError(f"the buffer of this bucket has {self._flat.numel()} values, got a tensor of shape "
                                f"{list(buffer.shape)}")
        self._flat = buffer

    def gradients(self) -> list:
        """Return the gradient of each parameter, as views of the buffer."""
        pieces = self._flat.split([p.numel() for p in self._params])
        return [piece.view(p.shape) for piece, p in zip(pieces, self._params)]

    def parameters(self) -> list:
        """Return the parameters."""
        return list(self._params)
