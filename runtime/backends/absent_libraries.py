"""`ingot.backends.mkl`, `openmp` and `opt_einsum`: libraries that ingot does not use.

`einsum` has a path optimizer of its own, so `enabled` and `strategy` of opt_einsum change nothing.
"""

__all__ = ["enabled", "get_opt_einsum", "is_available", "strategy"]

enabled = True
strategy = "auto"


def is_available() -> bool:
    """Return False."""
    return False


def get_opt_einsum() -> None:
    """Return None in place of the package."""
