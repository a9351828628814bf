"""`ingot.accelerator`: functions of the current accelerator, whichever it is, with simple results without one."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import device as _device

_Decorated = _t.TypeVar("_Decorated", bound=_c.Callable[..., _t.Any])

def current_accelerator(check_available: _b.bool = False) -> _device | None:
    """Return the kind of accelerator of this machine as a device, or None. `check_available` is ignored: a kind is found by
    its driver, so it is available."""
def current_device_index() -> _b.int:
    """Return the index of the current accelerator."""
def current_stream(device: _device | _b.str | _b.int | None = None, /) -> _t.Any:
    """Return the current stream."""
def device_count() -> _b.int:
    """Return the number of accelerators."""

class device_index:
    """A context with another current accelerator; None changes nothing."""
    index: _t.Any
    def __init__(self, index: _t.Any, /) -> None: ...
    def around(self) -> _b.tuple[_t.Any, ...]: ...
    def __call__(self, fn: _Decorated) -> _Decorated: ...
    def __enter__(self) -> _t.Any: ...
    def __exit__(self, *error: _t.Any) -> None: ...

def empty_cache() -> None:
    """Return cached memory to the device."""
def get_device_capability(device: _device | _b.str | _b.int | None = None, /) -> _b.tuple[_t.Any, ...]:
    """Return the compute capability of an accelerator: (major, minor)."""
def get_memory_info(device: _device | _b.str | _b.int | None = None, /) -> _b.tuple[_t.Any, ...]:
    """Return (free, total) bytes of an accelerator."""
def is_available() -> _b.bool:
    """Return whether there is an accelerator."""
def max_memory_allocated(device: _device | _b.str | _b.int | None = None, /) -> _b.int:
    """Return the peak of bytes in use by tensors."""
def max_memory_reserved(device: _device | _b.str | _b.int | None = None, /) -> _b.int:
    """Return the peak of bytes held from the device."""
def memory_allocated(device: _device | _b.str | _b.int | None = None, /) -> _b.int:
    """Return the bytes in use by tensors."""
def memory_reserved(device: _device | _b.str | _b.int | None = None, /) -> _b.int:
    """Return the bytes held from the device, in use or cached."""
def memory_stats(device: _device | _b.str | _b.int | None = None, /) -> _b.dict[_t.Any, _t.Any]:
    """Return byte counts by name; empty without an accelerator."""
def reset_accumulated_memory_stats(device: _device | _b.str | _b.int | None = None, /) -> None:
    """Restart the totals."""
def reset_peak_memory_stats(device: _device | _b.str | _b.int | None = None, /) -> None:
    """Restart the peaks."""
def set_device_index(device: _device | _b.str | _b.int) -> None:
    """Make an accelerator the current one."""
def set_stream(stream: _t.Any) -> None:
    """Make a stream the current one."""
def synchronize(device: _device | _b.str | _b.int | None = None, /) -> None:
    """Wait for everything launched on an accelerator. Without one, return at once."""

current_device_idx = current_device_index
set_device_idx = set_device_index
