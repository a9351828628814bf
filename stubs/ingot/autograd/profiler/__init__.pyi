"""`ingot.autograd.profiler`: older names of `ingot.profiler`, and no-op marks for profilers that ingot does not support."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.profiler import record_function as record_function

class EventList(_b.list[_t.Any]):
    """A list of events, or of averages."""
    def __init__(self, events: _t.Any = (), memory: _b.bool = False, flops: _b.bool = False) -> None: ...
    def export_chrome_trace(self, path: _t.Any) -> None:
        """Write the timeline for ui.perfetto.dev and chrome://tracing."""
    def export_stacks(self, path: _t.Any, metric: _b.str = 'self_cpu_time_total') -> None:
        """Write a line for each of the user's lines, with the time spent there, for flame graphs."""
    def key_averages(self, group_by_input_shapes: _b.bool = False, group_by_stack_n: _t.Any = 0) -> EventList:
        """Return sums of events by name, and optionally by the shapes of arguments or by line."""
    @_b.property
    def self_cpu_time_total(self) -> _t.Any: ...
    def table(self, sort_by: _t.Any = None, row_limit: _t.Any = 100, max_src_column_width: _t.Any = 75,
              max_name_column_width: _t.Any = 55, max_shapes_column_width: _t.Any = 80, header: _t.Any = None,
              top_level_events_only: _b.bool = False, time_unit: _t.Any = None) -> _b.str:
        """Return a table of at most `row_limit` rows (-1: all), the largest of the field `sort_by` first. Times are in
        `time_unit` ("s", "ms" or "us"; by default each in a readable one)."""
    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events."""

class FunctionEvent:
    """One thing that ran: an operator, the backward of one, a step of compiled code, or a range with a name of the
    user's."""
    began: _t.Any
    count: _b.int
    cpu_children: _b.list[_t.Any]
    cpu_parent: _t.Any
    ended: _t.Any
    flops: _b.int
    input_shapes: _b.list[_t.Any]
    key: _t.Any
    kind: _t.Any
    name: _t.Any
    own_memory: _b.int
    stack: _b.list[_t.Any]
    thread: _t.Any
    trace_name: _t.Any
    def __init__(self, name: _t.Any, kind: _t.Any, began: _t.Any, parent: _t.Any, thread: _t.Any) -> None: ...
    @_b.property
    def cpu_memory_usage(self) -> _b.int:
        """Bytes of the results made inside."""
    @_b.property
    def cpu_time(self) -> _b.float:
        """The time of one call."""
    @_b.property
    def cpu_time_str(self) -> _t.Any: ...
    @_b.property
    def cpu_time_total(self) -> _t.Any: ...
    @_b.property
    def cpu_time_total_str(self) -> _t.Any: ...
    cuda_time: _b.float
    cuda_time_total: _b.float
    device_memory_usage: _b.int
    device_time: _b.float
    @_b.property
    def device_time_str(self) -> _t.Any: ...
    device_time_total: _b.float
    @_b.property
    def device_time_total_str(self) -> _t.Any: ...
    is_async: _b.bool
    is_legacy: _b.bool
    is_remote: _b.bool
    @_b.property
    def is_user_annotation(self) -> _t.Any: ...
    node_id: _b.int
    @_b.property
    def self_cpu_memory_usage(self) -> _t.Any: ...
    @_b.property
    def self_cpu_time_total(self) -> _t.Any: ...
    @_b.property
    def self_cpu_time_total_str(self) -> _t.Any: ...
    self_cuda_time_total: _b.float
    self_device_memory_usage: _b.int
    self_device_time_total: _b.float
    @_b.property
    def self_device_time_total_str(self) -> _t.Any: ...
    @_b.property
    def time_range(self) -> _t.Any: ...

class FunctionEventAvg:
    """Sum of the events of one name (and shapes, and line)."""
    count: _b.int
    cpu_children: _b.list[_t.Any]
    cpu_memory_usage: _b.int
    cpu_time_total: _b.float
    flops: _t.Any
    input_shapes: _t.Any
    is_user_annotation: _t.Any
    key: _t.Any
    kind: _t.Any
    self_cpu_memory_usage: _b.int
    self_cpu_time_total: _b.float
    stack: _t.Any
    def __init__(self, key: _t.Any, events: _t.Any) -> None: ...
    @_b.property
    def cpu_time(self) -> _b.float:
        """The time of one call."""
    @_b.property
    def cpu_time_str(self) -> _t.Any: ...
    @_b.property
    def cpu_time_total_str(self) -> _t.Any: ...
    cuda_time: _b.float
    cuda_time_total: _b.float
    device_memory_usage: _b.int
    device_time: _b.float
    @_b.property
    def device_time_str(self) -> _t.Any: ...
    device_time_total: _b.float
    @_b.property
    def device_time_total_str(self) -> _t.Any: ...
    is_async: _b.bool
    is_legacy: _b.bool
    is_remote: _b.bool
    node_id: _b.int
    @_b.property
    def self_cpu_time_total_str(self) -> _t.Any: ...
    self_cuda_time_total: _b.float
    self_device_memory_usage: _b.int
    self_device_time_total: _b.float
    @_b.property
    def self_device_time_total_str(self) -> _t.Any: ...

_emit_nvtx: _t.TypeAlias = emit_nvtx

class emit_itt(_emit_nvtx):
    """Do nothing: operators are not marked for Intel's profilers."""

class emit_nvtx:
    """Do nothing: operators are not marked for NVIDIA's profilers."""
    enabled: _b.bool
    record_shapes: _b.bool
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *error: _t.Any) -> None: ...
    def __init__(self, enabled: _b.bool = True, record_shapes: _b.bool = False) -> None: ...

class profile:
    """The profile of `autograd.profiler`: it records all of the `with` block."""
    enabled: _b.bool
    profile_memory: _b.bool
    with_flops: _b.bool
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *exc: _t.Any) -> None: ...
    def __init__(self, enabled: _b.bool = True, *, use_device: _t.Any = None, record_shapes: _b.bool = False,
                 with_flops: _b.bool = False, profile_memory: _b.bool = False, with_stack: _b.bool = False,
                 with_modules: _b.bool = False, use_kineto: _b.bool = False, use_cpu: _b.bool = True,
                 experimental_config: _t.Any = None, acc_events: _b.bool = False,
                 custom_trace_id_callback: _t.Any = None, use_cuda: _b.bool = False) -> None: ...
    def export_chrome_trace(self, path: _t.Any) -> None:
        """Write the timeline for ui.perfetto.dev and chrome://tracing."""
    @_b.property
    def function_events(self) -> EventList:
        """The events, in the order in which they began."""
    def key_averages(self, group_by_input_shape: _b.bool = False, group_by_stack_n: _t.Any = 0) -> EventList:
        """Return sums of events by name."""
    @_b.property
    def self_cpu_time_total(self) -> _t.Any: ...
    def table(self, *args: _t.Any, **kwargs: _t.Any) -> _b.str:
        """Return a table; see `EventList.table`."""
    def total_average(self) -> _t.Any:
        """Return the sum of all events."""
