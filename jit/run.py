"""One recorded run of a function: what went in, and what was written down."""

import os
import threading
from functools import cached_property
from typing import Any

from ..ir.substitute import at_hint, has_symbols
from ..runtime.state import tls
from .errors import TraceError
from .host import HostPrint
from .record import Recorder
from .tree import flatten, unflatten
from .watch import Watch

RECORDING = threading.RLock()        # held by the one recording that is made at a time
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RECORDING._at_fork_reinit)  # type: ignore[attr-defined]


class Call:
    """One call of a traced function.

    leaves, numbers   the tensors, ints and floats in its arguments
    key               everything that decides what a recording of it is good for
    met               entries that apply, but lack the path that this call takes
    reason            why no entry could replay it
    checks            the entry that its recording is compared with
    alike             recordings of fixed sizes for which everything but the sizes is as it is in this call
    """

    __slots__ = ("__dict__", "alike", "args", "checks", "key", "kwargs", "leaves", "met", "numbers", "reason", "result")

    def __init__(self, args, kwargs, leaves, numbers, key):
        self.args, self.kwargs, self.leaves, self.numbers, self.key = args, kwargs, leaves, numbers, key
        self.met: list = []
        self.reason = "the first call with arguments of this kind"
        self.checks: Any = None
        self.alike: list = []
        self.result: Any = None

    @cached_property
    def shapes(self) -> tuple:
        """The shapes of the tensors."""
        return tuple([shape for shape, *_ in self.key[5]])

    def arguments(self, symbols):
        """(args, kwargs) for the function, with symbols in the place of numbers that are symbolic."""
        given = self.numbers if symbols is None else symbols.given(self.numbers)
        if all(a is b for a, b in zip(given, self.numbers)):
            return self.args, self.kwargs
        return unflatten(self.key[0][0], iter(self.leaves), iter(given))


class Run:
    """A function run eagerly while a recorder listens, its arguments' `symbols` symbolic."""

    def __init__(self, fn, changing=frozenset(), symbols=None, recorder=Recorder):
        self.fn, self.symbols = fn, symbols
        name = getattr(fn, "__name__", type(fn).__name__)
        self.recorder = recorder(name, changing, None if symbols is None else symbols.scope)
        self.result: Any = None
        self.result_spec: Any = None
        self.recording: Any = None
        self.guards: list = []

    @staticmethod
    def _check_containers(before, given, now):
        """Lists and dictionaries among the arguments must be as they were: a replay would not change them."""
        leaves: list = []
        if flatten(now, leaves) != before or any(a is not b for a, b in zip(leaves, given)):
            raise TraceError("this function cannot be traced: it changes a list, dictionary or other container among its "
                             "arguments; return the new contents instead")

    def record(self, call: Call):
        """Runs the function on the arguments of a call, alone in the process: it marks the tensors that it meets."""
        m, recorder, watch = tls.m, self.recorder, Watch()
        args, kwargs = call.arguments(self.symbols)
        before = flatten((args, kwargs), [])
        m.recorder, m.sizes = recorder, None if self.symbols is None else recorder.shape_of
        m.refresh()
        try:
            for i, t in enumerate(call.leaves):
                recorder.argument(t, i, None if self.symbols is None else self.symbols.shape(i, t._a.shape))
            with HostPrint(), watch:
                self.result = self.fn(*args, **kwargs)
                tensors: list = []
                self.result_spec = flatten(self.result, tensors)
                self.recording = recorder.finish(tensors)
            self._check_containers(before, call.leaves, (args, kwargs))
        finally:
            m.recorder = m.sizes = None
            recorder.release()
            m.refresh()
        if has_symbols(self.result_spec):
            self.result = unflatten(at_hint(self.result_spec), iter(tensors))
        self.guards = [*recorder.guards, *watch.finish()]
