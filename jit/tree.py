"""Argument and result structures: nested containers taken apart into tensors and plain Python values, and put together again.

A structure is described by a hashable spec, which is part of the key of a trace: containers by type and length, dicts by
their keys in order, tensors as a mark (sparse ones as what makes them of such), everything else by value.
"""

from dataclasses import is_dataclass

import numpy as np

from ..ir.symbolic import SymFloat, SymInt
from ..runtime.parts import PARTS
from ..runtime.pytree import REGISTERED
from ..runtime.tensor import Tensor, wrap
from .made_objects import made_again
from .numpy_scalars import KINDS, SymScalar, with_kind
from .read_numbers import ReadNumber

TENSOR, NUMBER, READ, OBJECT, NODE, MADE = "tensor", "number", "read", "object", "node", "made"


def _array_of(t):
    """The array that an argument is, or one over the memory of a result."""
    return t.__dict__["_lies_over"] if "_lies_over" in t.__dict__ else t.numpy()


_READS = {float: Tensor.item, int: Tensor.item, list: Tensor.tolist, np.ndarray: _array_of}


class ByIdentity:
    """A Python object that is compared by identity in a spec (it cannot be hashed by value)."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, ByIdentity) and self.value is other.value

    def __hash__(self):
        return id(self.value)

    def __repr__(self):
        return f"<{type(self.value).__name__}>"


class ByContent(ByIdentity):
    """A numpy array, which is compared by what it held when the spec was made."""

    __slots__ = ("content",)

    def __init__(self, value):
        super().__init__(value.copy())
        self.content = value.shape, value.dtype.str, value.tobytes()

    def __eq__(self, other):
        return isinstance(other, ByContent) and self.content == other.content

    def __hash__(self):
        return hash(self.content)


class BySet(ByIdentity):
    """A set, which is compared by what it held when the spec was made, in order."""

    __slots__ = ("content",)

    def __init__(self, value):
        super().__init__(value)
        self.content = type(value), tuple([(type(v), v) for v in value])

    def __eq__(self, other):
        return isinstance(other, BySet) and self.content == other.content

    def __hash__(self):
        return hash(self.content)


class GivenArray:
    """An argument that is an array, and the tensor over its memory by which it is known; `sizes_are_read` by Python."""

    __slots__ = ("sizes_are_read", "tensor")

    def __init__(self, array, sizes_are_read=False):
        self.tensor, self.sizes_are_read = wrap(array), sizes_are_read
        self.tensor._storage.lend()
        self.tensor.__dict__["_lies_over"] = array

    @property
    def array(self) -> np.ndarray:
        """The array itself."""
        return self.tensor.__dict__["_lies_over"]


def fields_of(x) -> tuple:
    """The names of the fields of a dataclass's object or of a named tuple."""
    return tuple(getattr(x, "__dataclass_fields__", ())) or getattr(x, "_fields", ())


def is_structure(x) -> bool:
    """Whether an object of a dataclass counts as its fields: such as are compared by them, or hold tensors."""
    if not is_dataclass(x) or isinstance(x, type) or not hasattr(x, "__dict__"):
        return False
    held = [getattr(x, name, None) for name in fields_of(x)]
    return type(x).__hash__ is None or any(isinstance(v, (Tensor, tuple, list, dict)) or is_structure(v) for v in held)


