"""A module trained by several processes, each on its own part of the data."""

from contextlib import contextmanager

import numpy as np

from ....ir.errors import ArgumentError
from ...distributed.collectives import broadcast_array, deliver
from ...distributed.objects import all_gather_object
from ...distributed.world import is_initialized, member_of
from ...state import tls
from ..module import Module
from .reducer import Reducer

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Calls `module`, which starts out on every process as it is on rank 0, and averages gradients over the processes during
    backward. Its parameters are those of `self.module`, under names that start with "module."."""

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
        self.module, self.dim, self.device_ids, self.output_device = module, dim, device_ids, output_device
        self.process_group = member_of(process_group, "DistributedDataParallel")
        if self.process_group is None:
            raise ArgumentError("DistributedDataParallel needs a group that this rank is in")
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters or static_graph
        self.require_backward_grad_sync = True
        self._ignored = ignored
        if init_sync:
            self._check_alike()
            self._copy_from_first([t for n, t in self._state() if n not in ignored])
        cap = 25 if bucket_cap_mb is None else bucket_cap_mb
        self._reducer = Reducer(named, self.process_group, int(cap * (1 << 20)))

    def _state(self):
        return [*self.module.named_parameters(), *self.module.named_buffers()]

    def _check_alike(self):
        """Raises unless the module has the same parameters on all processes."""
        mine = [(n, tuple(t._a.shape), t._a.dtype.name) for n, t in self._state() if n not in self._ignored]
        everyone = [None] * self.process_group.size()
        all_gather_object(everyone, mine, self.process_group)
        for rank, theirs in enumerate(everyone):
            if theirs != everyone[0]:
                different = sorted(set(map(str, theirs)) ^ set(map(str, everyone[0])))[:6]
                raise ArgumentError(f"the module is not the same on all processes: rank {self.process_group.ranks[rank]} and "
                                    f"rank {self.process_group.ranks[0]} differ in {different or 'the order of parameters'}")

    def _copy_from_first(self, tensors):
        """Copies values from the group's first process to all others, those of one dtype together."""
        group = self.process_group
        kinds: dict = {}
        for t in tensors:
            kinds.setdefault(t._a.dtype, []).append(t)
        for kind, same in kinds.items():
            flat = np.concatenate([t._a.reshape(-1) for t in same])
            note = f"module state of {flat.size} {kind.name}"
            found = []
            group.run(lambda flat=flat, note=note, found=found: found.append(broadcast_array(group, flat, 0, note)), False)
            if group.rank():
                ends = np.cumsum([t._a.size for t in same])[:-1]
                for t, piece in zip(same, np.split(found[0], ends)):
                    deliver(t, piece, "DistributedDataParallel")

    def forward(self, *inputs, **kwargs):
        """The module's result."""
        syncs = tls.m.grad and self.require_backward_grad_sync
        if syncs and self.broadcast_buffers:
            buffers = [b for n, b in self.module.named_buffers() if n not in self._ignored]
            if buffers:
                self._copy_from_first(buffers)
        outputs = self.module(*inputs, **kwargs)
        if syncs:
            self._reducer.expect(outputs, self.find_unused_parameters)
        elif tls.m.grad:
            self._reducer.stop()
        return outputs

    @contextmanager
    def no_sync(self):
        """Forward passes in here let their gradients accumulate in this process; the next one outside averages the sums."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before
