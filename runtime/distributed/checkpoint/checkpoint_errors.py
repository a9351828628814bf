"""Errors of checkpoints."""

from ..engines.distributed_errors import DistError

__all__ = ["CheckpointException"]


class CheckpointException(DistError):
    """A checkpoint that cannot be written or read."""
