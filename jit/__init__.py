"""`@jit.trace`: records a run, guards what it read, replays it as compiled code."""

from .errors import TraceError
from .host import host
from .traced import Traced, trace

__all__ = ["TraceError", "Traced", "host", "trace"]
