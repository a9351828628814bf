"""Devices, dtype limits, switches, interop and files under their top-level names."""

from .. import device as devices
from .. import info, interop
from ..serialization import load, save
from .promote import result_type as _meet
from .register import FUNCTIONS, api

for _name in info.__all__:
    FUNCTIONS[_name] = getattr(info, _name)
FUNCTIONS.update(device=devices.Device, get_default_device=devices.get_default_device,
                 set_default_device=devices.set_default_device, from_dlpack=interop.from_dlpack,
                 save=save, load=load)


@api(method=False)
def result_type(tensor1, tensor2):
    """The dtype in which two tensors or numbers meet."""
    return _meet(tensor1, tensor2)
