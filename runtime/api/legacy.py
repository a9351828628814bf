"""Tensor types by their old names: FloatTensor(2, 3), LongTensor([1, 2]), isinstance(x, BoolTensor); and as default."""

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError
from ..device import set_default_device
from ..state import set_default_dtype
from ..tensor import Tensor
from .creation import filled, require_device, tensor
from .register import FUNCTIONS, api


class TensorType(type):
    """The type of the old names: calling one makes a Tensor, and a Tensor of its dtype is an instance of it."""

    tensor_dtype: dt.DType

    def __call__(cls, *data, device=None):
        require_device(device)
        if all(isinstance(n, (int, np.integer)) for n in data):
            return filled(None, tuple(int(n) for n in data) or (0,), 0, cls.tensor_dtype)
        if len(data) == 1 and isinstance(data[0], Tensor) and data[0].dtype is cls.tensor_dtype:
            return data[0].detach()
        if len(data) == 1 and type(data[0]).__name__ == "Size":
            return filled(None, data[0], 0, cls.tensor_dtype)
        return tensor(*data, dtype=cls.tensor_dtype)

    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and x.dtype is cls.tensor_dtype


def _legacy(name, dtype):
    return TensorType(name, (), {"tensor_dtype": dtype, "__doc__": f"Tensors of {dtype.name}, by their old name.",
                                 "__module__": "ingot"})


LEGACY_DTYPES = {"FloatTensor": dt.float32, "DoubleTensor": dt.float64, "HalfTensor": dt.float16, "BFloat16Tensor": dt.bfloat16,
                 "LongTensor": dt.int64, "IntTensor": dt.int32, "ShortTensor": dt.int16, "CharTensor": dt.int8,
                 "ByteTensor": dt.uint8, "BoolTensor": dt.bool_}
for _name, _dtype in LEGACY_DTYPES.items():
    FUNCTIONS[_name] = _legacy(_name, _dtype)


@api(method=False)
def set_default_tensor_type(t):
    """Sets the dtype of tensors made from Python floats, and the device of new ones, by an old name: "torch.DoubleTensor",
    "torch.cuda.FloatTensor" or the type itself. Newer: set_default_dtype, set_default_device."""
    if isinstance(t, TensorType):
        set_default_dtype(t.tensor_dtype)
        return
    _, *device, name = t.split(".") if isinstance(t, str) and "." in t else ("", str(t))
    kind = FUNCTIONS[name] if name.endswith("Tensor") and name in FUNCTIONS else None
    if not isinstance(kind, TensorType) or device not in ([], ["cuda"]):
        raise ArgumentError(f"set_default_tensor_type takes a type like ingot.DoubleTensor or its name, got {t!r}; see "
                            "set_default_dtype and set_default_device")
    set_default_dtype(kind.tensor_dtype)
    set_default_device(device[0] if device else "cpu")
