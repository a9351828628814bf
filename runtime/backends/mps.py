"""`ingot.backends.mps`: Apple GPUs."""

from ..core.device import DRIVERS, available

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Return whether there is an Apple GPU that ingot can use."""
    return available("mps")


def is_built() -> bool:
    """Return whether a backend for Apple GPUs is loaded."""
    return "mps" in DRIVERS
