"""Writes to Python state that outlives a call: `self.step += 1`, `self.last = loss`, `log.append(loss)`, a `global` variable.

The recorded run makes them itself. Their values are results like those that the function returns. A replay stores them after
it has written everything else.

A list or dictionary among the arguments is part of the key of a recording, so a replay stores its whole final content. Any
other container is the same object at later calls, unless one location alone leads to it. Then a write goes to the container
that lies there at the call (`self.losses = []` at the end of an epoch), if no other name can lead to that one.
"""

import sys
import types
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, replace
from itertools import starmap
from types import SimpleNamespace
from typing import Any

from ...ir.weak_table import WeakTable
from ...runtime.nn.base.hooks import store_again
from ...runtime.nn.base.module import Module
from ..bytecode.reads import MISSING
from ..bytecode.user_code import dict_of, is_a
from ..errors.errors import TraceError
from ..guards.arg_pytree import GIVEN
from ..guards.exact_values import ByIdentity
from ..guards.guards import Condition, module_attribute
from ..guards.locations import DICTS, EXTEND, RESTORED, WHOLE, load, refill, store
from ..guards.references import Held
from ..guards.snapshot import Remade, looks_like, same_items
from ..proxies.new_objects import attributes_in, set_attributes
from ..proxies.numpy_scalars import now, stands_for_number
from ..proxies.threads import mapped

CONTENT = "content"     # kind of a write to a container among the arguments
_REFILLED = frozenset((list, dict, OrderedDict, defaultdict))
_SETTERS = (object.__setattr__, SimpleNamespace.__setattr__, type.__setattr__)


@dataclass(frozen=True, eq=False)
class Target:
    """A location that is written, as `Location.owner` gives it.

    was        the value from before
    before     what a guard expects of it
    text       its name for messages
    of_class   whether the value from before is that of the owner's class
    """

    owner: Any
    key: object
    kind: str
    was: object
    before: object
    text: str
    of_class: bool = False

    @property
    def place(self) -> tuple:
        return id(self.owner), self.kind if self.kind in (EXTEND, WHOLE) else self.key

    def value(self):
        if self.kind == "attr" and is_a(self.owner, Module):
            return module_attribute(self.owner, str(self.key))
        found = load(self.owner, self.key, self.kind)
        if found is MISSING and self.of_class and getattr(type(self.owner), str(self.key), MISSING) is self.was:
            return self.was
        return found

    @property
    def is_changed(self) -> bool:
        now = self.value()
        if self.of_class and load(self.owner, self.key, self.kind) is not MISSING:
            return True         # the owner has an attribute of its own now
        return now is not self.was and (stands_for_number(now) or stands_for_number(self.was)
                                        or type(self.before) is Remade or not looks_like(now, self.before))

    def without_values(self) -> "Target":
        """Return a copy without the values from before, which it would keep alive."""
        return replace(self, was=None, before=None)

    def write(self, value, containers, done: list):
        """Store a value, in a call with these containers among its arguments, and add an item to `done`: in the same
        instruction, where storing the value again would not leave the same."""
        if self.kind == EXTEND:
            done += starmap(self.owner.extend, ((value,),))
        else:
            self.rewrite(value, containers)
            done.append(None)

    def rewrite(self, value, containers=()):
        """Replace a value that was written, in a call with these containers among its arguments."""
        if self.kind == "attr":
            if value is self.value():       # guards compare a module again after each change
                return
            if is_a(self.owner, Module):
                store_again(Module.__setattr__ if self._is_past_setter else setattr, self.owner, str(self.key), value)
            elif self._is_past_setter:
                dict_of(self.owner)[self.key] = value
            else:
                setattr(self.owner, str(self.key), value)
        else:
            store(self.owner, self.key, self.kind, value)

    def fix(self, give, put=mapped):
        """Replace numbers in the written value by what `give` makes of them; `put` does so in copies of lists and dictionaries,
        or in place."""
        value = self.value()
        if value is self.was and type(value) in RESTORED:       # writes to its items are targets of their own
            return
        plain = put(value, give)
        if plain is not value:
            self.rewrite(plain)

    def settle(self):
        self.fix(now)

    @property
    def _is_past_setter(self) -> bool:
        """Return whether the write skips a user's `__setattr__`. Its effects are logged themselves, and replays store them."""
        if is_a(self.owner, Module):
            return type(self.owner).__setattr__ is not Module.__setattr__ and self.value() is not MISSING
        return (type(self.owner).__setattr__ not in _SETTERS and not is_a(self.owner, type)
                and self.key in dict_of(self.owner))

    @property
    def is_plain(self) -> bool:
        """Return whether the write is a plain store: no property, and no `__setattr__` of the user's that stores elsewhere."""
        if self.kind != "attr":
            return True
        kind = type(self.owner)
        if is_a(self.owner, Module):
            return kind.__setattr__ is Module.__setattr__ or self._is_past_setter
        found = getattr(kind, str(self.key), None)
        return (kind.__setattr__ in _SETTERS or self._is_past_setter) and (
            type(found).__name__ == "member_descriptor" or not hasattr(type(found), "__set__"))


