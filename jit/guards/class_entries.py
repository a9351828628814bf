"""Entries of classes that guards compare, past all descriptors, and one test for all guards on classes that share bases."""

from dataclasses import dataclass
from typing import Any

from ..bytecode.reads import MISSING
from .absence import IMMUTABLE, AbsentNames
from .guards import ReadCondition
from .locations import is_slot, load


def owner_among(classes, name):
    """Return the first of some classes that has an attribute, or None."""
    return next((c for c in classes if load(c, name, "attr") is not MISSING), None)


@dataclass(frozen=True)
class ClassEntry:
    """Name of which a class or one of its bases holds the value."""

    cls: type
    name: str

    def __call__(self) -> Any:
        """Return the value, past all descriptors, or MISSING."""
        owner = owner_among(self.cls.__mro__, self.name)
        return MISSING if owner is None else load(owner, self.name, "attr")


class ClassTests:
    """Tests of many guards on classes: each class is asked once for all names that it must not have, and for each value."""

    def __init__(self):
        self._orders: dict = {}     # by id: classes whose bases are compared
        self._absent: dict = {}     # {class: names that it must not have}
        self._entries: dict = {}    # {(class, name): value}

    def take(self, guard) -> bool:
        """Take a guard over, if names and identities in the classes tell whether it holds."""
        if type(guard) is AbsentNames and guard.classes is not None:
            self._lack(guard.owner, guard.classes, guard.names)
            return True
        return type(guard) is ReadCondition and type(guard.read) is ClassEntry and self._take_entry(guard)

    def _take_entry(self, guard) -> bool:
        cls, name = guard.read.cls, guard.read.name
        owner = owner_among(cls.__mro__, name)
        if owner is None or is_slot(cls, name) or vars(owner).get(name) is not guard.expected:
            return False
        self._lack(cls, [c for c in cls.__mro__[:cls.__mro__.index(owner)] if not c.__flags__ & IMMUTABLE], (name,))
        if not owner.__flags__ & IMMUTABLE:
            self._entries[owner, name] = guard.expected
        return True

    def _lack(self, cls, classes, names):
        self._orders[id(cls)] = cls
        for c in classes:
            self._absent.setdefault(c, set()).update(names)

    def lines(self, name) -> list:
        """Return the tests as expressions; `name` gives the name of an object in them."""
        spaces = {c: name(vars(c)) for c in {**self._absent, **{owner: None for owner, _ in self._entries}}}
        return [*[f"{name(cls)}.__mro__ is {name(cls.__mro__)}" for cls in self._orders.values()],
                *[f"{spaces[c]}.keys().isdisjoint({name(frozenset(names))})" for c, names in self._absent.items()],
                *[f"{spaces[c]}[{key!r}] is {name(value)}" for (c, key), value in self._entries.items()]]
