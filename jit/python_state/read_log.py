"""Log of what user code read: guards on locations, and conditions on state that no chain of names shows."""

import types
from typing import Protocol

from ...runtime.nn.base.module import Module
from ..bytecode.reads import ARGUMENT, Chain
from ..guards.absence import AbsentNames
from ..guards.guards import FunctionGuard, Guard, ReadCondition, module_state
from ..guards.instances import is_users
from ..guards.known_objects import KnownObjects
from ..guards.locations import StateInputs, read
from ..guards.snapshot import is_container, snapshot
from ..host.ordering import ReadOrder
from ..side_effects.passed_containers import UntrackedUses
from .implicit_reads import decimal_condition, held_by, known_in_class, registry_condition


class Walker(Protocol):
    """Follower of values that were read (`reachable.Reachable`)."""

    def walk(self, text: str, value: object, is_given: bool = False):
        """Guard the attributes of the objects that are reached from a value."""

    def see_module(self, m: Module):
        """Note a module that runs or is read."""


class ReadLog:
    """Guards and conditions of what user code read.

    guards         {(id of the root, chain): `Guard`}
    conditions     {identity: condition}
    module_reads   {(id of a module, attribute)} that were read
    by_name        whether code may have read attributes that no chain shows
    reader         function whose code is looked at, as file:line
    order          when the guarded locations may be read, between host calls
    walker         follows values that were read
    """

    walker: Walker

    def __init__(self, known: KnownObjects, inputs: StateInputs, order: ReadOrder, uses: UntrackedUses):
        self._known, self._inputs, self._uses, self.order = known, inputs, uses, order
        self.guards: dict = {}
        self.conditions: dict = {}
        self.module_reads: set = set()
        self.by_name = False
        self.reader = ""

    def add(self, chain, root, value):
        """Guard that a chain leads to a value."""
        self.guards[id(root), chain] = Guard(chain, root, snapshot(value, self._inputs), self.reader)

    def add_attributes(self, text, owner, names):
        """Guard attributes of an object, or that they are absent."""
        for name in names:
            self.add_attribute(text, owner, name, read(owner, (("attr", name),)))

    def add_attribute(self, text, owner, name, found):
        """Guard an attribute of an object, and follow its value."""
        chain = Chain(ARGUMENT, text, (("attr", name),))
        self.order.lasts((id(owner), chain))
        if (id(owner), chain) not in self.guards:
            if isinstance(owner, type) and is_container(found):
                self._uses.apply({name: found})
                self.walker.walk(f"{text}.{name}", found)
            self.guards[id(owner), chain] = Guard(
                chain, owner, self._inputs.same_as(found, owner, name) or snapshot(found, self._inputs), self.reader)
            self.add_hidden(found.fget if type(found) is property else found)
            self.add_library(f"{text}.{name}", found)

    def add_class_attribute(self, m, name):
        """Guard an attribute of a module that its class may have."""
        kind = type(m)
        if name not in module_state(m) and known_in_class(kind, name):
            self.add_attributes(kind.__qualname__, kind, (name,))

    def add_absent(self, text, owner, names):
        """Guard that an object, or a class with its bases, has no attributes of some names."""
        if names:
            place = "lack", id(owner)
            if place not in self.conditions:
                self.conditions[place] = AbsentNames(owner, text)
            self.conditions[place].names |= names

    def add_condition(self, reading):
        """Add a condition, if there is one, and follow the value that it compares."""
        if reading is not None:
            self.conditions.setdefault(reading.identity, reading)
            self.walker.walk(reading.text, reading.read())

    def add_hidden(self, value):
        """Guard the state of a module or function itself, to which a chain leads."""
        if isinstance(value, Module):
            self.walker.see_module(value)
        elif type(value) is types.FunctionType and is_users(value):
            self.conditions.setdefault(id(value), FunctionGuard(value))
            self.add_condition(registry_condition(value))
        elif type(value).__module__ == "decimal" or getattr(value, "__module__", "") == "decimal":
            self.add_condition(decimal_condition())

    def add_library(self, text, value):
        """Guard the content of an object of the standard library, whose code is not tracked."""
        owner = getattr(value, "__self__", value) if isinstance(value, types.BuiltinMethodType | types.MethodType) else value
        content = held_by(owner)
        if content is not None:
            expected = snapshot(content(), self._inputs)
            self.add_condition(ReadCondition(("library", id(owner)), content, expected, f"what {text} holds"))
