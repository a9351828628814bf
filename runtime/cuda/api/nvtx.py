"""`ingot.cuda.nvtx`: marks for NVIDIA's profilers, which ingot does not reach; scripts that make them run as they are."""

from contextlib import contextmanager

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_depth = [0]


def range_push(msg: str) -> int:
    """Begin a range inside of those that are open; how many there were."""
    _depth[0] += 1
    return _depth[0] - 1


def range_pop() -> int:
    """End the range that was begun last; how many are left."""
    _depth[0] = max(0, _depth[0] - 1)
    return _depth[0]


def range_start(msg: str) -> int:
    """Begin a range that may end anywhere; its number."""
    return 0


def range_end(range_id: int):
    """End such a range."""


def mark(msg: str):
    """Mark a moment."""


@contextmanager
def range(msg: str, *args, **kwargs):
    """A range around what is inside, or around a function that this decorates."""
    range_push(msg)
    try:
        yield
    finally:
        range_pop()
