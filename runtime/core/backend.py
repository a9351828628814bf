"""Backends: what the runtime asks of the code that runs operators on the host and on devices.

`runtime/__init__` enters them here by `enter`, so `core`, `autograd`, `api` and `foreach` import no backend.
"""

from collections.abc import Callable
from typing import Any, Protocol, cast

import numpy as np

from ...ir.lazy import LazyModule
from ...ir.opdef.op import Op


class Backend(Protocol):
    """Compiler of traced graphs for one kind of device. `enter` takes the CPU and CUDA alike."""

    PASSES: Any                     # passes of a traced graph, a list of `passes/pipelines.py`
    hoists_weights: bool            # whether values of weights alone are computed once, apart from the graph

    def traced(self, graph, owned, targets, brief) -> Any:
        """Return a graph, ready to run. `owned` are the positions of results with memory of their own, `targets` maps
        positions of results to the inputs that they replace, `brief` are results that live equally long: gradients."""

    def sized(self, graph, owned, targets, brief) -> Any:
        """Return a graph of symbolic sizes; its `bind(values)` returns what `traced` returns."""


class HostBackend(Backend, Protocol):
    """The CPU: kernels and memory for arrays of the host, which are NumPy arrays."""

    SMALL_BYTES: int                # smaller arrays are plain memory of NumPy's
    CompiledGraph: type             # a graph as a plan of steps, ready to run
    Whole: type                     # a graph that is compiled for the layouts of its arguments when they have come often
    Stepwise: type                  # a graph of symbolic sizes that runs operator by operator, without a plan

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


class ArrayBackend(Protocol):
    """Operators on one kind of `DeviceArray`: those of devices, and those without values of their own (`meta`, samples of vmap,
    parts on a mesh)."""

    def run(self, op: Op, inputs, params) -> Any:
        """Run an operator on arrays and Python numbers, which broadcast; return its result, or a tuple of them."""

    def gradients(self, op: Op, goals: tuple, args, params) -> tuple | None:
        """Return the wanted gradients of an operator by one launch, or None if its rules are to run one by one."""

    def overwrite(self, op: Op, out, inputs, params) -> bool:
        """Write an operator's result over its input `out`; return False, with nothing done, if that is impossible."""

    def key(self, generator, index) -> Any:
        """Return the next random key of a generator, or None if it is drawn elsewhere."""

    def to_host(self, array, wait=True) -> np.ndarray:
        """Copy an array to the host."""

    def filled(self, shape, dtype, value, index=None) -> Any:
        """Return a new array of one value."""

    def converted(self, array, dtype) -> Any:
        """Return the elements in another dtype."""

    def copied(self, array) -> Any:
        """Return the elements in new memory, in row-major order."""


class DeviceBackend(ArrayBackend, Backend, Protocol):
    """A kind of device: its memory and streams, and operators on arrays there."""

    def count(self) -> int:
        """Return how many devices of the kind this machine has."""

    def current(self) -> int:
        """Return the number of the current device."""

    def set_current(self, index) -> None:
        """Choose the current device."""

    def synchronize(self, index) -> None:
        """Wait until a device has done all its work."""

    def to_device(self, array, index=None, wait=True) -> Any:
        """Copy an array of the host or of another device."""

    def mark(self, index=None) -> Any:
        """Return an array without elements or memory, which only names its device."""

    def contiguous(self, array) -> Any:
        """Return a contiguous array unchanged, else a contiguous copy."""

    def write(self, dst, src) -> None:
        """Copy values over an array of the device."""

    def sweep(self, rows, numbers) -> None:
        """Run elementwise kernels in place for rows (kernel, outs, arrays): an optimizer's update. Write all rows or raise."""

    def fresh(self, arrays) -> list:
        """Return new arrays like others."""

    def pinned(self, array) -> np.ndarray:
        """Copy a host array to page-locked memory."""

    def is_pinned(self, array) -> bool:
        """Return whether a host array lies in page-locked memory."""

    def before_export(self, array, stream) -> None:
        """Make a consumer's stream wait for the work on an array (DLPack)."""


DRIVERS: dict[str, Any] = {}        # backends of devices by kind: a `DeviceBackend` each, and what `ingot.cuda` shows


class _Host:
    """Stands for the host's backend: it finds each function when that is first asked for, and keeps it."""

    def __getattr__(self, name):
        value = self.__dict__[name] = getattr(_HOSTS["cpu"], name)
        return value


_HOSTS: dict[str, Any] = {}
HOST = cast(HostBackend, _Host())


def enter(kind: str, backend: LazyModule):
    """Enter the backend of a kind of device, which is loaded when it is first used."""
    (_HOSTS if kind == "cpu" else DRIVERS)[kind] = backend
