"""`ingot.cuda`: NVIDIA devices under PyTorch's names, with plain answers on machines without one."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Event as Event
from ingot import Generator as _Generator
from ingot import OutOfMemoryError as OutOfMemoryError
from ingot import Stream as Stream
from ingot import Stream as _Stream
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot import dtype as _dtype
from ingot.accelerator import device_index as _device_index
from ingot.cuda import amp as amp
from ingot.cuda import comm as comm
from ingot.cuda import graphs as graphs
from ingot.cuda import memory as memory
from ingot.cuda import nvtx as nvtx
from ingot.cuda import profiler as profiler
from ingot.cuda import random as random
from ingot.cuda import streams as streams
from ingot.cuda.graphs import Draws as _Draws
from itertools import starmap as _starmap

_Decorated = _t.TypeVar("_Decorated", bound=_c.Callable[..., _t.Any])

class BFloat16Tensor:
    """Tensors of bfloat16 on a cuda device, by their old name."""
    tensor_device: _b.str
    tensor_dtype: _dtype

class BoolTensor:
    """Tensors of bool on a cuda device, by their old name."""
    tensor_device: _b.str
    tensor_dtype: _dtype

class ByteTensor:
    """Tensors of uint8 on a cuda device, by their old name."""
    tensor_device: _b.str
    tensor_dtype: _dtype

class CUDAGraph:
    """A captured sequence of work, replayed by one call. `keep_graph` keeps the captured graph as well as the executable
    one."""
    captured: _t.Any
    device: _t.Any
    draws: _Draws
    driver: _t.Any
    executable: _t.Any
    generators: _b.list[_t.Any]
    keeps: _b.bool
    last: _t.Any
    listeners: _b.list[_t.Any]
    memory: _t.Any
    ran_in: _b.set[_t.Any]
    stream: _t.Any
    words: _t.Any
    def __init__(self, keep_graph: _b.bool = False) -> None: ...
    def abandon(self) -> None:
        """End the capture, and drop what was captured. It may be repeated, from any state of a capture."""
    def capture_begin(self, pool: _t.Any = None, capture_error_mode: _b.str = 'thread_local') -> None:
        """Start capturing the current stream, which must not be the default one."""
    def capture_end(self) -> None:
        """End the capture and make the graph executable."""
    def debug_dump(self, debug_path: _t.Any) -> None:
        """Write the captured graph into a file, in Graphviz's language."""
    def enable_debug_mode(self) -> None:
        """Keep captured graphs from now on, for `debug_dump`."""
    def instantiate(self) -> None:
        """Make the captured graph executable, as the first replay does too."""
    @_b.property
    def is_captured_now(self) -> _b.bool:
        """Whether the driver captures it."""
    def launch_in(self, stream: _t.Any) -> _starmap:
        """Return an iterator that launches the graph when its one item is taken, the driver's code."""
    def launched_in(self, stream: _t.Any, code: _b.int) -> None:
        """Note a launch in a stream, by the driver's code of it; raise its error."""
    def pool(self) -> _b.int:
        """Return the number of the memory pool, which another graph may share."""
    def raw_cuda_graph(self) -> _b.int:
        """Return the driver's handle of the captured graph."""
    def raw_cuda_graph_exec(self) -> _b.int:
        """Return the driver's handle of the executable graph."""
    def register_generator_state(self, generator: _Generator) -> None:
        """Draw from a further generator at each replay; call it before the capture."""
    def replay(self) -> None: ...
    def replay_in(self, stream: _t.Any) -> None:
        """Launch the instantiated graph in a stream of the current device. An interrupt comes before that, and the generators
        are as before, or after it."""
    def reset(self) -> None:
        """Drop the graph and release its memory."""

class CharTensor:
    """Tensors of int8 on a cuda device, by their old name."""
    tensor_device: _b.str
    tensor_dtype: _dtype

class DoubleTensor:
    """Tensors of float64 on a cuda device, by their old name."""
    tensor_device: _b.str
    tensor_dtype: _dtype

class ExternalStream(_Stream):
    """A stream of another library, which owns it, by the driver's handle."""
    def __init__(self, stream_ptr: _b.int, device: _device | _b.str | _b.int | None = None) -> None: ...

class FloatTensor:
    """Tensors of float32 on a cuda device, by their old name."""
    tensor_device: _b.str
    tensor_dtype: _dtype

class HalfTensor:
    """Tensors of float16 on a cuda device, by their old name."""
    tensor_device: _b.str
    tensor_dtype: _dtype

