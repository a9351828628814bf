"""Placement: the device of a tensor, and moves to another one.

Operators find an array's backend by its class. Until a process has its first device array, kernels are called directly; from
then on every kernel looks at its arguments first.
"""

import numpy as np

from ...ir.dim_order import inverse, order_of
from ...ir.errors import DeviceError, DTypeError
from ...ir.ops.core.shape import place
from ..state.mode import Defaults
from .device import CPU, DRIVERS, EVERYWHERE, META, Device, as_device, available, require
from .device_array import BACKENDS, MESH, DeviceArray
from .dispatch import KERNELS, route_kernels
from .tensor import Tensor, wrap


def move_to(t: Tensor, device, wait: bool = True) -> Tensor:
    """Return the tensor on a device: itself, if it is there already."""
    target, a = require(device), t._a
    if target.type in EVERYWHERE:
        target = CPU if target.type == "cpu" else META
    else:
        index = DRIVERS[target.type].current() if target.index is None else target.index
        if a.__class__ is DeviceArray and a.kind == target.type and a.memory.device == index:
            return t
        target = Device(target.type, index)
    here = t.device
    if target == here:
        return t
    return place(t, device=str(target), source=str(here), wait=wait)


def put(t: Tensor, device, wait: bool = True) -> Tensor:
    """Return a new tensor on the device that its maker asked for (None: the default device)."""
    if (device is None and Defaults.device == "cpu") or (device is CPU and t._a.__class__ is not DeviceArray):
        return t
    return move_to(t, as_device(device), wait)


_marks: dict = {}           # by kind and index of a device


def mark_on(device: Device) -> Tensor:
    """Return an empty tensor on an accelerator, beside which others are created there."""
    index = DRIVERS[device.type].current() if device.index is None else device.index
    found = _marks.get((device.type, index))
    if found is None:
        route_kernels()
        found = _marks[device.type, index] = wrap(BACKENDS[device.type].mark(index))
    return found


def key_on(generator, device) -> Tensor | None:
    """Return the next key of a generator on an accelerator; None if `device` is none that has keys ready."""
    if device is None and Defaults.device == "cpu":
        return None
    target = as_device(device)
    if target.type in EVERYWHERE:
        return None
    driver = DRIVERS[require(target).type]
    route_kernels()
    drawn = driver.key(generator, driver.current() if target.index is None else target.index)
    return None if drawn is None else wrap(drawn)


def on_device_of(t: Tensor, other: Tensor, wait: bool = True) -> Tensor:
    """Return the tensor on the device of another one."""
    return move_to(t, other.device, wait) if other._a.__class__ is DeviceArray or t._a.__class__ is DeviceArray else t


def indices_on_device_of(tensors, other: Tensor) -> list:
    """Return index tensors (or None) on the device of the tensor that they index; host tensors may index any."""
    if other._a.__class__ is not DeviceArray:
        for t in tensors:
            if t is not None and t._a.__class__ is DeviceArray and t._a.kind == MESH:
                raise DTypeError("a plain tensor is indexed by a DTensor; make it one, or take full_tensor() of the index")
        return tensors
    return [t if t is None or t._a.__class__ is DeviceArray else move_to(t, other.device) for t in tensors]


def pinned(t: Tensor) -> Tensor:
    """Return a copy in page-locked memory; the tensor itself if there is no accelerator, or it is there already."""
    kind = next((k for k in DRIVERS if available(k)), None)
    if kind is None or t._a.__class__ is DeviceArray or is_page_locked(t):
        return t
    return wrap(DRIVERS[kind].pinned(t._a))


def is_page_locked(t: Tensor) -> bool:
    """Return whether a tensor is in page-locked memory."""
    return any(DRIVERS[k].is_pinned(t._a) for k in DRIVERS if available(k))


def run_place(x, *, device, source, wait):
    """Return an array's elements on a device given by name, in their order of dims in memory."""
    if x.__class__ is DeviceArray and x.kind == MESH:       # the parts move, each by itself
        return x.backend.map_parts(x, lambda part: run_place(part, device=device, source=source, wait=wait))
    order = order_of(x)
    if order is not None:
        return run_place(x.transpose(order), device=device, source=source, wait=wait).transpose(inverse(order))
    kind, _, index = device.partition(":")
    if kind == "cpu":
        return x.backend.to_host(x, wait) if isinstance(x, DeviceArray) else np.array(x, order="C")
    if kind not in DRIVERS and kind != META.type:
        raise DeviceError(f"nothing can be put on {device} here")
    route_kernels()
    return BACKENDS[kind].to_device(x, int(index or 0), wait)


KERNELS[place] = run_place
