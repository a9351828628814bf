"""Shared memory: anonymous files, which end with the last process that knows them.

There are no names, so nothing is left behind, however a process ends. A block is mapped once in a process and cut into leases;
an array over a lease keeps the block alive.
"""

import ctypes
import math
import mmap
import os
import sys
import tempfile
import weakref
from typing import Any

import numpy as np

from ...ir.errors import DeviceError
from ...ir.locks import new_rlock

LARGE_BYTES = 1 << 20       # arrays of this size have a block of their own, smaller ones share
_ARENA_BYTES = 4 << 20
_ALIGNMENT = 64
CAN_SHARE = sys.platform != "win32"

if CAN_SHARE:
    _libc = ctypes.CDLL(None, use_errno=True)
    _map, _unmap = _libc.mmap, _libc.munmap
    _map.restype = ctypes.c_void_p
    _map.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
    _unmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_FAILED = ctypes.c_void_p(-1).value


class SharedBlock:
    """Anonymous file, mapped into this process. Other processes map it through `fd` (None once closed)."""

    __slots__ = ("__weakref__", "address", "fd", "key", "size")

    def __init__(self, fd: int):
        self.address: Any = None
        self.fd: Any = fd
        about = os.fstat(fd)
        self.size, self.key = about.st_size, (about.st_dev, about.st_ino)
        address = _map(None, self.size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, 0)
        if address == _FAILED:
            self.forget_file()
            raise MemoryError(f"cannot map {self.size} bytes of shared memory: {os.strerror(ctypes.get_errno())}")
        self.address = address

    @classmethod
    def new(cls, size: int):
        """Return a new block of at least `size` zero bytes."""
        if not CAN_SHARE:
            raise DeviceError("tensors cannot be in shared memory on this system")
        size = max(1, -(-size // mmap.PAGESIZE)) * mmap.PAGESIZE
        fd = _anonymous_file()
        try:
            os.ftruncate(fd, size)
        except OSError:
            os.close(fd)
            raise
        return cls(fd)

    def forget_file(self):
        """Close the file descriptor: the memory stays, but no further process can map it."""
        fd, self.fd = self.fd, None
        if fd is not None:
            os.close(fd)

    def lease(self, offset: int, size: int):
        """Return a piece of the block as a ctypes array, for use as an array's buffer; it keeps the block alive."""
        lease: Any = (ctypes.c_char * size).from_address(self.address + offset)
        lease.block = self
        return lease

    def array(self, shape, dtype, offset: int = 0, strides=None) -> np.ndarray:
        """Return an array over the block's memory."""
        dtype = np.dtype(dtype)
        extent = _extent(shape, strides, dtype.itemsize)
        return np.ndarray(shape, dtype, self.lease(offset, extent), 0, strides)

    def __del__(self):
        if self.address is not None:
            _unmap(self.address, self.size)
        self.forget_file()


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("ingot", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _extent(shape, strides, itemsize) -> int:
    """Return the bytes from the first element to the end of the last."""
    if 0 in shape:
        return 0
    if strides is None:
        return math.prod(shape) * itemsize
    return itemsize + sum((n - 1) * s for n, s in zip(shape, strides))


def block_of(a: np.ndarray) -> SharedBlock | None:
    """Return the block of an array, or None for private memory."""
    owner = a.base
    while type(owner) is np.ndarray:
        owner = owner.base
    block = getattr(owner, "block", None)
    return block if type(block) is SharedBlock else None


class _Arena:
    """Block for small arrays, and how much of it is used."""

    lock = new_rlock()
    block: Any = None
    taken = 0


def empty(shape: tuple, dtype) -> np.ndarray:
    """Return a new row-major array in shared memory."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size >= LARGE_BYTES:
        return known(SharedBlock.new(size)).array(shape, dtype)
    with _Arena.lock:
        if _Arena.block is None or _Arena.taken + size > _Arena.block.size:
            _Arena.block, _Arena.taken = known(SharedBlock.new(_ARENA_BYTES)), 0
        block, offset = _Arena.block, _Arena.taken
        _Arena.taken += -(-size // _ALIGNMENT) * _ALIGNMENT
    return block.array(shape, dtype, offset)


# Blocks of this process by file, so that memory received twice is mapped once.

_blocks: "weakref.WeakValueDictionary[tuple, SharedBlock]" = weakref.WeakValueDictionary()


def known(block: SharedBlock) -> SharedBlock:
    """Register a block, and return it."""
    _blocks[block.key] = block
    return block


def block_from(fd: int) -> SharedBlock:
    """Return the block of a file descriptor from another process; takes the descriptor."""
    about = os.fstat(fd)
    block = _blocks.get((about.st_dev, about.st_ino))
    if block is None or block.fd is None:
        return known(SharedBlock(fd))
    os.close(fd)
    return block


def _after_fork():
    """Give a child its own block for small arrays: parent and child would hand out the same bytes."""
    _Arena.block, _Arena.taken = None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
