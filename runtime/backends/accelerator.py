"""`ingot.accelerator`: functions of the current accelerator, whichever it is, with simple results without one."""

from ...ir.blocks import Block
from ...ir.errors import DeviceError
from ..core.device import DRIVERS, Device, available
from ..state.switches import LentSwitch, refuse_to_read

__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
           "device_index", "empty_cache", "get_device_capability", "get_memory_info", "is_available", "max_memory_allocated",
           "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats",
           "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize"]


def _kind() -> str | None:
    return next((k for k in DRIVERS if available(k)), None)


def driver(kind=None):
    """Return the backend of the accelerator (of one kind), or raise."""
    kind = kind or _kind()
    if kind is None or not available(kind):
        raise DeviceError(f"there is no {kind or 'accelerator'} device here; tensors can be on: cpu")
    return DRIVERS[kind]


def index_of(device, kind=None) -> int:
    """Return the index of `device`: None, an int, a name or a Device."""
    backend = driver(kind)
    index = device if device is None or isinstance(device, int) else Device(device).index
    index = backend.current() if index is None else index
    if not 0 <= index < backend.count():
        raise DeviceError(f"device index {index} is out of range: there are {backend.count()} devices")
    return index


current_device = LentSwitch("the current device", lambda: driver().current(), lambda index: driver().set_current(index))


def is_available() -> bool:
    """Return whether there is an accelerator."""
    return _kind() is not None


def current_accelerator(check_available: bool = False) -> Device | None:
    """Return the kind of accelerator of this machine as a device, or None. `check_available` is ignored: a kind is found by its
    driver, so it is available."""
    kind = _kind()
    return None if kind is None else Device(kind)


def device_count() -> int:
    """Return the number of accelerators."""
    kind = _kind()
    return DRIVERS[kind].count() if kind else 0


def current_device_index() -> int:
    """Return the index of the current accelerator."""
    return current_device.get()


def set_device_index(device):
    """Make an accelerator the current one."""
    current_device.set(index_of(device))


current_device_idx = current_device_index
set_device_idx = set_device_index


class device_index(Block):
    """A context with another current accelerator; None changes nothing."""

    _kind: str | None = None        # of the accelerator; None is the current one

    def __init__(self, index, /):
        super().__init__()
        self.index = index

    def around(self):
        if self.index is None:
            return lambda: self, tuple
        set_index, put_back = current_device.around(index_of(self.index, self._kind))
        return lambda: set_index() or self, put_back


def synchronize(device=None, /):
    """Wait for everything launched on an accelerator. Without one, return at once."""
    if is_available() or device is not None:
        driver().synchronize(index_of(device))


def current_stream(device=None, /):
    """Return the current stream."""
    return driver().stream(index_of(device))


def set_stream(stream):
    """Make a stream the current one."""
    driver().set_stream(stream)


def empty_cache():
    """Return cached memory to the device."""
    if is_available():
        driver().empty_cache()


def memory_stats(device=None, /) -> dict:
    """Return byte counts by name; empty without an accelerator."""
    if not is_available() and device is None:
        return {}
    refuse_to_read("the memory in use")
    return driver().memory(index_of(device))


def memory_allocated(device=None, /) -> int:
    """Return the bytes in use by tensors."""
    return memory_stats(device).get("allocated", 0)


def max_memory_allocated(device=None, /) -> int:
    """Return the peak of bytes in use by tensors."""
    return memory_stats(device).get("allocated_peak", 0)


def memory_reserved(device=None, /) -> int:
    """Return the bytes held from the device, in use or cached."""
    return memory_stats(device).get("reserved", 0)


def max_memory_reserved(device=None, /) -> int:
    """Return the peak of bytes held from the device."""
    return memory_stats(device).get("reserved_peak", 0)


def reset_peak_memory_stats(device=None, /):
    """Restart the peaks."""
    if is_available() or device is not None:
        driver().reset_peak(index_of(device))


def reset_accumulated_memory_stats(device=None, /):
    """Restart the totals."""
    if is_available() or device is not None:
        driver().reset_totals(index_of(device))


def get_memory_info(device=None, /) -> tuple:
    """Return (free, total) bytes of an accelerator."""
    refuse_to_read("the memory in use")
    backend, index = driver(), index_of(device)
    return backend.free_memory(index), backend.total_memory(index)


def get_device_capability(device=None, /) -> tuple:
    """Return the compute capability of an accelerator: (major, minor)."""
    return driver().capability(index_of(device))
