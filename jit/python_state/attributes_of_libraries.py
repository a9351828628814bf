"""Attributes of objects whose classes are not the user's, in C code or Python: `kind.names = ...`, `handler.level = 20`.

Each that running code sets, or asks for by `getattr`, is a condition on each such object that is reached; a method that code
calls in C code may set any of them. A call that changes one is not recorded.
"""

import types
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ...ir.interrupts import raise_interrupt
from ...ir.symbols.symbolic import is_python_class
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.reads import MISSING, static_attribute
from ..bytecode.stack import instructions_of, of_code
from ..bytecode.user_code import dict_of, has_dict, is_a, is_instance, is_library_data, is_own, is_user_defined
from ..errors.errors import FirstTimeError
from ..guards.guards import ReadCondition
from ..guards.snapshot import CONTAINERS, looks_like, snapshot
from .call_rules import DRAWS, rule_of_method
from .read_log import DATA, ReadLog

_SETS = frozenset(("STORE_ATTR", "DELETE_ATTR"))
# Other files follow what code does with them, or nothing can change them.
_FOLLOWED = (Tensor, Module, type, types.ModuleType, types.FunctionType, types.CellType, types.MethodType,
             types.BuiltinMethodType, types.MethodWrapperType, types.CodeType)
_IMMUTABLE = (int, float, complex, str, bytes, tuple, frozenset, np.number)
# Classes whose other attributes in C code nothing sets, and which lead to all that a program holds.
_ONLY = {types.FrameType: ("f_trace_lines", "f_trace_opcodes"), types.TracebackType: ("tb_next",)}
_OF_ANY = frozenset(("__class__", "__dict__", "__weakref__"))


@of_code()
def names_set(code) -> frozenset:
    """Return the attributes that code sets or deletes by name."""
    return frozenset([ins.argval for ins in instructions_of(code) if ins.opname in _SETS])


@lru_cache(maxsize=4096)
def _is_followed(kind: Any) -> bool:
    is_immutable = issubclass(kind, _IMMUTABLE) and not is_python_class(kind)
    return issubclass(kind, _FOLLOWED) or kind in CONTAINERS or kind is np.ndarray or is_immutable or is_own(kind.__module__)


@lru_cache(maxsize=4096)
def _in_c(kind: Any) -> frozenset:
    """Return the attributes that objects of a class keep in C code."""
    names = [name for name, found in _descriptors(kind).items() if type(found) is not types.MemberDescriptorType
             or not is_python_class(found.__objclass__)]
    return frozenset(_ONLY.get(kind, names))


def _slots(kind) -> frozenset:
    return frozenset(_descriptors(kind)) - _in_c(kind)


@lru_cache(maxsize=4096)
def _descriptors(kind: Any) -> dict:
    """Return the descriptors of the attributes that objects of a class keep in C code, or in slots."""
    found: dict = {}
    for cls in kind.__mro__:
        for name, value in vars(cls).items():
            found.setdefault(name, value)
    return {name: x for name, x in found.items() if hasattr(type(x), "__set__") and name not in _OF_ANY
            and not is_python_class(type(x)) and type(x) is not property}


def _value_of(x, name) -> Any:
    """Return an attribute of an object, or MISSING if it has none of its own now."""
    try:
        return _own_attribute(x, name)
    except Exception as error:
        raise_interrupt(error, _own_attribute, x, name)
        return MISSING


def _own_attribute(x, name) -> Any:
    found: Any = static_attribute(type(x), name)
    if hasattr(type(found), "__set__"):
        return found.__get__(x, type(x))        # (unlike `getattr`, past a user's `__getattribute__`)
    return dict_of(x).get(name, MISSING) if has_dict(x) else getattr(x, name)


def _is_open(x) -> bool | None:
    """Return whether objects of the class of an object take any attribute, unseen by other files, or only some in C code;
    None if nothing can be set there."""
    kind: Any = type(x)
    if _is_followed(kind) or is_library_data(x):
        return None
    if is_user_defined(kind) or is_instance(x):
        return False if _in_c(kind) else None
    return True if has_dict(x) or _descriptors(kind) else None


class LibraryAttributes:
    """Conditions on attributes of objects from outside whose classes are not the user's."""

    def __init__(self, reads: ReadLog):
        self._reads = reads
        self._names: frozenset = frozenset()        # that code sets which has run
        self._sets_any = False      # whether code sets attributes whose names nothing tells
        # By id: (object, its name, whether code may set any name rather than those in C code, the names that it has by then).
        self._met: dict = {}
        self._open: dict = {}       # class -> the same for its objects; None if nothing can be set there

    def meet(self, value, text):
        """Note an object that is reached."""
        kind: Any = type(value)
        if kind not in self._open:
            self._open[kind] = _is_open(value)
        if self._open[kind] is not None and id(value) not in self._met:
            self._met[id(value)] = value, text, self._open[kind], frozenset(dict_of(value)) if self._open[kind] else ()
            self._add(value, self._names)
            if self._sets_any:
                self.sets_all(value)
            elif is_a(value, BaseException) or (is_a(value, np.dtype) and value.names is not None):
                self.acts(value)

    def code_sets(self, names):
        """Note the attributes that code sets which starts."""
        new = names - self._names
        self._names |= new
        for value, *_ in list(self._met.values()) if new else ():
            self._add(value, new)

    def names(self, value, name):
        """Note that code gets or sets an attribute by `getattr`, `setattr` or a descriptor."""
        if id(value) in self._met:
            self._add(value, (name,))

    def sets_any(self):
        """Note that code which is not seen sets attributes, of any object and name."""
        self._sets_any = True
        for value, *_ in list(self._met.values()):
            self.sets_all(value)

    def acts(self, value):
        """Note that C code may set any attribute of an object in C code."""
        kind: Any = type(value)
        if id(value) in self._met and rule_of_method(kind, "") is not DRAWS:
            self._add(value, _in_c(kind))

    def sets_all(self, value):
        """Note that code which is not seen sets attributes of an object."""
        self.acts(value)
        if id(value) in self._met and self._met[id(value)][2]:
            self._add(value, (*_slots(type(value)), *dict_of(value)))

    def check(self):
        """Raise if an object got attributes that it had not."""
        for value, text, is_open, names in self._met.values():
            new = dict_of(value).keys() - names if is_open else ()
            if new:
                raise FirstTimeError(f"it changed {text}.{min(new)}; change it outside of the traced function")

    def close(self):
        self._met.clear()

    def _add(self, value, names):
        kind: Any = type(value)
        _, text, is_open, _ = self._met[id(value)]
        for name in names if is_open and kind not in _ONLY else _in_c(kind).intersection(names):
            read = partial(_value_of, value, name)
            if (DATA, id(value), name) not in self._reads.conditions and not (is_open and read() is MISSING):
                expected = snapshot(read())
                if looks_like(read(), expected):        # (no object that each look makes anew)
                    self._reads.add_condition(ReadCondition((DATA, id(value), name), read, expected, f"{text}.{name}"))
