"""Nested Python data with tensors as plain JSON, and back: the index of an ingot file.

Numbers, strings, booleans, None and lists are themselves. Everything else is an object with one key that names its kind.
"""

import base64
import math
from collections import OrderedDict
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError, FileError
from ..api.register.layouts import layout, layout_named
from ..api.register.memory_formats import MemoryFormat, format_of
from ..api.register.register import FUNCTIONS
from ..api.sparse.sparse_factories import described, rebuilt
from ..api.sparse.sparse_tensor import SparseTensor
from ..api.tensor_classes.typed_storage import TypedStorage, UntypedStorage
from ..core.device import Device
from ..core.tensor import Size, Tensor, class_for
from ..interop.tensor_protocols import attributes_of, give_attributes, on_device, owner_of
from ..state.messages import warn
from .file_buffers import Block
from .read_budget import ReadBudget, shown
from .tensor_class_names import as_class, class_named, name_of

MAX_DEPTH = 100


def no_device(location):
    """Return None: all tensors go to the CPU."""


class Writer:
    """Encoder of data to JSON, which collects the memory of its tensors."""

    def __init__(self):
        self.tensors = []       # one description for each tensor
        self.owners = []        # (array, first byte, last byte) of each block
        self._tensor_index = {}
        self._owner_index = {}
        self._tensors_alive = []         # keeps objects alive whose ids are keys
        self._path = []
        self._open = set()

    def encode(self, x):
        """Return the JSON form of `x`; raise a DTypeError that says where in the data something cannot be saved."""
        kind = type(x)
        if x is None or kind in (bool, int, str):
            return x
        if kind is float:
            return x if math.isfinite(x) else {"float": repr(x)}
        if isinstance(x, SparseTensor):
            return {"sparse": self.items((name_of(type(x)) or "Tensor", *described(x)))}
        if isinstance(x, Tensor):
            return {"tensor": self._tensor(x)} if not x.is_meta else {"meta": self._shape_of(x)}
        if isinstance(x, UntypedStorage):
            return {"storage": [isinstance(x, TypedStorage), self._tensor(x.flat())]}
        if kind in _CONTAINERS:
            return self._container(x, kind)
        if kind in _SCALARS:
            return _SCALARS[kind](x)
        if isinstance(x, np.generic) and x.dtype in dt.BY_NP:
            return {"number": [dt.from_numpy(x.dtype).name, self.encode(x.item())]}
        if kind is np.ndarray:
            return {"array": self._array(x, None, False)}
        raise self._refuse(x)

    def _refuse(self, x):
        where = "".join(f"[{p!r}]" for p in self._path)
        return DTypeError(f"save: {'the object' if not where else 'the value at ' + where} is a "
                          f"{type(x).__module__}.{type(x).__qualname__}, which ingot files do not hold; save tensors, "
                          "numbers, strings, None and dicts, lists, tuples and sets of them (of a module or an "
                          "optimizer its state_dict())")

    def _container(self, x, kind):
        if id(x) in self._open or len(self._path) > MAX_DEPTH:
            raise ArgumentError("save: the data contains itself" if id(x) in self._open else
                                f"save: the data is nested more than {MAX_DEPTH} deep")
        self._open.add(id(x))
        try:
            return _CONTAINERS[kind](self, x)
        finally:
            self._open.discard(id(x))

    def items(self, values):
        """Encode the values of a sequence."""
        return [self._at(i, v) for i, v in enumerate(values)]

    def pairs(self, mapping):
        """Encode keys and values of a mapping."""
        return [[self._at("key", k), self._at(k, v)] for k, v in mapping.items()]

    def _at(self, place, x):
        self._path.append(place)
        encoded = self.encode(x)
        self._path.pop()
        return encoded

    def _tensor(self, t):
        index = self._tensor_index.get(id(t))
        if index is None:
            if name_of(type(t)) is None or class_for(t._a) is not Tensor:
                raise self._refuse(t)
            a = t.detach().cpu()._to_copy()
            index = self._tensor_index[id(t)] = self._array(a, name_of(type(t)), t.requires_grad)
            if not t.is_cpu:
                self.tensors[index]["device"] = str(t.device)
            self._tensors_alive.append(t)
            attributes = self._attributes(t)
            if attributes:
                self.tensors[index]["attributes"] = attributes
        return index

    def _shape_of(self, t):
        """Return the description of a tensor on the meta device: all but values."""
        if name_of(type(t)) is None:
            raise self._refuse(t)
        return [name_of(type(t)), t.dtype.name, list(t.shape), list(t.stride()), t.requires_grad]

    def _attributes(self, t):
        """Return the attributes that the user has set on a tensor; warn about those that files do not hold."""
        found, path = [], list(self._path)
        for name, value in attributes_of(t).items():
            if (name, value) == ("persistent", True):       # the default of buffers
                continue
            try:
                found.append([name, self._at(name, value)])
            except DTypeError:
                self._path[:] = path
                warn(f"save: the attribute {name!r} of a tensor holds a {type(value).__qualname__}; it is left out")
        return found

    def _array(self, a, cls, requires_grad):
        owner = owner_of(a)
        dtype = dt.from_numpy(a.dtype)
        window = self._place(a, owner)
        self.tensors.append({"class": cls, "dtype": dtype.name, "shape": list(a.shape), "requires_grad": requires_grad,
                             **window})
        return len(self.tensors) - 1

    def _place(self, a, owner):
        """Return the block of an array and the offset there; the block grows to hold it."""
        index = self._owner_index.get(id(owner))
        if index is None:
            index = self._owner_index[id(owner)] = len(self.owners)
            self.owners.append([owner, None, None])
        entry = self.owners[index]
        if not a.size:
            return {"block": index, "strides": [0] * a.ndim, "offset": 0}
        if not np.may_share_memory(a, owner):       # the owner is a fresh row-major copy
            a = owner
        low, high = np.lib.array_utils.byte_bounds(a)
        base = owner.__array_interface__["data"][0]
        entry[1] = low - base if entry[1] is None else min(entry[1], low - base)
        entry[2] = high - base if entry[2] is None else max(entry[2], high - base)
        return {"block": index, "strides": list(a.strides), "offset": a.__array_interface__["data"][0] - base}

    def blocks(self):
        """Return the bytes of each block; offsets of tensors become relative to the written part."""
        found = []
        for t in self.tensors:
            t["offset"] -= self._start(t["block"])
        for i, (owner, _, stop) in enumerate(self.owners):
            flat = (owner if owner.flags.c_contiguous else owner.T).reshape(-1).view(np.uint8)
            found.append(flat[self._start(i):stop or 0])
        return found

    def _start(self, index):
        """Return the first byte of a block, at a multiple of 16 so that elements stay aligned."""
        return (self.owners[index][1] or 0) // 16 * 16


