"""CUDA graphs: captured work of a stream, launched as a whole."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import dtype as _dtype
from ingot.cuda import CUDAGraph as CUDAGraph
from ingot.cuda import CUDAGraph as _CUDAGraph
from ingot.cuda import graph as graph
from ingot.cuda import graph_pool_handle as graph_pool_handle

class Draws:
    """Keys of one graph."""
    arrays: _b.list[_t.Any]
    counts: _b.dict[_t.Any, _t.Any]
    device: _b.int
    keys: _b.list[_t.Any]
    started: _b.dict[_t.Any, _t.Any]
    def __init__(self, device: _b.int, generators: _t.Any) -> None: ...
    def array_of(self, key: _np.ndarray[_t.Any, _t.Any]) -> _DeviceArray:
        """Return the memory of a key that was just drawn, for every replay."""
    def finish(self) -> None:
        """Rewind the generators after the capture, in which nothing was drawn yet."""
    def places(self) -> _b.dict[_t.Any, _t.Any]:
        """Return where the generators stand, for `rewind`."""
    def renew(self) -> None:
        """Write the next keys for the graph, in the current stream."""
    def rewind(self, places: _b.dict[_t.Any, _t.Any]) -> None:
        """Take back a `renew` that nothing was launched for."""
    def takes(self, a: _np.ndarray[_t.Any, _t.Any]) -> _b.bool:
        """Return whether a host array looks like a key, if there are generators."""

def between_captures(device: _b.int, wait: _c.Callable[..., _t.Any]) -> None:
    """Call a function that waits for a whole device. That breaks captures, so wait for those of other threads, and let none
    begin meanwhile."""
def capture(cuda_graph: _CUDAGraph, work: _c.Callable[..., _t.Any], stream: _t.Any, pool: _t.Any = None) -> _t.Any:
    """Return `work()`, captured on a stream."""
def reset_ended() -> None:
    """Reset the graphs that nobody has any more; not those that another thread still captures."""

class _DeviceArray:
    """Elements of one dtype in device memory."""
    base: _t.Any
    dtype: _t.Any
    is_contiguous: _b.bool
    kind: _b.str
    layout: _b.int
    memory: _t.Any
    offset: _t.Any
    shape: _b.tuple[_t.Any, ...]
    strides: _b.tuple[_t.Any, ...]
    @_b.property
    def T(self) -> _DeviceArray: ...
    def __array__(self, dtype: _t.Any = None, copy: _t.Any = None) -> _t.Any: ...
    def __array_function__(self, function: _t.Any, types: _t.Any, args: _t.Any, kwargs: _t.Any) -> _t.Any: ...
    __array_priority__: _b.int
    def __array_ufunc__(self, ufunc: _t.Any, method: _t.Any, *inputs: _t.Any, out: _t.Any = None, **kwargs: _t.Any) -> _t.Any: ...
    def __getitem__(self, key: _t.Any) -> _DeviceArray:
        """Return a part of the same memory, by ints, slices and an Ellipsis."""
    def __init__(self, kind: _b.str, memory: _t.Any, shape: _t.Any,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any], strides: _t.Any = None,
                 offset: _t.Any = 0, base: _t.Any = None) -> None: ...
    def __len__(self) -> _b.int: ...
    def __setitem__(self, key: _t.Any, value: _t.Any) -> None: ...
    def astype(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any], copy: _b.bool = True,
               **_: _t.Any) -> _DeviceArray:
        """Return the elements in another dtype, on the same device."""
    @_b.property
    def backend(self) -> _t.Any: ...
    def copy(self, order: _b.str = 'C') -> _DeviceArray:
        """Return a copy in the same memory order. `order` is ignored: it says so for NumPy arrays, which share this call."""
    @_b.property
    def device(self) -> _b.int: ...
    def elsewhere(self, memory: _t.Any, offset: _b.int = 0) -> _DeviceArray:
        """Return an array of the same layout in other memory."""
    @_b.property
    def flags(self) -> _Flags: ...
    def item(self) -> _t.Any: ...
    @_b.property
    def itemsize(self) -> _b.int: ...
    def look(self, shape: _t.Any, strides: _t.Any, offset: _t.Any = 0,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _DeviceArray:
        """Return another array over the same memory; strides and the further offset are in bytes."""
    def max(self) -> _t.Any:
        """Return the largest element as a Python number."""
    def min(self) -> _t.Any:
        """Return the least element as a Python number."""
    @_b.property
    def nbytes(self) -> _b.int: ...
    @_b.property
    def ndim(self) -> _b.int: ...
    def numpy(self) -> _np.ndarray[_t.Any, _t.Any]:
        """Return the elements in host memory."""
    @_b.property
    def pointer(self) -> _b.int: ...
    def reshape(self, *shape: _t.Any) -> _DeviceArray: ...
    @_b.property
    def size(self) -> _b.int: ...
    def tolist(self) -> _t.Any: ...
    def transpose(self, *dims: _t.Any) -> _DeviceArray: ...
    def view(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]) -> _DeviceArray:
        """Return the same bits as another dtype."""
    def viewed(self, op: _t.Any, params: _b.dict[_t.Any, _t.Any]) -> _DeviceArray:
        """Return the result of a view operator; a copy where strides cannot express it."""

class _Flags:
    """Flags of device arrays, by NumPy's names; many arrays share them."""
    c_contiguous: _t.Any
    owndata: _t.Any
    def __init__(self, c_contiguous: _t.Any, owndata: _t.Any) -> None: ...
    aligned: _b.bool
    @_b.property
    def carray(self) -> _b.bool:
        """Row-major and writable."""
    @_b.property
    def forc(self) -> _b.bool:
        """Row-major; column-major arrays count as strided."""
    writeable: _b.bool
