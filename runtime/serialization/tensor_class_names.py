"""Tensor classes that files may name, looked up lazily: plain tensors need no modules."""

import importlib
import sys

from ...ir.errors import FileError
from ..core.composite_tensors import PARTS
from ..core.tensor import Tensor

_RUNTIME = __package__.rpartition(".")[0]
_OWNED = f"{_RUNTIME}.nn.base.parameter"
_HOMES = {"Parameter": _OWNED, "Buffer": _OWNED}
REBUILDS: set = set()           # rebuild functions of other modules, which check their arguments
LAZY = ("UninitializedParameter", "UninitializedBuffer")        # without data, so not among a file's tensors


def class_named(name: str) -> type:
    """Return the tensor class that a file calls `name`."""
    if name == "Tensor":
        return Tensor
    if name not in _HOMES:
        raise FileError(f"a tensor of unknown class {name!r}; was it written by a newer ingot?")
    return getattr(importlib.import_module(_HOMES[name]), name)


def lazy_class(name: str) -> type:
    """Return a class of tensors without a shape yet."""
    return getattr(importlib.import_module(_OWNED), name)


def name_of(cls: type) -> str | None:
    """Return the name of a tensor class in files, or None if they do not hold it."""
    if cls is Tensor:
        return "Tensor"
    home = _HOMES.get(cls.__name__)
    if home is None or home not in sys.modules:
        return None
    made_there = cls.__module__ == home             # a parameter that is a sparse tensor as well
    return cls.__name__ if made_there or vars(sys.modules[home]).get(cls.__name__) is cls else None


def as_class(t: Tensor, name: str) -> Tensor:
    """Return the same memory as a tensor of another class."""
    if type(t) in PARTS:
        return class_named(name)(t).requires_grad_(False)
    made: Tensor = object.__new__(class_named(name))
    made._a, made._node, made._storage = t._a, None, t._storage
    return made
