"""oneDNN is not used by ingot; its switches can be set, and change nothing."""

__all__ = ["deterministic", "enabled", "is_available"]

enabled = False
deterministic = False


def is_available() -> bool:
    """Whether oneDNN is used: it is not."""
    return False
