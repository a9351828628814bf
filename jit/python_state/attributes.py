"""Attributes that code gets and sets, by the object that an instruction or a call shows, and those of tensors
(`p.lr_scale = 2.0`).

An attribute that an object holds is a chain of one step from the object (`chain_reads.py`). This file decides about attributes
of classes, missing ones, and names that calls compute.

A tensor that code reaches in an object, container or module existed before. A tensor that may be another one at each call, an
argument or a state input, counts by all attributes that users gave it.
"""

import types
from typing import Any

from ...runtime.api.register.lazy_methods import LateMethod
from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.tensor import Tensor
from ...runtime.interop import tensor_protocols
from ...runtime.nn.base.module import Module
from ...runtime.state.mode import tls
from ..bytecode.reads import MISSING, follow, is_user_function, static_attribute
from ..bytecode.user_code import attributes_of, is_a, is_own, is_user_defined
from ..errors.errors import RecordingStatus, TraceError
from ..guards.absence import AttributeNames
from ..guards.arg_pytree import ByIdentity
from ..guards.known_objects import KnownObjects
from ..guards.locations import StateInputs, class_attribute
from ..guards.state_guards import TensorKindGuard, tensor_kind
from ..proxies.threads import ThreadView
from ..side_effects.writes import WriteLog
from .read_log import ReadLog, is_shadowable, known_in_class

_OF_PYTHON = frozenset(("__builtins__", "__dict__", "__weakref__"))
_SIMPLE = (bool, int, float, complex, str, bytes, type(None))
LISTED = "it lists the attributes of a tensor, among which a recording keeps some of its own; ask for them by name"
_OPERATIONS = frozenset([name for name, value in vars(Tensor).items()
                         if name[:2] == "__" and isinstance(value, types.FunctionType)])
_NO_ENTRIES = (type(MISSING), LateMethod)       # (nothing has run a method that has not loaded)
_OWN = frozenset([name for name, value in vars(Tensor).items() if type(value) in _SIMPLE])


