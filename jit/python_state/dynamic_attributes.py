"""Attributes that code queries on untracked objects, and by names that it computes.

The tracker does not follow which object a function passes on. So each reached object answers each query of running code: an
attribute that exists is guarded like other reads, and a missing one is guarded to be absent.
"""

import inspect
import types

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.attribute_queries import QueryLog
from ..bytecode.reads import MISSING
from ..bytecode.user_code import attributes_of, is_user_defined, is_user_namespace
from ..guards.absence import AttributeNames
from ..guards.known_objects import KnownObjects
from ..guards.locations import StateInputs
from ..side_effects.writes import WriteLog
from .patched_builtins import PatchedCasts
from .read_log import ReadLog, known_in_class


class DynamicAttributes:
    """Answers of reached objects to the attribute queries of running code."""

    def __init__(self, log: QueryLog, known: KnownObjects, inputs: StateInputs, reads: ReadLog, writes: WriteLog,
                 casts: PatchedCasts):
        self.log, self._known, self._inputs, self._casts = log, known, inputs, casts
        self._reads, self._writes = reads, writes
        self._classes: dict = {}            # (class, names) -> (names that it knows, names that it has not)
        self.module_classes: list = []      # user classes of which there are modules

    def answer(self, question, text, value, reach):
        """Guard what code queries of an object, a class or a module; `reach(text, cls)` notes its class."""
        if isinstance(value, type):
            known, _ = self._answer_of_class(question, value)
            for name in (known if question.sets else known & question.assigned) & vars(value).keys():
                self._writes.add(value, name, "attr", vars(value)[name], f"{text}.{name}")
            return
        attributes, kind = attributes_of(value), type(value)
        in_class, nowhere = self._answer_of_class(question, kind)
        lacking = in_class - attributes.keys()
        if question.by_name and hasattr(kind, "__getattr__"):
            self._reads.add_attributes(text, value, nowhere - attributes.keys())
        elif question.by_name:
            lacking |= nowhere - attributes.keys()
        self._reads.add_absent(text, value, lacking)
        if question.kinds:
            self._reads.add_attributes(text, value, ("__class__",))
            if is_user_namespace(kind):
                reach(kind.__qualname__, kind)
        for name in question.names & attributes.keys():
            if question.sets or name in question.assigned:
                self._writes.add(value, name, "attr", attributes[name], f"{text}.{name}")
            self._reads.add_attribute(text, value, name, attributes[name])

    def answer_with_all(self, question, text, value, reach):
        """Guard all attributes of an object for code that computes names, without `__builtins__`, in which functions are
        patched."""
        names = frozenset(attributes_of(value)) - {"__builtins__"}
        self.answer(question._replace(names=names), text, value, reach)

    def _answer_of_class(self, question, cls) -> tuple:
        """Guard what code queries of a class, or of its instances and finds there; return `names_in_class`."""
        in_class, nowhere = self.names_in_class(cls, question.names)
        self._reads.add_attributes(cls.__qualname__, cls, in_class)
        if question.by_name:
            self._reads.add_absent(cls.__qualname__, cls, nowhere)
        return in_class, nowhere

    def names_in_class(self, cls, names) -> tuple:
        """Return which of some names a class knows (`known_in_class`), and which it has not."""
        if (cls, names) not in self._classes:
            nowhere = frozenset(name for name in names     # an enum's `name` is there, and only its members answer
                                if not hasattr(cls, name) and inspect.getattr_static(cls, name, MISSING) is MISSING)
            self._classes[cls, names] = frozenset(n for n in names - nowhere if known_in_class(cls, n)), nowhere
        return self._classes[cls, names]

    def add_module_class(self, cls):
        """Note a class of modules, whose attributes code may read."""
        if is_user_defined(cls) and cls not in self.module_classes:
            self.module_classes.append(cls)
            for question in self.log.all():
                self.answer_of_modules(cls, question.names)

    def answer_of_modules(self, cls, names):
        """Guard what code queries of modules and finds in a user class."""
        own = set().union(*[vars(c).keys() for c in cls.__mro__ if is_user_defined(c)])
        self._reads.add_attributes(cls.__qualname__, cls, [name for name in names & own if known_in_class(cls, name)])

    def add_new(self):
        """Note attributes that objects from outside got while the function ran: they are writes."""
        names, by_any = self.log.names(), any(kind.sets for kind in self.log.computing)
        for owner, text, before in list(self._known.outside.values()):
            for name in attributes_of(owner).keys() - before:
                if (by_any or name in names) and self._known.lacked(owner, name):
                    self._writes.add(owner, name, "attr", MISSING, f"{text}.{name}")

    # Calls of `hasattr`, `getattr`, `dir` and `vars`.

    def query(self, owner, name):
        """Guard that an object has, or has not, an attribute that may be missing."""
        if type(name) is str and self._known.existed(owner):
            with self._casts.removed():
                self._add_name(owner, name)

    def query_all(self, owner, with_classes: bool):
        """Guard the names of all attributes of an object, including those of its classes `with_classes`."""
        if self._inputs.is_symbolic and not with_classes:
            self._writes.fix_numbers()          # code reads the values past the proxies
        if not self._known.existed(owner) or isinstance(owner, Tensor):
            return
        with self._casts.removed():
            place = "keys", id(owner), with_classes
            self._reads.conditions.setdefault(place, AttributeNames(owner, self._known.name_of(owner), with_classes))

    def _add_name(self, owner, name):
        kind, text = owner if isinstance(owner, type) else type(owner), self._known.name_of(owner)
        own = attributes_of(owner)
        is_missing = not hasattr(kind, name)
        if is_missing:
            self._reads.add_absent(kind.__qualname__, kind, {name})
        elif known_in_class(kind, name):
            self._reads.add_attributes(kind.__qualname__, kind, (name,))
        if isinstance(owner, (type, Module)):       # (a module is compared as a whole)
            return
        if name not in own:
            self._reads.add_absent(text, owner, {name})
            if not is_missing and isinstance(getattr(kind, name), types.MemberDescriptorType):
                self._reads.add_attribute(text, owner, name, MISSING)
        elif not isinstance(owner, Tensor):
            self._reads.add_attribute(text, owner, name, own[name])
