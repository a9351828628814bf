"""Data parallel training in several processes."""

from functools import partial

import numpy as np

from ....ir.blocks import block
from ....ir.errors import ArgumentError, AutogradError, DTypeError
from ...core.tensor import Tensor
from ...distributed.collectives.collectives import copy_from
from ...distributed.collectives.object_collectives import all_gather_object
from ...distributed.engines.reduce_op import ReduceOp
from ...distributed.groups.world import is_initialized, member_of
from ...distributed.training.uneven_inputs import Join, Joinable, JoinHook
from ...pytree.pytree import tree_map
from ...state.mode import tls
from ..base.module import Module
from .reducer import Reducer

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module, Joinable):
    """A module that starts as rank 0's on every process and averages gradients over processes during backward. Parameters are
    those of `self.module`, with names that start with "module.". With a `device_mesh` of one dim its processes take part.

    `dim` and `output_device` are ignored: a process has one device, and its whole batch. `check_reduction` is ignored:
    reductions are always checked. `gradient_as_bucket_view` is ignored: gradients have memory of their own.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=True, init_sync=True,
                 process_group=None, bucket_cap_mb=None, find_unused_parameters=False, check_reduction=False,
                 gradient_as_bucket_view=False, static_graph=False, delay_all_reduce_named_params=None,
                 param_to_hook_all_reduce=None, mixed_precision=None, device_mesh=None):
        super().__init__()
        if not is_initialized():
            raise ArgumentError("DistributedDataParallel needs a process group; call distributed.init_process_group() first")
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [(n, p) for n, p in module.named_parameters() if p.requires_grad and n not in ignored]
        if not named:
            raise ArgumentError("DistributedDataParallel is not needed for a module without parameters that require grad")
        if mixed_precision is not None:
            raise ArgumentError("DistributedDataParallel computes in the module's dtype; leave mixed_precision out and call it "
                                "in amp.autocast()")
        if delay_all_reduce_named_params is not None or param_to_hook_all_reduce is not None:
            raise ArgumentError("DistributedDataParallel reduces each bucket when its gradients are there; leave "
                                "delay_all_reduce_named_params and param_to_hook_all_reduce out")
        if device_mesh is not None:
            if process_group is not None or device_mesh.ndim != 1:
                raise ArgumentError("DistributedDataParallel takes a device_mesh of one dim instead of a process_group, got "
                                    f"{device_mesh} and {process_group}")
            process_group = device_mesh.get_group()
        self.module, self.dim, self.device_ids, self.output_device = module, dim, device_ids, output_device
        self.process_group = member_of(process_group, "DistributedDataParallel")
        if self.process_group is None:
            raise ArgumentError("DistributedDataParallel needs a group that this rank is in")
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters or static_graph
        self.require_backward_grad_sync = True
        self._ignored, self._divides_by_all = ignored, True
        if init_sync:
            self._check_same_parameters()
            self._copy_from(0, self._shared_tensors())
        cap = 25 if bucket_cap_mb is None else bucket_cap_mb
        self._reducer = Reducer(named, self.process_group, int(cap * (1 << 20)))

    def _state(self):
        return [*self.module.named_parameters(), *self.module.named_buffers()]

    def _check_same_parameters(self):
        mine = [(n, tuple(t._a.shape), t._a.dtype.name) for n, t in self._state() if n not in self._ignored]
        everyone = [None] * self.process_group.size()
        all_gather_object(everyone, mine, self.process_group)
        for rank, theirs in enumerate(everyone):
            if theirs != everyone[0]:
                different = sorted(set(map(str, theirs)) ^ set(map(str, everyone[0])))[:6]
                raise ArgumentError(f"the module is not the same on all processes: rank {self.process_group.ranks[rank]} and "
                                    f"rank {self.process_group.ranks[0]} differ in {different or 'the order of parameters'}")

    def _copy_from(self, first: int, tensors):
        copy_from(self.process_group, first, tensors, "DistributedDataParallel")

    def _shared_tensors(self, buffers_only=False) -> list:
        """Return the tensors that are kept equal on all processes."""
        state = self.module.named_buffers() if buffers_only else self._state()
        return [t for n, t in state if n not in self._ignored]

    def forward(self, *inputs, **kwargs):
        """Return the module's result."""
        if self.device_ids:
            inputs, kwargs = self._to_module_device((inputs, kwargs))
        syncs = tls.m.grad and self.require_backward_grad_sync
        source = self._announce(syncs) if tls.m.grad and self._join_config.enable else 0
        if syncs and self.broadcast_buffers and (buffers := self._shared_tensors(buffers_only=True)):
            self._copy_from(source, buffers)
        outputs = self.module(*inputs, **kwargs)
        if syncs:
            self._reducer.expect(outputs, self.find_unused_parameters)
        elif tls.m.grad:
            self._reducer.stop()
        return outputs

    def _to_module_device(self, arguments):
        device = next(self.module.parameters()).device
        return tree_map(lambda t: t.to(device) if isinstance(t, Tensor) else t, arguments)

    def register_comm_hook(self, state, hook):
        """Let hook(state, bucket) reduce each GradBucket's gradients; it returns a futures.Future of the reduced tensor."""
        if not callable(hook):
            raise DTypeError(f"register_comm_hook takes a function, got {hook!r}")
        if self._reducer.hook is not None:
            raise AutogradError("register_comm_hook can be called once for a DistributedDataParallel")
        self._reducer.hook = state, hook

    # Uneven inputs: processes with different numbers of batches.

    def _announce(self, syncs: bool) -> int:
        """Tell ended processes that this one goes on and whether it averages gradients; return the rank whose buffers count."""
        group = member_of(self.process_group, "DistributedDataParallel.join")       # refuses inside a trace
        Join.notify_join_context(self)
        self._count_active()
        return _max_over_processes(group, group.rank() if syncs else -1)

    def _count_active(self):
        """Set the divisor to the number of processes with batches left, if join() asks for it."""
        if not self._divides_by_all:
            self._reducer.divisor = self._join_config.active

    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        """Return a context for processes with different numbers of batches. Ended processes take part in the communication of
        others. Gradients are divided by the number of all processes, or of those with batches left."""
        return Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs):
        """Return the hook that acts for others after this process has ended."""
        self._divides_by_all = kwargs.get("divide_by_initial_world_size", True)
        return _EndedModule(self)

    @block
    def no_sync(self):
        """Accumulate gradients in this process inside; the next step outside averages the sums."""
        put = partial(setattr, self, "require_backward_grad_sync")
        return partial(put, False), partial(put, self.require_backward_grad_sync)


def _max_over_processes(group, number: int) -> int:
    found: list = []
    mine = np.array([number], np.int64)
    group.run(lambda: found.append(group.channel.all_reduce(mine, ReduceOp.MAX, "a process to follow")), False)
    return int(found[0][0])


class _EndedModule(JoinHook):
    """An ended process in the steps of others."""

    def __init__(self, ddp):
        self.ddp = ddp

    def main_hook(self):
        ddp = self.ddp
        source = _max_over_processes(ddp.process_group, -1)
        if source < 0:
            return                          # the others accumulate their own gradients
        if ddp.broadcast_buffers and (buffers := ddp._shared_tensors(buffers_only=True)):
            ddp._copy_from(source, buffers)
        ddp._count_active()
        ddp._reducer.follow(ddp.find_unused_parameters)

    def post_hook(self, is_last_joiner):
        """Take the values of a process that has done all steps."""
        group = self.ddp.process_group
        self.ddp._copy_from(_max_over_processes(group, group.rank() if is_last_joiner else -1), self.ddp._shared_tensors())
        self.ddp._reducer.divisor = group.size()
