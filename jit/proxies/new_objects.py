"""Objects that a recorded function makes, and returns or leaves outside: a replay makes them anew, around its own tensors.

An object is the function's own if its `__init__` ran during the call, if `copy` made it, or if it leads to a value that the
call has made. So is a container class of the standard library that was not met. Own objects of Python classes are taken apart
into their attributes and slots. Other own objects, such as generators and functions over tensors, cannot be made again
(`UnrepeatableError`). All others are the same objects at each call.
"""

import array
import contextvars
import ctypes
import functools
import gc
import sys
import types
import weakref
from enum import Enum
from typing import Any

import numpy as np

from ...ir.dtype import DType
from ...ir.symbols.symbolic import is_python_class, is_symbol
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.user_code import dict_of, has_library_methods, is_a, is_user_defined
from ..errors.errors import UnrepeatableError
from .lazy_scalars import LazyScalar
from .numpy_scalars import SymScalar

BUFFERS = (bytearray, array.array)       # results and writes hold copies of them
_MOST = 10_000      # values that are searched in one object; one that holds more counts as new
_OF_IDENTITY = (None, object.__hash__)      # hash functions of classes whose objects are more than their values
_VALUES = (int, float, complex, str, bytes)
_SINGLE = (type, types.ModuleType, types.BuiltinFunctionType, type(None), type(...), *_VALUES)
_WITH_VALUE = frozenset((*_VALUES, *BUFFERS))
_IMMUTABLE = 1 << 8     # Py_TPFLAGS_IMMUTABLETYPE: classes written in C
# Classes whose objects are more than their values, although they may be hashed.
_WITH_STATE = (memoryview, np.void, contextvars.ContextVar, ctypes._SimpleCData, types.MappingProxyType)
_BOUND = frozenset((types.MethodType, types.BuiltinMethodType, types.MethodWrapperType))
_SIMPLE = frozenset((str, bytes, bool, int, float, complex, type(None)))


class NewObjects:
    """Decision which objects in the results are the function's own; `known` are the objects that the run has met. An object
    that was not met, and may be new, counts as one that cannot be made again."""

    def __init__(self, recorder, known=None):
        self._recorder, self._known = recorder, known
        self._own = () if known is None else known.own
        self._captured = {id(s.what) for s in recorder.inputs.sources}      # tensors that are the same at each call

    def attributes(self, x) -> dict | None:
        """Return the attributes of an object that the run has made, None for others; raise if it cannot be made again."""
        is_new = self.is_new(x)
        if not (is_new or self._may_be_new(x)):
            return None
        if not (is_new and (is_plain_object(x) or value_base(type(x)) is not None)):
            raise UnrepeatableError(f"a {type(x).__name__} that it has made",
                                    "return tensors, numbers, containers or plain objects of these")
        return attributes_in(x)

    def is_new(self, x) -> bool:
        """Return whether the run has made an object."""
        kind: Any = type(x)
        if self.existed(x):
            return False
        if value_base(kind) is not None:
            return True
        if is_a(x, _SINGLE):
            return False
        return (id(x) in self._own or hasattr(kind, "__next__")
                or (kind.__hash__ in _OF_IDENTITY and has_library_methods(kind))
                or self._leads_to_new(x)
                or (is_plain_object(x) and (is_user_defined(kind) or kind is types.SimpleNamespace)))

    def leads_to_new(self, x) -> bool:
        """Return whether the run has made a value, or one among the elements of a tuple or frozenset."""
        return self.is_new(x) or (isinstance(x, (tuple, frozenset)) and any(map(self.leads_to_new, x)))

    def _may_be_new(self, x) -> bool:
        kind = type(x)
        if kind in _BOUND:          # each lookup makes one
            return any(self.is_new(v) or self._may_be_new(v) for v in (x.__self__, getattr(x, "__func__", None)))
        if is_a(x, type):
            return is_user_defined(x) and not self.existed(x) and not _has_name(x)
        if kind is types.ModuleType:
            return not self.existed(x) and sys.modules.get(x.__name__) is not x
        if self.existed(x):
            return False
        if is_a(x, (*_SINGLE, *BUFFERS, Tensor, set, frozenset, Enum, DType)):
            return is_user_defined(kind) and issubclass(kind, _VALUES) and not issubclass(kind, Enum)
        if kind is types.FunctionType:
            return is_user_defined(x) or "<locals>" in x.__code__.co_qualname
        return kind.__hash__ in _OF_IDENTITY or issubclass(kind, _WITH_STATE) or is_user_defined(kind)

    def is_from_outside(self, x) -> bool:
        """Return whether a set, array or buffer is one that the function reaches, other than as an argument."""
        return self._known is not None and id(x) in self._known.objects and id(x) not in self._known.received

    def arrays(self) -> list:
        """Return the arrays from before the call to which code leads."""
        return [] if self._known is None else [x for x in self._known.visited.values() if type(x) is np.ndarray]

    def namespaces(self) -> dict:
        """Return by id (dictionary of attributes, its owner) of the objects, functions and modules that code leads to, other
        than through arguments that are compared by their parts."""
        owners = [] if self._known is None else [x for x in self._known.visited.values() if not self._known.parts.has(x)
                                                 and not is_a(x, (Tensor, type))]
        return {id(d): (d, x) for x in owners if type(d := dict_of(x)) is dict}

    def check_key(self, key):
        """Raise if the run has made a key of a dictionary: each call would find the one that was recorded."""
        if type(key) not in _SIMPLE and self.is_new(key):
            raise UnrepeatableError(f"a dictionary with a key that it has made, a {type(key).__name__}",
                                    "use numbers or strings as keys")

    def existed(self, x) -> bool:
        """Return whether code leads to an object that was there before the call."""
        return self._known is not None and (id(x) in self._known.visited or self._known.was_met(x))

    def _leads_to_new(self, x) -> bool:
        stack, seen = [x], set()
        while stack:
            v = stack.pop()
            if is_symbol(v) or type(v) is SymScalar or type(v) is LazyScalar or id(v) in self._own or self._is_new(v):
                return True
            if isinstance(v, (*_SINGLE, Tensor)) or id(v) in seen or self.existed(v):
                continue
            seen.add(id(v))
            if len(seen) > _MOST:
                return True
            stack += _parts(v)
        return False

    def _is_new(self, v) -> bool:
        link = v.__dict__.get("_traced") if isinstance(v, Tensor) else None
        return link is not None and link.recorder is self._recorder and id(v) not in self._captured


