"""Entries of classes that guards compare, past all descriptors, and one test for all guards on a class.

The interpreter numbers the states of a class: a change of the class, or of one of its bases, takes its number away. So while a
class keeps the number that it had when its guards held, they hold.
"""

import ctypes
import functools
import sys
import types
from dataclasses import dataclass
from typing import Any

from ...ir.interrupts import raise_interrupt
from ...runtime.cpu.calls.call import knows_objects
from ..bytecode.reads import MISSING
from .absence import IMMUTABLE, AbsentNames, ClassNames, ObjectClasses
from .guards import Condition, ReadCondition
from .locations import class_attribute, held_in, is_slot
from .snapshot import change_in_words

_BASE, _ORDER, _VERSION = 8 * 32, 8 * 43, 8 * 48        # offsets of tp_base, tp_mro and tp_version_tag (CPython 3.11 to 3.15)
_MISSES = 2         # times that a class was another one before its tests are compiled
_UNKNOWN = -1


def owner_among(classes, name):
    """Return the first of some classes that has an attribute, or None."""
    return next((c for c in classes if name in c.__dict__ and held_in(c, name) is not MISSING), None)


@dataclass(frozen=True)
class ClassEntry:
    """Name of which a class or one of its bases holds the value."""

    cls: type
    name: str

    def __call__(self) -> Any:
        """Return the value, past all descriptors, or MISSING."""
        return class_attribute(self.cls, self.name)


@dataclass(frozen=True)
class Inheritance:
    """Name that `super(below, x)` looks up in the user classes `above` of an object of a class or of this class itself."""

    cls: type
    above: tuple
    name: str

    def __call__(self):
        """Return the class that holds the name."""
        return owner_among(self.above, self.name)


class ClassMembers(Condition):
    """A class, with its bases, holds the same methods and properties under some names."""

    def __init__(self, cls):
        self.owner = cls
        self.members: dict = {}     # name -> (method or property, the function that read it)

    @property
    def identity(self) -> tuple:
        return "members", id(self.owner), frozenset(self.members)

    def changed(self) -> list:
        """Return the names with other objects than before."""
        first = self.owner.__mro__[0].__dict__
        return [name for name, (was, _) in self.members.items()
                if first.get(name) is not was and class_attribute(self.owner, name) is not was]

    def holds(self) -> bool:
        return not self.changed()

    def explained_by(self, written) -> bool:
        """Return whether the function itself writes every name that changed."""
        return all((id(self.owner), name) in written for name in self.changed())

    def __str__(self):
        name = next(iter([*self.changed(), *self.members]))
        was, where = self.members[name]
        now = ClassEntry(self.owner, name)()
        return change_in_words(f"{self.owner.__qualname__}.{name}", was, now) + (f" (read in {where})" if where else "")


class ClassTests:
    """Tests of many guards on classes: one for each class."""

    def __init__(self):
        self._guards: dict = {}     # {class: its guards}
        self._kinds: list = []      # `ObjectClasses`

    def take(self, guard) -> bool:
        """Take a guard over, if names and identities in a class tell whether it holds."""
        read: Any = guard.read if type(guard) is ReadCondition else None
        if type(guard) is ObjectClasses:
            self._kinds.append(guard)
            return True
        if type(guard) in (ClassMembers, ClassNames) or (type(guard) is AbsentNames and guard.classes is not None):
            cls = guard.owner
        elif type(read) is Inheritance or (type(read) is ClassEntry and _is_an_entry(read, guard.expected)):
            cls = read.cls
        else:
            return False
        self._guards.setdefault(cls, []).append(guard)
        return True

    def lines(self, name) -> list:
        """Return the tests as expressions; `name` gives the name of an object in them."""
        kinds = [test for guard in self._kinds for test in _tests_of_kinds(guard, name)]
        if not has_versions():
            return [*kinds, *[line for cls, guards in self._guards.items() for line in _EntryTests(cls, guards).lines(name)]]
        tests = [ClassVersion(cls, guards) for cls, guards in self._with_bases()]
        return [*kinds, *[f"({name(t)}.version == {name(t.current)}.value or {name(t)}.holds())" for t in tests]]

    def _with_bases(self) -> list:
        """Return (class, {class: guards}), guards of a base at a class below it, which loses its number with the base."""
        found = {cls: {cls: guards} for cls, guards in self._guards.items()}
        for cls in self._guards:
            below = next((c for c in found if c is not cls and cls in c.__mro__), None)
            if below is not None:
                found[below].update(found.pop(cls))
        return [*found.items()]


_FEW = 3        # objects whose classes are compared one by one


def _tests_of_kinds(guard: ObjectClasses, name) -> list:
    count = len(guard.objects)
    if count > _FEW:
        tests = [f"[*map(type, {name(guard.objects)})] == {name(guard.classes[:count])}"]
    else:
        tests = [f"type({name(x)}) is {name(kind)}" for x, kind in zip(guard.objects, guard.classes)]
    return tests + [f"type({name(r.of)}()) is {name(kind)}" for r, kind in zip(guard.passed, guard.classes[count:])]


def _is_an_entry(read, expected) -> bool:
    owner = owner_among(read.cls.__mro__, read.name)
    return owner is not None and not is_slot(read.cls, read.name) and vars(owner).get(read.name) is expected


