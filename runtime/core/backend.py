"""Backends: what the runtime asks of the code that runs operators on the host and on devices.

`runtime/__init__` enters them here by name, so `core`, `autograd`, `api` and `foreach` import no backend.
"""

from collections.abc import Callable
from typing import Any, Protocol, cast

import numpy as np

from ...ir.lazy import LazyModule
from ...ir.opdef.op import Op


class HostBackend(Protocol):
    """Kernels and memory for arrays of the host, which are NumPy arrays."""

    SMALL_BYTES: int                # smaller arrays are plain memory of NumPy's
    CompiledGraph: type             # a graph as a plan of steps, ready to run
    Whole: type                     # a graph that is compiled for the layouts of its arguments when they have come often

    def kernel_for(self, op: Op) -> Callable:
        """Return the kernel of an operator: a function of its arrays and parameters."""

    def writer_for(self, op: Op) -> Callable | None:
        """Return the kernel that writes an operator's result over its first operand, if there is one."""

    def empty(self, shape, dtype) -> np.ndarray:
        """Return an array without values that begins at a cache line."""

    def dense(self, array) -> np.ndarray:
        """Return a copy that keeps the order of dims and has no gaps."""

    def in_rows(self, array) -> np.ndarray:
        """Return a copy in C order."""

    def binary(self, name: str, dtype) -> Callable:
        """Return the kernel of a scalar function of two operands."""

    def elementwise(self, name: str, inputs: tuple, outputs: tuple, build: Callable) -> Callable:
        """Return the kernel of a scalar program that `build` writes."""

    def evenly(self, count: int, dtype, start, step, *rest) -> np.ndarray:
        """Return evenly spaced values."""

    def joint_rule(self, op: Op, needs: tuple, args, params, calls: int) -> Callable | None:
        """Return a gradient rule as one compiled graph, once it has run often enough to pay."""

    def rules_of(self, op: Op, goals: tuple) -> Any:
        """Return the compiled gradient rules of an operator for some of its arguments."""

    def drawn_by(self, fn: Callable) -> Any:
        """Return a function of random draws as graphs that are compiled when called often."""

    def run_timed(self, compiled, arrays) -> tuple:
        """Run a compiled graph, and return its results and the time of each step."""

    def get_num_threads(self) -> int:
        """Return the number of threads of kernels."""

    def set_num_threads(self, n: int) -> None:
        """Set the number of threads of kernels."""


class DeviceBackend(Protocol):
    """A kind of device: its memory and streams, and operators on arrays there (`DeviceArray`)."""

    def count(self) -> int:
        """Return how many devices of the kind this machine has."""

    def current(self) -> int:
        """Return the number of the current device; `set_current` chooses it."""

    def synchronize(self, index) -> None:
        """Wait until a device has done all that it was asked."""

    def to_device(self, array, index, wait) -> Any:
        """Copy an array of the host; `to_host` copies back."""

    def run(self, op: Op, inputs, params) -> Any:
        """Run an operator on arrays of the device."""

    def write(self, dst, src) -> None:
        """Copy values over an array of the device."""

    def filled(self, shape, dtype, value, index) -> Any:
        """Return an array of one value."""

    def traced(self, graph, owned, targets) -> Any:
        """Return a graph, ready to run on the device."""


class _Host:
    """Stands for the host's backend: it finds each function when that is first asked for, and keeps it."""

    def __init__(self):
        self._backend: Any = None

    def enter(self, backend: LazyModule):
        self._backend = backend

    def __getattr__(self, name):
        value = self.__dict__[name] = getattr(self._backend, name)
        return value


HOST_ENTRY = _Host()
HOST = cast(HostBackend, HOST_ENTRY)
DRIVERS: dict[str, Any] = {}        # backends of devices by kind, which offer `DeviceBackend` and what `ingot.cuda` shows
