"""What a GPU would do silently, and a machine that stands for one must not."""

__all__ = ["Fault"]


class Fault(AssertionError):
    """An address out of bounds, a race, dtypes that do not fit ..."""
