"""New tensors from data."""

import numpy as np

from ..ir import dtype as dt
from ..ir.errors import DTypeError
from .state import Defaults
from .tensor import Tensor, wrap


def default_for(a: np.ndarray, from_python: bool) -> np.ndarray:
    """Python floats become the default dtype, Python ints int64; arrays keep theirs."""
    if not from_python:
        return a
    if a.dtype.kind == "f":
        return a.astype(Defaults.dtype.np)
    if a.dtype.kind == "c":
        return a.astype(np.complex128 if Defaults.dtype is dt.float64 else np.complex64)
    if a.dtype.kind == "u":
        return a.astype(np.int64)
    return a


def _nested(data):
    """Nested Python sequences as an array; whether their dtype is Python's to choose."""
    python = True

    def plain(x):
        nonlocal python
        if isinstance(x, Tensor):
            python = False
            return x.detach().numpy()
        if isinstance(x, (list, tuple)):
            return [plain(v) for v in x]
        if isinstance(x, (np.ndarray, np.generic)):
            python = False
        return x

    data = plain(data)
    return np.array(data), python


def array_of(data, dtype=None) -> np.ndarray:
    """A fresh numpy array with the dtype that `ingot.tensor(data, dtype)` has."""
    if isinstance(data, Tensor):
        a, python = data._a, False
    elif isinstance(data, (np.ndarray, np.generic)):
        a, python = np.asarray(data), False
    else:
        try:
            a, python = _nested(data)
        except (ValueError, OverflowError) as e:
            raise DTypeError(f"cannot make a tensor of this data: {e}") from None
        if a.dtype == object or a.dtype.kind in "USMm":
            raise DTypeError(f"cannot make a tensor of {type(data).__name__}: elements must be numbers of one nested shape")
        if a.size == 0 and python:
            a = a.astype(Defaults.dtype.np)
    if dtype is not None:
        return np.array(a, dtype=dt.as_dtype(dtype).np, order="C")
    a = default_for(a, python)
    dt.from_numpy(a.dtype)
    return np.array(a, dtype=a.dtype.newbyteorder("="), order="C")


def as_array_tensor(data, dtype=None) -> Tensor:
    """A tensor over `data`: without a copy for arrays that fit, else over new memory."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray) and dtype is None and data.dtype in dt.BY_NP:
        return wrap(data)
    return wrap(array_of(data, dtype))