def _content(container) -> tuple:
    return tuple(container) if type(container) is list else tuple([(k, v) for k, v in container.items()])


Target.owner = Held("owner")


@dataclass(frozen=True, eq=False)
class ContentTarget(Target):
    """Whole content of a container among the arguments; `key` is its number."""

    @property
    def place(self) -> tuple:
        return CONTENT, self.key

    def value(self):
        return _content(self.owner)

    def rewrite(self, value, containers=()):
        refill(containers[self.key], value)


class ArgumentContainers:
    """Containers that the recorded function receives, and those of its caller. They differ if numbers in them are symbolic."""

    def __init__(self, containers, of_caller, objects=()):
        """`objects` are ids of objects among the containers that are taken apart."""
        self.containers, self.of_caller = containers, of_caller
        self._objects = [(i, x, attributes_in(x)) for i, x in enumerate(containers) if id(x) in objects]
        self._before = [c.copy() if type(c) in _REFILLED else None for c in containers]

    @property
    def are_copies(self) -> bool:
        """Return whether the function received other containers than its caller has."""
        return any(a is not b for a, b in zip(self.containers, self.of_caller))

    def _changed(self) -> list:
        return [(i, c, b) for i, (c, b) in enumerate(zip(self.containers, self._before))
                if b is not None and not same_items(c, b)]

    @property
    def has_changed_callers(self) -> bool:
        return any(c is self.of_caller[i] for i, c, _ in self._changed())

    def targets(self, contents) -> list:
        """Return the changed containers as targets; `contents` knows those that are reached on other ways, too."""
        changed = self._changed()
        for _, c, _ in changed:
            if contents.has_seen(c):
                raise TraceError(f"this function cannot be traced: it changes a {type(c).__name__} that is an argument, and "
                                 "that it also reaches otherwise; let it use the one or the other")
        return [ContentTarget(c, i, CONTENT, None, None, f"a {type(c).__name__} among the arguments") for i, c, _ in changed]

    def were(self) -> dict:
        """Return {id: content from before} of the changed ones."""
        return {id(c): b for _, c, b in self._changed()}

    def specs(self, contents) -> dict:
        """Return {id: spec} of containers that results may hold and that the function has not made."""
        arguments = {id(c): (GIVEN, i) for i, c in enumerate(self.containers)}
        seen = contents.containers()
        known = {id(c): ByIdentity(c) for c in seen if id(c) not in arguments}
        return {**known, **{at: spec for at, spec in arguments.items() if at not in {id(c) for c in seen}}}

    def changed_objects(self) -> list:
        """Return the objects that have other attributes than before."""
        return [x for _, x, before in self._objects if not _are_same(attributes_in(x), before)]

    def settled(self, result):
        """Give the caller's objects what the function has set in their copies; return a result with the former in place of the
        latter."""
        callers = {id(c): self.of_caller[i] for i, c in enumerate(self.containers)}

        def give(x):
            return callers.get(id(x), x)

        for i, x, before in self._objects:
            now_there, original = attributes_in(x), self.of_caller[i]
            changed = {name: mapped(v, give) for name, v in now_there.items() if v is not before.get(name, MISSING)}
            set_attributes(original, {name: mapped(v, now) for name, v in changed.items()})
            for name in before.keys() - now_there.keys() if original is not x else ():
                object.__delattr__(original, name)
        return mapped(result, give)

    def settle(self):
        """Leave the changes so far, with plain numbers, in the caller's containers: the function has raised."""
        callers = {id(c): self.of_caller[i] for i, c in enumerate(self.containers)}
        self.settled(None)
        for i, c, _ in self._changed():
            refill(self.of_caller[i], mapped(_content(c), lambda x: callers.get(id(x), now(x))))


