"""One module on several devices: on the CPU, whose threads every kernel uses already, that is the module itself."""

import copy
from concurrent.futures import ThreadPoolExecutor

from ....ir.errors import ArgumentError
from ...api.register import FUNCTIONS
from ...autograd.grad_mode import set_grad_enabled
from ...device import as_device
from ...state import tls
from ...tensor import Tensor
from ..module import Module

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]


class DataParallel(Module):
    """Calls `module`; its parameters are those of `self.module`, under names that start with "module."."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.output_device = output_device
        if len(self.device_ids) > 1:
            raise ArgumentError(f"DataParallel over the devices {self.device_ids} is not possible: one process uses one GPU. "
                                "Start a process for each and use DistributedDataParallel")

    def forward(self, *inputs, **kwargs):
        """The module's result."""
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Calls a module as DataParallel does."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))


def _mapped(fn, value, count):
    """One structure for each of `count`: tensors through fn, everything else the same for all."""
    if isinstance(value, Tensor):
        return list(fn(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [type(value)(*parts) for parts in zip(*(_mapped(fn, v, count) for v in value))]
    if isinstance(value, (tuple, list)) and value:
        return [type(value)(parts) for parts in zip(*(_mapped(fn, v, count) for v in value))]
    if isinstance(value, dict) and value:
        parts = zip(*(_mapped(fn, v, count) for v in value.values()))
        return [type(value)(zip(value, part)) for part in parts]
    return [value] * count


def scatter(inputs, target_gpus, dim=0):
    """Cuts the tensors in `inputs` along a dimension, one piece for each device."""
    count = len(target_gpus)

    def cut(t):
        pieces = t.chunk(count, dim)
        if len(pieces) != count:
            raise ArgumentError(f"scatter: {t.shape[dim]} rows do not make {count} pieces")
        return [p if isinstance(d, int) else p.to(as_device(d)) for p, d in zip(pieces, target_gpus)]

    return _mapped(cut, inputs, count)


def gather(outputs, target_device, dim=0):
    """Joins what the devices have given."""
    first = outputs[0]
    if isinstance(first, Tensor):
        joined = [o.unsqueeze(0) for o in outputs] if first.ndim == 0 else list(outputs)
        return FUNCTIONS["cat"](joined, dim)
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    parts = [gather(list(column), target_device, dim) for column in zip(*outputs)]
    return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)


def replicate(network, devices, detach=False):
    """A copy of a module for each device."""
    made = []
    for device in devices:
        replica = copy.deepcopy(network)
        made.append(replica if isinstance(device, int) else replica.to(device))
    return made


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """Calls each module with its inputs, side by side in threads."""
    kwargs_tup = kwargs_tup or [{}] * len(modules)
    if not len(modules) == len(inputs) == len(kwargs_tup):
        raise ArgumentError(f"parallel_apply takes as many inputs as modules, got {len(inputs)} and {len(modules)}")
    grad = tls.m.grad

    def call(module, args, kwargs):
        with set_grad_enabled(grad):
            return module(*(args if isinstance(args, (tuple, list)) else (args,)), **kwargs)

    with ThreadPoolExecutor(len(modules)) as threads:
        return list(threads.map(call, modules, inputs, kwargs_tup))
