"""Host calls of a recording: Python functions that every replay runs."""

from typing import Any

from ...ir.ops.core.host_call import host_call


class HostLog:
    """Log of host steps, which run at the end of a call, and of host functions whose results are graph values."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.steps: list = []           # (host step, the values that it takes), in order
        self.shown: set = set()         # positions of inputs that host steps may read
        self.done: Any = None           # host steps that a failed replay has already run, and this run leaves out

    def effect(self, step, tensors):
        """Append a host function without results, which runs at the end of every call."""
        if self._recorder.permits("host"):
            self.steps.append((step, [self._recorder.value_of(t) for t in tensors]))

    def results(self, tensors, made, **params):
        """Append a host function whose results are the tensors `made`."""
        r = self._recorder
        r.permits("host")
        r.builder.line = r.here()
        values = r.builder.append(host_call, [r.value_of(t) for t in tensors] or [None], params)
        for t, v in zip(made, values):
            r.fresh(t, v)
