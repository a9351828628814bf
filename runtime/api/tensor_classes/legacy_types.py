"""Tensor types by old names, also as default: FloatTensor(2, 3), LongTensor([1, 2]), isinstance(x, BoolTensor).

Those of `ingot.cuda` make tensors on a GPU.
"""

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError
from ...core.device import set_default_device
from ...core.placement import put
from ...core.tensor import Tensor
from ...state.mode import set_default_dtype
from ..register.register import FUNCTIONS, api
from ..views.tensor_factories import filled, mark_for, require_device, tensor
from .typed_storage import UntypedStorage


class TensorType(type):
    """Metaclass of the old names: a call makes a Tensor, and tensors of its dtype are instances."""

    tensor_dtype: dt.DType
    tensor_device: str | None

    def __call__(cls, *data, device=None):
        device = cls.tensor_device if device is None else device
        require_device(device)
        if all(isinstance(n, (int, np.integer)) for n in data):
            return put(filled(mark_for(device), tuple(int(n) for n in data) or (0,), 0, cls.tensor_dtype), device)
        if len(data) == 1 and isinstance(data[0], cls):
            return data[0].detach()
        if len(data) == 1 and isinstance(data[0], UntypedStorage):
            return data[0]._elements().view(cls.tensor_dtype)
        if len(data) == 1 and type(data[0]).__name__ == "Size":
            return put(filled(mark_for(device), data[0], 0, cls.tensor_dtype), device)
        return tensor(*data, dtype=cls.tensor_dtype, device=device)

    @property
    def dtype(cls) -> dt.DType:
        return cls.tensor_dtype

    @property
    def is_cuda(cls) -> bool:
        return cls.tensor_device == "cuda"

    def __instancecheck__(cls, x):
        return (isinstance(x, Tensor) and x.dtype is cls.tensor_dtype and x.is_cuda == (cls.tensor_device == "cuda")
                and x.layout == "strided")


def _legacy(name, dtype, device=None):
    where = f" on a {device} device" if device else ""
    return TensorType(name, (), {"tensor_dtype": dtype, "tensor_device": device,
                                 "__doc__": f"Tensors of {dtype.name}{where}, by their old name.",
                                 "__module__": f"ingot.{device}" if device else "ingot"})


LEGACY_DTYPES = {"FloatTensor": dt.float32, "DoubleTensor": dt.float64, "HalfTensor": dt.float16, "BFloat16Tensor": dt.bfloat16,
                 "LongTensor": dt.int64, "IntTensor": dt.int32, "ShortTensor": dt.int16, "CharTensor": dt.int8,
                 "ByteTensor": dt.uint8, "BoolTensor": dt.bool_}
for _name, _dtype in LEGACY_DTYPES.items():
    FUNCTIONS[_name] = _legacy(_name, _dtype)
CUDA_TYPES = {_name: _legacy(_name, _dtype, "cuda") for _name, _dtype in LEGACY_DTYPES.items()}


@api(method=False)
def set_default_tensor_type(t):
    """Set the dtype of tensors made from Python floats, and the default device, by an old type name or type. Names are
    "torch.DoubleTensor", "torch.cuda.FloatTensor" and so on. Newer: set_default_dtype, set_default_device."""
    if isinstance(t, TensorType):
        set_default_dtype(t.tensor_dtype)
        set_default_device(t.tensor_device or "cpu")
        return
    _, *device, name = t.split(".") if isinstance(t, str) and "." in t else ("", str(t))
    kind = FUNCTIONS[name] if name.endswith("Tensor") and name in FUNCTIONS else None
    if not isinstance(kind, TensorType) or device not in ([], ["cuda"]):
        raise ArgumentError(f"set_default_tensor_type takes a type like ingot.DoubleTensor or its name, got {t!r}; see "
                            "set_default_dtype and set_default_device")
    set_default_dtype(kind.tensor_dtype)
    set_default_device(device[0] if device else "cpu")
