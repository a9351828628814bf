"""Errors of `ingot.distributed`."""

from ....ir.errors import DistError
from ...backends.unavailable_functions import refused as refusal

__all__ = ["CheckpointException", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "DistTimeoutError"]


def refused(name: str, instead: str):
    """Return a function that raises, and says what to use instead."""
    return refusal(DistError, f"distributed.{name}", instead)


class DistBackendError(DistError):
    """A collective is impossible: ranks disagree, or one has gone."""


class DistNetworkError(DistError):
    """A connection cannot be made, or has broken."""


class DistPortTakenError(DistNetworkError):
    """Another process listens at the address of a new store."""


class DistStoreError(DistError):
    """A store does not answer, or a key was never set."""


class DistTimeoutError(DistBackendError, DistStoreError, TimeoutError):
    """Other ranks did not arrive within the timeout."""


class CheckpointException(DistError):
    """A checkpoint cannot be written or read."""
