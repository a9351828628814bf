"""CUDA devices of this process: their primary contexts and properties, and the current device of each thread."""

import os
import threading
from ctypes import create_string_buffer
from typing import Any

from ....ir.cached_property import cached_property
from ....ir.errors import DeviceError
from ....ir.locks import new_rlock
from ...core.backend import DRIVERS
from . import driver as library
from .driver_state import on_replaced_driver

# Bytes of shared memory of a block, and multiprocessors (of the largest chip of each kind).
CHIPS = {75: (65536, 72), 80: (166912, 108), 86: (101376, 84), 87: (166912, 16), 89: (101376, 142), 90: (232448, 132),
         100: (232448, 148), 103: (232448, 160), 120: (101376, 188), 121: (101376, 48)}

# Numbers of CUdevice_attribute.
_MAX_SHARED, _WARP, _PROCESSORS, _MAJOR, _MINOR, _SHARED_OPTIN, _L2 = 8, 10, 16, 75, 76, 97, 38
_MAX_THREADS, _PCI_BUS, _PCI_DEVICE = 1, 33, 34
_THREADS_PER_SM, _REGISTERS_PER_SM, _INTEGRATED, _CLOCK, _BUS_WIDTH, _MEMORY_CLOCK = 39, 82, 18, 13, 37, 36


class Context:
    """A device with its primary context, which other CUDA libraries of the process share."""

    def __init__(self, driver, index: int):
        self.driver, self.index = driver, index
        self.device = driver.number("cuDeviceGet", index)
        self.handle = driver.handle("cuDevicePrimaryCtxRetain", self.device)

    def attribute(self, number: int) -> int:
        return self.driver.number("cuDeviceGetAttribute", number, self.device)

    @cached_property
    def capability(self) -> tuple[int, int]:
        return self.attribute(_MAJOR), self.attribute(_MINOR)

    @cached_property
    def arch(self) -> int:
        """The capability as one number: 90 for (9, 0)."""
        return 10 * self.capability[0] + self.capability[1]

    @cached_property
    def processors(self) -> int:
        return self.attribute(_PROCESSORS)

    @cached_property
    def shared_memory(self) -> int:
        """Bytes of shared memory of a block."""
        return self.attribute(_SHARED_OPTIN)

    @cached_property
    def name(self) -> str:
        text = create_string_buffer(256)
        self.driver.cuDeviceGetName(text, len(text), self.device)
        return text.value.decode(errors="replace")

    @cached_property
    def total_memory(self) -> int:
        return self.driver.size("cuDeviceTotalMem_v2", self.device)

    @cached_property
    def uuid(self) -> str:
        raw = create_string_buffer(16)
        self.driver.cuDeviceGetUuid_v2(raw, self.device)
        return raw.raw.hex()

    def properties(self) -> dict:
        """Return the properties of the device, under PyTorch's names."""
        major, minor = self.capability
        return {"name": self.name, "major": major, "minor": minor, "total_memory": self.total_memory,
                "multi_processor_count": self.processors, "warp_size": self.attribute(_WARP),
                "shared_memory_per_block": self.attribute(_MAX_SHARED), "shared_memory_per_block_optin": self.shared_memory,
                "max_threads_per_multi_processor": self.attribute(_THREADS_PER_SM),
                "regs_per_multiprocessor": self.attribute(_REGISTERS_PER_SM), "L2_cache_size": self.attribute(_L2),
                "is_integrated": bool(self.attribute(_INTEGRATED)), "uuid": self.uuid,
                "clock_rate": self.attribute(_CLOCK), "memory_clock_rate": self.attribute(_MEMORY_CLOCK),
                "memory_bus_width": self.attribute(_BUS_WIDTH), "max_threads_per_block": self.attribute(_MAX_THREADS),
                "pci_bus_id": self.attribute(_PCI_BUS), "pci_device_id": self.attribute(_PCI_DEVICE)}


class _Thread(threading.local):
    index = 0          # the device in use
    bound: Any = None       # the Context that is current in the driver


thread = _Thread()
_contexts: dict[int, Context] = {}
_lock = new_rlock()


def count() -> int:
    """Return the number of devices; 0 without a driver."""
    driver = library.find()
    return 0 if driver is None else driver.devices


def context(index: int | None = None) -> Context:
    """Return a device's context (None: the current device's) and make it current in this thread."""
    index = thread.index if index is None else index
    found = _contexts.get(index) or _make(index)
    if thread.bound is not found:
        found.driver.cuCtxSetCurrent(found.handle)
        thread.bound = found
    return found


def _make(index):
    driver = library.get()
    if _forked:
        raise DeviceError("CUDA was in use when this process was forked, and no forked process can use it: start processes by "
                          'the method "spawn" (DataLoader takes multiprocessing_context="spawn"), or leave the GPU to the '
                          "process that forks")
    if not 0 <= index < driver.devices:
        raise DeviceError(f"there is no device cuda:{index}: this machine has {driver.devices}")
    with _lock:
        if index not in _contexts:
            _contexts.setdefault(index, Context(driver, index))      # (a signal handler may have needed it meanwhile)
    DRIVERS["cuda"].serve_triton()
    return _contexts[index]


def is_started() -> bool:
    """Return whether any device was used."""
    return bool(_contexts)


def current() -> int:
    """Return the index of the device in use by this thread."""
    return thread.index


def set_current(index: int):
    """Make a device the one in use by this thread."""
    context(index)
    thread.index = index


def rebind():
    """Make the next use set the driver's context again, because other code may have changed it."""
    thread.bound = None


def index_of(device) -> int:
    """Return the device index of an int, a name such as "cuda:1", a device or None (the current one)."""
    if device is None:
        return thread.index
    if isinstance(device, int):
        return device
    kind, _, number = str(device).partition(":")
    if kind != "cuda" or not (number.isdecimal() or not number):
        raise DeviceError(f"{device} is no CUDA device")
    return int(number) if number else thread.index


@on_replaced_driver
def _drop_contexts():
    _contexts.clear()
    thread.bound, thread.index = None, 0


def is_in_bad_fork() -> bool:
    """Return whether this process was forked while CUDA was in use, and cannot use it."""
    return _forked


def _in_child():
    """Drop all contexts in a forked process: it has none of them."""
    global _forked
    _forked = library.is_loaded()
    if _forked:
        _drop_contexts()


_forked = False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