_CONTAINERS = {
    list: lambda w, x: w.items(x),
    tuple: lambda w, x: {"tuple": w.items(x)},
    set: lambda w, x: {"set": w.items(x)},
    frozenset: lambda w, x: {"frozenset": w.items(x)},
    dict: lambda w, x: {"dict": w.pairs(x)},
    OrderedDict: lambda w, x: {"ordered": w.pairs(x), **({"attributes": w.pairs(x.__dict__)} if x.__dict__ else {})},
}
_SCALARS = {
    complex: lambda x: {"complex": [repr(x.real), repr(x.imag)]},
    bytes: lambda x: {"bytes": base64.b64encode(x).decode()},
    bytearray: lambda x: {"bytearray": base64.b64encode(x).decode()},
    Size: lambda x: {"size": list(x)},
    dt.DType: lambda x: {"dtype": x.name},
    Device: lambda x: {"device": str(x)},
    layout: lambda x: {"layout": str(x)},
    MemoryFormat: lambda x: {"memory_format": x.name},
}


class Reader:
    """Decoder of JSON to data, with tensors over the blocks of a file, or moved to `where(location)`."""

    def __init__(self, tensors, blocks: list[Block], budget: ReadBudget, where=no_device):
        self.tensors, self.blocks, self.budget, self.where = tensors, blocks, budget, where
        self.name = budget.name
        self._tensors_by_index: dict = {}
        self.sparse: dict = {}

    def decode(self, x, depth=0):
        """Return the data of an `encode`."""
        if depth > 4 * MAX_DEPTH:
            raise FileError(f"{self.name}: the data is nested too deep")
        if x is None or type(x) in (bool, int, float, str):
            return x
        if type(x) is list:
            return [self.decode(v, depth + 1) for v in x]
        kind = next(iter(x), None)
        if kind not in _DECODE or (len(x) != 1 and kind != "ordered"):
            raise FileError(f"{self.name}: holds something of unknown kind {shown(kind)}; was it written by a newer ingot?")
        return _DECODE[kind](self, x[kind], depth) if kind != "ordered" else self._ordered(x, depth)

    def items(self, values, depth):
        return [self.decode(v, depth + 1) for v in values]

    def keys(self, values, depth):
        """Return what goes into a set or is a key, once the work of hashing it is known to be in proportion to the file."""
        found = self.items(values, depth)
        self.budget.take_keys(found)
        return found

    def pairs(self, pairs, depth):
        return dict(zip(self.keys([k for k, _ in pairs], depth), self.items([v for _, v in pairs], depth), strict=True))

    def _ordered(self, x, depth):
        made = OrderedDict(self.pairs(x["ordered"], depth))
        made.__dict__.update(self.pairs(x.get("attributes", []), depth))
        return made

    def _described(self, index):
        if type(index) is not int or not 0 <= index < len(self.tensors):
            raise FileError(f"{self.name}: names tensor {index} of {len(self.tensors)}")
        d = self.tensors[index]
        dtype = dt.BY_NAME.get(d["dtype"])
        if dtype is None or type(d["block"]) is not int or not 0 <= d["block"] < len(self.blocks):
            raise FileError(f"{self.name}: tensor {index} has dtype {shown(d['dtype'])} in block {shown(d['block'])} of "
                            f"{len(self.blocks)}")
        return d, self.blocks[d["block"]], (dtype, tuple(d["shape"]), tuple(d["strides"]), d["offset"])

    def tensor(self, index):
        if index not in self._tensors_by_index:
            d, block, window = self._described(index)
            t = block.tensor(*window, class_named(d["class"]))
            device = self.where(str(d.get("device", "cpu")))
            if device is not None:
                self.budget.take_bytes(t._a.nbytes, f"a tensor of shape {list(t.shape)} on {device}")
                t = on_device(type(t), t, device, False, {})
            self._tensors_by_index[index] = t = t.requires_grad_() if d["requires_grad"] is True else t
            give_attributes(t, self.pairs(d.get("attributes", []), 0))
        return self._tensors_by_index[index]

    def array(self, index):
        _, block, window = self._described(index)
        return block.array(*window)


