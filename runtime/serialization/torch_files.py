"""PyTorch's files without PyTorch: the zip format since 1.6 and the stream of pickles before it."""

import io
import struct
from collections import OrderedDict

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, FileError
from ..api.register.layouts import layout_named
from ..api.register.register import FUNCTIONS
from ..api.sparse.sparse_factories import rebuilt
from ..api.tensor_classes.typed_storage import TypedStorage
from ..core.device import Device
from ..core.tensor import Size, Tensor, wrap
from ..interop.tensor_protocols import give_attributes, on_device
from . import numpy_pickles
from .archive import Archive, fill
from .file_buffers import Block
from .read_budget import ReadBudget, count_of, shown
from .safe_unpickler import PLAIN_GLOBALS, Callable_, PickleMachine, are_atoms, are_plain
from .tensor_class_names import LAZY, as_class, lazy_class

LEGACY_HEAD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."      # pickle of the legacy format's magic number
_LEGACY_PROTOCOL = 1001

_STORAGE_NAMES = {"Double": dt.float64, "Float": dt.float32, "Half": dt.float16, "BFloat16": dt.bfloat16, "Long": dt.int64,
                  "Int": dt.int32, "Short": dt.int16, "Char": dt.int8, "Byte": dt.uint8, "Bool": dt.bool_,
                  "ComplexFloat": dt.complex64, "ComplexDouble": dt.complex128}


class StorageType:
    """Storage class of PyTorch, reduced to its dtype."""

    def __init__(self, dtype):
        self.dtype = dtype


class Stored:
    """Storage of a file: its block of memory, saved dtype, and the device of its tensors (None for the CPU)."""

    def __init__(self, block: Block, dtype, device=None):
        self.block, self.dtype, self.device = block, dtype, device


def _window(stored, offset, size, stride, dtype=None, cls=Tensor):
    if type(stored) is not Stored:
        raise FileError("a tensor without a storage")
    dtype = dtype or stored.dtype
    item = dtype.itemsize
    if not (isinstance(size, (tuple, list)) and isinstance(stride, (tuple, list)) and type(offset) is int):
        raise FileError(f"a tensor of size {shown(size)}, stride {shown(stride)} and offset {shown(offset)}")
    if not all(type(n) is int for n in (*size, *stride)):
        raise FileError(f"a tensor of size {shown(size)}, stride {shown(stride)} and offset {offset}")
    t = stored.block.tensor(dtype, tuple(size), tuple(s * item for s in stride), offset * item, cls)
    if stored.device is None:
        return t
    stored.block.budget.take_bytes(t._a.nbytes, f"a tensor of shape {shown(size)} on {stored.device}")
    return on_device(cls, t, stored.device, False, {})


def _rebuild_tensor(storage, offset, size, stride):
    return _window(storage, offset, size, stride)


def _rebuild_tensor_v2(storage, offset, size, stride, requires_grad=False, backward_hooks=None, metadata=None):
    return _resolved(_window(storage, offset, size, stride), storage, metadata).requires_grad_(requires_grad is True)


def _resolved(t, storage, metadata):
    """Apply PyTorch's lazy conjugation and negation."""
    for name, function in (("conj", "conj_physical"), ("neg", "neg")):
        if type(metadata) is dict and metadata.get(name) is True:
            storage.block.budget.take_bytes(t.numel() * t.dtype.itemsize, f"{name} of a tensor of shape {list(t.shape)}")
            t = FUNCTIONS[function](t)
    return t


