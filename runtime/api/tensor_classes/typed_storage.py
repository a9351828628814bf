"""Storages: memory of tensors as bytes or elements, and storage types by old names, `FloatStorage(3)`.

Libraries compare `untyped_storage().data_ptr()` to see whether two tensors share memory.
"""

import os
import sys
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DeviceError, IngotError
from ....ir.package_name import in_full
from ...core.device_array import DeviceArray, shown_address
from ...core.tensor import Tensor, whole_of, wrap
from ...state.mode import Defaults
from ..register.register import FUNCTIONS, api
from ..views.conversions import data_ptr
from ..views.tensor_factories import Memory
from ..views.tensor_factories import tensor as tensor_of


def made_of(data, dtype) -> Tensor:
    """Return a tensor of `data` zeros if that is a number, else of its values."""
    return FUNCTIONS["zeros"](data, dtype=dtype) if isinstance(data, int) else tensor_of(list(data), dtype=dtype)


def _memory_of(tensor: Tensor):
    """Return the array that owns the memory of a tensor, read-only if the tensor over all of this memory is.

    A read-only array of numpy may be a view of one that is not: `np.broadcast_to(a, shape)`.
    """
    a = tensor._a
    while isinstance(a.base, (np.ndarray, DeviceArray)):
        a = a.base
    if a.flags.writeable and not whole_of(tensor)._a.flags.writeable:
        a = a.view()
        a.flags.writeable = False
    return a


class StorageBase(Memory):
    """Base class of storages."""


