"""Named ranges of a program, and the profile of a `with` block."""

import time
from contextlib import ContextDecorator
from functools import wraps
from typing import Any

from ..state.mode import tls
from .events import EventList
from .session import Session


class record_function(ContextDecorator):
    """Name the `with` block (or the decorated function) in profiles. Inside of a traced function the name shows while the
    function is recorded; a replay runs no Python."""

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args
        self._open: list[tuple[Any, Any]] = []

    def __enter__(self):
        session: Any = tls.m.observer
        self._open.append((session, None if session is None else session.begin(self.name, "user")))
        return self

    def __exit__(self, *exc):
        session, event = self._open.pop()
        if session is tls.m.observer and session is not None:
            session.end(event)

    def __call__(self, func):
        name, args = self.name, self.args

        @wraps(func)
        def inside(*arguments, **keywords):
            with record_function(name, args):
                return func(*arguments, **keywords)

        return inside


class profile:
    """The profile of `autograd.profiler`: it records all of the `with` block.

    `use_device`, `use_cuda` and `use_cpu` are ignored: work on a device counts as the time in which it was started.
    `with_modules` is ignored: no event names a module. `acc_events` is ignored: a block is one round. `use_kineto`,
    `experimental_config` and `custom_trace_id_callback` are ignored: they are for PyTorch's Kineto.
    """

    def __init__(self, enabled=True, *, use_device=None, record_shapes=False, with_flops=False, profile_memory=False,
                 with_stack=False, with_modules=False, use_kineto=False, use_cpu=True, experimental_config=None,
                 acc_events=False, custom_trace_id_callback=None, use_cuda=False):
        self.enabled, self.profile_memory, self.with_flops = enabled, profile_memory, with_flops
        self._session = Session(record_shapes or with_flops, profile_memory, with_stack, with_flops)
        self._spent = [0, 0]

    def __enter__(self):
        if self.enabled:
            self._spent[0] = time.perf_counter_ns()
            self._session.open()
        return self

    def __exit__(self, *exc):
        if self.enabled:
            self._session.close()
            self._spent[1] = time.perf_counter_ns()

    @property
    def function_events(self) -> EventList:
        """The events, in the order in which they began."""
        return EventList(self._session.events, self.profile_memory, self.with_flops)

    self_cpu_time_total = property(lambda self: self.function_events.self_cpu_time_total)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0) -> EventList:
        """Return sums of events by name."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self):
        """Return the sum of all events."""
        return self.function_events.total_average()

    def table(self, *args, **kwargs) -> str:
        """Return a table; see `EventList.table`."""
        return self.function_events.table(*args, **kwargs)

    def export_chrome_trace(self, path):
        """Write the timeline for ui.perfetto.dev and chrome://tracing."""
        self.function_events.export_chrome_trace(path)

    def __str__(self):
        return self.table()
