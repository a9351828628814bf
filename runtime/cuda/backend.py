"""The CUDA backend as the runtime sees it: devices and memory by index, and operators on device arrays."""

import sys
from ctypes import byref, c_size_t

import numpy as np

from ...ir.errors import DeviceError
from ...ir.graph.graph import Graph
from ...ir.lazy import lazy
from ...passes import pipelines
from ...passes.layout.channels_last import channels_last
from ..core.device_array import DeviceArray
from .compiler import precision
from .driver import context as contexts
from .driver import driver as library
from .driver import launch_queue, streams
from .graph import eager, inplace_ops, program
from .graph.traced import Sized, Traced
from .memory import pools, status_words, transfer
from .memory.pinned import PINNED
from .ops.index import data_movement, draws, gathers, scans, sorting
from .ops.linalg import cholesky, complex_products, fourier, lu, qr, small_matrices, triangular
from .ops.math import elementwise, multi_tensor
from .ops.nn import attention, class_targets, convolutions, ctc, linear_maps, recurrent
from .ops.products import products
from .replay import graphs

triton_driver = lazy(__package__, ".compiler.triton_driver")


def ordered_images(graph: Graph) -> Graph:
    """Propagate channels-last layout for the current precision of convolutions."""
    return channels_last(graph, precision.of_convolutions() != "ieee")


FAMILIES = (
    draws, products, data_movement, sorting, gathers, attention, convolutions, class_targets, recurrent, linear_maps, scans,
    complex_products, elementwise, fourier, multi_tensor, ctc, triangular, cholesky, lu, qr, small_matrices)
for _module in FAMILIES:
    eager.OWN.update(_module.OPERATORS)
for _module in (attention, gathers, data_movement):
    eager.INTO.update(_module.INTO)
_DEVICE_ORDINAL = 9          # a number of CUpointer_attribute
count = contexts.count
why_not = library.why_not
current = contexts.current
set_current = contexts.set_current
run = eager.run
PASSES = pipelines.cuda_trace(eager.decompose_bodies, ordered_images)
hoists_weights = False
traced = Traced
sized = Sized
contiguous = eager.contiguous
copied = eager.copied
converted = eager.converted
sweep = multi_tensor.sweep
fresh = multi_tensor.fresh
overwrite = inplace_ops.overwrite
overwrite_each = inplace_ops.overwrite_each
gradients = eager.gradients
key = draws.key
to_host = transfer.to_host
write = inplace_ops.write


def to_device(a, index: int | None = None, wait: bool = True) -> DeviceArray:
    """Return an array, of the host or of a device, on a device."""
    index = contexts.current() if index is None else index
    contexts.context(index)
    return transfer.relocated(a, index) if isinstance(a, DeviceArray) else transfer.to_device(np.asarray(a), index, wait)


def filled(shape, dtype, value, index: int | None = None) -> DeviceArray:
    """Return a new device array of one number."""
    return program.filled(contexts.current() if index is None else index, shape, dtype, value)


def mark(index: int | None = None) -> DeviceArray:
    """Return an array without elements or memory, which only names its device."""
    return DeviceArray(program.KIND, pools.NoMemory(contexts.current() if index is None else index), (0,), np.bool_)


def pinned(a: np.ndarray) -> np.ndarray:
    """Copy a host array to page-locked memory."""
    out = PINNED.array(a.shape, a.dtype)
    np.copyto(out, a)
    return out


def is_pinned(a) -> bool:
    """Return whether a host array lies in page-locked memory."""
    return isinstance(a, np.ndarray) and PINNED.piece_of(a) is not None


def serve_triton():
    """Let Triton, if the program has imported it, launch the program's kernels through ingot, unless PyTorch is imported."""
    own = sys.modules[__name__.partition(".")[0]]
    if "triton.runtime" in sys.modules and sys.modules.get("torch", own) is own:
        triton_driver.serve()


def foreign(index: int, pointer: int, shape, dtype, strides, owner) -> DeviceArray:
    """Return an array over memory of another owner, whose code may have changed the current context."""
    contexts.rebind()
    reach = sum((n - 1) * s for n, s in zip(shape, strides)) + np.dtype(dtype).itemsize
    return DeviceArray(program.KIND, pools.ForeignMemory(index, pointer, reach, owner), shape, dtype, strides)


