"""Pickling of tensors between processes: as shared memory, never as a copy of values."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import dtype as _dtype

def init_reductions() -> None:
    """Make multiprocessing send tensors as shared memory, if the platform has it."""
def rebuild_tensor(cls: _t.Any, block: _t.Any, storage: _t.Any,
                   dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any], window: _t.Any,
                   requires_grad: _b.bool, state: _t.Any) -> _t.Any:
    """Return the receiver's tensor over the same memory."""
def reduce_block(block: _SharedBlock) -> _b.tuple[_t.Any, ...]:
    """Reduce a block to a file descriptor for the receiver."""
def reduce_tensor(t: _Tensor) -> _b.tuple[_t.Any, ...]:
    """Reduce a tensor to a window into its block."""

class _SharedBlock:
    """Anonymous file, mapped into this process. Other processes map it through `fd` (None once closed)."""
    address: _t.Any
    fd: _b.int
    key: _b.tuple[_t.Any, ...]
    size: _t.Any
    def __del__(self) -> None: ...
    def __init__(self, fd: _b.int) -> None: ...
    def array(self, shape: _t.Any,
              dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any], offset: _b.int = 0,
              strides: _t.Any = None) -> _np.ndarray[_t.Any, _t.Any]:
        """Return an array over the block's memory."""
    def forget_file(self) -> None:
        """Close the file descriptor: the memory stays, but no further process can map it."""
    def lease(self, offset: _b.int, size: _b.int) -> _t.Any:
        """Return a piece of the block as a ctypes array, for use as an array's buffer; it keeps the block alive."""
    @_b.classmethod
    def new(cls, size: _b.int) -> _t.Any:
        """Return a new block of at least `size` zero bytes."""
