"""Tensors in shared memory: `Tensor.share_memory_()` and `Tensor.is_shared()`."""

import gc
import sys

import numpy as np

from ...ir.errors import AutogradError
from ..api.register.register import api
from ..core.device_array import DeviceArray
from ..core.tensor import Tensor, wrap
from ..state.mode import tls
from .shared_memory import block_of, empty


@api(function=False)
def is_shared(self) -> bool:
    """Return whether other processes can map the memory."""
    if tls.m.recorder is not None:
        tls.m.recorder.layouts.asked(self, _is_shared)
    return _is_shared(self)


def _is_shared(self) -> bool:
    return block_of(self._a) is not None


@api(function=False)
def share_memory_(self):
    """Move the memory of this tensor and its aliases to where other processes can map it. Device memory stays."""
    if self._a.__class__ is not DeviceArray and not _is_shared(self):
        if tls.m.recorder is not None:
            tls.m.recorder.refuse("it moves a tensor into shared memory", "do that outside of the function")
        _move(self)
    return self


def _move(t: Tensor):
    """Copy the whole memory of a tensor, and redirect all its aliases to the copy."""
    aliases = _aliases(t)
    arrays = [x._a for x in aliases]
    low = min(_bounds(a)[0] for a in arrays)
    size = max(_bounds(a)[1] for a in arrays) - low
    memory = empty((size,), np.uint8)
    for a in arrays:
        if a.size:
            _window(memory, a, low)[...] = a
    for x, a in zip(aliases, arrays):
        x._a = _window(memory, a, low) if a.size else memory[:0].view(a.dtype).reshape(a.shape)
    t._storage.lend()


def _bounds(a) -> tuple:
    """Return the first address of an array's memory and the end of its last element."""
    return np.lib.array_utils.byte_bounds(a) if a.size else (a.ctypes.data, a.ctypes.data)


def _window(memory, a, low):
    """Return the array in `memory` at the offset that `a` has from address `low`."""
    return np.ndarray(a.shape, a.dtype, memory.base, a.ctypes.data - low, a.strides)


def _aliases(t: Tensor) -> list:
    """Return every tensor over the same storage: its base, known views, and detached ones."""
    found = {id(x): x for x in (t, t._base, *(ref() for ref in t._storage.aliases)) if x is not None}
    if _references(t) > len(found) + _ASKING:
        found |= {id(x): x for x in gc.get_referrers(t._storage) if isinstance(x, Tensor)}
    return list(found.values())


def _references(t: Tensor) -> int:
    """Return the reference count of a tensor's storage, including this call's (which differs between releases of Python)."""
    storage = t._storage
    return sys.getrefcount(storage)


_ASKING = _references(wrap(np.zeros(1))) - 1


def check_sendable(t: Tensor):
    """Raise for a tensor whose history would be lost on the way to another process."""
    if not t.is_leaf:
        raise AutogradError("a tensor that was computed and requires grad cannot be sent to another process, as its history "
                            "stays behind; send t.detach()")
