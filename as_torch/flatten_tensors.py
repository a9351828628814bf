"""`ingot._utils`: what libraries take from PyTorch's module of that name: tensors as one vector, and accelerators."""

import importlib

from ..ir.errors import DeviceError
from ..runtime.backends.accelerator import current_accelerator
from ..runtime.nn.utils.convert_parameters import _flatten_dense_tensors, _unflatten_dense_tensors

__all__ = ["_flatten_dense_tensors", "_get_available_device_type", "_get_device_module", "_unflatten_dense_tensors"]

_FACE = __name__.partition(".")[0]
_WITH_MODULES = ("cpu", "cuda", "mps", "mtia", "xpu")


def _get_available_device_type() -> str | None:
    """The kind of accelerator of this machine; None if it has none."""
    found = current_accelerator()
    return None if found is None else found.type


def _get_device_module(device_type: str):
    """The module about a kind of device (`ingot.cuda`)."""
    if device_type not in _WITH_MODULES:
        raise DeviceError(f"there is no module about devices {device_type!r}, only about {', '.join(_WITH_MODULES)}")
    return importlib.import_module(f"{_FACE}.{device_type}")
