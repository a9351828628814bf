"""`ingot.autograd.profiler`: older names of `ingot.profiler`, and no-op marks for profilers that ingot does not support."""

from contextlib import ContextDecorator

from .events import EventList, FunctionEvent, FunctionEventAvg
from .profiler_ranges import profile, record_function

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx", "profile", "record_function"]


class emit_nvtx(ContextDecorator):
    """Do nothing: operators are not marked for NVIDIA's profilers."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


class emit_itt(emit_nvtx):
    """Do nothing: operators are not marked for Intel's profilers."""
