"""New tensors from data."""

from functools import reduce
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError, IngotError, ShapeError, kind_of
from ...ir.interrupts import raise_interrupt
from ...ir.process_state import ignore_float_errors
from ...ir.reference.scalar_functions import as_kind
from ..state.mode import Defaults
from .backend import HOST
from .tensor import Tensor, wrap


def default_for(a: np.ndarray, from_python: bool) -> np.ndarray:
    """Return an array with the default dtype for Python floats and int64 for Python ints; other arrays keep their dtype."""
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
    """Return nested sequences as an array, and whether Python numbers alone decide its dtype."""
    found: set[Any] = set()             # dtypes of tensors and arrays, and types of what else there is
    numbers: set[type] = set()

    def plain(x):
        if isinstance(x, (list, tuple)):
            return [plain(v) for v in x]
        if isinstance(x, Tensor):
            found.add(x.dtype)
            a = _single(x).detach().numpy()
            return a.astype(np.float32) if a.dtype.isbuiltin == 2 else a     # bfloat16, float8: numpy mixes them with nothing
        if isinstance(x, (np.ndarray, np.generic)):
            found.add(dt.BY_NP.get(x.dtype))
        else:
            numbers.add(x.__class__)        # (a proxy's is that of its number)
        return x

    a = np.array(plain(data))
    if not found or None in found or not numbers <= _NUMBERS.keys():
        return a, not found
    return a.astype(reduce(dt.promote_types, found | {_NUMBERS[kind]() for kind in numbers}).np, copy=False), False


def _single(x):
    """Return a tensor among other data as a 0-d tensor; raise if it has several elements."""
    if x.numel() != 1:
        raise ShapeError(f"cannot make a tensor of this data: a tensor in a list stands for one number, got {x.aval}; "
                         "ingot.stack() joins tensors")
    return x.reshape(())


_NUMBERS = {bool: lambda: dt.bool_, int: lambda: dt.int64, float: lambda: Defaults.dtype,
            complex: lambda: dt.complex128 if Defaults.dtype is dt.float64 else dt.complex64}


def check_fit(a: np.ndarray, d: dt.DType) -> None:
    """Raise unless Python numbers fit into the dtype that is asked for."""
    if a.size and a.dtype.kind == "c" and not d.is_complex:
        dt.fitted(complex(a.reshape(-1)[np.argmax(np.abs(a.imag))]), d, "tensor")
    elif a.size and d.is_integer:
        for extreme in (a.min(), a.max()):
            dt.fitted(extreme.item(), d, "tensor")


def _large(a: np.ndarray, dtype) -> np.ndarray:
    """Return Python numbers beyond 64 bits as float64, if floats are among them or asked for."""
    if not all(isinstance(v, (bool, int, float)) for v in a.flat):
        return a
    if not (dt.as_dtype(dtype).is_inexact if dtype is not None else any(isinstance(v, float) for v in a.flat)):
        dt.fitted(max(a.flat, key=abs), dt.int64, "tensor")
    try:
        return a.astype(np.float64)
    except OverflowError as error:
        raise_interrupt(error, a.astype, np.float64)
        raise ArgumentError("tensor: a number among the data is beyond what float64 holds") from None


def _uneven(data) -> IngotError | None:
    """Return the error for nested sequences of different lengths; None if all have one shape."""
    level, dim = [data], 0
    while level:
        first, *others = map(_length, level)
        for other in others:
            if other != first:
                if first is None or other is None:
                    return DTypeError(f"cannot make a tensor of this data: sequences stand beside numbers at dim {dim}")
                return ShapeError(f"cannot make a tensor of this data: expected sequence of length {first} at dim {dim} "
                                  f"(got {other})")
        level, dim = [] if first is None else [y for x in level for y in x], dim + 1
    return None


def _no_number_in(data, path: str = "") -> str:
    """Return the text that names the first element that is no number: a function that returns nothing gives None."""
    for i, x in enumerate(data) if isinstance(data, (list, tuple)) else ():
        if isinstance(x, (list, tuple)):
            told = _no_number_in(x, f"{path}[{i}]")
            if told:
                return told
        elif x is None or isinstance(x, (str, bytes, dict, set)):
            return f", but data{path}[{i}] is {x if x is None else kind_of(x)}"
    return ""


def _length(x) -> int | None:
    if isinstance(x, (list, tuple)):
        return len(x)
    return x.shape[0] if isinstance(x, np.ndarray) and x.ndim else None


def _beyond_int64(a: np.ndarray) -> bool:
    return a.size > 0 and bool((np.abs(a) >= 2.0 ** 63).any())


def _simple(data) -> np.ndarray | None:
    """Return the array of a Python number, or of a list of numbers of one type; None for other data."""
    kind = data.__class__
    if kind is list:
        kinds = set(map(type, data))
        kind = kinds.pop() if len(kinds) == 1 else None
    if kind is float:
        return np.array(data, Defaults.dtype.np)
    try:
        return np.array(data, np.int64) if kind is int else None
    except OverflowError as error:
        raise_interrupt(error, np.array, data, np.int64)
        return None


def array_of(data, dtype=None) -> np.ndarray:
    """Return a new array with the dtype that `ingot.tensor(data, dtype)` has."""
    simple = _simple(data) if dtype is None else None
    if simple is not None:
        return simple
    if isinstance(data, Tensor):
        a, python = data._a, False
    elif isinstance(data, (np.ndarray, np.generic)):
        a, python = np.asarray(data), False
    else:
        try:
            a, python = _nested(data)
        except IngotError:
            raise
        except (ValueError, OverflowError) as e:
            raise_interrupt(e, _nested, data)
            raise _uneven(data) or DTypeError(f"cannot make a tensor of this data: {e}") from None
        if python and (a.dtype == object or (a.dtype.kind == "f" and dtype is None and _beyond_int64(a))):
            a = _large(np.array(data, object), dtype)
        if a.dtype == object or a.dtype.kind in "USMm":
            raise DTypeError(f"cannot make a tensor of {type(data).__name__}: elements must be numbers of one nested shape"
                             f"{_no_number_in(data)}")
        if a.size == 0 and python:
            a = a.astype(Defaults.dtype.np)
    if dtype is not None:
        d = dt.as_dtype(dtype)
        if python:
            check_fit(a, d)
        return _converted(a, d)
    if python and a.dtype.kind == "u":
        check_fit(a, dt.int64)
    a = default_for(a, python)
    return _copied(a, dt.from_numpy(a.dtype).np)      # one object for each dtype: short paths compare it


@ignore_float_errors
def _converted(a, d):
    return as_kind(a, d.np, "C") if d in dt.FLOAT8 else _copied(a, d.np)


def _copied(a, dtype):
    """Return a copy in C order; a large one begins at a cache line, like results of kernels."""
    if a.nbytes < HOST.SMALL_BYTES:
        return np.array(a, dtype=dtype, order="C")
    copy = HOST.empty(a.shape, dtype)
    np.copyto(copy, a, casting="unsafe")
    return copy


def as_array_tensor(data, dtype=None) -> Tensor:
    """Return a tensor over `data`: without a copy for arrays that fit, else over new memory."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray) and dtype is None and data.dtype in dt.BY_NP:
        return wrap(bare(data))
    return wrap(array_of(data, dtype))


def bare(a: np.ndarray) -> np.ndarray:
    """Return an array itself, or a plain one over the memory of a subclass (`memmap`, masked arrays, matrices)."""
    return a if a.__class__ is np.ndarray else a.view(np.ndarray)