class UntypedStorage(StorageBase):
    """Memory of a tensor and all its aliases, as bytes."""

    def __init__(self, tensor: Tensor | int | Sequence = 0):
        if not isinstance(tensor, Tensor):
            tensor = made_of(tensor, dt.uint8)
        data_ptr(tensor)                  # refused while a function is traced
        self._tensor = tensor
        self._array = _memory_of(tensor)

    def data_ptr(self) -> int:
        """Return the address of the first byte; 0 if there is none."""
        return shown_address(self._array) if self.nbytes() else 0

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return int(self._array.nbytes)

    size = __len__ = nbytes

    def element_size(self) -> int:
        return 1

    device = property(lambda self: self._tensor.device)

    @classmethod
    def from_buffer(cls, buffer, byte_order="native", dtype=dt.uint8):
        """Return a copy of an object's buffer as numbers of a dtype."""
        if byte_order not in ("native", sys.byteorder):
            raise ArgumentError(f"from_buffer takes numbers in this machine's order, {sys.byteorder!r}, got {byte_order!r}")
        return cls(wrap(np.frombuffer(bytes(buffer), dt.as_dtype(dtype).np).copy()))

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """Map the bytes of a file. If `shared`, writes reach the file, which grows to the size. Otherwise they change only the
        tensors over this memory."""
        if not shared and nbytes > (there := os.path.getsize(filename)):
            raise ArgumentError(f"from_file(nbytes={nbytes}): {filename} has {there} bytes")
        return cls(FUNCTIONS["from_file"](filename, shared, nbytes, dtype=dt.uint8))

    def untyped(self):
        return self

    def elements(self, dtype) -> Tensor:
        """Return the whole memory as a vector of a dtype."""
        if not isinstance(self._array, np.ndarray):
            raise DeviceError("what the memory of a device holds is read with storage.cpu()")
        kind = dtype.np
        a = self._array if self._array.flags.c_contiguous else self._array.T        # an owner has columns or rows one by one
        flat = wrap(np.frombuffer(a, kind) if self.nbytes() else np.empty(0, kind))
        flat._storage = self._tensor._storage
        return flat

    def flat(self) -> Tensor:
        """Return all bytes, or all elements, as a tensor on this device; on the host without a copy."""
        host = self.cpu()
        a = host._array if host._array.flags.c_contiguous else host._array.T
        flat = wrap(a.reshape(-1).view(host.read_dtype(None).np))
        flat._storage = host._tensor._storage
        return flat if host is self else flat.to(self.device)

    def read_dtype(self, dtype) -> dt.DType:
        """Return the dtype that the bytes are read as: the requested one, by default uint8."""
        return dt.uint8 if dtype is None else dt.as_dtype(dtype)

    def _elements(self) -> Tensor:
        """Return a tensor over all bytes, or all elements of the dtype."""
        return self.elements(dt.uint8 if type(self) is UntypedStorage else self._tensor.dtype)

    def tolist(self) -> list:
        """Return all bytes, or all elements, as a list."""
        return self._elements().tolist()

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, index):
        return self._part(index) if isinstance(index, slice) else self._elements()[index].item()

    def _part(self, index: slice):
        """Return a slice of the bytes, over the same memory."""
        if index.step not in (None, 1):
            raise ArgumentError(f"parts of a storage have all bytes between two places, got a step of {index.step}")
        part = copy(self)
        part._tensor = self._elements()[index]
        part._array = part._tensor._a
        return part

    def __setitem__(self, index, value):
        self._elements()[index] = value

    def fill_(self, value):
        """Write one value to all elements."""
        self._elements().fill_(value)
        return self

    def copy_(self, source, non_blocking=False):
        """Copy the values of another storage of this size. `non_blocking` is ignored: the copy is there when this returns."""
        self._elements().copy_(source._elements())
        return self

    def clone(self):
        """Return a copy in new memory."""
        return type(self)(self._elements().clone())

    def cpu(self):
        """Return this storage, or a host copy of a device's."""
        if isinstance(self._array, np.ndarray):
            return self
        whole = self._tensor.detach()
        if whole.numel() * whole.element_size() != self.nbytes():
            raise DeviceError("this tensor is a part of its memory, of which the host can get all from the whole tensor only")
        return type(self)(whole.cpu())

    @property
    def is_cuda(self) -> bool:
        return self._tensor.is_cuda

    def is_shared(self) -> bool:
        """Return whether other processes see the memory."""
        return self._tensor.is_shared()

    def share_memory_(self):
        """Move the memory to where other processes can map it."""
        self._tensor.share_memory_()
        self._array = _memory_of(self._tensor)
        return self

    def resize_(self, size):
        """Raise: ingot frees memory when the last tensor that uses it is gone."""
        raise IngotError("the memory of tensors cannot be resized under them; drop the tensors, and it is freed")

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and hash(self) == hash(other) and self.nbytes() == other.nbytes()

    def __hash__(self):
        return hash(shown_address(self._array))

    def __repr__(self):
        return f"<{type(self).__name__} of {len(self)} on {self.device}>"


class TypedStorage(UntypedStorage):
    """Memory of a tensor, counted in its elements."""

    def __init__(self, tensor: Tensor | int | Sequence = 0, *, dtype=None, wrap_storage=None):
        if wrap_storage is not None:
            tensor = wrap_storage._elements().view(dt.as_dtype(dtype))
        elif not isinstance(tensor, Tensor):
            tensor = made_of(tensor, Defaults.dtype if dtype is None else dt.as_dtype(dtype))
        super().__init__(tensor)

    def element_size(self) -> int:
        return self._tensor.element_size()

    dtype = property(lambda self: self._tensor.dtype)

    def read_dtype(self, dtype) -> dt.DType:
        """Return the dtype of the elements; raise if another one is requested."""
        if dtype is not None and dt.as_dtype(dtype) is not self.dtype:
            raise ArgumentError(f"a tensor of {dt.as_dtype(dtype)} is asked of a storage of {self.dtype.name}: "
                                "storage.untyped() is read as any dtype, and tensor(storage).to() converts its numbers")
        return self.dtype

    def _part(self, index):
        raise ArgumentError("parts of memory are taken from its bytes: storage.untyped()[a:b]")

    def size(self) -> int:
        """Return the number of elements."""
        return self.nbytes() // self.element_size()

    __len__ = _size = size

    def untyped(self) -> UntypedStorage:
        """Return the same memory as bytes."""
        return UntypedStorage(self._tensor)

    def _cast(self, dtype):
        """Return the elements in another dtype, in new memory; this storage if they have it."""
        return self if self.dtype is dtype else TypedStorage(self._elements().to(dtype))

    def type(self, dtype=None, non_blocking=False):
        """Return the old type name, or convert the elements: to a dtype, an old type, or its name. `non_blocking` is
        ignored: the elements are there when this returns."""
        names = {d: name for name, d in STORAGE_DTYPES.items()}
        if dtype is None:
            return in_full(names.get(self.dtype, "TypedStorage"))
        if isinstance(dtype, str):
            dtype = STORAGE_DTYPES.get(dtype.rpartition(".")[2], dtype)
        return self._cast(dtype.dtype if isinstance(dtype, StorageType) else dt.as_dtype(dtype))

    _untyped_storage = property(untyped)


