"""DLPack capsules of device memory through ctypes. NumPy handles host memory."""

import ctypes
import weakref
from ctypes import POINTER, PYFUNCTYPE, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError
from ..core.device_array import contiguous_strides
from .dlpack_types import CODES, dtype_of_code

_NAME, _USED = b"dltensor", b"used_dltensor"
_HEADER_AT = {_NAME: 0, b"dltensor_versioned": 32}      # byte offset of the DLTensor behind a capsule's pointer, by name
_MOST_DIMS = 64         # of an array of NumPy
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class _Tensor(Structure):
    """DLTensor."""

    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
                ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class _Managed(Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p)]


_deleter_type = PYFUNCTYPE(None, c_void_p)
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = py_object, (c_void_p, ctypes.c_char_p, c_void_p)
# By address: a capsule that is being destroyed must not be referenced again.
_valid_at = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_at = ctypes.PYFUNCTYPE(c_void_p, c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))

def header_of(capsule, names=tuple(_HEADER_AT)) -> _Tensor:
    """Return the DLTensor of a capsule, to read or change. Raise unless it describes an array: NumPy follows its pointers."""
    name = next((name for name in names if _valid_at(id(capsule), name)), None)
    if name is None:
        raise DTypeError("this DLPack capsule was consumed before, or is none")
    t = _Tensor.from_address(_pointer_at(id(capsule), name) + _HEADER_AT[name])
    sizes = t.shape[:t.ndim] if t.shape and 0 < t.ndim <= _MOST_DIMS else []
    if t.ndim != len(sizes) or min(sizes, default=0) < 0 or (not t.data and 0 not in sizes):
        raise ArgumentError(f"from_dlpack: this capsule describes no array: it has {t.ndim} dims, shape "
                            f"{tuple(sizes) if t.shape else None} and {'memory' if t.data else 'no memory'}")
    return t


_exported: dict[int, Any] = {}      # by address, until their consumers are done


@_deleter_type
def _forget(address):
    """Drop an export when its consumer is done."""
    _exported.pop(address, None)


@_deleter_type
def _destroyed(capsule):
    """Drop an export whose capsule dies unused."""
    if _valid_at(capsule, _NAME):
        _exported.pop(_pointer_at(capsule, _NAME), None)


def capsule(a, device_type: int, index: int):
    """Return a capsule of a device array; the array lives until the consumer gives it back."""
    kind = dt.from_numpy(a.dtype)
    managed = _Managed()
    shape = (c_int64 * max(1, a.ndim))(*a.shape)
    strides = (c_int64 * max(1, a.ndim))(*[s // a.itemsize for s in a.strides])
    t = managed.tensor
    t.data, t.device_type, t.device_id, t.ndim, t.lanes = a.pointer, device_type, index, a.ndim, 1
    t.code, t.bits = (CODES[kind.np] if kind.np in CODES else _CODES[a.dtype.kind]), 8 * a.itemsize
    t.shape, t.strides = shape, strides
    managed.deleter = ctypes.cast(_forget, c_void_p).value
    address = ctypes.addressof(managed)
    _exported[address] = (managed, shape, strides, a)
    return _new(address, _NAME, ctypes.cast(_destroyed, c_void_p))


class Owner:
    """Owner of borrowed memory, which it returns at the end."""

    def __init__(self, managed):
        if managed.deleter:
            weakref.finalize(self, _deleter_type(managed.deleter), ctypes.addressof(managed))


def imported(capsule, make):
    """Return make(pointer, shape, dtype, strides in bytes, owner) for the memory of a capsule."""
    t = header_of(capsule, (_NAME,))
    managed = _Managed.from_address(_pointer_at(id(capsule), _NAME))
    dtype = _dtype(t)
    shape = tuple(t.shape[: t.ndim])
    if t.strides:
        strides = tuple([s * dtype.itemsize for s in t.strides[: t.ndim]])
    else:
        strides = contiguous_strides(shape, dtype.itemsize)
    _set_name(capsule, _USED)
    return make((t.data or 0) + t.byte_offset, shape, dtype, strides, Owner(managed))


def _dtype(t) -> np.dtype:
    """Return the dtype that a capsule names."""
    if t.lanes == 1:
        extended = dtype_of_code(t.code, t.bits)
        if extended is not None:
            return extended
        letter = next((k for k, code in _CODES.items() if code == t.code), None)
        for d in dt.BY_NP.values():
            if letter == d.np.kind and 8 * d.np.itemsize == t.bits:
                return d.np
    raise DTypeError(f"from_dlpack: type code {t.code} of {t.bits} bits and {t.lanes} lanes has no ingot dtype")
