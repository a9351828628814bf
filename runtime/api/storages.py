"""Memory that tensors lie in, as libraries ask for it: whether two tensors share some (`untyped_storage().data_ptr()`), and how
large it is."""

import numpy as np

from ...ir.errors import DTypeError, IngotError
from ..device_array import DeviceArray, shown_address
from ..tensor import Tensor, wrap
from .convert import data_ptr
from .register import FUNCTIONS, api


def _whole(a):
    """The array that owns the memory that another one looks into."""
    while isinstance(a.base, (np.ndarray, DeviceArray)):
        a = a.base
    return a


class UntypedStorage:
    """The memory of a tensor and of all that share it, as bytes."""

    def __init__(self, tensor: Tensor):
        if not isinstance(tensor, Tensor):
            raise DTypeError("storages are not made by themselves; tensor.untyped_storage() gives that of a tensor")
        data_ptr(tensor)                  # refused while a function is traced
        self._tensor = tensor
        self._array = _whole(tensor._a)

    def data_ptr(self) -> int:
        """The address of the first byte; 0 of none."""
        return shown_address(self._array) if self.nbytes() else 0

    def nbytes(self) -> int:
        """How many bytes it has."""
        return int(self._array.nbytes)

    size = __len__ = nbytes

    def element_size(self) -> int:
        """The bytes of one element."""
        return 1

    @property
    def device(self):
        """Where it is."""
        return self._tensor.device

    @property
    def _cdata(self) -> int:
        """What tells storages apart."""
        return shown_address(self._array)

    def is_shared(self) -> bool:
        """Whether other processes see it."""
        return self._tensor.is_shared()

    def share_memory_(self):
        """Puts it where other processes can see it."""
        self._tensor.share_memory_()
        self._array = _whole(self._tensor._a)
        return self

    def resize_(self, size):
        """Refused: ingot frees memory when the last tensor that uses it is gone."""
        raise IngotError("the memory of tensors cannot be resized under them; drop the tensors, and it is freed")

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self._cdata == other._cdata and self.nbytes() == other.nbytes()

    def __hash__(self):
        return hash(self._cdata)

    def __repr__(self):
        return f"<{type(self).__name__} of {len(self)} on {self.device}>"


class TypedStorage(UntypedStorage):
    """The memory of a tensor, counted in its elements."""

    def element_size(self) -> int:
        """The bytes of one element."""
        return self._tensor.element_size()

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self._tensor.dtype

    def size(self) -> int:
        """How many elements it has."""
        return self.nbytes() // self.element_size()

    __len__ = _size = size

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._tensor)

    _untyped_storage = property(untyped)

    def tolist(self) -> list:
        """All elements."""
        kind = self._tensor._a.dtype
        return wrap(np.frombuffer(self._array, kind) if self.size() else np.empty(0, kind)).tolist()


FUNCTIONS.update(UntypedStorage=UntypedStorage, TypedStorage=TypedStorage)


@api(function=False)
def untyped_storage(self) -> UntypedStorage:
    """The memory that the tensor lies in, as bytes."""
    return UntypedStorage(self)


@api(function=False, names=("_typed_storage",))
def storage(self) -> TypedStorage:
    """The memory that the tensor lies in, counted in elements."""
    return TypedStorage(self)
