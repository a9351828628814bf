"""State of the process and of the thread that a recording changes, put back where an interrupt stopped the recording."""

import gc
import sys
from typing import Any

from ...runtime.state.mode import Mode, tls
from ..guards.frames import current_profiler, own_settrace, restore_profiler

_NAMES = [name for name in Mode.__slots__ if name != "_context"]


class ProcessState:
    """The state before a recording. `contexts` are those that the recording enters; each can be left more than once."""

    def __init__(self):
        self.contexts: Any = ()
        m = tls.m
        self._mode = [(name, getattr(m, name)) for name in _NAMES]
        self._profiler, self._tracer = current_profiler(), sys.gettrace()
        self._collects = gc.isenabled()

    def restore(self):
        """Put everything back, again if an interrupt comes meanwhile."""
        try:
            self._restore()
        except BaseException:
            self._restore()
            raise

    def _restore(self):
        sys.setprofile(None)
        own_settrace()(None)
        for name, value in self._mode:
            setattr(tls.m, name, value)
        if self._collects:
            gc.enable()
        for leave in self.contexts:
            leave()
        own_settrace()(self._tracer)
        restore_profiler(self._profiler)