def _are_same(attributes, before) -> bool:
    return attributes.keys() == before.keys() and all(v is before[name] for name, v in attributes.items())


class _Held:
    """The one reference of all `SoleReference`s to a container."""

    __slots__ = ("__weakref__", "container")

    def __init__(self, container):
        self.container = container


_HELD = WeakTable()         # by the ids of the containers


def _in_cell(cell, key) -> int:
    return sys.getrefcount(cell.cell_contents)


def _in_table(table, key) -> int:
    return sys.getrefcount(table[key])


_REFERENCE_COUNTERS = {True: _in_cell, False: _in_table}
_SINGLE_COUNTS = {True: _in_cell(types.CellType([]), ""), False: _in_table({"": []}, "")}       # counts without other holders


class SoleReference(Condition):
    """A location holds the container from before, or one that nobody else holds."""

    owner, place = Held("owner"), Held("place")

    def __init__(self, place, first, text):
        self.place, self.text = place, text
        self.owner, self.key, self.kind = place
        self.identity = "alone", id(self.owner), self.key
        held = _HELD.get(id(first))
        if held is None:
            held = _HELD[id(first)] = _Held(first)
        self._held = held

    @property
    def first(self):
        """The container from before."""
        return self._held.container

    def holds(self) -> bool:
        found = load(self.owner, self.key, self.kind)
        at, kind = id(found), type(found)
        del found
        first = self.first
        if at == id(first):
            return True
        if kind is not type(first):         # it may be gone
            return False
        is_cell = self.kind == "cell"
        table = vars(self.owner) if self.kind == "attr" else self.owner
        return _REFERENCE_COUNTERS[is_cell](table, self.key) == _SINGLE_COUNTS[is_cell] + (_HELD.get(at) is not None)

    def __str__(self):
        return f"{self.text} is another {type(self.first).__name__}, which others hold, too"


@dataclass(frozen=True, eq=False)
class RelocatedTarget(Target):
    """Write to the container at a location; `owner` is (owner of the container, its key there, kind)."""

    @property
    def place(self) -> tuple:
        owner, key, _ = self.owner
        return (id(owner), key), super().place[1]

    def there(self) -> Target:
        """Return the write to the container that lies there now."""
        return Target(load(*self.owner), self.key, self.kind, self.was, self.before, self.text)

    def value(self):
        return self.there().value()

    def write(self, value, containers, done: list):
        self.there().write(value, containers, done)

    def rewrite(self, value, containers=()):
        self.there().rewrite(value)


def sole_references(guards, contents, held) -> dict:
    """Return {id of a container that the run writes to: condition on its location} if one location alone leads to it. `guards`
    come with the values on their ways at first; `held` are ids of objects that results or writes hold."""
    found: dict = {}
    for guard, way in guards:
        value = way[-1]
        if type(value) in RESTORED and contents.has_written(value) and id(value) not in held:
            steps = guard.chain.steps
            place = (id(way[-2]), steps[-1][1]) if steps else guard.first_location
            found.setdefault(id(value), {})[place] = guard, way
    inside = {id(v) for c in contents.containers() for v in (c.values() if type(c) in DICTS else c)}
    single = {at: next(iter(guards.values())) for at, guards in found.items() if len(guards) == 1 and at not in inside}
    owned = {at: (guard, way[-1], guard.owner_among(way[-2] if len(way) > 1 else None)) for at, (guard, way) in single.items()}
    return {at: SoleReference(owner, value, str(g.chain)) for at, (g, value, owner) in owned.items() if _is_lasting(g, owner)}


def _is_lasting(guard, place) -> bool:
    """Return whether the owner of a container is the same object at each call, and the name holds nothing else."""
    owner, key, kind = place or (None, "", "")
    return kind == "cell" or (kind == "item" and not guard.chain.steps) or (
        kind == "attr" and type(getattr(owner, "__dict__", None)) is dict and key in vars(owner))


def relocated(effects, references: dict) -> tuple:
    """Return the targets of a run, with those of containers in `references` by location."""
    return tuple([t if id(t.owner) not in references else RelocatedTarget(
        references[id(t.owner)].place, t.key, t.kind, t.was, t.before, t.text) for t in effects])
