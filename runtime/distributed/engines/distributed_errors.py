"""Errors between processes."""

from ....ir.errors import IngotError
from ...backends.unavailable_functions import refused as refusal

__all__ = ["CheckpointException", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError",
           "DistTimeoutError"]

class DistError(IngotError, RuntimeError):
    """Base of the errors of `ingot.distributed`."""


def refused(name: str, instead: str):
    """Return a function that is not there: it raises, and says what to use instead."""
    return refusal(DistError, f"distributed.{name}", instead)


class DistBackendError(DistError):
    """A collective that cannot be done: ranks that disagree, or one that has gone."""


class DistNetworkError(DistError):
    """A connection that cannot be made or has broken."""


class DistStoreError(DistError):
    """A store that does not answer, or a key that nobody has set."""


class DistTimeoutError(DistBackendError, DistStoreError, TimeoutError):
    """Others did not come within the time allowed."""


class CheckpointException(DistError):
    """A checkpoint that cannot be written or read."""
