"""The path optimizer of einsum is ingot's own."""

__all__ = ["enabled", "get_opt_einsum", "is_available", "strategy"]

enabled = True
strategy = "auto"


def is_available() -> bool:
    """Whether the package opt_einsum is used: it is not."""
    return False


def get_opt_einsum():
    """The package opt_einsum, which is not used."""
    return
