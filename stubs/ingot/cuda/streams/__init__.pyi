"""Streams and events, and the current stream of each thread."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Event as Event
from ingot import Stream as Stream
from ingot import Stream as _Stream
from ingot.cuda import ExternalStream as ExternalStream
from ingot.cuda import StreamContext as StreamContext
from ingot.cuda import get_sync_debug_mode as get_sync_debug_mode
from ingot.cuda import is_current_stream_capturing as is_current_stream_capturing
from ingot.cuda import set_sync_debug_mode as set_sync_debug_mode
import contextlib as _contextlib

def switch(device: _b.int) -> _LentSwitch:
    """Return the switch that public functions read and set: this thread's current stream of a device."""
def current(device: _b.int | None = None) -> _Stream:
    """Return the stream of this thread's work on a device, and make the device's context current."""
def default(device: _b.int | None = None) -> _Stream:
    """Return the default stream of a device."""
def entered() -> _b.tuple[_t.Any, ...] | None:
    """Return the entry of the innermost `with stream` block that this thread is in."""
def leave_entry(entry: _b.tuple[_t.Any, ...]) -> None:
    """Leave a `with stream` block by its entry, and those inside of it, if the thread is still in it."""
def report_waiting_copy(device: _b.int) -> None:
    """Warn or raise before a copy that waits for the device."""
def run_in(stream: _Stream, work: _c.Callable[..., _t.Any]) -> _t.Any:
    """Return `work()`, done in a stream."""
def set_current(stream: _Stream) -> None:
    """Make a stream this thread's current one, and its device the current device."""

class _LentSwitch:
    """A value that other code keeps: `peek` returns it, `put` sets it."""
    name: _b.str
    peek: _c.Callable[..., _t.Any]
    put: _c.Callable[..., _t.Any]
    def __init__(self, name: _b.str, peek: _c.Callable[..., _t.Any], put: _c.Callable[..., _t.Any]) -> None: ...
    def around(self, value: _t.Any) -> _b.tuple[_c.Callable[..., _t.Any], _c.Callable[..., _t.Any]]:
        """Return the functions that set a value and put back the one before (`Block.around`)."""
    def get(self) -> _t.Any:
        """Return the value."""
    def held(self, value: _t.Any) -> _contextlib._GeneratorContextManager[_t.Any]:
        """Return the functions that set a value and put back the one before (`Block.around`)."""
    def set(self, value: _t.Any, is_restored: _b.bool = False) -> None:
        """Set the value. `is_restored`: the caller puts back the former one, whatever it is."""
