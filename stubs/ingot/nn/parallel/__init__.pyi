"""`ingot.nn.parallel`: training on several devices (DataParallel) or in several processes (DistributedDataParallel)."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Tensor as _Tensor
from ingot.distributed.algorithms import Join as _Join
from ingot.distributed.algorithms import JoinHook as _JoinHook
from ingot.distributed.algorithms import Joinable as _Joinable
from ingot.nn import DataParallel as DataParallel
from ingot.nn import Module as _Module
from ingot.nn.parallel import comm as comm
from ingot.nn.parallel import distributed as distributed
from ingot.nn.parallel import scatter_gather as scatter_gather
import contextlib as _contextlib

class DistributedDataParallel(_Module, _Joinable):
    """A module that starts as rank 0's on every process and averages gradients over processes during backward. Parameters
    are those of `self.module`, with names that start with "module."."""
    broadcast_buffers: _b.bool
    device_ids: _t.Any
    dim: _t.Any
    find_unused_parameters: _t.Any
    module: _t.Any
    output_device: _t.Any
    process_group: _t.Any
    require_backward_grad_sync: _b.bool
    def __init__(self, module: _t.Any, device_ids: _t.Any = None, output_device: _t.Any = None, dim: _t.Any = 0,
                 broadcast_buffers: _b.bool = True, init_sync: _b.bool = True, process_group: _t.Any = None,
                 bucket_cap_mb: _t.Any = None, find_unused_parameters: _b.bool = False,
                 check_reduction: _b.bool = False, gradient_as_bucket_view: _b.bool = False,
                 static_graph: _b.bool = False, delay_all_reduce_named_params: _t.Any = None,
                 param_to_hook_all_reduce: _t.Any = None, mixed_precision: _t.Any = None, device_mesh: _t.Any = None) -> None: ...
    def forward(self, *inputs: _t.Any, **kwargs: _t.Any) -> _Tensor:
        """Return the module's result."""
    def join(self, divide_by_initial_world_size: _b.bool = True, enable: _b.bool = True,
             throw_on_early_termination: _b.bool = False) -> _Join:
        """Return a context for processes with different numbers of batches. Ended processes take part in the communication of
        others."""
    def join_hook(self, **kwargs: _t.Any) -> _EndedModule:
        """Return the hook that acts for others after this process has ended."""
    def no_sync(self) -> _contextlib._GeneratorContextManager[_t.Any]:
        """Accumulate gradients in this process inside; the next step outside averages the sums."""
    def register_comm_hook(self, state: _t.Any, hook: _t.Any) -> None:
        """Let hook(state, bucket) reduce each GradBucket's gradients; it returns a futures.Future of the reduced tensor."""

def data_parallel(module: _t.Any, inputs: _t.Any, device_ids: _t.Any = None, output_device: _t.Any = None,
                  dim: _t.Any = 0, module_kwargs: _t.Any = None) -> _t.Any:
    """Call a module as DataParallel does."""
def gather(outputs: _t.Any, target_device: _t.Any, dim: _t.Any = 0) -> _t.Any:
    """Join the results of all devices on one of them."""
def parallel_apply(modules: _t.Any, inputs: _t.Any, kwargs_tup: _t.Any = None, devices: _t.Any = None) -> _b.list[_t.Any]:
    """Call each module with its inputs, with its device (by default that of the inputs) as the current one. Calls run one
    after the other, so that random draws have a fixed order."""
def replicate(network: _t.Any, devices: _t.Any, detach: _b.bool = False) -> _b.list[_t.Any]:
    """Return a replica of a module for each device."""
def scatter(inputs: _t.Any, target_gpus: _t.Any, dim: _t.Any = 0) -> _b.list[_t.Any]:
    """Split the tensors in `inputs` along a dimension, one piece per device, or fewer for few rows."""

class _EndedModule(_JoinHook):
    """An ended process in the steps of others."""
    ddp: _t.Any
    def __init__(self, ddp: _t.Any) -> None: ...
    def main_hook(self) -> None: ...
    def post_hook(self, is_last_joiner: _t.Any) -> None:
        """Take the values of a process that has done all steps."""

DistributedDataParallelCPU = DistributedDataParallel