class ClassVersion:
    """Guards on one class and bases of it, by class, which hold as long as it has the number `version`."""

    def __init__(self, cls, guards: dict):
        self._cls, self._guards = cls, guards
        self.version, self.current = _UNKNOWN, _version_of(cls)
        self._misses, self._test = 0, lambda: False

    def holds(self) -> bool:
        """Compare the class itself, and remember its number."""
        type.__getattribute__(self._cls, "__sizeof__")      # a lookup, which gives it a number
        version = self.current.value
        self._misses += 1
        if self._misses == _MISSES:
            self._test = _compiled([_EntryTests(cls, guards) for cls, guards in self._guards.items()])
        if not (self._test() or all([g.holds() for guards in self._guards.values() for g in guards])):  # noqa: C419
            return False
        self.version = version or _UNKNOWN
        return True


class _EntryTests:
    """Tests of guards on one class that compare names and objects in it and its bases."""

    def __init__(self, cls, guards):
        self._cls = cls
        self._order = cls.__mro__
        self._keys: Any = None      # names that the class must have, and no others
        self._absent: dict = {}     # {class: names that it must not have}
        self._entries: dict = {}    # {(class, name): value}
        self._others: list = []     # guards without tests of this kind
        for g in guards:
            if type(g) is AbsentNames:
                self._lack(g.classes, g.names)
            elif type(g) is ClassNames:
                self._keys, self._order = g.keys, g.order
                self._entries.update({(cls, name): value for name, value in g.fixed.items()})
            elif type(g) is ClassMembers:
                for name, (value, _) in g.members.items():
                    self._add(name, value)
            elif type(g.read) is ClassEntry:
                self._add(g.read.name, g.expected)
            else:
                self._others.append(g)

    def _add(self, name, value):
        order = self._cls.__mro__
        owner = next((c for c in order if vars(c).get(name) is value), None)
        if owner is None:       # it is another one by now: no test holds
            self._entries[self._cls, name] = value
            return
        self._lack([c for c in order[:order.index(owner)] if not c.__flags__ & IMMUTABLE], (name,))
        if not owner.__flags__ & IMMUTABLE:
            self._entries[owner, name] = value

    def _lack(self, classes, names):
        for c in classes:
            self._absent.setdefault(c, set()).update(names)

    def lines(self, name) -> list:
        """Return the tests as expressions; `name` gives the name of an object in them."""
        spaces = {c: name(vars(c)) for c in {**self._absent, **{owner: None for owner, _ in self._entries}}}
        keys = [] if self._keys is None else [f"{name(vars(self._cls))}.keys() == {name(self._keys)}"]
        return [f"{name(self._cls)}.__mro__ is {name(self._order)}", *keys,
                *[f"{spaces[c]}.keys().isdisjoint({name(frozenset(names))})" for c, names in self._absent.items()],
                *[f"{spaces[c]}[{key!r}] is {name(value)}" for (c, key), value in self._entries.items()],
                *[f"{name(g)}.holds()" for g in self._others]]


def _compiled(tests):
    """Return a function that returns True only if all tests of classes hold."""
    names: dict = {"__name__": __name__}

    def name(value):
        names[f"o{len(names)}"] = value
        return f"o{len(names) - 1}"

    return check_of([line for test in tests for line in test.lines(name)], names)


def check_of(tests, names: dict):
    """Return a function, with the globals `names`, that returns whether all tests hold: False if one raises."""
    names["fails"] = _fails
    code = _code_of_check(" and ".join(tests) or "True").replace()      # (the interpreter adapts each to its objects)
    return types.FunctionType(code, names, None, (False,))


@functools.lru_cache(maxsize=512)
def _code_of_check(test: str) -> types.CodeType:
    space: dict = {}
    exec(compile(f"def check(is_again=False):\n    try:\n        return {test}\n    except Exception as error:\n"
                 "        if is_again:\n            raise\n        return fails(error)\n", "<guards>", "exec"), space)
    return space["check"].__code__


def _fails(error) -> bool:
    """Return False for the calling check, which raised an error; raise one that came from outside."""
    frame = sys._getframe(1)
    raise_interrupt(error, types.FunctionType(frame.f_code, frame.f_globals), True)
    return False


def _version_of(cls):
    """Return the number of a class, where the interpreter keeps it; 0 until a name is looked up in it after a change."""
    return ctypes.c_uint32.from_address(id(cls) + _VERSION)


@functools.lru_cache(None)
def has_versions() -> bool:
    """Return whether the interpreter numbers classes, tried on two of our own."""
    class Base:
        pass

    class Derived(Base):
        pass

    def word(offset):
        return ctypes.c_size_t.from_address(id(Derived) + offset).value

    if not knows_objects() or (word(_BASE), word(_ORDER)) != (id(Base), id(Derived.__mro__)):
        return False
    seen, current = set(), _version_of(Derived)
    for value in range(3):
        seen.add(current.value)     # 0
        type.__getattribute__(Derived, "__sizeof__")
        seen.add(current.value)
        Base.value = value      # type: ignore[attr-defined]
    return len(seen) == 4 and 0 in seen