def flatten(x, leaves: list, numbers: list | None = None, attributes=None, read=None):
    """The spec of a structure; its tensors are appended to `leaves` in order. With `numbers`, its ints and floats go there,
    and only their types stay in the spec. `attributes` says of an object what it consists of, or None if it stays as it is,
    `read` of a value that is read out of a tensor its type and the tensor."""
    kind = type(x)
    if kind is Tensor or (isinstance(x, Tensor) and kind not in PARTS):
        leaves.append(x)
        return TENSOR
    if kind in PARTS:
        parts, make = PARTS[kind](x)
        return (MADE, (make, tuple([flatten(p, leaves) for p in parts])))
    if kind is GivenArray:
        leaves.append(x.tensor)
        return (READ, np.ndarray)
    part = None if read is None else read(x)
    if part is not None:
        leaves.append(part[1])
        return (READ, part[0])
    if numbers is not None and (kind is float or kind is int):
        numbers.append(x)
        return (NUMBER, kind)
    if numbers is not None and kind in KINDS:
        numbers.append(x.item())
        return (NUMBER, kind)
    if kind is SymInt or kind is SymFloat or kind is SymScalar:
        return (kind, x)
    if kind is ReadNumber:
        leaves.append(x.tensor)
        return (READ, x.kind)
    if kind in (int, bool, str, type(None), bytes):
        return (kind, x)
    if kind is float:
        return (float, x.hex())
    if kind is tuple or kind is list:
        return (kind, tuple([flatten(v, leaves, numbers, attributes, read) for v in x]))
    if isinstance(x, dict):
        return (kind, tuple([(k, flatten(v, leaves, numbers, attributes, read)) for k, v in x.items()]))
    if isinstance(x, (tuple, list)):
        return (kind, tuple([flatten(v, leaves, numbers, attributes, read) for v in x]))
    if kind is slice:
        return (kind, tuple([flatten(v, leaves, numbers, attributes, read) for v in (x.start, x.stop, x.step)]))
    if kind in REGISTERED:
        children, context = REGISTERED[kind].flatten(x)
        known = flatten(context, leaves, numbers, attributes, read)
        return (NODE, (kind, known, tuple([flatten(v, leaves, numbers, attributes, read) for v in children])))
    if is_structure(x):
        return (kind, tuple([(name, flatten(getattr(x, name), leaves, numbers, attributes, read)) for name in fields_of(x)]))
    if kind is np.ndarray and not x.dtype.hasobject:
        return ByContent(x)
    own = None if attributes is None else attributes(x)
    if own is not None:
        return (OBJECT, (kind, tuple([(name, flatten(v, leaves, numbers, attributes, read)) for name, v in own.items()])))
    if kind is set or kind is frozenset:        # in their order: the function may go through them
        return BySet(x)
    try:
        hash(x)
    except TypeError:
        return ByIdentity(x)
    return (kind, x)


def unflatten(spec, leaves, numbers=None):
    """The structure of a spec over an iterator of leaves, and one of numbers if the spec was made without them."""
    if spec is TENSOR or spec == TENSOR:
        return next(leaves)
    if isinstance(spec, ByIdentity):
        return spec.value.copy() if isinstance(spec, (ByContent, BySet)) else spec.value
    kind, inner = spec
    if kind is NUMBER:
        return with_kind(inner, next(numbers))
    if kind is READ:
        return _READS[inner](next(leaves))
    if kind is OBJECT:
        return made_again(inner[0], {name: unflatten(s, leaves, numbers) for name, s in inner[1]})
    if kind is MADE:
        make, parts = inner
        return make(*[unflatten(s, leaves) for s in parts])
    if kind is NODE:
        registered, known, children = inner
        context = unflatten(known, leaves, numbers)
        return REGISTERED[registered].unflatten([unflatten(s, leaves, numbers) for s in children], context)
    if kind is float:
        return float.fromhex(inner)
    if isinstance(kind, type) and issubclass(kind, (tuple, list)):
        items = [unflatten(s, leaves, numbers) for s in inner]
        return kind(*items) if hasattr(kind, "_fields") else kind(items)
    if kind is slice:
        return slice(*[unflatten(s, leaves, numbers) for s in inner])
    if isinstance(kind, type) and issubclass(kind, dict):
        made = {k: unflatten(s, leaves, numbers) for k, s in inner}
        return made if kind is dict else kind(made)
    if is_dataclass(kind) and type(inner) is tuple:
        return made_again(kind, {k: unflatten(s, leaves, numbers) for k, s in inner})
    return inner


def has_reads(spec) -> bool:
    """Whether a structure holds values that are read out of tensors."""
    return isinstance(spec, tuple) and (spec[:1] == (READ,) or any(map(has_reads, spec)))
