"""Objects that were there before a recorded call, as far as user code reaches them.

From each value that is read, attributes, items, methods and references lead to further objects. Each object is visited once,
guarded for all attribute queries so far, and again for each new query.
"""

import functools
import gc
import io
import sys
import types
from collections.abc import Callable, MappingView
from enum import Enum, EnumMeta
from typing import Any

import numpy as np

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ...runtime.optim.optimizer import Optimizer
from ..bytecode.reads import CACHED, is_user_function, key_text
from ..bytecode.user_code import (
    attributes_of,
    attributes_of_module,
    dict_of,
    has_library_methods,
    is_a,
    is_instance,
    is_library_data,
    is_user_defined,
    is_user_namespace,
    modules_below,
    object_of,
)
from ..guards.absence import IMMUTABLE
from ..guards.arg_pytree import fields_of, is_derived, is_structure
from ..guards.guards import ReadCondition
from ..guards.known_objects import KnownObjects
from ..guards.locations import StateInputs
from ..guards.references import reference_to
from ..guards.snapshot import BUILTINS, CONTAINERS, Snapshot, has_content, is_changeable, is_plain, snapshot
from ..proxies.new_objects import BUFFERS
from ..side_effects.contents import ContainerLog
from ..side_effects.writes import WriteLog
from .attributes import DynamicAttributes, TensorAttributes
from .attributes_of_libraries import LibraryAttributes
from .cached_functions import FunctionCaches
from .call_rules import has_operations, is_lock
from .iterators import OutsideIterators, is_library_iterator
from .read_log import STATE_OF_STEPS, ReadLog, registry_condition
from .weak_references import WEAK_CONTAINERS, WeakReferences

_BOUND = (types.BuiltinMethodType, types.MethodType, types.MethodWrapperType)
# Classes in C code whose objects lead to what no code reads through them, or what is followed in another way.
_FOLLOWED = (Tensor, type, types.ModuleType, types.FunctionType, *_BOUND, types.CodeType, types.FrameType, types.CellType)


