"""MKL is not used by ingot."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether MKL is used: it is not."""
    return False
