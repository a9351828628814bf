"""Calls of modules on several devices with their own inputs."""

from ....ir.errors import ArgumentError
from ...backends import accelerator
from ...core.tensor import Tensor
from . import comm

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj):
    """Return the first tensor in nested lists, tuples and dicts, or None."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, dict):
        obj = obj.values()
    elif not isinstance(obj, (list, tuple)):
        return None
    return next((found for found in map(get_a_var, obj) if found is not None), None)


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None) -> list:
    """Call each module with its inputs, with its device (by default that of the inputs) as the current one. Calls run one after
    the other, so that random draws have a fixed order. Work launched on one device overlaps with the next call."""
    kwargs_tup = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    devices = [None] * len(modules) if devices is None else devices
    if not len(modules) == len(inputs) == len(kwargs_tup) == len(devices):
        raise ArgumentError(f"parallel_apply takes as many inputs, kwargs and devices as modules: {len(inputs)}, "
                            f"{len(kwargs_tup)} and {len(devices)} for {len(modules)}")
    found = []
    for module, args, kwargs, device in zip(modules, inputs, kwargs_tup, devices):
        with accelerator.device_index(_index(device, args)):
            found.append(module(*(args if isinstance(args, (tuple, list)) else (args,)), **kwargs))
    return found


def _index(device, args) -> int | None:
    """Return the accelerator index of a device, or None for the CPU."""
    if device is None:
        tensor = get_a_var(args)
        device = -1 if tensor is None else tensor.device
    place = comm.device_of(device)
    if place.type in ("cpu", "meta"):
        return None
    return accelerator.index_of(place.index)