class Reachable:
    """Walk over the objects that user code reaches."""

    def __init__(self, known: KnownObjects, inputs: StateInputs, contents: ContainerLog, reads: ReadLog, writes: WriteLog,
                 attributes: DynamicAttributes, tensors: TensorAttributes, iterators: OutsideIterators, weak: WeakReferences):
        self._known, self._inputs, self._contents, self._reads, self._writes = known, inputs, contents, reads, writes
        self.attributes, self._tensors = attributes, tensors
        self.caches, self.iterators, self.weak = FunctionCaches(reads, tensors), iterators, weak
        self.of_libraries = LibraryAttributes(reads)
        self.arguments: list = []       # (name, value) of methods and containers among the arguments that count by identity
        self._operands: dict = {}       # by id: (value, name) of those whose operations are calls that no user code answers
        self.on_operand: Callable = lambda: None        # called when one of them is met
        reads.walker = self

    def has_met(self, value) -> bool:
        """Return whether a value was reached from outside of the call."""
        return id(value) in self._known.visited

    def is_made(self, stream) -> bool:
        """Return whether the call has made a stream of text, and may read what it prints there."""
        return isinstance(stream, io.StringIO) and not self.has_met(stream) and stream is not sys.__stdout__

    def is_operand(self, value) -> bool:
        """Return whether a value was reached from outside whose operations are calls that no user code answers."""
        return id(value) in self._operands

    def name_of(self, value) -> str:
        """Return the name by which such a value was first reached, or its class."""
        return self._operands.get(id(value), (value, f"a {type(value).__qualname__} from outside"))[1]

    def close(self):
        self.iterators.close()
        self.of_libraries.close()
        self._operands.clear()
        self.arguments.clear()
        del self.on_operand     # (a circle)

    def asks(self, names=None):
        """Note code that is not seen and asks any object for attributes: those of some names, or any."""
        attributes = self.attributes
        if names is None and not attributes.asks_all:
            attributes.asks_all = self._reads.by_name = True
        elif names is None or not attributes.asks(names):
            return
        for value, text, _ in list(self._known.outside.values()):
            self._answer(text, value)
        for m in self._writes.modules.modules():
            self._answer_of_module(m)
        self._tensors.answer()

    def _answer(self, text, value):
        self.attributes.answer(text, value)
        values: dict = attributes_of(value)
        self._use_all(values if self.attributes.asks_all else {n: values[n] for n in self.attributes.asked & values.keys()})

    # Modules.

    def see_module(self, m):
        if id(m) not in self._known.modules:
            self._known.modules[id(m)] = m
            self._reads.add_entries(Module, {"__call__"})
            self._remember(m)
            for name, value in self._attributes_before(m):
                self._contents.see(value, f"{type(m).__name__}.{name}", self._inputs)

    def _remember(self, m):
        for new in self._writes.modules.remember(m):
            self._known.visited[id(new)] = new
            self._reads.add_class(type(new))
            self._answer_of_module(new)
            for t in (*dict_of(new)["_parameters"].values(), *dict_of(new)["_buffers"].values()):
                self._tensors.add(t)
            for name, value in self._attributes_before(new):
                if is_walked_anywhere(value):
                    self.walk(f"{type(new).__name__}.{name}", value)

    def _answer_of_module(self, m):
        """Guard what code which is not seen asks of a module."""
        if self.attributes.asks_all:
            self._takes_of_module(m, dict(self._attributes_before(m)))
        else:
            self._takes_of_module(m, self.attributes.asked)
        for name in self.attributes.asked:
            self.attributes.of_class(type(m), name)

    def _takes_of_module(self, m, names):
        """Guard containers among some attributes of a module, and visit objects: guards on modules do not look into them."""
        attributes = dict(self._attributes_before(m)) if names else {}
        for name in attributes.keys() & names:
            text, value = f"{type(m).__name__}.{name}", attributes[name]
            self.use_all(value)
            if not (is_plain(value) or is_a(value, Tensor)):
                self.walk(text, value)
            if has_content(value):
                self._reads.add_attribute(type(m).__name__, m, name, value)

    # Values.

    def walk(self, text, value, is_argument=False):
        """Visit all objects that are reached from a value, once each; containers of arguments (`is_argument`) are compared
        anyway, down to objects that count by identity."""
        stack, seen, parts = [(text, value, is_argument)], {}, self._known.parts
        while stack:
            text, value, is_argument = stack.pop()
            if id(value) in seen or id(value) in self._known.own or value is BUILTINS:
                continue
            seen[id(value)] = value
            is_compared = is_argument and not parts.ends_at(value)
            if is_argument and not is_compared and (has_content(value) or type(value) in _BOUND):
                self.arguments.append((text, value))
            if not is_argument:
                parts.taken.reaches(value)
                if is_changeable(value) or type(value) in BUFFERS:
                    self._known.objects[id(value)] = value
            stack += [(name, v, is_compared and parts.has(value)) for name, v in self._visit(text, value, is_compared)]

    def _visit(self, text, value, is_argument) -> list:
        """Guard one object that is reached; return (text, value) of the objects to which it leads."""
        kind, parts, found = type(value), self._known.parts, []
        self._known.visited[id(value)], self._known.visited[id(kind)] = value, kind
        self._reads.add_class(value if is_a(value, type) else kind)
        self.iterators.see(text, value)
        self.of_libraries.meet(value, text)
        if is_library_data(value):
            self._reads.add_data(text, value)
            return []
        if kind is np.ndarray:
            self._reads.uses_numpy()
            if value.dtype.names is not None:
                found.append((f"{text}.dtype", value.dtype))
        if has_operations(value):
            self._operands.setdefault(id(value), (value, text))
            self.on_operand()
        if is_a(value, Module):
            self._remember(value)
            below = modules_below(value) if id(value) not in self._known.outside else ()
            found += [(f"a hook of {type(m).__name__}", hook) for _, m in below for hook in dict_of(m)["_hooks"].objects()]
        if is_argument and (is_structure(value) or parts.taken.is_apart(value)):
            parts.add(value)
            names = parts.taken.fields[id(value)] if parts.taken.is_apart(value) else fields_of(value)
            return found + [(f"{text}.{name}", getattr(value, name)) for name in names]
        if not is_argument:
            self._see_contents(text, value)
            if not is_a(value, io.IOBase):      # (code that only prints there does not read it, and calls tell which do)
                self._reads.add_library(text, value)
        return found + self._items_of(text, value, is_argument) + self._attributes_of(text, value, is_argument)

    def _attributes_of(self, text, value, is_argument) -> list:
        """Guard the attributes of an object that code queries; return (text, value) of those that lead to objects."""
        kind, found = type(value), []
        if is_a(value, Enum):
            found.append((kind.__qualname__, kind))
        if is_a(value, Tensor) and not is_argument:
            self._tensors.add(value)
        elif is_a(value, Tensor):
            self._tensors.answer_all(value)
        elif is_instance(value):
            if not (is_argument and is_derived(value)):         # (arguments are compared with their classes)
                self._reads.add_kind(value)
            for name, v in () if is_argument or id(value) in self._known.outside else self._attributes_before(value):
                self._see_contents(f"{text}.{name}", v)
            found += self.add(text, value)
        elif is_user_namespace(value):
            if not isinstance(value, type):
                self._reads.add_kind(value)
            self.add(text, value)
            found += _members_of(text, value)
        elif is_user_function(value):
            self._reads.add_named(value, types.FunctionType)
            found += self.add(text, value)
        elif kind is types.MethodType and is_user_function(value.__func__):
            self._reads.add_named(value.__func__, types.FunctionType)
        return found

    def takes_all(self, value, sets=False):
        """Guard all attributes of an object, for code that takes its `__dict__` or is not tracked; `sets`: and may set them."""
        self._known.parts.taken.takes_all(value)
        if is_a(value, Module):
            names = attributes_of_module(value).keys()
            self.attributes.query_all(value, False)
            self._writes.modules.read |= names      # (of a traced module, too, which shares them)
            self._takes_of_module(value, names)
        if id(value) not in self._known.outside:
            return
        text = self._known.name_of(value)
        self.attributes.answer_with_all(text, value, sets)
        self.attributes.query_all(value, False)
        self._use_all(dict(vars(value)) if isinstance(value, type) else attributes_of(value))

    def takes_all_below(self, values):
        """Guard all attributes of the objects among some values, and of those to which they lead, for C code that pickles."""
        waiting, seen = [*values], set()
        for x in waiting:
            if id(x) in seen or is_plain(x) or is_a(x, (Tensor, Module, type, types.ModuleType)):
                continue
            seen.add(id(x))
            self.takes_content(x)
            if is_instance(x):
                self.takes_all(x)
                waiting += attributes_of(x).values()
            if type(x) in CONTAINERS or is_a(x, (tuple, frozenset)):
                waiting += [*x, *x.values()] if hasattr(x, "values") else x

    def takes_content(self, x):
        """Guard the content of an object in C code that a copy or a pickle takes over."""
        if not self.is_operand(x) or is_lock(type(x)):
            return
        name = self.name_of(x)
        if is_library_iterator(x):
            self.iterators.refuse(name)
        elif not self._reads.add_content(name, x):
            self._known.refuse(f"it copies {name}, whose content cannot be compared; do so outside, or in a function that is "
                               "marked with jit.host")

    def takes_number(self, args):
        """Note a call of `id` or `hash` with operands, or with unknown ones (None)."""
        if args is None:
            self._tensors.add_numbers()
        else:
            self._tensors.add_number(args)

    def calls_method(self, function, args):
        """Note a call of a function that may be a method of a tensor, with operands or with unknown ones (None)."""
        bound = object_of(function)
        receiver = bound if is_a(bound, Tensor) else args[0] if args else None
        if is_a(receiver, Tensor):
            name = "" if is_user_defined(type(function)) else getattr(function, "__name__", "")
            self._tensors.calls_method(receiver, name)

    def add(self, text, value) -> list:
        """Note an object that is reached, and guard what code which is not seen asks of it; return (text, value) of its parts.
        """
        if id(value) in self._known.outside:
            return []
        self._known.add_outside(value, text)
        if self.attributes.asked or self.attributes.asks_all:
            self._answer(text, value)
        kind: Any = type(value)
        if has_library_methods(kind):
            self._use_all(attributes_of(value))
            self.attributes.add_names(value, with_classes=False)
            self.attributes.answer_with_all(text, value)
        return [(f"{text}.{name}", v) for name, v in self._attributes_before(value) if not is_plain(v)]

    def _attributes_before(self, owner) -> list:
        """Return (name, value) of the attributes of an object, without those that the function has set so far."""
        attributes = attributes_of_module(owner) if is_a(owner, Module) else attributes_of(owner)
        by_name = {STATE_OF_STEPS} if is_a(owner, Optimizer) else ()
        return [(name, v) for name, v in attributes.items() if name not in by_name and not self._writes.has_set(owner, name)]

    def use_all(self, value):
        """Note that code may use a value, if that is a container, and those in it, in any way."""
        if type(value) in CONTAINERS or is_a(value, tuple):
            self._use_all(value)

    def _use_all(self, value):
        """Note that code which is not tracked may use a container, and those in it, in any way."""
        self._contents.used(value, None)
        for v in value.values() if isinstance(value, dict) else value:
            is_known = self._contents.is_used(v) and self._contents.only(v) is None
            if (type(v) in CONTAINERS or isinstance(v, tuple)) and not is_known:
                self._use_all(v)

    def _see_contents(self, text, value):
        """Remember the items of a container, or of the parameter groups of an optimizer."""
        self._contents.see(value, text, self._inputs)
        groups = dict_of(value).get("param_groups")
        for i, group in enumerate(groups if type(groups) is list else ()):
            self._contents.see(group, f"{text}.param_groups[{i}]", self._inputs)
        self._writes.copy_container(value, text)

    def _see_cells(self, text, function):
        """Note the closure cells of a user function: code that uses them spells out `cell_contents`."""
        for i, cell in enumerate(function.__closure__ or ()) if is_user_function(function) else ():
            self._known.visited[id(cell)] = cell
            self._operands.setdefault(id(cell), (cell, f"{text}.__closure__[{i}]"))

    def _bound_in_partial(self, text, value) -> list:
        """Guard function and arguments of a partial; return them as (text, value)."""
        name = f"the arguments of {text}"
        self._use_all((value.args, value.keywords))
        self._see_contents(name, value.keywords)
        self._reads.conditions.setdefault(("partial", id(value)), ReadCondition(
            ("partial", id(value)), functools.partial(_parts_of_partial, reference_to(value)),
            Snapshot((value.func, value.args, value.keywords), self._inputs), name))
        state: Any = value.__reduce__()[2] if isinstance(value, functools.partial) else (value.func,)
        return [(text, state[0]), (name, value.args), (name, value.keywords)]

    def _items_of(self, text, value, is_argument) -> list:
        """Return (text, value) of the objects to which a container, partial or cached function, method or reference leads."""
        if type(value) in CONTAINERS or is_a(value, tuple):
            if is_argument:
                self._known.parts.add(value)
            return _items_in(text, self._contents.before(value))    # (new ones are the function's, or have another source)
        if type(value) is types.FunctionType:
            self._reads.add_condition(registry_condition(value))
            self._see_cells(text, value)
            return []
        if is_a(value, functools.singledispatchmethod):
            self._reads.add_hidden(value.dispatcher)
            return [(text, value.func)]
        if is_a(value, (functools.partial, functools.partialmethod)):
            return self._bound_in_partial(text, value)
        if type(value) in _BOUND and not is_a(value.__self__, (Module, types.ModuleType)):
            return [(text, value.__self__)]
        if type(value) is types.MethodType and is_a(value.__self__, Module):
            self._remember(value.__self__)      # the method may return it, or its parts
            return []
        if type(value) is CACHED:
            self.caches.meet(value)
            return []
        if is_lock(type(value)):        # of Python code, around one of C code
            return [(f"{text}.{name}", v) for name, v in getattr(value, "__dict__", {}).items() if is_lock(type(v))]
        if MappingView in type(value).__mro__:      # of a mapping in Python code, as `ChainMap.items()` gives it
            self._reads.add_condition(ReadCondition.of(("view", id(value)), lambda: value._mapping, text, snapshot))
            return []
        if is_a(value, WEAK_CONTAINERS):
            self.weak.see(text, value)
        return _held_in_c(text, value)


