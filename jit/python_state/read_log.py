"""Log of what user code read: guards on locations, and conditions on state that no chain of names shows."""

import abc
import functools
import pickle
import sys
import types
from typing import Any, Protocol

import numpy as np

from ...ir.interrupts import raise_interrupt
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ...runtime.optim.optimizer import Optimizer
from ..bytecode.reads import ARGUMENT, CACHED, MISSING, Chain, in_class, static_attribute
from ..bytecode.user_code import dict_of, has_dict, is_a, is_own, is_user_defined, special_names
from ..guards.absence import IMMUTABLE, AbsentNames, ClassNames, ObjectClasses
from ..guards.class_entries import ClassEntry, ClassMembers, Inheritance, owner_among
from ..guards.guards import FunctionGuard, Guard, ReadCondition, has_part
from ..guards.held_content import flags_of, held_by, settings_of
from ..guards.known_objects import KnownObjects
from ..guards.locations import StateInputs, load, read
from ..guards.snapshot import is_container, is_plain, snapshot
from ..host.ordering import ReadOrder
from .ambient_state import condition_on

# Attribute of an optimizer that code must name to lead there: steps make and replace its entries, and tell the recorder so.
STATE_OF_STEPS = "state"
HELD = "held"       # kind of the conditions on objects that classes hold
LIBRARY = "library"     # kind of the conditions on objects of the standard library that are no data
DATA = "data"       # kind of the conditions on objects of libraries that hold data
# Attributes of classes and functions that texts of objects tell. C code keeps them: no dictionary shows a change.
_IN_TEXTS = ("__name__", "__qualname__", "__module__")
_METHODS = (types.FunctionType, staticmethod, classmethod, property)
_IN_CLASSES = (*_METHODS, Tensor)


def classes_above(cls, first) -> list:
    """Return the user classes in which `super(cls, first)` looks for attributes, in their order."""
    order = (first if is_a(first, type) else type(first)).__mro__
    return [c for c in order[order.index(cls) + 1 if cls in order else 0:] if is_user_defined(c)]


def known_in_class(cls, name) -> bool:
    """Return whether `cls.name` gives a function, property, number, string, tensor or container without running code."""
    value = static_attribute(cls, name)
    if is_container(value):
        return is_user_defined(next(c for c in cls.__mro__ if name in vars(c)))
    return isinstance(value, _IN_CLASSES) or (is_plain(value) and value is not MISSING)


def is_shadowable(cls, name) -> bool:
    """Return whether an attribute of an instance would come before that of its class."""
    value = ClassEntry(cls, name)()
    return value is not MISSING and not hasattr(type(value), "__set__")


def registry_condition(function) -> ReadCondition | None:
    """Return the condition on the functions by type from which `functools.singledispatch` chooses, and on what is registered
    with the abstract classes among these."""
    if not hasattr(function, "registry") or not hasattr(function, "dispatch"):
        return None
    read = functools.partial(_registry, function)
    return ReadCondition.of(("registry", id(function)), read, f"the functions of {function.__name__}", snapshot)


def _registry(function) -> tuple:
    registry = dict(function.registry)
    return registry, abc.get_cache_token() if any(isinstance(cls, abc.ABCMeta) for cls in registry) else 0


def _flags_of_decimals() -> tuple:
    return flags_of(sys.modules["decimal"].getcontext())


# Objects inside of a library's that stand for themselves.
_COUNT_BY_IDENTITY = (Tensor, Module, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)


def state_of(value) -> Any:
    """Return a function that reads the content of any object of the standard library or numpy, or None if it tells none."""
    if type(value) is object:
        return tuple
    if _is_made_in_python(type(value)):
        return lambda: _attributes_of(value, ())
    return pickled(value)


def _attributes_of(value, around) -> dict:
    """Return the attributes of an object of a library, with the content of such objects in their place. `around` are the
    objects that lead there."""
    return {name: _content_within(x, (*around, value)) for name, x in vars(value).items()}


def _content_within(x, around) -> Any:
    kind: Any = type(x)
    if is_plain(x) or any(x is o for o in around):
        return x
    if kind is list or kind is tuple:
        return kind([_content_within(v, (*around, x)) for v in x])
    if kind is dict:
        return {k: _content_within(v, (*around, x)) for k, v in x.items()}
    if is_user_defined(kind) or is_own(kind.__module__) or is_container(x) or isinstance(x, _COUNT_BY_IDENTITY):
        return x
    if _is_made_in_python(kind):
        return _attributes_of(x, around) if type(getattr(x, "__dict__", None)) is dict else x
    content = held_by(x) or pickled(x)
    return x if content is None else content()