class IntTensor:
    """Tensors of int32 on a cuda device, by their old name."""
    tensor_device: _b.str
    tensor_dtype: _dtype

class LongTensor:
    """Tensors of int64 on a cuda device, by their old name."""
    tensor_device: _b.str
    tensor_dtype: _dtype

class ShortTensor:
    """Tensors of int16 on a cuda device, by their old name."""
    tensor_device: _b.str
    tensor_dtype: _dtype

class StreamContext:
    """Context manager that sets the current stream; None changes nothing."""
    stream: _Stream
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *exc: _t.Any) -> None: ...
    def __init__(self, stream: _Stream | None) -> None: ...

def caching_allocator_alloc(size: _b.int, device: _device | _b.str | _b.int | None = None, stream: _t.Any = None) -> _b.int:
    """Return the address of new memory for work on a stream, in use until `caching_allocator_delete`."""
def caching_allocator_delete(mem_ptr: _b.int) -> None:
    """Free memory of `caching_allocator_alloc`."""
def can_device_access_peer(device: _device | _b.str | _b.int, peer_device: _t.Any) -> _b.bool:
    """Return whether two devices can read each other's memory."""
def current_device() -> _b.int:
    """Return the index of the current device."""
def current_stream(device: _device | _b.str | _b.int | None = None) -> _t.Any:
    """Return the current stream of a device."""
def default_stream(device: _device | _b.str | _b.int | None = None) -> _t.Any:
    """Return the default stream of a device."""

class device(_device_index):
    """Context manager that sets the current device; None or a negative index changes nothing."""
    def __init__(self, device: _device | _b.str | _b.int) -> None: ...
    def __call__(self, fn: _Decorated) -> _Decorated: ...
    def __enter__(self) -> _t.Any: ...
    def __exit__(self, *error: _t.Any) -> None: ...

def device_count() -> _b.int:
    """Return the number of CUDA devices."""
def device_memory_used(device: _device | _b.str | _b.int | None = None) -> _b.int:
    """Return bytes of a device that are in use, by any process."""
def device_of(obj: _t.Any) -> _device:
    """Set the current device to that of a tensor (or of another object with a device) inside."""
def driver_version() -> _b.int:
    """Return the CUDA version that the driver supports: 13000 for 13.0."""
def empty_cache() -> None:
    """Return cached memory to the device."""
def get_allocator_backend() -> _b.str:
    """Return the kind of allocator."""
def get_arch_list() -> _b.list[_t.Any]:
    """Return the architectures that kernels can be compiled for here."""
def get_device_capability(device: _device | _b.str | _b.int | None = None) -> _b.tuple[_t.Any, ...]:
    """Return the compute capability of a device, (major, minor)."""
def get_device_name(device: _device | _b.str | _b.int | None = None) -> _b.str:
    """Return the name of a device."""
def get_device_properties(device: _device | _b.str | _b.int | None = None) -> _t.Any:
    """Return name, memory, capability and limits of a device."""
def get_per_process_memory_fraction(device: _device | _b.str | _b.int | None = None) -> _b.float:
    """Return the part of a device's memory that ingot may reserve."""
def get_rng_state(device: _device | _b.str | _b.int = 'cuda') -> _Tensor:
    """Return the state of the generator that every device draws from. `device` is ignored: there is one generator."""
def get_rng_state_all() -> _b.list[_t.Any]:
    """Return the generator's state, once for each device."""
def get_stream_from_external(data_ptr: _b.int, device: _device | _b.str | _b.int | None = None) -> _Stream:
    """Return a stream of another library, by the driver's handle."""
def get_sync_debug_mode() -> _b.int:
    """Return the number of the mode of `set_sync_debug_mode`."""

class graph:
    """Context manager that captures the work inside, on a stream of its own."""
    def __enter__(self) -> CUDAGraph: ...
    def __exit__(self, kind: _t.Any, *exc: _t.Any) -> None: ...
    def __init__(self, cuda_graph: CUDAGraph, pool: _t.Any = None, stream: _t.Any = None,
                 capture_error_mode: _b.str = 'thread_local') -> None: ...

def graph_pool_handle() -> _b.int:
    """Return the number of a new memory pool that graphs may share."""
def host_memory_stats() -> _b.dict[_t.Any, _t.Any]:
    """Return byte counts of page-locked memory by name."""
def init() -> None:
    """Start CUDA, or raise with what is missing."""