def _items_in(text, container) -> list:
    """Return (text, value) of the items and keys of a container that are no plain values."""
    if is_a(container, tuple) or not hasattr(container, "items"):       # (a named tuple may have a field of that name)
        items = tuple.__iter__(container) if is_a(container, tuple) else container
        return [(f"{text}[{i}]", v) for i, v in enumerate(items) if not is_plain(v)]
    found = [(f"{text}[{key_text(k)}]", v) for k, v in container.items() if not is_plain(v)]
    return found + [(f"a key of {text}", k) for k in container if not is_plain(k)]


def is_walked_anywhere(value) -> bool:
    """Return whether an object is no instance, and operations on it read or change what no name in code shows."""
    return has_operations(value) or is_a(value, WEAK_CONTAINERS)


def _members_of(text, cls) -> list:
    """Return (text, member) of an enumeration, to which `cls(1)`, `cls["A"]` and loops lead."""
    if not is_a(cls, EnumMeta):
        return []
    members = {id(m): m for m in (*cls._member_map_.values(), *cls._value2member_map_.values())}
    return [(f"{text}.{m.name}", m) for m in members.values()]


def _held_in_c(text, value) -> list:
    """Return (text, part) of the objects to which an object in C code leads: a frozenset, a slice, an error, an array of
    objects. Guards on the object itself, or on its content, tell whether these are others."""
    kind: Any = type(value)
    if kind is np.ndarray:
        parts = list(value.flat) if value.dtype == object else []
    elif is_a(value, frozenset) or (kind.__flags__ & IMMUTABLE and not (is_a(value, _FOLLOWED) or hasattr(kind, "__next__"))):
        parts = gc.get_referents(value)
    else:
        parts = []
    return [(f"a part of {text}", v) for v in parts if not (is_plain(v) or isinstance(v, (type, types.ModuleType)))]


def _parts_of_partial(reference) -> tuple:
    value = reference()
    return (value.func, value.args, value.keywords)
