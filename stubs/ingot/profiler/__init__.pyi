"""`ingot.profiler`: the time of a program, operator by operator, in the format of PyTorch's profiler."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot.autograd.profiler import EventList as _EventList
from ingot.profiler import profiler as profiler
import enum as _enum

class ProfilerAction(_enum.Enum):
    """Actions of a profile during a step."""
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3

class ProfilerActivity(_enum.Enum):
    """Kinds of work. Work on a device counts as the processor time that started it."""
    CPU = 0
    CUDA = 1
    XPU = 2

def kineto_available() -> _b.bool:
    """Return False: ingot does not use that library."""

class profile:
    """Records what runs in the `with` block, or in the steps that `schedule` chooses, where `step()` ends one."""
    acc_events: _b.bool
    activities: _t.Any
    on_trace_ready: _t.Any
    profile_memory: _b.bool
    record_shapes: _b.bool
    schedule: _t.Any
    step_num: _b.int
    with_flops: _b.bool
    with_stack: _b.bool
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *exc: _t.Any) -> None: ...
    def __init__(self, *, activities: _c.Iterable[_t.Any] | None = None, schedule: _t.Any = None,
                 on_trace_ready: _t.Any = None, record_shapes: _b.bool = False, profile_memory: _b.bool = False,
                 with_stack: _b.bool = False, with_flops: _b.bool = False, with_modules: _b.bool = False,
                 experimental_config: _t.Any = None, execution_trace_observer: _t.Any = None,
                 acc_events: _b.bool = False, custom_trace_id_callback: _t.Any = None, use_cuda: _t.Any = None) -> None: ...
    def add_metadata(self, key: _b.str, value: _b.str) -> None:
        """Add text to the file of the timeline."""
    def add_metadata_json(self, key: _b.str, value: _b.str) -> None:
        """Add JSON to the file of the timeline."""
    @_b.property
    def current_action(self) -> _t.Any: ...
    def events(self) -> _EventList:
        """Return all events of the last round, in the order in which they began."""
    def export_chrome_trace(self, path: _t.Any) -> None:
        """Write the timeline for ui.perfetto.dev and chrome://tracing; compressed for names that end in .gz."""
    def export_stacks(self, path: _t.Any, metric: _b.str = 'self_cpu_time_total') -> None:
        """Write the time spent at each of the user's lines; needs with_stack=True."""
    def key_averages(self, group_by_input_shape: _b.bool = False, group_by_stack_n: _t.Any = 0,
                     group_by_overload_name: _b.bool = False) -> _EventList:
        """Return sums of events by name, and optionally by the shapes of arguments or the user's line."""
    def start(self) -> None:
        """Begin the first step."""
    def step(self) -> None:
        """End a step and begin the next."""
    def stop(self) -> None:
        """End the last step."""

class record_function:
    """Name the `with` block (or the decorated function) in profiles. Inside of a traced function the name shows while the
    function is recorded; a replay runs no Python."""
    args: _b.str
    name: _b.str
    def __call__(self, func: _t.Any) -> _t.Any: ...
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *exc: _t.Any) -> None: ...
    def __init__(self, name: _b.str, args: _b.str | None = None) -> None: ...

def schedule(*, wait: _b.int, warmup: _b.int, active: _b.int, repeat: _b.int = 0,
             skip_first: _b.int = 0, skip_first_wait: _b.int = 0) -> _c.Callable[[_b.int], ProfilerAction]:
    """Return a function that chooses the steps to record."""
def supported_activities() -> _b.set[_t.Any]:
    """Return the recorded kinds of work: the processor's."""
def tensorboard_trace_handler(dir_name: _t.Any, worker_name: _t.Any = None, use_gzip: _b.bool = False) -> _t.Any:
    """Return an `on_trace_ready` that writes each timeline into a folder, as TensorBoard's profiler plugin reads it."""
