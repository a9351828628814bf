"""Views of arrays in results: the memory that an array lies in, and how a replay makes the view over that memory again."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors.errors import UnrepeatableError

_WAY_OUT = "return tensors, or a copy of the array"


@dataclass(frozen=True)
class Window:
    """Place of an array in the memory of another one; `offset` counts bytes from its lowest address."""

    shape: tuple
    dtype: np.dtype
    strides: tuple
    offset: int
    is_writeable: bool


def memory_of(a) -> Any:
    """Return the array or buffer that owns the memory of an array, or None if that is its own."""
    base = a.base
    while base is not None and not isinstance(base, np.ndarray) and hasattr(base, "__array_interface__"):
        base = getattr(base, "base", None)      # numpy's `as_strided` puts such an object between
    if type(base) is memoryview:
        return base.obj
    return None if base is None or not a.size else base


def window_of(a, memory) -> Window:
    """Return where an array lies in the memory of another array, or of a buffer."""
    if a.dtype.hasobject:
        raise UnrepeatableError("a view of an array of objects", _WAY_OUT)
    whole = memory if isinstance(memory, np.ndarray) else np.frombuffer(memory, np.uint8)
    if a.flags.writeable and not whole.flags.writeable:
        raise UnrepeatableError("an array that may be written, over the memory of one that may not", _WAY_OUT)
    low, high = bounds(a)
    first, last = bounds(whole)
    if low < first or high > last:
        raise UnrepeatableError("an array over memory of unknown origin", _WAY_OUT)
    return Window(a.shape, a.dtype, a.strides, _address(a) - first, a.flags.writeable)


def view_over(memory, window: Window):
    """Return the array at a place in the memory of another array, or of a buffer."""
    buffer, start = memory, 0
    if isinstance(memory, np.ndarray):
        owner = memory_of(memory)
        owner = owner if isinstance(owner, np.ndarray) else memory
        start, buffer = bounds(memory)[0] - bounds(owner)[0], _in_memory_order(owner)
    made: Any = np.ndarray(window.shape, window.dtype, buffer, start + window.offset, window.strides)
    if not window.is_writeable:
        made.flags.writeable = False
    return made


def copy_of(a):
    """Return a copy of an array that lies in memory as the array does, and may be written if that may."""
    made = a.copy(order="K")
    if not a.flags.writeable:
        made.flags.writeable = False
    return made


def _address(a) -> int:
    return a.__array_interface__["data"][0]


def bounds(a) -> tuple:
    """Return the lowest address of an array, and the first one behind it."""
    ends = [(n - 1) * stride for n, stride in zip(a.shape, a.strides)] if a.size else ()
    low = _address(a) + sum([end for end in ends if end < 0])
    return low, _address(a) + sum([end for end in ends if end > 0]) + (a.itemsize if a.size else 0)


def _in_memory_order(a):
    if a.flags.c_contiguous:
        return a
    turned = a.transpose(sorted(range(a.ndim), key=lambda i: -a.strides[i]))
    if not turned.flags.c_contiguous:
        raise UnrepeatableError("a view of an array whose own memory has gaps", _WAY_OUT)
    return turned
