"""`ingot.cuda`: NVIDIA devices under PyTorch's names, with plain answers on machines without one."""

from types import SimpleNamespace

from ....ir.errors import OutOfMemoryError
from ...amp import cuda_amp as amp
from ...api.tensor_classes.legacy_types import CUDA_TYPES
from ...backends import accelerator
from ...core.device import DRIVERS, Device, available
from ...core.random import default_generator
from ...state.switches import question
from ..driver import context as contexts
from ..driver import driver as library
from ..driver import streams as streams
from ..driver.streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    get_sync_debug_mode,
    is_current_stream_capturing,
    set_sync_debug_mode,
)
from ..replay import graphs
from ..replay.graphs import CUDAGraph, graph, graph_pool_handle
from . import memory, nvtx, profiler, random
from .graphed_callables import make_graphed_callables
from .memory import *
from .random import *

__all__ = ["BFloat16Tensor", "BoolTensor", "ByteTensor", "CUDAGraph", "CharTensor", "DoubleTensor", "Event", "ExternalStream",
           "FloatTensor", "HalfTensor", "IntTensor", "LongTensor", "OutOfMemoryError", "ShortTensor", "Stream", "StreamContext",
           "amp", "can_device_access_peer", "current_device", "current_stream", "default_stream", "device", "device_count",
           "device_of", "driver_version", "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties",
           "get_stream_from_external", "get_sync_debug_mode", "graph", "graph_pool_handle", "graphs", "init", "ipc_collect",
           "is_available", "is_bf16_supported", "is_current_stream_capturing", "is_initialized", "is_tf32_supported",
           "make_graphed_callables", "memory", "nvtx", "profiler", "random", "set_device", "set_stream", "set_sync_debug_mode",
           "stream", "synchronize", "why_not_available"]
__all__ += memory.__all__ + random.__all__

BFloat16Tensor, HalfTensor = CUDA_TYPES["BFloat16Tensor"], CUDA_TYPES["HalfTensor"]
FloatTensor, DoubleTensor = CUDA_TYPES["FloatTensor"], CUDA_TYPES["DoubleTensor"]
LongTensor, IntTensor, ShortTensor = CUDA_TYPES["LongTensor"], CUDA_TYPES["IntTensor"], CUDA_TYPES["ShortTensor"]
CharTensor, ByteTensor, BoolTensor = CUDA_TYPES["CharTensor"], CUDA_TYPES["ByteTensor"], CUDA_TYPES["BoolTensor"]
_is_in_bad_fork = contexts.is_in_bad_fork
_NVML = "only NVML knows, which ingot does not load: ask nvidia-smi"
_ABSENT = {
    **dict.fromkeys(("utilization", "memory_usage", "temperature", "power_draw", "clock_rate"), _NVML),
    "current_blas_handle": "ingot makes its own products and loads no cuBLAS",
    "current_solver_handle": "ingot loads no cuSOLVER", "cudnn": "ingot makes its own convolutions and loads no cuDNN",
    "cudart": "ingot is on the driver and loads no CUDA runtime", "nccl": "ingot.distributed uses NCCL, by the backend 'nccl'",
    "jiterator": "no C++ is compiled at run time; jit.trace fuses what operators compute",
    **dict.fromkeys(("CUDAPluggableAllocator", "change_current_allocator"), "the allocator cannot be another one"),
    **dict.fromkeys(("MemPool", "use_mem_pool"), "pools of memory belong to graphs: see graph_pool_handle")}


def __getattr__(name):
    """Return the generators of all devices, or raise with the reason why another name is missing."""
    if name == "default_generators":
        return (default_generator,) * device_count()
    if name == "_initialized":          # as older libraries ask
        return is_initialized()
    why = _ABSENT.get(name)
    raise AttributeError(f"module 'ingot.cuda' has no attribute {name!r}" + (f": {why}" if why else ""))


def is_available() -> bool:
    """Return whether there is a CUDA device that ingot can use."""
    return available("cuda")


@question
def is_initialized() -> bool:
    """Return whether CUDA has been used."""
    return contexts.is_started()


def why_not_available() -> str:
    """Return what is missing for CUDA here, or ""."""
    return library.why_not()


def driver_version() -> int:
    """Return the CUDA version that the driver supports: 13000 for 13.0."""
    return library.get().version


def init():
    """Start CUDA, or raise with what is missing."""
    library.get()
    contexts.context()


def device_count() -> int:
    """Return the number of CUDA devices."""
    return DRIVERS["cuda"].count() if is_available() else 0


def _index(device) -> int:
    return accelerator.index_of(device, "cuda")


def current_device() -> int:
    """Return the index of the current device."""
    accelerator.driver("cuda")
    return accelerator.current_device.get()


def set_device(device):
    """Make a device the current one."""
    accelerator.current_device.set(_index(device))


class device(accelerator.device_index):
    """Context manager that sets the current device; None or a negative index changes nothing."""

    _kind = "cuda"

    def __init__(self, device):
        index = device if isinstance(device, int) or device is None else Device(device).index
        super().__init__(None if index is None or index < 0 else index)


def get_device_name(device=None) -> str:
    """Return the name of a device."""
    return accelerator.driver("cuda").name(_index(device))


def get_device_capability(device=None) -> tuple:
    """Return the compute capability of a device, (major, minor)."""
    return accelerator.driver("cuda").capability(_index(device))


def get_device_properties(device=None):
    """Return name, memory, capability and limits of a device."""
    return SimpleNamespace(**accelerator.driver("cuda").properties(_index(device)))


def device_of(obj):
    """Set the current device to that of a tensor (or of another object with a device) inside."""
    there = getattr(obj, "device", None)
    return device(there.index if isinstance(there, Device) and there.type == "cuda" else None)


def get_arch_list() -> list:
    """Return the architectures that kernels can be compiled for here."""
    return sorted({"sm_%d%d" % get_device_capability(i) for i in range(device_count())})


def can_device_access_peer(device, peer_device) -> bool:
    """Return whether two devices can read each other's memory."""
    return accelerator.driver("cuda").can_access_peer(_index(device), _index(peer_device))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether bfloat16 runs on the current device."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported() -> bool:
    """Return whether the current device multiplies float32 with tensor cores."""
    return is_available() and get_device_capability()[0] >= 8


def ipc_collect():
    """Do nothing: memory that other processes have returned is freed at once."""


def synchronize(device=None):
    """Wait for everything launched on a device."""
    accelerator.driver("cuda").synchronize(_index(device))


# Streams and events.


def current_stream(device=None):
    """Return the current stream of a device."""
    return accelerator.driver("cuda").stream(_index(device))


def default_stream(device=None):
    """Return the default stream of a device."""
    return accelerator.driver("cuda").default_stream(_index(device))


def set_stream(stream):
    """Make a stream the current one."""
    if stream is not None:
        accelerator.driver("cuda").set_stream(stream)


def stream(stream):
    """Return a context manager that sets the current stream; None changes nothing."""
    return StreamContext(stream)


def get_stream_from_external(data_ptr: int, device=None) -> Stream:
    """Return a stream of another library, by the driver's handle."""
    return ExternalStream(data_ptr, device)
