"""Protocols of Tensor: DLPack, NumPy's array interface, the buffer protocol, copying and pickling."""

import copyreg
import ctypes
import importlib
from copy import deepcopy
from types import ModuleType
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.dim_order import order_of
from ...ir.errors import ArgumentError, AutogradError, DeviceError, DTypeError
from ...ir.lazy import lazy
from ...ir.ops.index.assign import run_chain
from ..api.register.register import FUNCTIONS
from ..core import device as devices
from ..core.device import DRIVERS, available, require
from ..core.device_array import DeviceArray, contiguous_strides
from ..core.dispatch import route_kernels
from ..core.placement import move_to
from ..core.storage import Storage
from ..core.tensor import Tensor, wrap
from ..state.mode import tls
from . import dlpack_types

dlpack = lazy(__package__, ".dlpack")      # only device memory needs it
_ARRAY_API = f"{__package__.rpartition('.')[0]}.array_api"     # loaded on first use


class ExportError(AutogradError, BufferError):
    """The memory of a tensor cannot be exported in this form."""


# DLPack. NumPy speaks it for its own dtypes; others travel as integers with the type code changed.

_CPU, _CUDA, _CPU_PINNED = 1, 2, 3
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None) -> Any:
    """Return a DLPack capsule of this tensor's memory, without a copy unless requested."""
    if self.requires_grad:
        raise ExportError("a tensor that requires grad cannot be exported; use .detach()")
    if self._a.__class__ is DeviceArray:
        return device_capsule(self, stream, dl_device, copy)
    if dl_device is not None and tuple(dl_device) != (_CPU, 0):
        raise ExportError(f"a tensor on the CPU cannot be exported to DLPack device {tuple(dl_device)}")
    a = self.numpy()
    code = dlpack_types.CODES.get(a.dtype)
    plain = a if code is None else a.view(dlpack_types.SAME_SIZE[a.dtype])
    capsule = plain.__dlpack__(stream=None, max_version=max_version, dl_device=dl_device, copy=copy)
    if code is not None:
        dlpack.header_of(capsule).code = code
    return capsule


def __dlpack_device__(self) -> tuple:
    """Return (device type, index) in DLPack's numbers."""
    return (_CUDA, self._a.device) if self._a.__class__ is DeviceArray else (_CPU, 0)


def device_capsule(t, stream, dl_device, copy):
    """Return a capsule of device memory; work of the consumer's stream follows that of the current stream."""
    a = t._a
    if dl_device is not None and tuple(dl_device) != (_CUDA, a.device):
        raise ExportError(f"a tensor on {t.device} cannot be exported to DLPack device {tuple(dl_device)}; move it with .to()")
    a = a.copy() if copy else a
    a.backend.before_export(a, stream)
    return dlpack.capsule(a, _CUDA, a.device)


