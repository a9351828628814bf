"""NumPy's numbers and arrays in pickles (a checkpoint's best accuracy, a list of losses), rebuilt from their bytes.

NumPy's own functions would accept objects; these accept only numbers and the right number of bytes.
"""

import re

import numpy as np

from ...ir.errors import FileError
from .read_budget import count_of, shown
from .safe_unpickler import Callable_

_NUMBERS = re.compile(r"[<|=]?[biufc]\d{1,2}", re.ASCII)


def _dtype(text, *rest):
    if type(text) is not str or not _NUMBERS.fullmatch(text):
        raise FileError(f"numpy data of dtype {shown(text)}, which is no kind of number")
    return np.dtype(text)


def _scalar(dtype, data=None):
    if not isinstance(dtype, np.dtype) or dtype.hasobject or type(data) is not bytes or len(data) != dtype.itemsize:
        raise FileError("a number of numpy's that is not as many bytes as its dtype says")
    return np.frombuffer(data, dtype)[0]


def _array(cls, shape=(), kind=b""):
    if cls is not np.ndarray:
        raise FileError(f"an array of class {shown(cls)}")
    return np.empty(0, np.int8)


def _from_buffer(data, dtype, shape, order, dims=None):
    """Return an array of protocol 5, which carries its elements."""
    known = type(order) is str and order in ("C", "F", "K")
    if type(data) not in (bytes, bytearray) or not _fits(data, dtype, shape) or not known:
        raise FileError(_OTHER_BYTES)
    if order != "K":
        return np.frombuffer(data, dtype).reshape(shape, order=order)
    if type(dims) is not tuple or sorted(dims) != list(range(len(shape))):
        raise FileError(_OTHER_BYTES)
    return np.frombuffer(data, dtype).reshape(shape).transpose(dims)


_OTHER_BYTES = "an array of numpy's that is not as many bytes as its shape and dtype say"


def _fits(data, dtype, shape) -> bool:
    """Return whether a number of bytes fits an array."""
    sound = type(shape) is tuple and isinstance(dtype, np.dtype) and not dtype.hasobject
    return sound and count_of(shape, "an array of numpy's") * dtype.itemsize == len(data)


def restore(target, state):
    """Give an empty array or dtype its state, as NumPy's pickles do."""
    if isinstance(target, np.dtype):
        if type(state) is not tuple or len(state) < 2 or state[1] not in ("<", "|", "="):
            raise FileError("numpy data that is not in little-endian order")
        return
    if type(state) is not tuple or len(state) != 5:
        raise FileError("an array of numpy's whose state is not what it should be")
    _, shape, dtype, in_columns, data = state
    if type(in_columns) is not bool or type(data) is not bytes or not _fits(data, dtype, shape):
        raise FileError(_OTHER_BYTES)
    target.__setstate__((1, shape, dtype, in_columns, data))


KINDS = (np.dtype, np.ndarray)
GLOBALS: dict[str, object] = {"numpy.dtype": Callable_(_dtype), "numpy.ndarray": np.ndarray}
for _module in ("numpy.core", "numpy._core"):
    GLOBALS |= {f"{_module}.multiarray.scalar": Callable_(_scalar), f"{_module}.multiarray._reconstruct": Callable_(_array),
                f"{_module}.numeric._frombuffer": Callable_(_from_buffer)}
