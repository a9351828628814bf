"""Parameters and buffers: tensors that modules own."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot import dtype as _dtype
from ingot.nn import UninitializedBuffer as UninitializedBuffer
from ingot.nn import UninitializedParameter as UninitializedParameter

class Owned(_Tensor):
    """Base of parameters and buffers: copies and pickles keep the class."""
    def __init__(self, *args: _t.Any, **kwargs: _t.Any) -> None: ...

class UninitializedTensorMixin:
    """A tensor of a lazy module without a shape. It has a dtype and a device; other queries raise until the first call sets
    a shape."""
    cls_to_become: _t.Any
    def convert(self, fn: _t.Any) -> None:
        """Take over the dtype and device of `fn(tensor)` for later."""
    def detach(self) -> _t.Self:
        """Return the tensor itself: nothing else can stand for a tensor without shape."""
    @_b.property
    def device(self) -> _t.Any: ...
    @_b.property
    def dtype(self) -> _t.Any: ...
    @_b.property
    def is_cuda(self) -> _t.Any: ...
    @_b.property
    def is_meta(self) -> _t.Any: ...
    def materialize(self, shape: _t.Any, device: _device | _b.str | _b.int | None = None,
                    dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None:
        """Allocate the tensor with a shape; the module fills it."""

def is_lazy(t: _t.Any) -> _b.bool:
    """Return whether a tensor has no shape yet."""
def kept_again(name: _t.Any, data: _t.Any, requires_grad: _b.bool, state: _t.Any) -> _t.Any:
    """Rebuild a parameter or buffer of a user's class."""
def over(cls: _t.Any, data: _t.Any) -> _t.Any:
    """Return a tensor of class `cls` over the memory of `data` without its history, or over a copy if the memory is read-
    only."""
def owned_again(name: _t.Any, data: _t.Any, requires_grad: _b.bool) -> _t.Any:
    """Rebuild a parameter or buffer."""
def uninitialized_again(is_parameter: _t.Any, placeholder: _t.Any, requires_grad: _b.bool) -> _t.Any:
    """Rebuild a pickled tensor without shape."""
def without_shape(kind: _t.Any, t: _t.Any) -> _t.Any:
    """Return a tensor without shape, of the dtype and device of another one."""
