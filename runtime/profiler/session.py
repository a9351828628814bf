"""Session of a profile: an observer that times the operators, backward nodes and compiled steps of a thread.

Operators run as they would without it, except that small calls take no short paths, which report nothing.
"""

import threading
import time
from typing import Any

from ...ir.opdef.op import operations
from ...ir.source_location import shown_file
from ..core.backend import HOST
from ..core.op_observers import OpObserver
from ..core.storage import user_line
from ..core.tensor import Tensor
from ..state.mode import OPEN_PROFILES
from .events import FunctionEvent


class Session(OpObserver):
    """The events between `open` and `close`, in the order in which they began."""

    def __init__(self, shapes=False, memory=False, lines=False, flops=False):
        super().__init__()
        self.shapes, self.memory, self.lines, self.flops = shapes, memory, lines, flops
        self.events: list = []
        self._now: Any = None       # the innermost event that has not ended
        self._thread = 0

    def open(self):
        """Record this thread's work from now on."""
        self._thread = threading.get_native_id()
        super().open()
        OPEN_PROFILES.append(self)

    def close(self):
        """End open events, and stop recording."""
        while self._now is not None:
            self.end(self._now)
        super().close()
        if self in OPEN_PROFILES:
            OPEN_PROFILES.remove(self)

    def begin(self, name, kind) -> FunctionEvent:
        """Begin an event inside of the innermost open one."""
        event = FunctionEvent(name, kind, time.perf_counter_ns(), self._now, self._thread)
        self.events.append(event)
        self._now = event
        return event

    def end(self, event):
        """End an event, and those that began inside of it."""
        event.ended = time.perf_counter_ns()
        while self._now is not event:
            if self._now is None:
                return
            self._now.ended, self._now = event.ended, self._now.cpu_parent
        self._now = event.cpu_parent

    # Observed calls.

    def observe(self, op, args, params):
        event = self.begin(op.name, "operator")
        try:
            out = super().observe(op, args, params)
        finally:
            self.end(event)
        self._describe(event, op, args, out, params)
        return out

    def around_operator(self, op, run, args, kwargs):
        """Time an operator of the user's."""
        event = self.begin(op.name(), "operator")
        try:
            return super().around_operator(op, run, args, kwargs)
        finally:
            self.end(event)

    def _describe(self, event, op, args, out, params):
        outs = out if type(out) is tuple else (out,)
        if self.shapes:
            event.input_shapes = [list(a._a.shape) if isinstance(a, Tensor) else [] for a in args]
        if self.memory and not op.is_view:
            event.own_memory = sum(t._a.nbytes for t in outs)
        if self.lines:
            file, line = user_line()
            event.stack = [f"{shown_file(file)}({line})"]
        if self.flops:
            avals = [a.aval if isinstance(a, Tensor) else a for a in args]
            event.flops = operations(op, avals, [t.aval for t in outs], params)

    def around_backward(self, through):
        """Return the timed function that runs a node of the history."""
        through = super().around_backward(through)

        def timed_through(node, g):
            event = self.begin(node.label, "backward")
            try:
                return through(node, g)
            finally:
                self.end(event)

        return timed_through

    def run(self, job, compiled, arrays) -> list:
        """Time compiled code of this thread; run that of other threads untimed."""
        if threading.get_native_id() != self._thread or not isinstance(compiled, HOST.CompiledGraph):
            return compiled.run(arrays)
        whole = self.begin(job.region.name, "compiled")
        try:
            results, moments = HOST.run_timed(compiled, arrays)
        finally:
            self.end(whole)
        names = job.step_names(compiled)
        for m in moments:
            if m.step in names:
                event = FunctionEvent(names[m.step], "compiled", m.began, whole, self._thread)
                event.ended = m.began + m.took
                self.events.append(event)
        return results