def initial_seed() -> _b.int:
    """Return the seed of the generator that every device draws from."""
def ipc_collect() -> None:
    """Do nothing: memory that other processes have returned is freed at once."""
def is_available() -> _b.bool:
    """Return whether there is a CUDA device that ingot can use."""
def is_bf16_supported(including_emulation: _b.bool = True) -> _b.bool:
    """Return whether bfloat16 runs on the current device."""
def is_current_stream_capturing() -> _b.bool:
    """Return whether the current stream is being captured."""
def is_initialized() -> _b.bool:
    """Return whether CUDA has been used."""
def is_tf32_supported() -> _b.bool:
    """Return whether the current device multiplies float32 with tensor cores."""
def list_gpu_processes(device: _device | _b.str | _b.int | None = None) -> _b.str:
    """Return the processes known to use a device: this one alone, since the driver reports no others."""
def make_graphed_callables(callables: _t.Any, sample_args: _t.Any, num_warmup_iters: _b.int = 3,
                           allow_unused_input: _b.bool = False, pool: _t.Any = None) -> _t.Any:
    """Functions or modules (one, or a tuple of them with a tuple of arguments for each) that run as CUDA graphs, forward
    and backward, with gradients as before."""
def manual_seed(seed: _b.int) -> None:
    """Accepted: `ingot.manual_seed` seeds every device."""
def max_memory_allocated(device: _device | _b.str | _b.int | None = None) -> _b.int:
    """Return the most bytes in use by tensors so far."""
def max_memory_reserved(device: _device | _b.str | _b.int | None = None) -> _b.int:
    """Return the most bytes reserved on the device so far."""
def mem_get_info(device: _device | _b.str | _b.int | None = None) -> _b.tuple[_t.Any, ...]:
    """Return (free, total) bytes of a device, as the driver counts them."""
def memory_allocated(device: _device | _b.str | _b.int | None = None) -> _b.int:
    """Return bytes in use by tensors."""
def memory_reserved(device: _device | _b.str | _b.int | None = None) -> _b.int:
    """Return bytes reserved on the device, in use or cached."""
def memory_snapshot() -> _b.list[_t.Any]:
    """Return a dict for each segment of all devices: address, sizes, stream, and blocks in order."""
def memory_stats(device: _device | _b.str | _b.int | None = None) -> _b.dict[_t.Any, _t.Any]:
    """Return byte counts by name; empty without a device."""
def memory_stats_as_nested_dict(device: _device | _b.str | _b.int | None = None) -> _b.dict[_t.Any, _t.Any]:
    """Return the same, nested at the dots of names."""
def memory_summary(device: _device | _b.str | _b.int | None = None, abbreviated: _b.bool = False) -> _b.str:
    """Return the counts as a table."""
def reset_accumulated_memory_stats(device: _device | _b.str | _b.int | None = None) -> None:
    """Start counting totals anew."""
def reset_peak_memory_stats(device: _device | _b.str | _b.int | None = None) -> None:
    """Start counting peaks anew."""
def seed() -> None:
    """Accepted: `ingot.seed` seeds every device."""
def set_device(device: _device | _b.str | _b.int) -> None:
    """Make a device the current one."""
def set_per_process_memory_fraction(fraction: _b.float, device: _device | _b.str | _b.int | None = None) -> None:
    """Limit the memory that ingot may reserve to a part of a device's."""
def set_rng_state(new_state: _Tensor, device: _device | _b.str | _b.int = 'cuda') -> None:
    """Set the state of the generator that every device draws from. `device` is ignored: there is one generator."""
def set_rng_state_all(new_states: _t.Any) -> None:
    """Set a state from `get_rng_state_all`; without devices it changes nothing."""
def set_stream(stream: _t.Any) -> None:
    """Make a stream the current one."""
def set_sync_debug_mode(debug_mode: _b.int | _b.str) -> None:
    """Make copies that wait for a device warn (1 or "warn"), raise (2 or "error"), or neither (0 or "default")."""
def stream(stream: _t.Any) -> StreamContext:
    """Return a context manager that sets the current stream; None changes nothing."""
def synchronize(device: _device | _b.str | _b.int | None = None) -> None:
    """Wait for everything launched on a device."""
def why_not_available() -> _b.str:
    """Return what is missing for CUDA here, or ""."""

manual_seed_all = manual_seed
max_memory_cached = max_memory_reserved
memory_cached = memory_reserved
reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_peak_memory_stats
seed_all = seed