class DynamicAttributes:
    """Attributes of objects from before the call that code asks for, which may be missing."""

    def __init__(self, known: KnownObjects, inputs: StateInputs, reads: ReadLog, writes: WriteLog):
        self._known, self._inputs, self._reads, self.writes = known, inputs, reads, writes
        self.asked: set = set()     # names that code which is not seen asks of any object
        self.asks_all = False       # whether such code asks for any name
        self.names: set = set()     # all names that code gets or sets, by any way
        self.tables: set = set()        # ids of objects whose `__dict__` code takes
        self._by_class: set = set()     # (class, name) of what is guarded in the classes of objects

    # Objects that code is not seen to lead to, by names that calls tell.

    def asks(self, names) -> bool:
        """Note names that code which is not seen asks of any object; return whether one is new."""
        new = not self.asked.issuperset(names)
        self.asked |= names
        self.names |= names
        return new

    def answer(self, text, value):
        """Guard what such code asks of an object that is reached."""
        if self.asks_all:
            self.answer_with_all(text, value)
        for name in self.asked:
            self.query(value, name)

    def answer_with_all(self, text, value, sets=True):
        """Guard all attributes of an object, for code that is not seen; with `sets`, that may write to them."""
        attributes: dict = attributes_of(value)
        for name in [n for n in attributes.keys() - _OF_PYTHON if not self.writes.has_set(value, n)]:
            if sets:
                self.writes.add(value, name, "attr", attributes[name], f"{text}.{name}")
            if is_a(value, type):         # what it holds is not what reading it gives: methods of classes are bound
                self.of_class(value, name)
            else:
                self._reads.add_attribute(text, value, name, attributes[name])

    def of_class(self, cls, name):
        """Guard what a class gives its objects under a name, or that it has none."""
        if (cls, name) in self._by_class:
            return
        self._by_class.add((cls, name))
        if any(self.writes.has_set(c, name) for c in cls.__mro__):      # (what was there before has a guard)
            return
        member: Any = static_attribute(cls, name)
        function = getattr(member, "__func__", member)
        if type(function) is types.FunctionType and is_user_defined(cls) and not is_user_function(function):
            for other in in_namespace(cls, name):       # `_replace` of a named tuple, unseen code, calls its `_make`
                self.of_class(cls, other)
        if member is MISSING:
            self._reads.add_absent(cls.__qualname__, cls, {name})
        elif known_in_class(cls, name):
            self._reads.add_attributes(cls.__qualname__, cls, (name,))
        else:
            self._reads.add_object_of_class(cls, name)

    def add_new(self):
        """Add the attributes that objects from outside got while the function ran, as writes."""
        for owner, text, before in list(self._known.outside.values()):
            attributes = attributes_of(owner)
            for name in attributes.keys() - before:
                is_view = type(attributes[name]) is ThreadView      # of numbers in objects of a class
                is_set = self.asks_all or name in self.names or id(owner) in self.tables
                if is_set and not is_view:
                    behind = MISSING if self._known.lacked(owner, name) else class_attribute(type(owner), name)
                    if behind is MISSING or not hasattr(type(behind), "__set__"):
                        self.writes.add(owner, name, "attr", behind, f"{text}.{name}", behind is not MISSING)

    # Calls of `hasattr`, `getattr`, `dir` and `vars`.

    def query(self, owner, name):
        """Guard that an object has, or has not, an attribute that may be missing."""
        self._see_module(owner)
        self._known.parts.taken.names.add(name)
        if type(name) is str and self._known.existed(owner):
            self._add_name(owner, name)
        if is_a(owner, Module):
            self._reads.module_reads.add((id(owner), name))

    def query_all(self, owner, with_classes: bool):
        """Guard the names of all attributes of an object, including those of its classes `with_classes`."""
        self._see_module(owner)
        if self._inputs.is_symbolic and not with_classes:
            self.writes.fix_numbers()          # code reads the values past the proxies
        if is_a(owner, Tensor):
            self._known.refuse(LISTED)
        elif self._known.parts.taken.is_apart(owner):
            self._known.parts.taken.takes_all(owner)
        elif self._known.existed(owner):
            self.add_names(owner, with_classes)
        if is_a(owner, Module):
            self._reads.module_reads.update([(id(owner), name) for name in attributes_of(owner)])

    def _see_module(self, owner):
        if is_a(owner, Module) and id(owner) in self._known.visited and id(owner) not in self._known.own:
            self._reads.walker.see_module(owner)

    def add_names(self, owner, with_classes: bool):
        """Guard the names of all attributes of an object that lives outside."""
        place = "keys", id(owner), with_classes
        self._reads.conditions.setdefault(place, AttributeNames(owner, self._known.name_of(owner), with_classes))

    def _add_name(self, owner, name):
        kind, text = owner if is_a(owner, type) else type(owner), self._known.name_of(owner)
        self.of_class(kind, name)
        if is_a(owner, (type, Module)) or self._known.parts.taken.is_apart(owner):      # (these are compared as a whole)
            return
        attributes: dict = attributes_of(owner)
        if self.writes.has_set(owner, name):        # (what was there before has a guard)
            return
        if name not in attributes:
            self._lacks(text, owner, name)
        elif not is_a(owner, Tensor):
            self._reads.add_attribute(text, owner, name, attributes[name])

    def _lacks(self, text, owner, name):
        """Guard that an object has no attribute of its own under a name. The code of a module may load it."""
        is_module = is_a(owner, types.ModuleType)
        asks = vars(owner).get("__getattr__") if is_module else None
        if asks is not None:
            self._reads.add_attribute(text, owner, "__getattr__", asks)
        if is_user_function(asks) or not (is_module and hasattr(owner, name)):
            self._reads.add_missing(text, owner, name)


def in_namespace(cls, name) -> frozenset:
    """Return the names beside one in the namespace of the class of the user's that holds it, in the order of lookups."""
    owner = next((c for c in cls.__mro__ if name in vars(c)), cls)
    return frozenset(vars(owner)) - _OF_PYTHON if is_user_defined(owner) else frozenset()


def sets_itself(owner, name) -> bool:
    """Return whether a property of a module of ingot sets an attribute, which tells the recorder itself."""
    return is_a(owner, types.ModuleType) and is_own(owner.__name__) and hasattr(
        type(static_attribute(type(owner), name)), "__set__")


def attributes_seen(t) -> tuple:
    """Return the attributes of a tensor for comparison: numbers and text by value, everything else by identity."""
    return tuple([(name, type(v), repr(v) if type(v) in _SIMPLE else ByIdentity(v))
                  for name, v in tensor_protocols.attributes_of(t).items()])


