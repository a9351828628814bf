"""Top-level functions about dtypes, devices and files: result_type, get_device_module, save, load."""

import importlib
from types import ModuleType

from ...ir.dtype import DType
from ...ir.errors import DeviceError
from ..api.register import dtype_info, process_settings
from ..api.register.register import FUNCTIONS, api, no_tensor
from ..api.register.type_promotion import result_type as _meet
from ..core.device import DRIVERS, Device, available
from ..core.tensor import Tensor
from ..serialization import load, save

_FACE = __name__.partition(".")[0]

for _module in dtype_info, process_settings:
    FUNCTIONS.update((_name, getattr(_module, _name)) for _name in _module.__all__)
FUNCTIONS.update(save=save, load=load)


@api(method=False, keywords={"tensor": "tensor1", "other": "tensor2", "scalar": "tensor2"})
def result_type(tensor1, tensor2) -> DType:
    """Return the common dtype of two tensors or numbers."""
    return _meet(tensor1, tensor2)


@api(method=False)
def get_device(input) -> int:
    """Return the index of the accelerator of a tensor, -1 for the CPU."""
    if not isinstance(input, Tensor):
        raise no_tensor("get_device", "input", input)
    return input.get_device()


@api(method=False)
def get_device_module(device=None) -> ModuleType:
    """Return the module of a kind of device (`ingot.cuda`), by default that of the accelerator, or of the CPU."""
    kind = next((k for k in DRIVERS if available(k)), "cpu") if device is None else Device(device).type
    if kind not in _MODULES:
        raise DeviceError(f"devices of kind {kind!r} have no module; there are {', '.join(_MODULES)}")
    return importlib.import_module(f"{_FACE}.{kind}")


_MODULES = ("cpu", "cuda")
