"""One module on all GPUs of this process: split the batch, call replicas, join the results."""

from itertools import chain

from ....ir.errors import DeviceError
from ...backends import accelerator
from ...state.mode import tls
from ..base.module import Module
from . import comm
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """A module that calls replicas on pieces of the batch, one per entry of `device_ids` (default all GPUs).

    Results are joined on `output_device` (default the first). Parameters are those of `self.module`, with names that start with
    "module.". Without a GPU, or with one, it calls the module.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.dim, self.device_ids = module, dim, []
        if not accelerator.is_available():
            self.output_device = output_device
            return
        indices = range(accelerator.device_count()) if device_ids is None else device_ids
        self.device_ids = [_index(d) for d in indices]
        if not self.device_ids:
            raise DeviceError("DataParallel got no devices: device_ids is empty")
        self.output_device = self.device_ids[0] if output_device is None else output_device
        self.src_device_obj = comm.device_of(self.device_ids[0])
        if len(self.device_ids) == 1:
            self.module.to(self.src_device_obj)

    def forward(self, *inputs, **kwargs):
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        for t in chain(self.module.parameters(), self.module.buffers()):
            if t.device != self.src_device_obj:
                raise DeviceError(f"the module of DataParallel must be on {self.src_device_obj}, the first of its device_ids, "
                                  f"but has a parameter or buffer on {t.device}; call .to({str(self.src_device_obj)!r}) first")
        rows, named = self.scatter(inputs, kwargs, self.device_ids)
        if not rows and not named:
            rows, named = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*rows[0], **named[0])
        replicas = self.replicate(self.module, self.device_ids[:len(rows)])
        return self.gather(self.parallel_apply(replicas, rows, named), self.output_device)

    def replicate(self, module, device_ids):
        return replicate(module, device_ids, detach=not tls.m.grad)

    def scatter(self, inputs, kwargs, device_ids):
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas, inputs, kwargs):
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[:len(replicas)])

    def gather(self, outputs, output_device):
        return gather(outputs, output_device, dim=self.dim)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Call a module as DataParallel does."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))


def _index(device) -> int:
    place = comm.device_of(device)
    if place.type == "cpu":
        raise DeviceError(f"DataParallel works on GPUs, but device_ids has {device}")
    return accelerator.index_of(place.index)