def _has_name(cls) -> bool:
    """Return whether a class is found by its name in its module."""
    found: Any = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found is cls


def _parts(v) -> list:
    if isinstance(v, types.FunctionType):
        return [c.cell_contents for c in v.__closure__ or () if c != types.CellType()]
    if isinstance(v, types.MethodType):
        return [v.__self__, v.__func__]
    if isinstance(v, functools.partial):
        return [v.func, *v.args, *v.keywords.values()]
    if isinstance(v, weakref.ref):
        return [v()]
    return gc.get_referents(v)


def value_base(kind) -> Any:
    """Return the class of numbers, texts or buffers from which a user class is derived, or None."""
    if not is_user_defined(kind) or issubclass(kind, Enum):
        return None
    base = next(c for c in kind.__mro__ if c.__flags__ & _IMMUTABLE)
    return base if base in _WITH_VALUE else None


def is_plain_object(x) -> bool:
    """Return whether an object is its class and its attributes, nothing else."""
    kind = type(x)
    if kind is types.SimpleNamespace:
        return True
    return (kind.__new__ is object.__new__ and all(map(is_python_class, kind.__mro__[:-1]))
            and kind.__basicsize__ == object.__basicsize__ + _POINTER * _fields(kind)
            and not is_a(x, (Module, types.FunctionType)))


_POINTER = tuple.__itemsize__


def _fields(kind) -> int:
    """Return how many pointers an object of a Python class holds: one for each slot, its dictionary and its weak references."""
    return len(_slots(kind)) + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)


def _slots(kind) -> list:
    """Return (name, descriptor) of the slots of a Python class."""
    return [(name, member) for c in kind.__mro__ if is_python_class(c) for name, member in vars(c).items()
            if type(member) is types.MemberDescriptorType]


def attributes_in(x) -> dict:
    """Return the attributes of an object, those in slots first."""
    slots = [name for name, _ in _slots(type(x)) if hasattr(x, name)]
    return {**{name: getattr(x, name) for name in slots}, **getattr(x, "__dict__", {})}


def set_attributes(x, attributes):
    """Give an object attributes, past its `__setattr__`."""
    slots = dict(_slots(type(x))) if hasattr(type(x), "__slots__") else {}
    for name, value in attributes.items():
        if name in slots:
            slots[name].__set__(x, value)
        else:
            x.__dict__[name] = value