class _Holder:
    """Capsule in the form that numpy.from_dlpack takes."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **kwargs) -> Any:
        return self.capsule

    def __dlpack_device__(self):
        return (_CPU, 0)


class _Writable:
    """Memory of an old DLPack capsule, which has no flag for writing; that protocol allows it."""

    def __init__(self, a):
        self.owner = a
        self.__array_interface__ = {**a.__array_interface__, "data": (a.__array_interface__["data"][0], False)}


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """Return a tensor over the memory of an object with DLPack (or of a capsule), without a copy unless requested."""
    if device is not None:
        require(device)
    if isinstance(ext_tensor, Tensor):
        return wrap(ext_tensor.detach()._a.copy()) if copy else ext_tensor.detach()
    found = _on_device(ext_tensor)
    if found is not None:
        return wrap(found.copy() if copy else found)
    a = _array_from_capsule(_capsule_of(ext_tensor, copy))
    return wrap(np.array(a)) if copy else lent(aligned(a, "from_dlpack"))


def aligned(a, name: str) -> np.ndarray:
    """Return an array with elements at multiples of their size, as tensors need; an unaligned read-only one is copied."""
    if a.flags.aligned:
        return a
    if a.flags.writeable:
        raise ArgumentError(f"{name}: the elements of this memory do not lie at multiples of the size of {a.dtype.name}, as a "
                            "tensor's do; give a copy, such as array.copy()")
    return a.copy()


def lent(a) -> Tensor:
    """Return a tensor over memory that others see."""
    t = wrap(a)
    t._storage.lend()
    return t


def _on_device(x):
    """Return the array over accelerator memory that `x` exports, or None."""
    if type(x).__name__ == "PyCapsule" or not hasattr(x, "__dlpack_device__"):
        return None
    kind, index = x.__dlpack_device__()
    if kind != _CUDA or not available("cuda"):
        return None
    backend = DRIVERS["cuda"]
    route_kernels()
    return dlpack.imported(x.__dlpack__(stream=backend.import_stream(index)), lambda *layout: backend.foreign(index, *layout))


def _capsule_of(x, copy):
    if type(x).__name__ == "PyCapsule":
        return x
    if not hasattr(x, "__dlpack__"):
        raise DTypeError(f"from_dlpack takes an object with __dlpack__ or a capsule, got {type(x).__name__}")
    kind, index = x.__dlpack_device__()
    if kind not in (_CPU, _CPU_PINNED):
        raise DeviceError(f"from_dlpack: memory of DLPack device ({int(kind)}, {index}) cannot be used here; move it to the "
                          "CPU first")
    try:
        try:
            return x.__dlpack__(max_version=(1, 0))
        except TypeError:
            return x.__dlpack__()
    except BufferError as e:
        raise ExportError(f"from_dlpack: {type(x).__name__} could not be exported: {e}") from None


def _array_from_capsule(capsule) -> np.ndarray:
    header = dlpack.header_of(capsule)
    kind = dlpack_types.dtype_of_code(header.code, header.bits)
    old = _is_valid(capsule, b"dltensor")
    if kind is not None:
        header.code = dlpack_types.INTEGER
    try:
        a = np.from_dlpack(_Holder(capsule))
    except (BufferError, RuntimeError, ValueError) as e:
        raise DTypeError(f"from_dlpack: {e}") from None
    if old and not a.flags.writeable:
        a = np.asarray(_Writable(a))
    if kind is not None:
        a = a.view(kind)
    dt.from_numpy(a.dtype)
    return a


# NumPy's array interface, and Python's buffer protocol (3.12).


def _array_interface(self) -> dict:
    """NumPy's description of this tensor's memory."""
    if self._a.dtype in dlpack_types.CODES:
        raise AttributeError(f"the array interface has no {self._a.dtype.name}")
    self._storage.lend()      # an address has no end of use
    return self.numpy().__array_interface__


def _cuda_array_interface(self) -> dict:
    """Description of this tensor's GPU memory for CuPy and Numba, with the stream of its work."""
    a = self._a
    if not self.is_cuda or a.dtype in dlpack_types.CODES:
        raise AttributeError(f"a tensor of {self.dtype.name} on {self.device} has no __cuda_array_interface__")
    if self.requires_grad:
        raise ExportError("a tensor that requires grad cannot be exported; use .detach()")
    self._storage.lend()
    return {"shape": a.shape, "typestr": a.dtype.str, "descr": [("", a.dtype.str)], "version": 3,
            "strides": None if a.is_contiguous else a.strides, "data": (a.pointer if a.size else 0, False),
            "stream": a.backend.import_stream(a.device)}


def from_cuda_array(x) -> Tensor:
    """Return a tensor over the GPU memory in an object's `__cuda_array_interface__`."""
    interface, backend = x.__cuda_array_interface__, DRIVERS["cuda"]
    pointer, kind = interface["data"][0], dt.from_numpy(np.dtype(interface["typestr"])).np
    if interface.get("mask") is not None:
        raise DTypeError("a tensor cannot be made over memory with a mask")
    route_kernels()
    index, shape = backend.device_of(pointer), tuple(interface["shape"])
    if interface.get("stream") is not None:
        backend.after_import(index, interface["stream"])
    strides = interface.get("strides") or contiguous_strides(shape, kind.itemsize)
    return wrap(backend.foreign(index, pointer, shape, kind, tuple(strides), x))


_PYBUF_WRITABLE = 1


def __buffer__(self, flags) -> memoryview:
    """Return this tensor's memory as a memoryview."""
    a = self.numpy()
    if a.dtype in dlpack_types.CODES:
        raise BufferError(f"the buffer protocol has no {a.dtype.name}; use .view(ingot.{dlpack_types.SAME_SIZE[a.dtype]})")
    if flags & _PYBUF_WRITABLE and not a.flags.writeable:
        raise BufferError("the memory of this tensor is read-only")
    return memoryview(a)