def _is_made_in_python(kind) -> bool:
    return all(any("__dict__" in vars(base) for base in c.__mro__) for c in kind.__mro__[:-1])


def pickled(value) -> Any:
    """Return a function that pickles an object, or None if that cannot be done."""
    read = functools.partial(_pickle, value)
    return None if read() is None else read


def _pickle(value) -> Any:
    """Return an object as bytes, or None if it cannot be pickled, or no longer."""
    try:
        return _Pickled(pickle.dumps(value, 4))
    except Exception as error:
        raise_interrupt(error, pickle.dumps, value, 4)
        return None


class _Pickled(bytes):
    """Content of an object, as a text for messages shows it."""

    __slots__ = ()

    def __repr__(self):
        return f"<{len(self)} bytes>"


class Walker(Protocol):
    """Follower of values that were read (`reachable.Reachable`)."""

    def walk(self, text: str, value: object, is_argument: bool = False):
        """Guard the attributes of the objects that are reached from a value."""

    def see_module(self, m: Module):
        """Note a module that runs or is read."""


class ReadLog:
    """Guards and conditions on what user code read."""

    walker: Walker      # follows values that were read

    def __init__(self, known: KnownObjects, inputs: StateInputs, order: ReadOrder):
        self._known, self._inputs = known, inputs
        self.order = order              # when the guarded locations may be read, between host calls
        self.guards: dict = {}          # {(id of the root, chain): `Guard`}
        self.conditions: dict = {}      # {identity: condition}
        self.late: set = set()          # guards (by their keys) whose location the run had written when it first read it
        self.module_reads: set = set()  # {(id of a module, attribute)}
        self._behind: set = set()       # (class, name) of what is guarded behind attributes of objects
        self._kinds: dict = {}          # by id: (object that was reached, its class)
        self._classes: dict = {}        # by id: classes whose names are guarded, with their bases and metaclasses
        self._makes_texts = False       # whether code may make texts of objects
        self._named: dict = {}          # by id: (class or function of the user's that was reached, its kind)
        self._special: dict = {}        # ids of a class and of code -> (its names as a special method there, class, code)
        self.by_name = False            # whether code may have read attributes that no chain shows
        self.reader = ""                # function whose code is looked at, as file:line
        self.at_start = {name: condition_on(name) for name in ("errors", "filters")}

    def add(self, chain, root, value):
        if is_a(value, np.generic):
            self.uses_numpy()
        self.guards[id(root), chain] = Guard(chain, root, snapshot(value, self._inputs), self.reader)

    def uses_numpy(self):
        """Note that code computes with numpy, which treats floating point errors as the process says."""
        for condition in self.at_start.values():
            self.add_condition(condition)

    def uses_decimals(self):
        """Note that code computes with decimal numbers: their context says how, and takes note of what was inexact."""
        context = sys.modules["decimal"].getcontext
        self.add_condition(ReadCondition.of(("decimal",), lambda: settings_of(context()), "the context of decimal numbers"))
        self.add_condition(ReadCondition.of((DATA, "flags"), _flags_of_decimals, "the flags of the context of decimal numbers"))

    def add_attributes(self, text, owner, names):
        for name in names:
            if not (isinstance(owner, type) and self._add_member(owner, name)):
                self.add_attribute(text, owner, name, read(owner, (("attr", name),)))

    def _add_member(self, cls, name) -> bool:
        """Guard a method or property of a class together with others; return whether the name is one."""
        place = "members", id(cls)
        known = self.conditions.get(place)
        if known is not None and name in known.members:
            return True
        member, kind = in_class(cls, name), type(cls)
        above = in_class(kind, name)        # which comes first in `cls.name`, if it is a data descriptor
        if type(member) not in _METHODS or hasattr(type(above), "__set__"):
            return False
        if above is MISSING and not kind.__flags__ & IMMUTABLE:
            self.add_absent(kind.__qualname__, kind, {name})
        if known is None:
            known = self.conditions[place] = ClassMembers(cls)
        known.members[name] = member, self.reader
        function = member.fget if type(member) is property else getattr(member, "__func__", member)
        self.add_hidden(function)
        self.walker.walk(f"{cls.__qualname__}.{name}", function)        # (it may have attributes of its own)
        return True

    def add_entries(self, cls, names):
        """Guard what a class of ingot's itself holds under some names, which users may replace."""
        known = self.conditions.get(("members", id(cls)))
        if known is None:
            known = self.conditions["members", id(cls)] = ClassMembers(cls)
        new = names - known.members.keys()
        if new:
            held = vars(cls)
            known.members.update({name: (held[name], "") for name in new})

    def guarded_values(self) -> list:
        """Return [(guard, what its location holds now)]."""
        return [(guard, guard.value()) for guard in [*self.guards.values()]]

    def add_attribute(self, text, owner, name, value):
        chain = Chain(ARGUMENT, text, (("attr", name),))
        self.order.lasts((id(owner), chain))
        if (id(owner), chain) not in self.guards:
            is_followed = is_a(owner, (type, types.ModuleType, types.FunctionType)) or (
                name == STATE_OF_STEPS and is_a(owner, Optimizer))
            if is_followed and not is_plain(value):         # (objects of other classes are followed as a whole)
                self.walker.walk(f"{text}.{name}", value)
            self.guards[id(owner), chain] = Guard(
                chain, owner, self._inputs.same_as(value, owner, name) or snapshot(value, self._inputs), self.reader)
            self.add_hidden(value.fget if type(value) is property else value)

    def add_inherited(self, names, cls, first):
        """Guard what code with some names reads by `super(cls, first)`."""
        classes = classes_above(cls, first)
        for name in names:
            owner = owner_among(classes, name)
            if owner is None:
                continue
            if owner is not classes[0]:         # one before it may get the name
                lookup = Inheritance(first if is_a(first, type) else type(first), tuple(classes), name)
                self.add_condition(ReadCondition(("super", id(lookup.cls), id(cls), name), lookup, owner,
                                                 f"the class of super().{name}"))
            if known_in_class(owner, name):
                self.add_attributes(owner.__name__, owner, (name,))
            else:
                self.add_object_of_class(owner, name)

    def add_special_method(self, code, first):
        """Guard that the class of an object has some code, which starts, as its special method, to which no name in code leads.
        """
        for kind in (first, type(first)) if is_a(first, type) else (type(first),):
            place = id(kind), id(code)
            if place not in self._special:
                self._special[place] = special_names(kind, code) if is_user_defined(kind) else (), kind, code
            names = self._special[place][0]
            if names:
                self.add_attributes(kind.__qualname__, kind, names)

    def add_kind(self, x):
        """Guard the class of an object, unless that is written in C and cannot be replaced."""
        if is_a(x, types.ModuleType) or not type(x).__flags__ & IMMUTABLE:
            self._kinds.setdefault(id(x), (x, type(x)))

    def guards_on_kinds(self, besides) -> list:
        """Return a guard on the classes of objects, except for those with some ids."""
        found = [(x, kind) for x, kind in self._kinds.values() if id(x) not in besides]
        return [ObjectClasses(found)] if found else []

    def add_class(self, cls):
        """Guard which names a class has, with its bases and metaclass, as far as they are the user's."""
        if id(cls) not in self._classes:
            self._classes[id(cls)] = cls
            for c in (*cls.__mro__, *type(cls).__mro__):
                if is_user_defined(c) and ("class", id(c)) not in self.conditions:
                    self.conditions["class", id(c)] = ClassNames(c)
                    self.add_named(c, type)

    def makes_texts(self):
        """Note that code may make texts of objects, which tell the names of any class or function."""
        if not self._makes_texts:
            self._makes_texts = True
            for owner, kind in [*self._named.values()]:
                self._add_names(owner, kind)

    def add_named(self, owner, kind):
        """Note a class or function (`kind`) of the user's that is reached."""
        if id(owner) not in self._named:
            self._named[id(owner)] = owner, kind
            if self._makes_texts:
                self._add_names(owner, kind)

    def _add_names(self, owner, kind):
        for name in _IN_TEXTS:
            value = read(owner, (("attr", name),))
            if in_class(type(owner), name) is vars(kind)[name] and value is not MISSING:     # (else code of a metaclass)
                self.add_attribute(owner.__qualname__, owner, name, value)

    def add_class_attribute(self, m, name):
        """Guard an attribute of a module that its class may have."""
        kind = type(m)
        known = self.conditions.get(("members", id(kind)))
        if has_part(m, name):
            self.add_behind(m, name)
        elif (known is None or name not in known.members) and known_in_class(kind, name):
            self.add_attributes(kind.__qualname__, kind, (name,))

    def add_behind(self, owner, name):
        """Guard what the class of an object has behind an attribute of the object's own: a descriptor would come before."""
        kind = type(owner)
        if (kind, name) not in self._behind:
            self._behind.add((kind, name))
            if is_user_defined(next((c for c in kind.__mro__ if name in c.__dict__), object)):
                self.add_object_of_class(kind, name)

    def add_method(self, cls, name, functions):
        """Guard that a class has one of some functions under a name, if it does."""
        value = ClassEntry(cls, name)() if is_user_defined(cls) else MISSING
        if isinstance(value, _METHODS) and any(f in functions for f in (
                value, getattr(value, "__func__", None), getattr(value, "fget", None))):
            self.add_attributes(cls.__qualname__, cls, (name,))

    def add_own(self, owner, name, text):
        """Guard that an object keeps an attribute that its class has, too."""
        is_compared = is_a(owner, (type, Module)) or self._known.parts.taken.is_apart(owner)
        held = MISSING if is_compared else ClassEntry(type(owner), name)()
        if held is not MISSING and not hasattr(type(held), "__set__"):
            self.add_condition(ReadCondition.of(("own", id(owner), name), lambda: load(owner, name, "attr") is not MISSING,
                                                f"whether there is {text}"))

    def add_object_of_class(self, cls, name):
        """Guard an object that a class holds and that is no plain value, a descriptor perhaps, and follow it. No code of it
        runs. A slot is guarded by what it holds."""
        value = ClassEntry(cls, name)()
        if value is not MISSING and type(value) is not types.MemberDescriptorType and not cls.__flags__ & IMMUTABLE:
            self.add_condition(ReadCondition((HELD, id(cls), name), ClassEntry(cls, name), snapshot(value, self._inputs),
                                             f"{cls.__qualname__}.{name}"))

    def add_absent(self, text, owner, names):
        """Guard that an object, or a class with its bases, has no attributes of some names. Those of a method are those of its
        function."""
        if type(owner) is types.MethodType:
            owner = owner.__func__
        if names and not self._known.parts.taken.is_apart(owner):       # (a call tells which attributes such an object has)
            place = "absent", id(owner)
            if place not in self.conditions:
                self.conditions[place] = AbsentNames(owner, text)
            asks = {"__getattr__"} - owner.__dict__.keys() if is_a(owner, types.ModuleType) else set()
            self.conditions[place].names |= names | asks

    def add_missing(self, text, owner, name):
        """Guard that an object has no attribute of its own under a name: none in its dictionary, and an empty slot."""
        self.add_absent(text, owner, {name})
        if isinstance(static_attribute(type(owner), name), types.MemberDescriptorType):
            self.add_attribute(text, owner, name, MISSING)

    def add_unshadowed(self, text, owner, names):
        """Guard that an object has no attributes of its own that come before those of some names in its class."""
        if not is_a(owner, type) and has_dict(owner):
            self.add_absent(text, owner, frozenset([n for n in names if is_shadowable(type(owner), n)]) - dict_of(owner).keys())

    def add_condition(self, reading):
        """Add a condition, if there is one, and follow the value that it compares."""
        if reading is not None:
            self.conditions.setdefault(reading.identity, reading)
            self.walker.walk(reading.text, reading.read())

    def add_hidden(self, value):
        """Guard the state of a module or function itself, to which a chain leads."""
        if is_a(value, Module):
            self.walker.see_module(value)
        elif type(value) is types.FunctionType and is_user_defined(value):
            self.conditions.setdefault(id(value), FunctionGuard(value))
            self.add_condition(registry_condition(value))
        elif type(value) is CACHED:
            self.walker.walk("a cached function", value)

    def add_library(self, text, value):
        """Guard the content of an object of the standard library, whose code is not tracked."""
        self._add_content(text, value, held_by(value))

    def _add_content(self, text, owner, content):
        if content is not None:
            expected = snapshot(content(), self._inputs)
            self.add_condition(ReadCondition((LIBRARY, id(owner)), content, expected, f"what {text} holds"))

    def add_data(self, text, value):
        """Guard the content of an object of a library whose objects are data."""
        if (DATA, id(value)) not in self.conditions:
            content = pickled(value)
            if content is None:
                self._known.refuse(f"it reaches {text}, a {type(value).__qualname__} that cannot be pickled to compare its "
                                   "content; use it outside, or in a function that is marked with jit.host")
            else:
                condition = ReadCondition.of((DATA, id(value)), content, f"what {text} holds")
                self.conditions[condition.identity] = condition

    def add_content(self, text, owner) -> bool:
        """Guard the content of any object that tells it; return whether it does."""
        content = held_by(owner) or state_of(owner)
        self._add_content(text, owner, content)
        if flags_of(owner) is not None:
            self.add_condition(ReadCondition.of((DATA, id(owner)), lambda: flags_of(owner), f"the flags of {text}"))
        return content is not None
