"""What tracing refuses, with the user's line and a way out."""

from ..ir.errors import IngotError


class TraceError(IngotError, RuntimeError):
    """A function did something that a trace could not repeat faithfully."""


def at(line) -> str:
    """`file:line` for a message, or nothing."""
    return f" at {line[0]}:{line[1]}" if line else ""
