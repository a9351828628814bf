"""What goes wrong with checkpoints."""

from ..errors import DistError

__all__ = ["CheckpointException"]


class CheckpointException(DistError):
    """A checkpoint that cannot be written or read."""
