"""Moves and casts of whole modules: `to()`, `float()`, `cuda()`."""

from inspect import signature
from typing import Any

from ....ir import dtype as dt
from ....ir.error_texts.refused_calls import unknown_keyword
from ....ir.errors import DTypeError
from ...api.register.register import FUNCTIONS
from ...core.tensor import Tensor


class ConversionMethods:
    """Methods of Module that move or cast parameters and buffers."""

    _apply: Any
    parameters: Any
    buffers: Any

    def to(self, *args, **kwargs):
        """Move to a device, or cast floating point parameters and buffers: to(device), to(dtype), to(tensor)."""
        device, dtype = destination(args, kwargs)
        if dtype is not None and not dtype.is_inexact:
            raise DTypeError(f"Module.to takes a floating point or complex dtype, got {dtype.name}")

        def move(t):
            if device is not None:
                t = t.to(device)
            return t.to(dtype) if dtype is not None and t.dtype.is_inexact else t

        return self._apply(move)

    def type(self, dst_type):
        """Cast all parameters and buffers."""
        return self._apply(lambda t: t.to(dt.as_dtype(dst_type)))

    def _cast_floats(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.dtype.is_floating_point else t)

    def float(self):
        """Cast floating point parameters and buffers to float32."""
        return self._cast_floats(dt.float32)

    def double(self):
        """Cast floating point parameters and buffers to float64."""
        return self._cast_floats(dt.float64)

    def half(self):
        """Cast floating point parameters and buffers to float16."""
        return self._cast_floats(dt.float16)

    def bfloat16(self):
        """Cast floating point parameters and buffers to bfloat16."""
        return self._cast_floats(dt.bfloat16)

    def cpu(self):
        return self._apply(lambda t: t.to("cpu"))

    def cuda(self, device=None):
        """Move to a GPU."""
        where = "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
        return self._apply(lambda t: t.to(where))

    def to_empty(self, *, device, recurse=True):
        """Move to a device without keeping values."""
        return self._apply(lambda t: FUNCTIONS["empty_like"](t, device=device), recurse)

    def share_memory(self):
        """Move parameters and buffers into memory that other processes can map."""
        for t in (*self.parameters(), *self.buffers()):
            t.share_memory_()
        return self


_TO = signature(lambda device=None, dtype=None, non_blocking=False, tensor=None, *, memory_format=None: None)


def destination(args, kwargs):
    """Return (device, dtype) from the arguments of Module.to."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    if kwargs.keys() - _TO.parameters.keys():
        raise unknown_keyword("to", _TO.parameters.values(), kwargs)
    for a in (*args, *([kwargs["tensor"]] if "tensor" in kwargs else ())):
        if isinstance(a, Tensor):
            device, dtype = a.device, a.dtype
        elif type(a) is dt.DType:
            dtype = a
        elif a is not None and not isinstance(a, bool):
            device = a
    return device, dtype
