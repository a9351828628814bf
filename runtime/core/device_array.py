"""DeviceArray: the array of a tensor that is not in host memory, with the attributes of a NumPy array.

Only the kernels of its backend reach its elements. `BACKENDS` maps a kind of device to its backend, which runs operators on
such arrays and moves them. The backend also answers the NumPy functions that the runtime calls on arrays (ufuncs with a record,
copyto), so most of the runtime need not know where an array is.
"""

from functools import cache
from math import prod
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import DeviceError, DTypeError
from ...ir.opdef.aval import Aval
from ...ir.opdef.op import OPS
from ...passes.rewrite.strided import Pattern, row_major, through

BACKENDS: dict[str, Any] = {}
_new = object.__new__
SAMPLE = "batch"    # kind of arrays of one sample of vmap (`func/vmap_level.py`): their memory is the tensor of all samples
MESH = "mesh"       # kind of arrays that several processes share (`distributed/tensor`): strides do not reach their elements


class Flags:
    """Flags of device arrays, by NumPy's names; many arrays share them."""

    __slots__ = ("c_contiguous", "owndata")
    aligned = writeable = True

    def __init__(self, c_contiguous, owndata):
        self.c_contiguous, self.owndata = c_contiguous, owndata

    @property
    def carray(self) -> bool:
        """Row-major and writable."""
        return self.c_contiguous

    @property
    def forc(self) -> bool:
        """Row-major; column-major arrays count as strided."""
        return self.c_contiguous


_FLAGS = [[Flags(contiguous, owns) for owns in (False, True)] for contiguous in (False, True)]