# Copying and pickling. Tensors that share memory keep sharing it: each is a window into the array that owns the memory, and
# owners (and storages) are written once.

copyreg.pickle(Storage, lambda storage: (Storage, ()))
_RECORDERS = ("_traced", "_gradient_of", "_lies_over")
_NOT_STATE = ("_base", "_data_version", "_path", "_retained_grad", "_former_leaf", "_part_of", "_passed_by", "_retains")


def owner_of(a) -> np.ndarray:
    """Return the owner of the memory of `a`, seen as rows or columns; if that is impossible, a copy of `a`."""
    owner = a
    while type(owner.base) is np.ndarray:
        owner = owner.base
    order = None if owner.flags.forc else order_of(owner)
    if order is not None:
        owner = owner.transpose(order)
    return owner if owner.flags.forc else np.array(a, order="C")


def _window(a, owner) -> tuple:
    """Return shape, strides and byte offset of an array in its owner."""
    if not np.may_share_memory(a, owner) and a.size:
        return a.shape, owner.strides, 0
    offset = a.__array_interface__["data"][0] - owner.__array_interface__["data"][0] if a.size else 0
    return a.shape, a.strides, offset


def _look(owner, dtype, window) -> np.ndarray:
    shape, strides, offset = window
    if owner.shape == shape and owner.strides == strides and owner.dtype == dtype.np:
        return owner
    if 0 in shape:
        return np.empty(shape, dtype.np)
    flat = (owner if owner.flags.c_contiguous else owner.T).reshape(-1).view(np.uint8)
    return np.ndarray(shape, dtype.np, flat, offset, strides)


def attributes_of(t) -> dict:
    """Return the attributes that users have set on a tensor."""
    return {k: v for k, v in t.__dict__.items() if k not in _NOT_STATE and k not in _RECORDERS}


def give_attributes(t, attributes: dict):
    """Set users' attributes on a tensor, as named in a file."""
    t.__dict__.update({k: v for k, v in attributes.items() if isinstance(k, str) and k not in _NOT_STATE})


def _state(t) -> dict:
    """Return the attributes that users have set, with those of recorders."""
    return {k: v for k, v in t.__dict__.items() if k not in _NOT_STATE}


def rebuild_tensor(cls, owner, storage, dtype, window, requires_grad, state):
    """Rebuild a tensor that `Tensor.__reduce_ex__` wrote."""
    t = object.__new__(cls)
    t._a = _look(owner, dtype, window)
    t._node = None
    t._storage = storage
    t.__dict__.update(state)
    return t.requires_grad_() if requires_grad else t


def on_device(cls, host, device, requires_grad, state):
    """Rebuild a device tensor that `Tensor.__reduce_ex__` wrote."""
    t = object.__new__(cls)
    t._a = move_to(host, device)._a
    t._node = t._shared = None
    t.__dict__.update(state)
    return t.requires_grad_() if requires_grad else t


def __reduce_ex__(self, protocol) -> tuple:
    """Pickle memory, class, attributes and requires_grad; drop the history."""
    if self._a.__class__ is DeviceArray:
        return on_device, (type(self), self.detach().cpu(), str(self.device), self.requires_grad, _state(self))
    a = self._to_copy()
    owner = owner_of(a)
    return rebuild_tensor, (type(self), owner, self._storage, self.dtype, _window(a, owner), self.requires_grad, _state(self))


def __copy__(self):
    """Return a new tensor over the same memory."""
    if tls.m.recorder is not None:
        tls.m.recorder.link(self)       # so that both know the same of their memory
    if self._a.__class__ is DeviceArray:
        return _same_memory(self)
    made = rebuild_tensor(type(self), self._a, self._storage, self.dtype, (self._a.shape, self._a.strides, 0),
                          self.requires_grad, _state(self))
    made.grad = self.grad
    return made


def _same_memory(t):
    """Return a tensor over the same device memory."""
    made = object.__new__(type(t))
    made._a, made._node, made._storage = t._a, None, t._storage
    made.__dict__.update(_state(t))
    made = made.requires_grad_() if t.requires_grad else made
    made.grad = t.grad
    return made


