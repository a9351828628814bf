"""`@jit.trace`: records a run, guards what it read, replays it as compiled code."""

from .errors import TraceError
from .traced import Traced, trace

__all__ = ["TraceError", "Traced", "trace"]
