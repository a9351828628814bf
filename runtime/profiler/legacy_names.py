"""`ingot.autograd.profiler`: older names of what `ingot.profiler` has, and marks for profilers that ingot does not reach."""

from contextlib import ContextDecorator

from .events import EventList, FunctionEvent, FunctionEventAvg
from .profiler_ranges import profile, record_function

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx", "profile", "record_function"]


class emit_nvtx(ContextDecorator):
    """Would mark each operator for NVIDIA's profilers; nothing is marked."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


class emit_itt(emit_nvtx):
    """Would mark each operator for Intel's profilers; nothing is marked."""
