"""Devices, and how tensors are copied, pickled and shared with other libraries: there before anything else is asked for."""

from .. import device as devices
from .. import interop
from .register import FUNCTIONS

FUNCTIONS.update(device=devices.Device, get_default_device=devices.get_default_device,
                 set_default_device=devices.set_default_device, from_dlpack=interop.from_dlpack)