def _rebuild_tensor_v3(storage, offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    if type(dtype) is not dt.DType:
        raise FileError("a tensor of unknown dtype")
    return _resolved(_window(storage, offset, size, stride, dtype), storage, metadata).requires_grad_(requires_grad is True)


def _rebuild_parameter(data, requires_grad=True, backward_hooks=None, state=None):
    if not isinstance(data, Tensor):
        raise FileError("a parameter that is no tensor")
    made = as_class(data, "Parameter").requires_grad_(requires_grad is True)
    return _with_attributes(made, state)


def _with_attributes(t, state):
    """Return a tensor with the user's attributes; classes with slots have these behind."""
    attributes = state[0] if type(state) is tuple and state else state
    if type(attributes) is dict:
        give_attributes(t, attributes)
    return t


def _rebuild_buffer(data, requires_grad=False, persistent=True):
    if not isinstance(data, Tensor):
        raise FileError("a buffer that is no tensor")
    return as_class(data, "Buffer").requires_grad_(requires_grad is True)


def _uninitialized(name):
    """Return a table entry that makes a tensor of a lazy module, without a shape yet."""
    return Callable_(lambda requires_grad=True: lazy_class(name)().requires_grad_(requires_grad is True))


def _rebuild_from_type_v2(fn, cls, args, state):
    """Return a tensor with attributes; of a subclass, its data as a plain tensor."""
    if type(fn) is not Callable_ or fn.fn not in _REBUILDERS or type(args) is not tuple:
        raise FileError("a tensor subclass that is rebuilt by its own code")
    return _with_attributes(fn.fn(*args), state)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    if type(dtype) is not dt.DType:
        raise FileError(f"a tensor of dtype {shown(dtype)}")
    count_of(size, "a tensor on meta"), count_of(stride, "strides of a tensor on meta")
    made = FUNCTIONS["empty_strided"](tuple(size), tuple(stride), dtype=dtype, device="meta")
    return made.requires_grad_(requires_grad is True)


def _rebuild_sparse_tensor(layout, data):
    """Return a sparse tensor in one of PyTorch's layouts."""
    name = str(layout).rpartition(".")[2]
    if type(data) is not tuple:
        raise FileError(f"a sparse tensor of {shown(data)}")
    *parts, size = data if name != "sparse_coo" else data[:3]
    return rebuilt(name, tuple(size), name == "sparse_coo" and len(data) > 3 and bool(data[3]), *parts)


_REBUILDERS = (_rebuild_tensor, _rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_parameter, _rebuild_buffer,
               _rebuild_sparse_tensor, _rebuild_meta_tensor_no_storage)


def _size(sizes=()):
    return Size(int(n) for n in sizes)


def _layout(name):
    try:
        return layout_named(str(name))
    except ArgumentError as e:
        raise FileError(f"a tensor of another layout: {e}") from None


def _torch_globals() -> dict:
    table: dict[str, object] = {**PLAIN_GLOBALS, **numpy_pickles.GLOBALS}
    for fn in _REBUILDERS:
        table[f"torch._utils.{fn.__name__}"] = Callable_(fn, with_data=fn is _rebuild_sparse_tensor)
    table |= {"torch._utils._rebuild_parameter_with_state": Callable_(_rebuild_parameter),
              "torch._tensor._rebuild_from_type_v2": Callable_(_rebuild_from_type_v2),
              "torch.Size": Callable_(_size, are_plain), "torch.device": Callable_(Device, are_atoms), "torch.Tensor": Tensor,
              "torch.nn.parameter.Parameter": Callable_(_rebuild_parameter),
              "torch.nn.Parameter": Callable_(_rebuild_parameter),
              **{f"torch.nn.parameter.{name}": _uninitialized(name) for name in LAZY},
              "torch.serialization._get_layout": Callable_(_layout, are_atoms),
              "torch.storage.UntypedStorage": StorageType(dt.uint8), "torch.UntypedStorage": StorageType(dt.uint8)}
    for d in dt.ALL:
        table[f"torch.{d.name}"] = d
    for name, d in _STORAGE_NAMES.items():
        for module in ("torch", "torch.cuda"):
            table[f"{module}.{name}Storage"] = StorageType(d)
    return table


GLOBALS = _torch_globals()


# While only storages are searched for: parts of sparse tensors do not exist yet, and would fail their checks.
_LOOKING = {**GLOBALS, "torch._utils._rebuild_sparse_tensor": Callable_(lambda layout, data: wrap(np.empty(0, np.float32)))}


def _machine(persistent, budget, table=GLOBALS) -> PickleMachine:
    return PickleMachine(table, persistent, budget, restored=numpy_pickles.KINDS, restore=numpy_pickles.restore)


def _storage_id(pid, name):
    """Return dtype, key, number of elements and location of a storage from its persistent id."""
    if type(pid) is not tuple or len(pid) < 5 or pid[0] != "storage" or type(pid[1]) is not StorageType:
        raise FileError(f"{name}: an unknown kind of external object: {shown(pid[0] if type(pid) is tuple and pid else pid)}")
    _, kind, key, location, numel = pid[:5]
    if type(numel) is not int or numel < 0:
        raise FileError(f"{name}: a storage of {shown(numel)} elements")
    if type(key) not in (str, int) or type(location) is not str:
        raise FileError(f"{name}: a storage called {shown(key)} on {shown(location)}")
    return kind.dtype, str(key), numel, location


def _with_storages(x, done=None):
    """Return the file's content with bare storages replaced by users' storage objects. `done` has each container met so far,
    and what replaces it, by id."""
    done = {} if done is None else done
    if type(x) is Stored:
        flat = _window(x, 0, (x.block.memory.nbytes // x.dtype.itemsize,), (1,))
        return TypedStorage(flat)
    if type(x) not in (list, tuple, dict, OrderedDict):
        return x
    if id(x) in done:
        return done[id(x)][1]
    done[id(x)] = x, x
    if type(x) is tuple:
        replaced = tuple([_with_storages(v, done) for v in x])
        done[id(x)] = x, replaced if any(a is not b for a, b in zip(replaced, x)) else x
        return done[id(x)][1]
    for k, v in list(x.items() if isinstance(x, dict) else enumerate(x)):
        x[k] = _with_storages(v, done)
    return x


# The zip format.


def read_zip(archive: Archive, where):
    """Return the object of a zip archive made by torch.save; `where(location)` is the device for a storage."""
    pickles = [n for n in archive.entries if n == "data.pkl" or n.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise FileError(f"{archive.name} is a zip archive, but neither an ingot nor a PyTorch file")
    prefix = pickles[0][:-len("data.pkl")]
    if prefix + "constants.pkl" in archive.entries:
        raise FileError(f"{archive.name} is a TorchScript program; ingot loads tensors, not programs: save its state_dict()")
    order = archive.text(prefix + "byteorder").decode() if prefix + "byteorder" in archive.entries else "little"
    if order not in ("little", "big"):
        raise FileError(f"{archive.name}: unknown byte order {shown(order)}")
    found = {}

    def persistent(pid):
        dtype, key, numel, location = _storage_id(pid, archive.name)
        if key not in found:
            found[key] = archive.block(f"{prefix}data/{key}", numel * dtype.itemsize, order)
        return Stored(found[key], dtype, where(location))

    return _with_storages(_machine(persistent, archive.budget).run(io.BytesIO(archive.text(pickles[0]))))


# The legacy format: pickles of magic number, protocol, system, object and storage keys, then the storages.


def read_legacy(file, size, name, where):
    """Return the object of a file made by torch.save before 1.6; `where(location)` is the device for a storage. Storages follow
    the object, so it is read twice."""

    budget = ReadBudget(name, size)

    def plain():
        return PickleMachine(GLOBALS, _no_storage, budget).run(file)

    plain()
    if plain() != _LEGACY_PROTOCOL:
        raise FileError(f"{name}: unknown protocol of the legacy format")
    system = plain()
    if type(system) is not dict or system.get("little_endian") is not True:
        raise FileError(f"{name} was written on a big-endian machine, in the legacy format")
    found: dict = {}
    left = size

    def persistent(pid):
        nonlocal left
        dtype, key, numel, location = _storage_id(pid, name)
        view = pid[5] if len(pid) > 5 else None
        nbytes = numel * dtype.itemsize
        if key not in found:
            left -= nbytes
            if left < 0:
                raise FileError(f"{name}: its storages are larger than the file; it is cut off")
            found[key] = (Block(np.zeros(nbytes, np.uint8), name, budget), dtype)
        return _viewed(found[key][0], dtype, view, name, where(location) if is_filled else None)

    start, is_filled = file.tell(), False
    _machine(persistent, budget, _LOOKING).run(file)
    _fill_storages(file, plain(), found, name)
    file.seek(start)
    is_filled = True
    return _with_storages(_machine(persistent, budget).run(file))


def _no_storage(pid):
    raise FileError("a storage where none can be")


def _viewed(block, dtype, view, name, device):
    """Return a storage that is a part of another one."""
    if view is None:
        return Stored(block, dtype, device)
    if type(view) is not tuple or len(view) != 3:
        raise FileError(f"{name}: a view of a storage that is {shown(view)}")
    _, offset, numel = view
    item = dtype.itemsize
    whole = type(offset) is int and type(numel) is int and offset >= 0 and numel >= 0
    if not whole or (offset + numel) * item > block.memory.nbytes:
        raise FileError(f"{name}: a view of a storage that is larger than it")
    part = Block(block.memory[offset * item:(offset + numel) * item], name, block.budget)
    part.storage = block.storage
    return Stored(part, dtype, device)


def _fill_storages(file, keys, storages, name):
    if type(keys) is not list or not all(type(k) in (str, int) for k in keys) or {str(k) for k in keys} != set(storages):
        raise FileError(f"{name}: its list of storages is not that of its tensors")
    for key in keys:
        block, dtype = storages[str(key)]
        head = file.read(8)
        if len(head) != 8 or struct.unpack("<q", head)[0] * dtype.itemsize != block.memory.nbytes:
            raise FileError(f"{name}: storage {key} does not have the size that was announced")
        if fill(file, block.memory) != block.memory.nbytes:
            raise FileError(f"{name}: storage {key} is cut off")