def _sparse(reader, described, depth):
    """Return a sparse tensor; one object for equal parts in the file."""
    name, layout, size, is_coalesced, *parts = reader.items(described, depth)
    reader.budget.take_tree(parts, "a sparse tensor", with_data=True)
    key = name, layout, *map(id, parts)
    if key not in reader.sparse:
        made = rebuilt(layout, size, is_coalesced, *parts)
        reader.sparse[key] = made if name == "Tensor" else as_class(made, name).requires_grad_(made.requires_grad)
    return reader.sparse[key]


def _number(reader, pair, depth):
    name, value = pair
    return dt.BY_NAME[name].np.type(reader.decode(value, depth + 1))


def _meta(reader, described, depth):
    name, dtype, shape, strides, requires_grad = described
    made = FUNCTIONS["empty_strided"](tuple(shape), tuple(strides), dtype=dt.by_name(dtype), device="meta")
    return (made if name == "Tensor" else as_class(made, name)).requires_grad_(requires_grad is True)


def _storage(reader, described, depth):
    is_typed, index = described
    return (TypedStorage if is_typed else UntypedStorage)(reader.tensor(index))


_DECODE: dict[str, Any] = {
    "tuple": lambda r, x, d: tuple(r.items(x, d)),
    "set": lambda r, x, d: set(r.keys(x, d)),
    "frozenset": lambda r, x, d: frozenset(r.keys(x, d)),
    "dict": lambda r, x, d: r.pairs(x, d),
    "ordered": None,
    "tensor": lambda r, x, d: r.tensor(x),
    "sparse": _sparse,
    "meta": _meta,
    "storage": _storage,
    "array": lambda r, x, d: r.array(x),
    "float": lambda r, x, d: float(x),
    "complex": lambda r, x, d: complex(float(x[0]), float(x[1])),
    "bytes": lambda r, x, d: base64.b64decode(x, validate=True),
    "bytearray": lambda r, x, d: bytearray(base64.b64decode(x, validate=True)),
    "number": _number,
    "size": lambda r, x, d: Size(x),
    "dtype": lambda r, x, d: dt.by_name(x),
    "device": lambda r, x, d: Device(x),
    "layout": lambda r, x, d: layout_named(x),
    "memory_format": lambda r, x, d: format_of(x),
}
