"""Errors that a GPU would not report."""

__all__ = ["Fault"]


class Fault(AssertionError):
    """An address out of bounds, a race, or dtypes that do not match."""
