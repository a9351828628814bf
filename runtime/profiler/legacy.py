"""`ingot.autograd.profiler`: the older names of what `ingot.profiler` has."""

from .events import EventList, FunctionEvent, FunctionEventAvg
from .ranges import profile, record_function

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]
