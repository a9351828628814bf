"""Functions of PyTorch's published samples: the family functional."""

from .functions import rows_of


def rows(torch, rng):
    """Yield the rows of this family."""
    yield from rows_of("functional", torch)
