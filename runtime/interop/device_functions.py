"""Devices, and how tensors are copied, pickled and shared with other libraries: there before anything else is asked for."""

from ..api.register.register import FUNCTIONS
from ..core import device as devices
from . import tensor_protocols

FUNCTIONS.update(device=devices.Device, get_default_device=devices.get_default_device,
                 set_default_device=devices.set_default_device, from_dlpack=tensor_protocols.from_dlpack)
