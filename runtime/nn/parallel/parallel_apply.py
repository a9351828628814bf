"""Modules on several devices, called with their inputs."""

from ....ir.errors import ArgumentError
from ...backends import accelerator
from ...core.tensor import Tensor
from . import comm

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj):
    """The first tensor in nested lists, tuples and dicts, or None."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, dict):
        obj = obj.values()
    elif not isinstance(obj, (list, tuple)):
        return None
    return next((found for found in map(get_a_var, obj) if found is not None), None)


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None) -> list:
    """The result of each module for its inputs, with its device (that of the inputs, unless named) as the one in use.

    Python goes through one after the other, so that random draws do not depend on which came first; what it launches on one
    device runs while it is busy with the next.
    """
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
    """The index of the accelerator that is meant, or None for the CPU."""
    if device is None:
        tensor = get_a_var(args)
        device = -1 if tensor is None else tensor.device
    place = comm.placed(device)
    if place.type in ("cpu", "meta"):
        return None
    return accelerator.index_of(place.index)
