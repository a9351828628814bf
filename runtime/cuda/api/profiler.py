"""`ingot.cuda.profiler`: start and stop the recording of an NVIDIA profiler that follows this process."""

from ....ir.blocks import block
from ..driver import context as contexts

__all__ = ["profile", "start", "stop"]


def start():
    """Start the recording."""
    contexts.context().driver.cuProfilerStart()


def stop():
    """Stop the recording."""
    contexts.context().driver.cuProfilerStop()


@block
def profile():
    """Record the work inside."""
    return start, stop
