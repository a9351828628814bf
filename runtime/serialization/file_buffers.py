"""Arrays over blocks of file bytes, checked before use."""

import sys

import numpy as np

from ...ir.errors import FileError
from ..core.storage import Storage
from ..core.tensor import Tensor
from .read_budget import MAX_DIMS, ReadBudget, shown

_ALIGN = 16


class Block:
    """Bytes read from a file, shared by one or several tensors."""

    def __init__(self, memory: np.ndarray, name: str, budget: ReadBudget, byteorder: str = "little"):
        self.memory = memory            # flat uint8
        self.name, self.budget = name, budget
        self.swap = byteorder != sys.byteorder
        self.storage = Storage()
        self._swapped: dict = {}

    def array(self, dtype, shape, strides, offset) -> np.ndarray:
        """Return a window, in bytes; raise a FileError that names what does not fit."""
        self._check(dtype, shape, strides, offset)
        if 0 in shape:
            return np.empty(shape, dtype.np)
        memory = self._native(dtype)
        found = np.ndarray(shape, dtype.np, memory, offset, strides)
        if found.flags.aligned:
            return found
        # Parts of a mapped file may begin anywhere, but kernels need elements at multiples of their size.
        if memory is self.memory and memory.ctypes.data % _ALIGN:
            self.budget.take_bytes(memory.nbytes, "a copy at aligned addresses")
            self.memory = memory.copy()
            found = np.ndarray(shape, dtype.np, self.memory, offset, strides)
            if found.flags.aligned:
                return found
        self.budget.take_bytes(found.nbytes, f"a copy of a tensor of shape {list(shape)} at aligned addresses")
        return found.copy()

    def _check(self, dtype, shape, strides, offset):
        numbers = (*shape, *strides, offset)
        if not all(type(n) is int for n in numbers) or len(shape) != len(strides) or len(shape) > MAX_DIMS:
            raise FileError(f"{self.name}: shape {shown(shape)}, strides {shown(strides)} and offset {shown(offset)} describe "
                            "no tensor")
        if any(n < 0 for n in shape) or any(abs(n) >= 1 << 62 for n in numbers):
            raise FileError(f"{self.name}: shape {shown(shape)} is impossible")
        if 0 in shape:
            return
        reach = [(n - 1) * s for n, s in zip(shape, strides)]
        low, high = offset + sum(r for r in reach if r < 0), offset + sum(r for r in reach if r > 0) + dtype.itemsize
        if low < 0 or high > self.memory.nbytes:
            raise FileError(f"{self.name}: a tensor of shape {list(shape)} needs bytes {low} to {high}, but there are "
                            f"{self.memory.nbytes}; the file is damaged")

    def _native(self, dtype):
        """Return the memory in this machine's byte order."""
        unit = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        if not self.swap or unit == 1:
            return self.memory
        if unit not in self._swapped:
            self.budget.take_bytes(self.memory.nbytes, "a copy in this machine's byte order")
            self._swapped[unit] = np.ascontiguousarray(self.memory.reshape(-1, unit)[:, ::-1]).reshape(-1)
        return self._swapped[unit]

    def tensor(self, dtype, shape, strides, offset, cls=Tensor) -> Tensor:
        """Return a window as a tensor; tensors of one block share its storage."""
        t = object.__new__(cls)
        t._a = self.array(dtype, shape, strides, offset)
        t._node = None
        t._storage = self.storage
        return t


def dense_strides(shape, itemsize) -> tuple:
    """Return the byte strides of a row-major array."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def contiguous_bytes(a: np.ndarray) -> memoryview:
    """Return the bytes of a contiguous array."""
    return memoryview(a.reshape(-1).view(np.uint8).data)
