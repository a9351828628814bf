"""`ingot.distributed.algorithms.ddp_comm_hooks`: gradient combination functions for `register_comm_hook`."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot import Future as _Future
from ingot.distributed.algorithms.ddp_comm_hooks import debugging_hooks as debugging_hooks
from ingot.distributed.algorithms.ddp_comm_hooks import default_hooks as default_hooks
from ingot.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as post_localSGD_hook
from ingot.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powerSGD_hook
import enum as _enum

class DDPCommHookType(_enum.Enum):
    """Hooks by name, for programs that configure one."""
    ALLREDUCE = ...
    FP16_COMPRESS = ...
    BF16_COMPRESS = ...
    POWER_SGD = ...
    POWER_SGD_RANK2 = ...
    BATCHED_POWER_SGD = ...
    BATCHED_POWER_SGD_RANK2 = ...
    NOOP = ...

def allreduce_hook(process_group: _t.Any, bucket: _t.Any) -> _Future:
    """Return the average over the group."""
def bf16_compress_hook(process_group: _t.Any, bucket: _t.Any) -> _Future:
    """Return the average over the group, sent as bfloat16."""
def bf16_compress_wrapper(hook: _t.Any) -> _t.Any:
    """Return a hook that receives gradients as bfloat16."""
def fp16_compress_hook(process_group: _t.Any, bucket: _t.Any) -> _Future:
    """Return the average over the group, sent as float16."""
def fp16_compress_wrapper(hook: _t.Any) -> _t.Any:
    """Return a hook that receives gradients as float16."""
def noop_hook(_: _t.Any, bucket: _t.Any) -> _Future:
    """Return the gradients of this process."""
def register_ddp_comm_hook(comm_hook_type: _t.Any, model: _t.Any, state: _t.Any = None) -> None:
    """Register one of the hooks on a DistributedDataParallel; the state is the process group."""
