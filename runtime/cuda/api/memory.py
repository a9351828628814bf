"""`ingot.cuda.memory`: statistics and release of device memory. All names are in `ingot.cuda`, too."""


from ....ir.errors import ArgumentError
from ...backends import accelerator
from ...core.device import available
from ...state.switches import question, refuse_to_read
from ..memory import pools
from ..memory.allocator import words
from ..memory.pinned import PINNED

__all__ = ["caching_allocator_alloc", "caching_allocator_delete", "device_memory_used", "empty_cache", "get_allocator_backend",
           "get_per_process_memory_fraction", "host_memory_stats", "list_gpu_processes", "max_memory_allocated",
           "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved",
           "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "memory_summary",
           "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats",
           "set_per_process_memory_fraction"]


def _cuda(device) -> tuple:
    return accelerator.driver("cuda"), accelerator.index_of(device, "cuda")


def empty_cache():
    """Return cached memory to the device."""
    if available("cuda"):
        accelerator.driver("cuda").empty_cache()


def memory_stats(device=None) -> dict:
    """Return byte counts by name; empty without a device."""
    if not available("cuda"):
        return {}
    refuse_to_read("the memory in use")
    backend, index = _cuda(device)
    return backend.memory(index)


def memory_stats_as_nested_dict(device=None) -> dict:
    """Return the same, nested at the dots of names."""
    found: dict = {}
    for name, value in memory_stats(device).items():
        *path, last = name.split(".")
        inner = found
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return found


def memory_allocated(device=None) -> int:
    """Return bytes in use by tensors."""
    return memory_stats(device).get("allocated", 0)


def max_memory_allocated(device=None) -> int:
    """Return the most bytes in use by tensors so far."""
    return memory_stats(device).get("allocated_peak", 0)


def memory_reserved(device=None) -> int:
    """Return bytes reserved on the device, in use or cached."""
    return memory_stats(device).get("reserved", 0)


def max_memory_reserved(device=None) -> int:
    """Return the most bytes reserved on the device so far."""
    return memory_stats(device).get("reserved_peak", 0)


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def host_memory_stats() -> dict:
    """Return byte counts of page-locked memory by name."""
    refuse_to_read("the memory in use")
    return PINNED.stats()


def memory_snapshot() -> list:
    """Return a dict for each segment of all devices: address, sizes, stream, and blocks in order."""
    refuse_to_read("the memory in use")
    return [segment for _, allocator in sorted(pools.started().items()) for segment in allocator.snapshot()]


_ROWS = {"Allocated memory": "allocated_bytes", "Active memory": "active_bytes", "Requested memory": "requested_bytes",
         "GPU reserved memory": "reserved_bytes", "Allocations": "allocation", "GPU reserved segments": "segment"}


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """Return the counts as a table."""
    stats = memory_stats(device)
    columns = ("current", "peak", "allocated", "freed")
    head = ("", "Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed")
    rows: list[tuple] = [head]
    for title, name in list(_ROWS.items())[:1 if abbreviated else None]:
        found = [stats.get(f"{name}.all.{column}", 0) for column in columns]
        rows.append((title, *[words(n) if "memory" in title else f"{n}" for n in found]))
    lines = [f"{row[0]:22}" + "".join(f"{x:>14}" for x in row[1:]) for row in rows]
    more = f"{stats.get('num_alloc_retries', 0)} requests had to wait for memory, {stats.get('num_ooms', 0)} found none"
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], more])


def mem_get_info(device=None) -> tuple:
    """Return (free, total) bytes of a device, as the driver counts them."""
    refuse_to_read("the memory in use")
    backend, index = _cuda(device)
    return backend.free_memory(index), backend.total_memory(index)


def device_memory_used(device=None) -> int:
    """Return bytes of a device that are in use, by any process."""
    free, total = mem_get_info(device)
    return total - free


def list_gpu_processes(device=None) -> str:
    """Return the processes known to use a device: this one alone, since the driver reports no others."""
    _, index = _cuda(device)
    return (f"GPU:{index}\nthis process holds {words(memory_reserved(index))}; "
            f"{words(device_memory_used(index))} are in use by all of them, which nvidia-smi lists")


def set_per_process_memory_fraction(fraction: float, device=None):
    """Limit the memory that ingot may reserve to a part of a device's."""
    backend, index = _cuda(device)
    backend.limit_memory(index, fraction)


@question
def get_per_process_memory_fraction(device=None) -> float:
    """Return the part of a device's memory that ingot may reserve."""
    backend, index = _cuda(device)
    return backend.memory_limit(index)


def get_allocator_backend() -> str:
    """Return the kind of allocator."""
    return "native"


def reset_peak_memory_stats(device=None):
    """Start counting peaks anew."""
    if available("cuda"):
        backend, index = _cuda(device)
        backend.reset_peak(index)


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device=None):
    """Start counting totals anew."""
    if available("cuda"):
        backend, index = _cuda(device)
        backend.reset_totals(index)


# Memory without a tensor, for other libraries.


_lent: dict[int, pools.Memory] = {}        # by address


def caching_allocator_alloc(size: int, device=None, stream=None) -> int:
    """Return the address of new memory for work on a stream, in use until `caching_allocator_delete`.

    The stream is an object or a handle; by default the current one.
    """
    _, index = _cuda(device)
    handle = getattr(stream, "cuda_stream", stream)
    made = pools.Memory(index, size, handle)
    _lent[made.pointer] = made
    return made.pointer


def caching_allocator_delete(mem_ptr: int):
    """Free memory of `caching_allocator_alloc`."""
    if _lent.pop(mem_ptr, None) is None:
        raise ArgumentError(f"caching_allocator_delete: {mem_ptr:#x} is no address that caching_allocator_alloc gave")


