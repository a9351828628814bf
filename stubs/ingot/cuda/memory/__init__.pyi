"""`ingot.cuda.memory`: statistics and release of device memory. All names are in `ingot.cuda`, too."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.cuda import caching_allocator_alloc as caching_allocator_alloc
from ingot.cuda import caching_allocator_delete as caching_allocator_delete
from ingot.cuda import device_memory_used as device_memory_used
from ingot.cuda import empty_cache as empty_cache
from ingot.cuda import get_allocator_backend as get_allocator_backend
from ingot.cuda import get_per_process_memory_fraction as get_per_process_memory_fraction
from ingot.cuda import host_memory_stats as host_memory_stats
from ingot.cuda import list_gpu_processes as list_gpu_processes
from ingot.cuda import max_memory_allocated as max_memory_allocated
from ingot.cuda import max_memory_reserved as _max_memory_reserved
from ingot.cuda import max_memory_reserved as max_memory_reserved
from ingot.cuda import mem_get_info as mem_get_info
from ingot.cuda import memory_allocated as memory_allocated
from ingot.cuda import memory_reserved as _memory_reserved
from ingot.cuda import memory_reserved as memory_reserved
from ingot.cuda import memory_snapshot as memory_snapshot
from ingot.cuda import memory_stats as memory_stats
from ingot.cuda import memory_stats_as_nested_dict as memory_stats_as_nested_dict
from ingot.cuda import memory_summary as memory_summary
from ingot.cuda import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from ingot.cuda import reset_peak_memory_stats as _reset_peak_memory_stats
from ingot.cuda import reset_peak_memory_stats as reset_peak_memory_stats
from ingot.cuda import set_per_process_memory_fraction as set_per_process_memory_fraction

max_memory_cached = _max_memory_reserved
memory_cached = _memory_reserved
reset_max_memory_allocated = _reset_peak_memory_stats
reset_max_memory_cached = _reset_peak_memory_stats