def recorded_copy(t, memo) -> Tensor:
    """Return a copy by an operator, of all memory of which `t` is a part, for the active recorder. Tensors that share memory
    share the copy. The part that a view from outside shows is not known, so it is refused."""
    recorder: Any = tls.m.recorder
    root = t if t._base is None else t._base
    source, fresh = memo.get(("recorded", id(root._storage)), (root, None))
    if source is not root and not _look_alike(source._a, root._a):
        recorder.refuse(*_DEEP_COPIES)
    if fresh is None:
        fresh = FUNCTIONS["clone"](root.detach())
        memo["recorded", id(root._storage)] = root, fresh
    if t is root:
        return fresh.detach()
    chain = recorder.chain_of(t)
    if not chain or recorder.chain_of(root) or fresh._a.strides != root._a.strides:
        recorder.refuse(*_DEEP_COPIES)
    return run_chain(fresh.detach(), chain)


_DEEP_COPIES = ("it makes a deep copy of a view, of which a trace does not know how it lies in memory",
                "copy it with t.clone(), or outside of the function")


def _look_alike(a, b) -> bool:
    """Return whether two arrays are the same part of memory."""
    return a is b or (type(a) is type(b) is np.ndarray and a.__array_interface__ == b.__array_interface__)


def taken_along(t, copied, memo) -> Tensor:
    """Give a copy the attributes, gradient and requires_grad of its original."""
    memo[id(t)] = copied
    copied.__dict__.update(deepcopy(attributes_of(t), memo))
    if t.requires_grad:
        copied.requires_grad_()
    copied.grad = gradient_of_copy(t, memo)
    return copied


def gradient_of_copy(t, memo):
    """Return the gradient for a deep copy of a tensor."""
    if t.grad is None or not t._grad_is_copied:
        return None
    return t.grad.clone() if t.grad.is_sparse else deepcopy(t.grad, memo)


def __deepcopy__(self, memo):
    """Return a copy in new memory; tensors that share memory share the copy as well."""
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise AutogradError("only leaf tensors can be deep-copied, this one was computed; use .detach() or .clone()")
    if tls.m.recorder is not None and type(self) is Tensor:
        return taken_along(self, recorded_copy(self, memo), memo)
    if self._a.__class__ is DeviceArray:
        copied = on_device(type(self), wrap(self._a.copy()), self.device, self.requires_grad, {})
    else:
        a = self._to_copy()
        owner = owner_of(a)
        fresh = memo.get(id(owner))
        if fresh is None:
            fresh = memo[id(owner)] = np.array(owner, order="K")
        storage = memo.get(id(self._storage))
        if storage is None:
            storage = memo[id(self._storage)] = Storage()
        memo.setdefault(id(memo), []).append((self, owner))     # keeps them alive, so that their ids stay unique
        copied = rebuild_tensor(type(self), fresh, storage, self.dtype, _window(a, owner), self.requires_grad, {})
    memo[id(self)] = copied
    copied.__dict__.update(deepcopy(_state(self), memo))
    copied.grad = gradient_of_copy(self, memo)
    return copied


for _fn in (__dlpack__, __dlpack_device__, __buffer__, __reduce_ex__, __copy__, __deepcopy__):
    setattr(Tensor, _fn.__name__, _fn)
Tensor.__array_interface__ = property(_array_interface)  # type: ignore[assignment]
Tensor.__cuda_array_interface__ = property(_cuda_array_interface)  # type: ignore[assignment]


# The array API standard.


def __array_namespace__(self, *, api_version=None) -> ModuleType:
    """Return the array API namespace, `ingot.array_api`."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ArgumentError(f"array API version {api_version!r} is not available; this is 2024.12")
    return importlib.import_module(_ARRAY_API)


def to_device(self, device, /, *, stream=None):
    """Move this tensor to a device."""
    if stream is not None and self.device.type == "cpu" and require(device).type == "cpu":
        raise ArgumentError("to_device takes no stream on the CPU")
    return self.to(require(device))


Tensor.__array_namespace__ = __array_namespace__
Tensor.to_device = to_device

FUNCTIONS.update(device=devices.Device, get_default_device=devices.get_default_device,
                 set_default_device=devices.set_default_device, from_dlpack=from_dlpack)
