"""`ingot.cuda`: NVIDIA devices under the names that scripts use, with plain answers on machines without one."""

from contextlib import nullcontext
from types import SimpleNamespace

from ...ir.errors import OutOfMemoryError
from .. import accelerator
from ..amp import on_cuda as amp
from ..device import DRIVERS, Device, available
from ..random import default_generator
from ..tensor import Tensor
from . import context as contexts
from . import driver as library
from .graphs import CUDAGraph, graph, is_current_stream_capturing
from .pools import new_number
from .streams import Event, Stream, using

__all__ = ["CUDAGraph", "Event", "OutOfMemoryError", "Stream", "amp", "can_device_access_peer", "current_device",
           "current_stream", "default_stream", "device", "device_count", "driver_version", "empty_cache", "get_arch_list",
           "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all", "graph",
           "graph_pool_handle", "init", "ipc_collect", "is_available", "is_bf16_supported", "is_current_stream_capturing",
           "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info",
           "memory_allocated", "memory_cached", "memory_reserved", "memory_stats", "memory_summary", "nvtx",
           "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_peak_memory_stats", "seed", "seed_all",
           "set_device", "set_per_process_memory_fraction", "set_rng_state", "set_rng_state_all", "set_stream", "stream",
           "synchronize", "why_not_available"]


def is_available() -> bool:
    """Whether there is a CUDA device that ingot can use."""
    return available("cuda")


def is_initialized() -> bool:
    """Whether CUDA has been used."""
    return contexts.is_started()


def why_not_available() -> str:
    """What is missing for CUDA here; empty if nothing is."""
    return library.why_not()


def driver_version() -> int:
    """The CUDA version that the driver supports: 13000 for 13.0."""
    return library.get().version


def init():
    """Makes CUDA ready, or says that there is none."""
    library.get()
    contexts.context()


def device_count() -> int:
    """How many CUDA devices there are."""
    return DRIVERS["cuda"].count() if is_available() else 0


def _index(device) -> int:
    return accelerator.index_of(device, "cuda")


def current_device() -> int:
    """The index of the device in use."""
    return accelerator.driver("cuda").current()


def set_device(device):
    """Makes a device the one in use."""
    accelerator.driver("cuda").set_current(_index(device))


class device:
    """Uses another device inside; None or a negative index changes nothing."""

    def __init__(self, device):
        if isinstance(device, int) or device is None:
            self.index = device
        else:
            self.index = Device(device).index
        if self.index is not None and self.index < 0:
            self.index = None

    def __enter__(self):
        if self.index is not None:
            self.before = current_device()
            set_device(self.index)
        return self

    def __exit__(self, *exc):
        if self.index is not None:
            set_device(self.before)


def get_device_name(device=None) -> str:
    """The name of a device."""
    return accelerator.driver("cuda").name(_index(device))


def get_device_capability(device=None) -> tuple:
    """The compute capability of a device, (major, minor)."""
    return accelerator.driver("cuda").capability(_index(device))


def get_device_properties(device=None):
    """Name, memory, capability and limits of a device."""
    return SimpleNamespace(**accelerator.driver("cuda").properties(_index(device)))


def get_arch_list() -> list:
    """The architectures that kernels can be made for here."""
    return sorted({"sm_%d%d" % get_device_capability(i) for i in range(device_count())})


def can_device_access_peer(device, peer_device) -> bool:
    """Whether two devices can read each other's memory."""
    return accelerator.driver("cuda").can_access_peer(_index(device), _index(peer_device))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 runs on the device in use."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def synchronize(device=None):
    """Waits for everything launched on a device."""
    accelerator.driver("cuda").synchronize(_index(device))


# Memory.


def empty_cache():
    """Gives memory kept for reuse back to the device."""
    if is_available():
        accelerator.driver("cuda").empty_cache()


def ipc_collect():
    """Frees memory that other processes have given back; ingot frees it at once."""


def memory_stats(device=None) -> dict:
    """Byte counts by name; empty without a device."""
    return accelerator.driver("cuda").memory(_index(device)) if is_available() else {}


def memory_allocated(device=None) -> int:
    """Bytes in use by tensors."""
    return memory_stats(device).get("allocated", 0)


def max_memory_allocated(device=None) -> int:
    """The most bytes in use by tensors so far."""
    return memory_stats(device).get("allocated_peak", 0)


def memory_reserved(device=None) -> int:
    """Bytes held from the device, in use or kept for reuse."""
    return memory_stats(device).get("reserved", 0)


def max_memory_reserved(device=None) -> int:
    """The most bytes held from the device so far."""
    return memory_stats(device).get("reserved_peak", 0)


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """The byte counts as text."""
    return "\n".join(f"{name:24} {value:>16,}" for name, value in memory_stats(device).items())


def mem_get_info(device=None) -> tuple:
    """(free, total) bytes of a device, as the driver counts them."""
    backend, index = accelerator.driver("cuda"), _index(device)
    return backend.free_memory(index), backend.total_memory(index)


def set_per_process_memory_fraction(fraction: float, device=None):
    """Lets ingot reserve no more than a part of a device's memory."""
    accelerator.driver("cuda").limit_memory(_index(device), fraction)


def reset_peak_memory_stats(device=None):
    """Starts counting peaks anew."""
    if is_available():
        accelerator.driver("cuda").reset_peak(_index(device))


reset_max_memory_allocated = reset_peak_memory_stats
memory_cached = memory_reserved


def reset_accumulated_memory_stats(device=None):
    """Starts counting totals anew."""
    if is_available():
        accelerator.driver("cuda").reset_totals(_index(device))


# Streams and events.


def current_stream(device=None):
    """The stream that work goes to."""
    return accelerator.driver("cuda").stream(_index(device))


def default_stream(device=None):
    """The stream that work goes to unless another is set."""
    return accelerator.driver("cuda").default_stream(_index(device))


def set_stream(stream):
    """Makes a stream the one that work goes to."""
    if stream is not None:
        accelerator.driver("cuda").set_stream(stream)


def stream(stream):
    """Sends work to a stream inside; None changes nothing."""
    return using(stream)


def graph_pool_handle() -> int:
    """The number of a new memory pool that graphs may share."""
    return new_number()


# Random numbers come from the seed alone, on every device; these are there because scripts call them.


def manual_seed(seed: int):
    """Accepted: `ingot.manual_seed` seeds every device."""
    int(seed)


def manual_seed_all(seed: int):
    """Accepted: `ingot.manual_seed` seeds every device."""
    int(seed)


def get_rng_state(device="cuda") -> Tensor:
    """The state of the generator that every device draws from."""
    return default_generator.get_state()


def get_rng_state_all() -> list:
    """That state, once for each device."""
    return [default_generator.get_state() for _ in range(device_count())]


def set_rng_state(new_state: Tensor, device="cuda") -> None:
    """Puts the generator that every device draws from into a state."""
    default_generator.set_state(new_state)


def set_rng_state_all(new_states) -> None:
    """Puts it into the state that `get_rng_state_all` has found; changes nothing where there was no device."""
    for state in new_states:
        default_generator.set_state(state)


def seed():
    """Accepted: `ingot.seed` seeds every device."""


def seed_all():
    """Accepted: `ingot.seed` seeds every device."""


def _no_marks(*args, **kwargs):
    """Marks for NVIDIA's profiler are ignored."""
    return nullcontext()


nvtx = SimpleNamespace(range_push=_no_marks, range_pop=_no_marks, range=_no_marks, mark=_no_marks)
