"""`ingot.profiler`: the time of a program, operator by operator, in the format of PyTorch's profiler.

    with profiler.profile(record_shapes=True) as p:
        train(model)
    print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))

Eager operators, nodes of backward, optimizer steps and each step of compiled code are events of the thread that opened the
profile. `jit.profile` compares kernels with what the machine can do.
"""

import enum
import gzip
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ...ir.draw.tables import counted
from ...ir.errors import ArgumentError, IngotError
from .events import EventList, timeline
from .profiler_ranges import record_function
from .session import Session

__all__ = ["ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
           "supported_activities", "tensorboard_trace_handler"]


class ProfilerActivity(enum.Enum):
    """Kinds of work. Work on a device counts as the processor time that started it."""

    CPU = 0
    CUDA = 1
    XPU = 2


class ProfilerAction(enum.Enum):
    """Actions of a profile during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set:
    """Return the recorded kinds of work: the processor's."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Return False: ingot does not use that library."""
    return False


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """Return a function that chooses the steps to record.

    After `skip_first` steps come `wait` steps without, `warmup` steps whose results are dropped, and `active` steps, `repeat`
    times (0: for ever). With `skip_first_wait` the first round does not wait.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ArgumentError(f"schedule: wait, warmup, repeat and skip_first are at least 0 and active at least 1, got "
                            f"{wait}, {warmup}, {repeat}, {skip_first} and {active}")

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        round_, at = divmod(step, wait + warmup + active)
        if (repeat and round_ >= repeat) or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if at == wait + warmup + active - 1 else ProfilerAction.RECORD

    return action


def _default_schedule_fn(step: int) -> ProfilerAction:
    """Record every step, as a profile without a schedule does."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """Return an `on_trace_ready` that writes each timeline into a folder, as TensorBoard's profiler plugin reads it."""

    def save(p):
        Path(dir_name).mkdir(parents=True, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        p.export_chrome_trace(str(Path(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' * bool(use_gzip)}")))

    return save


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class profile:
    """Records what runs in the `with` block, or in the steps that `schedule` chooses, where `step()` ends one.

    on_trace_ready   called with the profile whenever a round of active steps is over
    record_shapes    shapes of the arguments, for `key_averages(group_by_input_shape=True)`
    profile_memory   bytes of results; with_stack: the user's line; with_flops: floating point operations
    acc_events       keeps the events of earlier rounds
    `activities` and `use_cuda` are ignored: whatever runs is recorded. `with_modules` is ignored: no event names a module.
    `experimental_config`, `execution_trace_observer` and `custom_trace_id_callback` are ignored: they are for PyTorch's Kineto.
    """

    def __init__(self, *, activities: Iterable | None = None, schedule=None, on_trace_ready=None, record_shapes=False,
                 profile_memory=False, with_stack=False, with_flops=False, with_modules=False, experimental_config=None,
                 execution_trace_observer=None, acc_events=False, custom_trace_id_callback=None, use_cuda=None):
        self.activities = set(activities) if activities else supported_activities()
        self.schedule, self.on_trace_ready, self.acc_events = schedule or _always, on_trace_ready, acc_events
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops = with_stack, with_flops
        self.step_num = 0
        self._scheduled = schedule is not None
        self._action = ProfilerAction.NONE
        self._session: Any = None
        self._events: list = []
        self._metadata: dict = {}
        self._step: Any = None

    def __repr__(self):
        return f"<profile of {counted(len(self._events), 'event')}: print(p.key_averages().table()) sums them>"

    current_action = property(lambda self: self._action)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    def start(self):
        """Begin the first step."""
        self._become(self.schedule(self.step_num))
        self._mark()

    def step(self):
        """End a step and begin the next."""
        before = self._action
        self._end_mark()
        self.step_num += 1
        after = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._become(ProfilerAction.NONE)
            self._ready()
        self._become(after)
        self._mark()

    def stop(self):
        """End the last step."""
        was_on = self._action in _RECORDS
        self._end_mark()
        self._become(ProfilerAction.NONE)
        if was_on:
            self._ready()

    def _ready(self):
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _mark(self):
        if self._scheduled and self._action in _RECORDS:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_mark(self):
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    def _become(self, action):
        """Open a session if an action records and none is open; close it if the action does not record."""
        if action in _RECORDS and self._session is None:
            self._session = Session(self.record_shapes or self.with_flops, self.profile_memory, self.with_stack,
                                    self.with_flops)
            self._session.open()
        elif action not in _RECORDS and self._session is not None:
            self._session.close()
            self._events = [*(self._events if self.acc_events else ()), *self._session.events]
            self._session = None
        self._action = action

    # Results.

    def events(self) -> EventList:
        """Return all events of the last round, in the order in which they began."""
        if self._session is not None:
            raise IngotError("a profile has events once it is stopped; read them after the `with` block or in on_trace_ready")
        return EventList(self._events, self.profile_memory, self.with_flops)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False) -> EventList:
        """Return sums of events by name, and optionally by the shapes of arguments or the user's line.
        `group_by_overload_name` is ignored: operators have no overloads."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def add_metadata(self, key: str, value: str):
        """Add text to the file of the timeline."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str):
        """Add JSON to the file of the timeline."""
        self._metadata[key] = json.loads(value)

    def export_chrome_trace(self, path):
        """Write the timeline for ui.perfetto.dev and chrome://tracing; compressed for names that end in .gz."""
        text = json.dumps(timeline(self.events(), self._metadata))
        if str(path).endswith(".gz"):
            Path(path).write_bytes(gzip.compress(text.encode()))
        else:
            Path(path).write_text(text, encoding="utf-8")

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write the time spent at each of the user's lines; needs with_stack=True."""
        self.events().export_stacks(path, metric)


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
