"""Streams and events: queues of work on a device, marks in them, and the stream that each thread works on."""

import threading
from collections import deque
from contextlib import contextmanager
from typing import Any

from ...ir.errors import ArgumentError, DeviceError
from . import context as contexts
from . import driver as library

_NON_BLOCKING = 1
_BLOCKING_SYNC, _NO_TIMING = 1, 2


class Stream:
    """A queue of work on a device; what is in it runs in order, and beside what other streams hold.

    `handle` is the driver's own (0: the default stream of the device). Those of streams that are gone serve new ones: memory
    that they used may still name them.
    """

    def __init__(self, device=None, priority: int = 0, *, handle: int | None = None):
        device = contexts.index_of(device)
        self.device, self.priority = device, priority
        self._owned = handle is None
        self.context = contexts.context(device)
        self._idle = _idle.setdefault((device, priority), deque())
        self.handle = self._taken() if handle is None else handle

    def _taken(self):
        try:
            return self._idle.popleft()
        except IndexError:
            return self.context.driver.handle("cuStreamCreateWithPriority", _NON_BLOCKING, self.priority)

    @property
    def cuda_stream(self) -> int:
        """The driver's handle."""
        return self.handle

    @property
    def device_index(self) -> int:
        """The index of its device."""
        return self.device

    def synchronize(self):
        """Waits until everything in the stream has run."""
        contexts.context(self.device).driver.cuStreamSynchronize(self.handle)

    def query(self) -> bool:
        """Whether everything in the stream has run."""
        return contexts.context(self.device).driver.is_done("cuStreamQuery", self.handle)

    def wait_event(self, event: "Event"):
        """What follows in this stream waits until `event` is reached."""
        if event.handle:
            contexts.context(self.device).driver.cuStreamWaitEvent(self.handle, event.handle, 0)

    def wait_stream(self, stream: "Stream"):
        """What follows in this stream waits for all that is in another one now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: "Event | None" = None) -> "Event":
        """Puts a mark at the end of the stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self):
        _thread.before.append((current(self.device), contexts.current()))
        set_current(self)
        return self

    def __exit__(self, *exc):
        before, device = _thread.before.pop()
        set_current(before)
        contexts.set_current(device)

    def __eq__(self, other):
        return isinstance(other, Stream) and (self.device, self.handle) == (other.device, other.handle)

    def __hash__(self):
        return hash((self.device, self.handle))

    def __repr__(self):
        return f"<ingot.cuda.Stream device=cuda:{self.device} cuda_stream={self.handle:#x}>"

    def __del__(self):
        if getattr(self, "_owned", False) and getattr(self, "handle", 0):
            self._idle.append(self.handle)


class Event:
    """A mark in a stream, to wait for or to measure the time between two."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False):
        if interprocess:
            raise ArgumentError("events cannot be shared between processes")
        library.get()
        self.timing, self.blocking = enable_timing, blocking
        self.handle = 0
        self.device: Any = None
        self.context: Any = None

    def record(self, stream: Stream | None = None):
        """Puts the mark at the end of a stream (the current one, for None)."""
        stream = current() if stream is None else stream
        here = contexts.context(stream.device)
        if not self.handle:
            flags = (0 if self.timing else _NO_TIMING) | (_BLOCKING_SYNC if self.blocking else 0)
            self.handle = here.driver.handle("cuEventCreate", flags)
            self.device, self.context = stream.device, here
        elif self.device != stream.device:
            raise DeviceError(f"an event of cuda:{self.device} cannot be recorded in a stream of cuda:{stream.device}")
        here.driver.cuEventRecord(self.handle, stream.handle)

    def wait(self, stream: Stream | None = None):
        """What follows in a stream waits for the mark."""
        (current() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Whether the mark was reached (or never set)."""
        return not self.handle or contexts.context(self.device).driver.is_done("cuEventQuery", self.handle)

    def synchronize(self):
        """Waits for the mark."""
        if self.handle:
            contexts.context(self.device).driver.cuEventSynchronize(self.handle)

    def elapsed_time(self, end_event: "Event") -> float:
        """Milliseconds from this mark to a later one."""
        if not (self.timing and end_event.timing):
            raise ArgumentError("elapsed_time needs two events made with enable_timing=True")
        if not (self.handle and end_event.handle):
            raise ArgumentError("elapsed_time needs two events that were recorded")
        end_event.synchronize()
        return contexts.context(self.device).driver.milliseconds(self.handle, end_event.handle)

    @property
    def cuda_event(self) -> int:
        """The driver's handle."""
        return self.handle

    def __repr__(self):
        return f"<ingot.cuda.Event {self.handle:#x}>" if self.handle else "<ingot.cuda.Event, not recorded>"

    def __del__(self):
        if getattr(self, "handle", 0) and self.context is not None:
            raw = self.context.driver.raw["cuEventDestroy_v2"]
            if raw is not None:
                raw(self.handle)


class _Thread(threading.local):
    def __init__(self):
        self.streams: dict[int, Stream] = {}
        self.before: list = []          # (stream, device) to go back to, for each `with` that this thread is in


_thread = _Thread()
_defaults: dict[int, Stream] = {}
_idle: dict[tuple, deque] = {}          # handles that nobody has, by device and priority


def default(device: int | None = None) -> Stream:
    """The default stream of a device."""
    device = contexts.current() if device is None else device
    found = _defaults.get(device)
    if found is None:
        found = _defaults[device] = Stream(device, handle=0)
    return found


def current(device: int | None = None) -> Stream:
    """The stream that this thread's work on a device goes to. Whoever asks is about to give it some, so the device's context is
    current in this thread from now on."""
    device = contexts.current() if device is None else device
    contexts.context(device)
    return _thread.streams.get(device) or default(device)


def set_current(stream: Stream):
    """Makes a stream the one that this thread's work goes to, and its device the one in use."""
    contexts.set_current(stream.device)
    _thread.streams[stream.device] = stream


@contextmanager
def using(stream: Stream | None):
    """Sends work to a stream inside; None changes nothing."""
    if stream is None:
        yield None
        return
    with stream:
        yield stream


def forget():
    """Forgets all streams, for a driver that was replaced."""
    _defaults.clear()
    _idle.clear()
    _thread.streams.clear()