class DeviceArray:
    """Elements of one dtype in device memory.

    memory          owner of the memory: `pointer`, `nbytes`, `device` (an index)
    offset          bytes from the memory's start to the first element
    strides         in bytes, as in NumPy
    base            None for memory of its own, else the array that this one is a view of
    layout          number of its layout, once its backend has asked for one
    is_contiguous   the elements are row-major without gaps
    """

    __slots__ = ("__weakref__", "base", "dtype", "is_contiguous", "kind", "layout", "memory", "offset", "shape", "strides")
    __array_priority__ = 2000

    def __init__(self, kind: str, memory, shape, dtype, strides=None, offset=0, base=None):
        self.kind, self.memory, self.base, self.offset, self.layout = kind, memory, base, offset, 0
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        if strides is None:
            self.strides, self.is_contiguous = contiguous_strides(self.shape, self.dtype.itemsize), True
        else:
            self.strides = tuple(strides)
            self.is_contiguous = is_row_major(self.shape, self.strides, self.dtype.itemsize)

    @property
    def pointer(self) -> int:
        return self.memory.pointer + self.offset

    @property
    def device(self) -> int:
        return self.memory.device

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def flags(self) -> Flags:
        return _FLAGS[self.is_contiguous][self.base is None]

    @property
    def T(self) -> "DeviceArray":
        return self.transpose()

    @property
    def backend(self):
        return BACKENDS[self.kind]

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<array {self.dtype.name}{list(self.shape)} on {self.kind}:{self.device}>"

    # Looking at the same memory in another way.

    def look(self, shape, strides, offset=0, dtype=None) -> "DeviceArray":
        """Return another array over the same memory; strides and the further offset are in bytes."""
        return DeviceArray(self.kind, self.memory, shape, dtype or self.dtype, strides, self.offset + offset,
                           self if self.base is None else self.base)

    def elsewhere(self, memory, offset: int = 0) -> "DeviceArray":
        """Return an array of the same layout in other memory."""
        made = _new(DeviceArray)
        made.kind, made.memory, made.offset, made.base, made.layout = self.kind, memory, offset, None, 0
        made.shape, made.dtype, made.strides, made.is_contiguous = self.shape, self.dtype, self.strides, self.is_contiguous
        return made

    def __getitem__(self, key) -> "DeviceArray":
        """Return a part of the same memory, by ints, slices and an Ellipsis."""
        key = key if type(key) is tuple else (key,)
        if Ellipsis in key:
            at = key.index(Ellipsis)
            key = (*key[:at], *[slice(None)] * (self.ndim + 1 - len(key)), *key[at + 1:])
        if self.kind == MESH:
            return self.backend.item(self, key)
        shape, strides, offset = [], [], 0
        for axis, (k, n, s) in enumerate(zip(key, self.shape, self.strides)):
            if isinstance(k, slice):
                indices = range(*k.indices(n))
                shape.append(len(indices))
                strides.append(s * indices.step)
                offset += indices.start * s if indices else 0
            elif -n <= k < n:
                offset += k % n * s
            else:
                raise IndexError(f"index {k} is out of bounds for axis {axis} with size {n}")
        return self.look((*shape, *self.shape[len(key):]), (*strides, *self.strides[len(key):]), offset)

    def __setitem__(self, key, value):
        self.backend.write(self[key], value)

    def view(self, dtype) -> "DeviceArray":
        """Return the same bits as another dtype."""
        new, old = np.dtype(dtype), self.dtype
        if new.itemsize == old.itemsize:
            return self.look(self.shape, self.strides, 0, new)
        if not self.shape or self.strides[-1] != old.itemsize or self.shape[-1] * old.itemsize % new.itemsize:
            raise DTypeError(f"{self!r} cannot be read as {new.name}: its last dimension is not a whole number of elements")
        if any(s % new.itemsize for s in self.strides[:-1]) or self.offset % new.itemsize:
            raise DTypeError(f"{self!r} cannot be read as {new.name}: its rows do not start on whole elements")
        last = self.shape[-1] * old.itemsize // new.itemsize
        return self.look((*self.shape[:-1], last), (*self.strides[:-1], new.itemsize), 0, new)

    def viewed(self, op, params: dict) -> "DeviceArray":
        """Return the result of a view operator; a copy where strides cannot express it."""
        if self.kind == MESH:
            return self.backend.run(op, (self,), params)
        if op.name == "bitcast":
            return self.view(params["dtype"].np)
        if op.name == "as_strided":         # the one view that may reach beyond what there is
            op.infer(Aval(self.shape, dt.from_numpy(self.dtype)), **params)
        n = self.dtype.itemsize
        if 0 in self.shape or any(s % n for s in self.strides):
            return self._viewed_apart(op, params)
        seen = through(Pattern(self.shape, tuple([s // n for s in self.strides])), op, params)
        if seen is None:
            return self._viewed_apart(op, params)
        return self.look(seen.shape, [s * n for s in seen.strides], seen.offset * n)

    def _viewed_apart(self, op, params):
        """Return the result of a view operator on a row-major copy."""
        if 0 in self.shape:
            shape = op.ref(np.empty(self.shape, self.dtype), **params).shape
            return DeviceArray(self.kind, self.memory, shape, self.dtype, None, self.offset, self)
        made, n = self.backend.copied(self), self.dtype.itemsize
        seen = through(row_major(self.shape), op, params)
        if seen is None:
            raise DeviceError(f"{op.name} of {self!r} cannot be said by strides")
        return DeviceArray(self.kind, made.memory, seen.shape, self.dtype, [s * n for s in seen.strides],
                           made.offset + seen.offset * n)

    def reshape(self, *shape) -> "DeviceArray":
        sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return self.viewed(OPS["reshape"], {"shape": _without_gap(sizes, self.size)})

    def _reshaped(self, shape, copy=None) -> "DeviceArray":
        """Answer `np.reshape`; raise ValueError if it needs a copy that is not allowed."""
        made = self.reshape(shape)
        if copy is False and made.memory is not self.memory:
            raise ValueError("the strides do not allow this shape")
        return made

    def transpose(self, *dims) -> "DeviceArray":
        order = tuple(dims[0]) if len(dims) == 1 and not isinstance(dims[0], int) else dims
        return self.viewed(OPS["permute"], {"dims": order or tuple(range(self.ndim))[::-1]})

    # Reading and writing.

    def numpy(self) -> np.ndarray:
        """Return the elements in host memory."""
        return self.backend.to_host(self)

    def item(self):
        return self.numpy().item()

    def tolist(self):
        return self.numpy().tolist()

    def min(self):
        """Return the least element as a Python number."""
        return self._extreme("amin")

    def max(self):
        """Return the largest element as a Python number."""
        return self._extreme("amax")

    def _extreme(self, name):
        if not self.ndim:
            return self.item()
        return self.backend.run(OPS[name], (self,), {"dim": tuple(range(self.ndim)), "keepdim": False}).item()

    def astype(self, dtype, copy=True, **_) -> "DeviceArray":
        """Return the elements in another dtype, on the same device."""
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return self.backend.converted(self, np.dtype(dtype))

    def copy(self, order="C") -> "DeviceArray":
        """Return a copy in the same memory order. `order` is ignored: it says so for NumPy arrays, which share this call."""
        return self.backend.copied(self)

    def __reduce__(self):
        return restored, (self.kind, self.device, self.numpy())

    def __array__(self, dtype=None, copy=None):
        raise DTypeError(f"{self!r} is not in host memory; move the tensor with .cpu() first")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        op = _by_ufunc(len(OPS)).get(ufunc)
        if method != "__call__" or op is None or kwargs:
            return NotImplemented
        result = self.backend.run(op, inputs, {})
        if out is None:
            return result
        self.backend.write(out[0], result)
        return out[0]

    def __array_function__(self, function, types, args, kwargs):
        if function is np.copyto:
            dst, src = args[:2]
            if isinstance(dst, DeviceArray):
                self.backend.write(dst, src)
            else:
                np.copyto(dst, src.numpy(), casting="unsafe")
            return None
        if function is np.reshape:
            return self._reshaped(*args[1:], **kwargs)
        return NotImplemented


def restored(kind, index, host):
    """Return the device array that `__reduce__` wrote."""
    return BACKENDS[kind].to_device(host, index)


def is_row_major(shape, strides, step: int) -> bool:
    """Return whether elements of `step` bytes follow each other in row-major order."""
    if 0 in shape:
        return True
    for n, s in zip(reversed(shape), reversed(strides)):
        if n != 1 and s != step:
            return False
        step *= n
    return True


def contiguous_strides(shape, itemsize: int) -> tuple:
    """Return the strides in bytes of a row-major array."""
    strides, step = [], itemsize
    for n in shape[::-1]:
        strides.append(step)
        step *= n
    return tuple(strides[::-1])


def _without_gap(sizes, total):
    """Return a shape with the size that -1 stands for."""
    known = 1
    for n in sizes:
        known *= n if n != -1 else 1
    return tuple([total // max(known, 1) if n == -1 else n for n in sizes])


@cache
def _by_ufunc(records: int) -> dict:
    """Return the operators that equal a ufunc, among so many records; of several the first."""
    return {op.quick: op for op in reversed(OPS.values()) if op.quick is not None}


def address_of(a) -> int:
    """Return the address of an array's first element."""
    return a.pointer if a.__class__ is DeviceArray else a.ctypes.data


def shown_address(a) -> int:
    """Return the address for code outside of ingot, which may use the memory unseen."""
    if a.__class__ is DeviceArray:
        a.backend.before_export(a, None)
    return address_of(a)


def is_sample(a) -> bool:
    """Return whether an array is that of a sample of vmap."""
    return a.__class__ is DeviceArray and a.kind == SAMPLE


def may_share_memory(a, b) -> bool:
    """Return whether two arrays, on any devices, may have elements in one place."""
    if a.__class__ is not b.__class__:
        return False
    return a.memory is b.memory if a.__class__ is DeviceArray else np.may_share_memory(a, b)


def place_of(a):
    """Return (kind, index) of an array's device; None for the host."""
    return (a.kind, a.memory.device) if a.__class__ is DeviceArray else None


def zeros_on_device_of(a, shape=None, dtype=None):
    """Return zeros on an array's device, with its shape and dtype by default."""
    return _constant_like(a, a.shape if shape is None else shape, a.dtype if dtype is None else dtype, 0)


def ones_on_device_of(a):
    """Return ones on an array's device, with its shape and dtype."""
    return _constant_like(a, a.shape, a.dtype, 1)


def _constant_like(a, shape, dtype, value):
    if a.__class__ is DeviceArray:
        if a.kind == MESH:
            return a.backend.filled_like(a, shape, dtype, value)
        return a.backend.filled(shape, dtype, value, a.device)
    made = np.zeros(shape, dtype)
    if value:
        made.fill(value)        # quicker than numpy's ones
    return made