def before_export(a: DeviceArray, stream):
    """Make a consumer's stream (DLPack's number: -1 needs no waiting) wait for our work on an array.

    The launch queue is disabled, because consumers do not see deferred calls.
    """
    launch_queue.disable()
    serve_triton()
    here = streams.current(a.device)
    if stream in (None, -1) or _handle(stream) == here.handle:
        return
    streams.Stream(a.device, handle=_handle(stream)).wait_event(here.record_event())


def after_import(index: int, stream):
    """Make our work wait for a producer's stream (DLPack's number)."""
    here = streams.current(index)
    if _handle(stream) != here.handle:
        here.wait_stream(streams.Stream(index, handle=_handle(stream)))


def device_of(pointer: int) -> int:
    """Return the device of an address."""
    if not pointer:
        return contexts.current()
    return contexts.context().driver.number("cuPointerGetAttribute", _DEVICE_ORDINAL, pointer)


def _handle(stream):
    """Return the handle of a stream number of DLPack, where 1 is the default stream."""
    return 0 if stream in (None, 0, 1) else int(stream)


def import_stream(index: int) -> int:
    """Return the number, for DLPack, of the stream that a producer's work must precede."""
    launch_queue.disable()
    return streams.current(index).handle or 1


# The device.


def synchronize(index: int):
    """Wait for all work on a device."""
    graphs.between_captures(index, contexts.context(index).driver.cuCtxSynchronize)
    status_words.verify(index)


def name(index: int) -> str:
    """Return the name of a device."""
    return contexts.context(index).name


def capability(index: int) -> tuple[int, int]:
    """Return the compute capability of a device."""
    return contexts.context(index).capability


def total_memory(index: int) -> int:
    """Return a device's memory in bytes."""
    return contexts.context(index).total_memory


def properties(index: int) -> dict:
    """Return a device's properties."""
    return contexts.context(index).properties()


def can_access_peer(index: int, other: int) -> bool:
    """Return whether a device can read another one's memory."""
    here = contexts.context(index)
    return index == other or bool(here.driver.number("cuDeviceCanAccessPeer", here.device, contexts.context(other).device))


# Memory.


def free_memory(index: int) -> int:
    """Return the bytes that the driver could still allocate."""
    free, total = c_size_t(), c_size_t()
    contexts.context(index).driver.cuMemGetInfo_v2(byref(free), byref(total))
    return free.value


def memory(index: int) -> dict:
    """Return byte counts by name: the short names of every backend, and CUDA's own."""
    if not contexts.is_started():
        return {}
    stats = pools.allocator(index).stats()
    short = {"allocated": stats["allocated_bytes.all.current"], "allocated_peak": stats["allocated_bytes.all.peak"],
             "reserved": stats["reserved_bytes.all.current"], "reserved_peak": stats["reserved_bytes.all.peak"]}
    return short | stats


def empty_cache():
    """Return cached memory to the driver."""
    for allocator in pools.started().values():
        allocator.empty()
    PINNED.empty()


def reset_peak(index: int):
    """Start counting peaks anew."""
    if contexts.is_started():
        pools.allocator(index).reset_peaks()


def reset_totals(index: int):
    """Start counting totals anew."""
    if contexts.is_started():
        pools.allocator(index).reset_totals()


def limit_memory(index: int, fraction: float):
    """Limit the memory that ingot may reserve to a part of the device's."""
    if not 0 < fraction <= 1:
        raise DeviceError(f"a fraction of the memory lies between 0 and 1, got {fraction}")
    pools.allocator(index).limit = int(total_memory(index) * fraction)


def memory_limit(index: int) -> float:
    """Return the part of the device's memory that ingot may reserve."""
    limit = pools.allocator(index).limit
    return 1.0 if limit is None else limit / total_memory(index)


# Streams.


def stream(index: int):
    """Return the current stream of a device."""
    contexts.context(index)
    return streams.switch(index).get()


def default_stream(index: int):
    """Return the default stream of a device."""
    contexts.context(index)
    return streams.default(index)


def set_stream(stream):
    """Make a stream the current one."""
    streams.switch(stream.device_index).set(stream)


is_capturing = pools.is_capturing


def event(timing: bool):
    """Return a new event."""
    return streams.Event(timing)
