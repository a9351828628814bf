"""Streams and events, and the current stream of each thread."""

import threading
import warnings
from collections import deque
from collections.abc import Callable
from ctypes import byref, c_int, c_void_p
from functools import cache, partial
from typing import Any

from ....ir.errors import ArgumentError, DeviceError
from ...core.device import Device
from ...core.storage import user_line
from ...state.switches import LentSwitch, Switch, question
from . import context as contexts
from . import driver as library
from . import launch_queue
from .driver_state import DriverCache, on_replaced_driver
from .driver_state import is_capturing as _is_capturing
from .endings import Ending, each, forget, leave, one_of

_NON_BLOCKING = 1
_BLOCKING_SYNC, _NO_TIMING = 1, 2
_ACTIVE = 1


class Stream:
    """A queue of work on a device: ordered itself, concurrent with other streams.

    `handle` is the driver's (0: the default stream). Handles of dropped streams serve new ones, because memory may still name
    them.
    """

    def __init__(self, device=None, priority: int = 0, *, handle: int | None = None):
        device = contexts.index_of(device)
        self.device_index, self.priority = device, priority       # (the index of its device)
        self.context = contexts.context(device)
        self._idle = _idle.setdefault((device, priority), deque())
        self.handle = self._taken() if handle is None else handle

    def _taken(self):
        held: list = []         # the place of its handle, or the ending of the stream that had it before
        leave(self, self._idle, held)
        while not held or isinstance(held[0], Ending):
            try:
                held += one_of(self._idle) if not held else ()
            except IndexError:
                held.append(c_void_p())
                break
            forget(held[0])
            held[:] = [x for x in held[0].left if isinstance(x, Ending) or x.value]     # none if that was interrupted
        if not held[0].value:
            self.context.driver.cuStreamCreateWithPriority(byref(held[0]), _NON_BLOCKING, self.priority)
        return held[0].value

    @property
    def cuda_stream(self) -> int:
        launch_queue.disable()
        return self.handle

    @property
    def device(self) -> Device:
        return Device("cuda", self.device_index)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return (the least priority, the greatest one); the greatest is the smaller number."""
        low, high = c_int(), c_int()
        contexts.context().driver.cuCtxGetStreamPriorityRange(byref(low), byref(high))
        return low.value, high.value

    def is_capturing(self) -> bool:
        """Return whether a graph is captured from the stream."""
        _is_capturing()         # (ends the capture of a graph that is gone)
        status = c_int()
        contexts.context(self.device_index).driver.cuStreamIsCapturing(self.handle, byref(status))
        return status.value == _ACTIVE

    def synchronize(self):
        contexts.context(self.device_index).driver.cuStreamSynchronize(self.handle)

    def finish(self, memory, function: Callable, *args):
        """Call a function that uses memory of the host in this stream, and wait."""
        try:
            function(*args)
            self.synchronize()
        except BaseException:
            self.finish_interrupted(memory)
            raise
        for _ in range(len(_unfinished)):
            one = _unfinished.popleft()
            if one[0] != self:
                _unfinished.append(one)

    def finish_interrupted(self, memory):
        """Wait for a copy of memory of the host whose call was interrupted. If calls wait for a kernel, hold the memory."""
        if launch_queue.waiting:
            _unfinished.append((self, memory))
        else:
            self.context.driver.raw["cuStreamSynchronize"](self.handle)

    def query(self) -> bool:
        """Return whether everything in the stream has run."""
        return contexts.context(self.device_index).driver.is_done("cuStreamQuery", self.handle)

    def wait_event(self, event: "Event"):
        """Make later work in this stream wait for an event."""
        if event.handle:
            contexts.context(self.device_index).driver.cuStreamWaitEvent(self.handle, event.handle, 0)

    def wait_stream(self, stream: "Stream"):
        """Make later work in this stream wait for all current work of another one."""
        self.wait_event(stream.record_event())

    def record_event(self, event: "Event | None" = None) -> "Event":
        """Record an event at the end of the stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self):
        entry = self, current(self.device_index), contexts.current(), _thread.entered
        try:
            _thread.entered = entry
            switch(self.device_index).set(self, is_restored=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        entry = _thread.entered
        while entry is not None and entry[0] is not self:       # blocks that an interrupt has left
            entry = entry[3]
        if entry is not None:
            leave_entry(entry)

    def __eq__(self, other):
        return isinstance(other, Stream) and (self.device_index, self.handle) == (other.device_index, other.handle)

    def __hash__(self):
        return hash((self.device_index, self.handle))

    def __repr__(self):
        return f"<ingot.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.handle:#x}>"


class ExternalStream(Stream):
    """A stream of another library, which owns it, by the driver's handle."""

    def __init__(self, stream_ptr: int, device=None):
        super().__init__(device, handle=int(stream_ptr))
        launch_queue.disable()


class Event:
    """A mark in a stream, to wait for or to measure times between two."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False):
        if interprocess:
            raise ArgumentError("events cannot be shared between processes")
        library.get()
        self.timing, self.blocking = enable_timing, blocking
        self.handle = 0
        self.device_index: Any = None
        self.context: Any = None

    def record(self, stream: Stream | None = None):
        """Record the event at the end of a stream (None: the current one)."""
        stream = current() if stream is None else stream
        here = contexts.context(stream.device_index)
        if not self.handle:
            _destroy_ended()
            flags, place = (0 if self.timing else _NO_TIMING) | (_BLOCKING_SYNC if self.blocking else 0), c_void_p()
            leave(self, _ended, (here.driver, place))
            here.driver.cuEventCreate(byref(place), flags)
            self.device_index, self.context = stream.device_index, here
            self.handle = place.value or 0
        elif self.device_index != stream.device_index:
            raise DeviceError(f"an event of {self.device} cannot be recorded in a stream of {stream.device}")
        here.driver.cuEventRecord(self.handle, stream.handle)

    def wait(self, stream: Stream | None = None):
        """Make later work in a stream wait for the event."""
        (current() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Return whether the event was reached (or never recorded)."""
        return not self.handle or contexts.context(self.device_index).driver.is_done("cuEventQuery", self.handle)

    def synchronize(self):
        if self.handle:
            contexts.context(self.device_index).driver.cuEventSynchronize(self.handle)

    def elapsed_time(self, end_event: "Event") -> float:
        """Return the milliseconds from this event to a later one."""
        if not (self.timing and end_event.timing):
            raise ArgumentError("elapsed_time needs two events made with enable_timing=True")
        if not (self.handle and end_event.handle):
            raise ArgumentError("elapsed_time needs two events that were recorded")
        self.synchronize()
        end_event.synchronize()
        return contexts.context(self.device_index).driver.milliseconds(self.handle, end_event.handle)

    @property
    def cuda_event(self) -> int:
        launch_queue.disable()
        return self.handle

    @property
    def device(self) -> Device | None:
        return None if self.device_index is None else Device("cuda", self.device_index)

    def __repr__(self):
        return f"<ingot.cuda.Event {self.handle:#x}>" if self.handle else "<ingot.cuda.Event, not recorded>"


def _destroy_ended():
    """Destroy the events that nobody has any more."""
    each(_ended, _destroy)


def _destroy(ending):
    driver, place = ending.left
    if place.value:
        launch_queue.after(driver, driver.raw["cuEventDestroy_v2"], (place.value,), partial(setattr, place, "value", None))


class _Thread(threading.local):
    def __init__(self):
        self.streams: dict[int, Stream] = {}
        self.entered: tuple | None = None       # (stream, former stream and device, entry around it) of the innermost `with`


_thread = _Thread()
_defaults = DriverCache()       # default streams, by device
_idle = DriverCache()           # endings of streams, whose handles are free, by device and priority
_ended: deque = deque()         # endings of events
_unfinished: deque = deque()    # (stream, memory of the host) of copies that nobody waits for any more
on_replaced_driver(_ended.clear)
on_replaced_driver(_unfinished.clear)
on_replaced_driver(lambda: _thread.streams.clear())


def entered() -> tuple | None:
    """Return the entry of the innermost `with stream` block that this thread is in."""
    return _thread.entered


def leave_entry(entry: tuple):
    """Leave a `with stream` block by its entry, and those inside of it, if the thread is still in it."""
    found = _thread.entered
    while found is not None and found is not entry:
        found = found[3]
    if found is not None:
        _, before, device, _thread.entered = entry
        _thread.streams[before.device_index] = before
        contexts.thread.index = device
        contexts.context(device)


def run_in(stream: Stream, work: Callable):
    """Return `work()`, done in a stream."""
    before, device = current(stream.device_index), contexts.current()
    try:
        set_current(stream)
        return work()
    finally:
        _thread.streams[stream.device_index] = before
        contexts.thread.index = device
        contexts.context(device)


def default(device: int | None = None) -> Stream:
    """Return the default stream of a device."""
    device = contexts.current() if device is None else device
    found = _defaults.get(device)
    if found is None:
        found = _defaults[device] = Stream(device, handle=0)
    return found


def current(device: int | None = None) -> Stream:
    """Return the stream of this thread's work on a device, and make the device's context current."""
    if _thread.entered is not None:
        _is_capturing()         # (leaves blocks that an interrupt has left)
    device = contexts.current() if device is None else device
    contexts.context(device)
    return _thread.streams.get(device) or default(device)


def set_current(stream: Stream):
    """Make a stream this thread's current one, and its device the current device."""
    contexts.set_current(stream.device_index)
    _thread.streams[stream.device_index] = stream


@cache
def switch(device: int) -> LentSwitch:
    """Return the switch that public functions read and set: this thread's current stream of a device."""
    return LentSwitch(f"the current stream of cuda:{device}", partial(current, device), set_current)


class StreamContext:
    """Context manager that sets the current stream; None changes nothing."""

    def __init__(self, stream: Stream | None):
        self.stream = stream

    def __enter__(self):
        return None if self.stream is None else self.stream.__enter__()

    def __exit__(self, *exc):
        if self.stream is not None:
            self.stream.__exit__(*exc)


_SYNC_MODES = ("default", "warn", "error")


_waiting = Switch("the reaction to copies that wait for a device", 0)      # a number of `_SYNC_MODES`


def set_sync_debug_mode(debug_mode: int | str):
    """Make copies that wait for a device warn (1 or "warn"), raise (2 or "error"), or neither (0 or "default")."""
    mode = _SYNC_MODES.index(debug_mode) if debug_mode in _SYNC_MODES else debug_mode
    if mode not in range(len(_SYNC_MODES)):
        raise ArgumentError(f"set_sync_debug_mode takes 0, 1, 2 or one of {', '.join(_SYNC_MODES)}, got {debug_mode!r}")
    _waiting.set(int(mode))


def get_sync_debug_mode() -> int:
    """Return the number of the mode of `set_sync_debug_mode`."""
    return _waiting.get()


def report_waiting_copy(device: int):
    """Warn or raise before a copy that waits for the device."""
    mode = _waiting.peek()
    if mode:
        message = f"a copy between the host and cuda:{device} waits for the device (set_sync_debug_mode)"
        if mode == 2:
            raise DeviceError(message)
        file, line = user_line(2)
        warnings.warn_explicit(message, UserWarning, file, line)


@question
def is_current_stream_capturing() -> bool:
    """Return whether the current stream is being captured."""
    return contexts.is_started() and current().is_capturing()