class StorageType(type):
    """Metaclass of the old storage names: a call makes a TypedStorage, and storages of its dtype are instances."""

    dtype: dt.DType

    def __call__(cls, data: Any = 0):
        return TypedStorage(data, dtype=cls.dtype)

    def __instancecheck__(cls, x):
        return isinstance(x, TypedStorage) and x.dtype is cls.dtype

    def from_buffer(cls, buffer, byte_order="native"):
        """Return a copy of an object's buffer as numbers of the dtype."""
        return TypedStorage.from_buffer(buffer, byte_order, cls.dtype)

    def from_file(cls, filename, shared=False, size=0):
        """Map the numbers of a file; writes reach it if `shared`."""
        return TypedStorage(FUNCTIONS["from_file"](filename, shared, size, dtype=cls.dtype))


FUNCTIONS.update(StorageBase=StorageBase, UntypedStorage=UntypedStorage, TypedStorage=TypedStorage)
STORAGE_DTYPES = {"FloatStorage": dt.float32, "DoubleStorage": dt.float64, "HalfStorage": dt.float16,
                  "BFloat16Storage": dt.bfloat16, "LongStorage": dt.int64, "IntStorage": dt.int32, "ShortStorage": dt.int16,
                  "CharStorage": dt.int8, "ByteStorage": dt.uint8, "BoolStorage": dt.bool_, "ComplexFloatStorage": dt.complex64,
                  "ComplexDoubleStorage": dt.complex128}
_CASTS = {"float": dt.float32, "double": dt.float64, "half": dt.float16, "bfloat16": dt.bfloat16, "long": dt.int64,
          "int": dt.int32, "short": dt.int16, "char": dt.int8, "byte": dt.uint8, "bool": dt.bool_,
          "complex_float": dt.complex64, "complex_double": dt.complex128}


def _cast_to(name, dtype):
    def cast(self) -> TypedStorage:
        return self._cast(dtype)

    cast.__name__, cast.__doc__ = name, f"The elements as {dtype.name}."
    return cast


for _name, _dtype in _CASTS.items():
    setattr(TypedStorage, _name, _cast_to(_name, _dtype))
for _name, _dtype in STORAGE_DTYPES.items():
    FUNCTIONS[_name] = StorageType(_name, (), {"dtype": _dtype, "__module__": "ingot",
                                               "__doc__": f"Memory of {_dtype.name}, by its old name."})


@api(method=False)
def is_storage(obj) -> bool:
    """Return whether an object is a storage."""
    return isinstance(obj, UntypedStorage)


@api(function=False)
def untyped_storage(self) -> UntypedStorage:
    """Return the memory of the tensor, as bytes."""
    return UntypedStorage(self)


@api(function=False, names=("_typed_storage",))
def storage(self) -> TypedStorage:
    """Return the memory of the tensor, counted in elements."""
    return TypedStorage(self)
