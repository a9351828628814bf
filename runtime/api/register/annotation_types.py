"""Annotation types of `ingot.types`, as PyTorch's libraries import them."""

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

from ....ir.dtype import DType
from ...core.device import Device as _device
from ...core.storage import Storage
from ...core.tensor import Size, Tensor
from .layouts import layout

__all__ = ["Device", "DeviceObjType", "FileLike", "Number", "Storage", "Tensor", "TensorType"]

Number: TypeAlias = int | float | bool
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
_int, _float, _bool, _complex = int, float, bool, complex
_dtype, _layout, _qscheme = DType, layout, Any
_size = Union[Size, list[int], tuple[int, ...]]  # noqa: UP007  (libraries subscript and print it)
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]


class TensorType:
    """Type of tensors in annotations of PyTorch's scripts."""


class DeviceObjType:
    """Type of devices in annotations of PyTorch's scripts."""