class TensorAttributes:
    """Reads and writes of the attributes of tensors."""

    def __init__(self, status: RecordingStatus, known: KnownObjects, inputs: StateInputs, reads: ReadLog, writes: WriteLog,
                 attributes: DynamicAttributes):
        self._status, self._known, self._inputs = status, known, inputs
        self._reads, self._writes, self._attributes = reads, writes, attributes
        self._reached: dict = {}            # id -> tensor that was there before and that code may reach
        self._kinds: dict = {}              # id -> (such a tensor, its kind before)
        self._changing: list = []         # (tensor that may be another one at each call, its role, its attributes before)
        self._counts_numbers = False        # whether code may take `id(t)` of any of them
        self._names: set = set()            # names in code that ran

    def add_arguments(self, tensors):
        for t in tensors:
            if type(t) not in PARTS:
                self._add_changing(t, "an argument")

    def add(self, value):
        """Note a value that is reached: a tensor that the run has not made was there before."""
        if not is_a(value, Tensor) or type(value) in PARTS or _is_new(value):
            return
        is_held = id(value) in self._inputs.known
        if not is_held:
            self._known.tensors[id(value)] = value
            self._kinds.setdefault(id(value), (value, tensor_kind(value)))
        if id(value) in self._reached:
            return
        if is_held:
            self._add_changing(value, f"what {self._inputs.known[id(value)].chain} holds, which is looked up at each call")
        self._reached[id(value)] = value
        self.answer_all(value)

    def kind_guards(self, inputs) -> list:
        """Return a guard on the tensors that code has reached and that are none of the inputs, which have conditions of their
        own."""
        own = {*map(id, inputs), *self._known.passed}
        found = [(t, kind) for t, kind in self._kinds.values() if id(t) not in own]
        return [TensorKindGuard([t for t, _ in found], [kind for _, kind in found])] if found else []

    @property
    def names(self) -> frozenset:
        """The names in code that ran."""
        return frozenset(self._names)

    def named(self, names):
        """Note the names in code that starts, which may lead to what users have put into classes of tensors."""
        new = set(names) - self._names
        self._names |= new
        for t, *_ in self._changing if new else ():
            self._count_shadows(t, new)

    def _count_shadows(self, t, names):
        """Let a tensor that may be another one at each call count by its attributes, if they can hide some of its class."""
        if any(_in_class(cls, names) for cls in type(t).__mro__[:-1]):
            _counts_by_attributes(t)

    def guard_classes(self):
        """Guard what code may have found in the classes of tensors that users have written, or have added to ingot's."""
        met: dict = {Tensor: []}
        for t in self._reached.values():
            met.setdefault(type(t), []).append(t)
        for kind, tensors in met.items():
            found = {cls: _in_class(cls, self._names) for cls in kind.__mro__[:-1]}
            for cls, name in [(cls, name) for cls, names in found.items() for name in names]:
                if known_in_class(cls, name):
                    self._reads.add_attributes(cls.__qualname__, cls, (name,))
                else:
                    self._reads.add_object_of_class(kind, name)
            if kind is Tensor:
                held = vars(Tensor)
                self._reads.add_entries(Tensor, {name for name in (self._names & held.keys()) | _OPERATIONS
                                                 if type(held.get(name, MISSING)) not in _NO_ENTRIES})
            hidden = frozenset().union(*found.values())
            for t in [t for t in tensors if hidden and not self._is_changing(t)]:
                self._reads.add_absent("a tensor", t, hidden - t.__dict__.keys())

    def close(self):
        """Drop the tensors, which live no longer than their owners want."""
        self._reached, self._kinds, self._changing = {}, {}, []

    def _add_changing(self, t, what):
        self._reached[id(t)] = t
        self._changing.append((t, what, attributes_seen(t)))
        self._count_shadows(t, self._names)
        if self._counts_numbers:
            _counts_by_number(t)

    def _is_changing(self, t) -> bool:
        return id(t) in self._known.passed or id(t) in self._inputs.known

    def answer(self):
        """Guard what code which is not seen asks of all tensors that were reached."""
        for t in [*self._reached.values()]:
            self.answer_all(t)

    def answer_all(self, t):
        """Guard what code which is not seen asks of a tensor that is reached."""
        if self._attributes.asks_all and self._is_changing(t):
            _counts_by_attributes(t)
        for name in t.__dict__ if self._attributes.asks_all else self._attributes.asked:
            self.gets(t, name)

    def gets(self, t, name):
        """Guard an attribute that code gets of a tensor, which may be missing."""
        is_missing = name not in t.__dict__ and static_attribute(type(t), name) is MISSING
        if not (is_missing or name in t.__dict__) or id(t) in self._known.own or _is_new(t):
            return
        if self._is_changing(t):
            _counts_by_attributes(t)
            return
        self.add(t)
        if is_missing:
            self._reads.add_absent("a tensor", t, {name})
        else:
            self.add_read(t, name)

    def is_on_the_way(self, base, steps) -> bool:
        """Return whether a chain reads an attribute of a tensor, and guard one that users have set; its kind is guarded
        elsewhere."""
        for n, (kind, key) in enumerate(steps):
            t = follow(base, steps[:n])
            if isinstance(t, Tensor):
                if kind == "attr" and key == "__dict__":
                    self._known.refuse(LISTED)
                elif kind == "attr" and key in t.__dict__:
                    self.add_read(t, key)
                return True
        return False

    def add_read(self, t, name):
        """Note that the function reads an attribute that a user has given a tensor."""
        if id(t) in self._known.passed:
            self._status.refuse(f"it reads the attribute {name} of a tensor that is an argument; pass it as an argument of "
                                 "its own")
        elif id(t) in self._inputs.known:
            _counts_by_attributes(t)
        elif id(t) not in self._known.own and not _is_new(t):
            self._reads.add_attributes("a tensor", t, (name,))

    def calls_method(self, t, name):
        """Note that the function calls a method of a tensor, and that no attribute of the tensor hides it."""
        if type(t) in PARTS or name in t.__dict__ or not is_shadowable(type(t), name) or _is_new(t):
            return
        if self._is_changing(t):
            recorder: Any = tls.m.recorder
            recorder.layouts.calls_method(t, name)
        elif id(t) in self._reached and id(t) not in self._known.own:
            self._reads.add_absent("a tensor", t, {name})

    def add_write(self, t, name, text):
        """Note that the function may give a tensor an attribute."""
        if id(t) not in self._reached:
            self.add(t)
        if not (self._is_changing(t) or _is_new(t)):
            self._writes.add(t, name, "attr", t.__dict__.get(name, MISSING), text)

    def add_number(self, value):
        """Note that code takes the number by which Python tells a value from others, `id(value)`. A tensor that may be another
        one at each call counts by it."""
        if is_a(value, tuple):
            for v in value:
                self.add_number(v)
        if is_a(value, Tensor) and self._is_changing(value):
            _counts_by_number(value)
        elif self._known.parts.taken.is_apart(value):
            self._known.parts.taken.needs_itself(value)
        elif self._known.parts.has(value):
            self._status.first_time = f"it takes the id() of a {type(value).__name__} that is an argument, or in one"

    def add_numbers(self):
        """Note that code takes the numbers of values that are not known."""
        self._counts_numbers = True
        self._known.parts.taken.any_needs_itself()
        for t, *_ in self._changing:
            _counts_by_number(t)

    def own_code_reads(self, t, name):
        """Note that ingot reads an attribute of a tensor, which may be missing."""
        self.add(t)
        if name in t.__dict__:
            self.add_read(t, name)
        else:
            self._attributes.query(t, name)

    def own_code_writes(self, t, name):
        self.add_write(t, name, f"a tensor.{name}")

    def check_changing(self):
        """Raise if the run gave attributes to tensors that are others at each call."""
        for t, what, before in self._changing:
            now = attributes_seen(t)
            if now != before:
                name = next(name for name, *_ in (*now, *before) if name not in _names_alike(now, before))
                raise TraceError(f"this function cannot be traced: it sets the attribute {name} of a tensor that is {what}; "
                                 "return the value instead, or give it a place of its own")


def _in_class(cls, names) -> set:
    """Return those of some names under which a class of tensors holds what a user has put there."""
    space, is_users = vars(cls), is_user_defined(cls)
    return {name for name in names & space.keys() if is_users or _is_added(name, space[name])}


def _is_added(name, value) -> bool:
    """Return whether a user has put a value into a class of ingot's."""
    value = getattr(value, "fget", value)
    return is_user_defined(value) if type(value) is types.FunctionType else type(value) in _SIMPLE and name not in _OWN


def _counts_by_attributes(t):
    recorder: Any = tls.m.recorder
    recorder.layouts.query(t, attributes_seen)


def _counts_by_number(t):
    recorder: Any = tls.m.recorder
    recorder.layouts.query(t, id)


def _names_alike(now, before) -> set:
    return {name for name, *value in now if [name, *value] in map(list, before)}


def _is_new(t) -> bool:
    link = t.__dict__.get("_traced")
    return link is not None and not link.is_outside
