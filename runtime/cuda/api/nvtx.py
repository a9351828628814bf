"""`ingot.cuda.nvtx`: marks for NVIDIA's profilers, which have no effect; scripts that set them run unchanged."""

from contextlib import contextmanager

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_depth = [0]


def range_push(msg: str) -> int:
    """Begin a nested range; return the number of open ones before."""
    _depth[0] += 1
    return _depth[0] - 1


def range_pop() -> int:
    """End the innermost range; return the number of open ones left."""
    _depth[0] = max(0, _depth[0] - 1)
    return _depth[0]


def range_start(msg: str) -> int:
    """Begin a range that may end anywhere; return its number."""
    return 0


def range_end(range_id: int):
    """End a range of `range_start`."""


def mark(msg: str):
    """Mark a moment."""


@contextmanager
def range(msg: str, *args, **kwargs):
    """Return a context manager and decorator for a range."""
    range_push(msg)
    try:
        yield
    finally:
        range_pop()
