"""`ingot.cuda.profiler`: says to a profiler of NVIDIA's that follows this process from where to where it is to look."""

from contextlib import contextmanager

from ..driver import context as contexts

__all__ = ["profile", "start", "stop"]


def start():
    """Return a profiler looks from here on."""
    contexts.context().driver.cuProfilerStart()


def stop():
    """Return a profiler stops looking."""
    contexts.context().driver.cuProfilerStop()


@contextmanager
def profile():
    """A profiler looks at what is inside."""
    start()
    try:
        yield
    finally:
        stop()
