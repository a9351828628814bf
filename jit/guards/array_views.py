"""Views of arrays in results: the memory that an array lies in, and how a replay makes the view over that memory again."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.core.storage import Loan
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
    """Return the array or buffer that owns the memory of an array, or None if that is its own, or a tensor's (about which
    `proxies/passthrough.py` decides)."""
    base = a.base
    while base is not None and not isinstance(base, np.ndarray) and hasattr(base, "__array_interface__"):
        base = getattr(base, "base", None)      # numpy's `as_strided` puts such an object between
    if type(base) is memoryview:
        return base.obj
    is_lent = type(base) is tuple and any(type(x) is Loan for x in base)        # (so numpy keeps what has `__array_struct__`)
    return None if base is None or is_lent or not a.size else base


def window_of(a, memory) -> Window:
    """Return where an array lies in the memory of another array, or of a buffer."""
    whole = memory if isinstance(memory, np.ndarray) else np.frombuffer(memory, np.uint8)
    (low, high), (first, last) = bounds(a), bounds(whole)
    why = ("a view of an array of objects" if a.dtype.hasobject else
           "an array that may be written, over one that may not" if a.flags.writeable and not whole.flags.writeable else
           "an array over memory of unknown origin" if low < first or high > last else
           "a view of an array with gaps in its memory" if not _in_memory_order(_owner(whole)).flags.c_contiguous else "")
    if why:
        raise UnrepeatableError(why, _WAY_OUT)
    return Window(a.shape, a.dtype, a.strides, _address(a) - first, a.flags.writeable)


def view_over(memory, window: Window):
    """Return the array at a place in the memory of another array, or of a buffer."""
    buffer, start = memory, 0
    if isinstance(memory, np.ndarray):
        owner = _owner(memory)
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


def _owner(a):
    memory = memory_of(a)
    return memory if isinstance(memory, np.ndarray) else a


def _in_memory_order(a):
    return a if a.flags.c_contiguous else a.transpose(sorted(range(a.ndim), key=lambda i: -a.strides[i]))
