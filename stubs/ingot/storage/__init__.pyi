"""Storages: memory of tensors as bytes or elements, and storage types by old names, `FloatStorage(3)`."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import StorageBase as StorageBase
from ingot import Tensor as _Tensor
from ingot import TypedStorage as TypedStorage
from ingot import TypedStorage as _TypedStorage
from ingot import UntypedStorage as UntypedStorage
from ingot import UntypedStorage as _UntypedStorage
from ingot import dtype as _dtype
from ingot import is_storage as is_storage

class StorageType(_b.type):
    """Metaclass of the old storage names: a call makes a TypedStorage, and storages of its dtype are instances."""
    dtype: _dtype
    def __call__(self, data: _t.Any = 0) -> _TypedStorage: ...
    def __instancecheck__(self, x: _t.Any) -> _t.Any: ...
    def from_buffer(self, buffer: _t.Any, byte_order: _b.str = 'native') -> _t.Any:
        """Return a copy of an object's buffer as numbers of the dtype."""
    def from_file(self, filename: _t.Any, shared: _b.bool = False,
                  size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0) -> _TypedStorage:
        """Map the numbers of a file; writes reach it if `shared`."""

def made_of(data: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]) -> _Tensor:
    """Return a tensor of `data` zeros if that is a number, else of its values."""
def storage(self: _Tensor) -> _TypedStorage:
    """Return the memory of the tensor, counted in elements."""
def untyped_storage(self: _Tensor) -> _UntypedStorage:
    """Return the memory of the tensor, as bytes."""
