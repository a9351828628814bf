"""`ingot.cpu`: functions that exist for every kind of device, for the CPU."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import device as _device
from ingot.cpu import amp as amp

def get_capabilities() -> _c.Mapping[_t.Any, _t.Any]:
    """Return the instruction sets of the CPU ("avx2": True), and its "architecture"."""

class Stream:
    """A stand-in for a stream: the CPU has finished when a call returns. `priority` is ignored: there is one queue."""
    def __init__(self, priority: _b.int = -1) -> None: ...
    def synchronize(self) -> None:
        """Do nothing: there is nothing to wait for."""
    def wait_stream(self, stream: _t.Any) -> None:
        """Do nothing: there is nothing to wait for."""

class StreamContext:
    """A context without effect."""
    stream: _t.Any
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *exc: _t.Any) -> None: ...
    def __init__(self, stream: _t.Any) -> None: ...

def current_device() -> _b.str:
    """Return 'cpu'."""
def current_stream(device: _device | _b.str | _b.int | None = None) -> Stream:
    """Return the only stream. `device` is ignored: there is one CPU."""
def device_count() -> _b.int:
    """Return 1."""
def is_available() -> _b.bool:
    """Return True."""
def set_device(device: _device | _b.str | _b.int) -> None:
    """Do nothing: there is one device."""
def stream(stream: _t.Any) -> StreamContext:
    """Return a context without effect."""
def synchronize(device: _device | _b.str | _b.int | None = None) -> None:
    """Do nothing: the CPU has finished when a call returns."""

is_initialized = is_available
