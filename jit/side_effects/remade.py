"""Objects that calls make anew at one location: `self.state = State(h, c)`, `registry["z"] = dict(fn=Normal(x, 1.0))`.

Guards compare objects by identity. A location that an earlier call wrote holds another object at each call. If nothing else
leads to that object, no code can tell it from another one of its class and attributes, so guards compare these (`Remade`), and
its numbers and tensors may become inputs.
"""

import sys
import types
from collections import deque
from dataclasses import dataclass

from ..bytecode.reads import ARGUMENT, FREE, MISSING, Chain
from ..errors.errors import ReplacedError
from ..guards.guards import Condition, changed_values_in
from ..guards.locations import DICTS, RESTORED, Location, StateInputs, is_slot, load
from ..guards.snapshot import Remade, change_in_words, demand_alike, first_change, looks_like, snapshot
from ..proxies.new_objects import attributes_in, is_plain_object
from .effects import RelocatedTarget, Target

_KINDS = frozenset(("attr", "item", "cell"))


def _references(owner, key, kind) -> int:
    if kind == "cell":
        return sys.getrefcount(owner.cell_contents)
    if kind == "attr" and not is_slot(owner, key):
        return sys.getrefcount(vars(owner)[key])
    return sys.getrefcount(getattr(owner, key) if kind == "attr" else owner[key])


class _Slot:
    __slots__ = ("key",)

    def __init__(self):
        self.key: list = []


def _single(owner, kind) -> int:
    """Return how many references to a value are counted that only such an owner holds."""
    if kind == "cell":
        return _references(types.CellType([]), "", kind)
    if kind == "attr":
        return _references(_Slot() if owner is _Slot else types.SimpleNamespace(key=[]), "key", kind)
    return _references({"": []}, "", kind)


_SINGLE = {"cell": _single(None, "cell"), "attr": _single(None, "attr"), "slot": _single(_Slot, "attr"),
           "item": _single(None, "item")}


def _is_single(owner, key, kind) -> bool:
    if kind == "attr" and not is_slot(owner, key) and key not in vars(owner):       # a parameter of a module
        return False
    return _references(owner, key, kind) <= _SINGLE["slot" if kind == "attr" and is_slot(owner, key) else kind]


@dataclass
class Part:
    """An object or container that is made anew, and those `below` it, by key."""

    kind: str           # of the locations below it
    below: dict
    first: object       # itself; None where the run replaces it

    def forget(self):
        self.first = None
        for part in self.below.values():
            part.forget()


def _parts_at(owner, key, kind, found: dict) -> Part | None:
    """Return what a location holds if nothing else leads to it, and add all such objects and containers to `found`, by id."""
    if not _is_single(owner, key, kind):
        return None
    x = load(owner, key, kind)
    if is_plain_object(x):
        names, below = list(attributes_in(x)), "attr"
    elif type(x) in DICTS:
        names, below = list(x), "item"
    elif type(x) in (list, deque) or isinstance(x, tuple):
        names, below = list(range(len(x))), "item"
    else:
        return None
    parts = {name: part for name in names if (part := _parts_at(x, name, below, found)) is not None}
    if below == "item" and not parts:
        return None
    found[id(x)] = x
    return Part(below, parts, x)


def _are_unshared(owner, key, kind, part: Part) -> bool:
    x = load(owner, key, kind)
    if x is not part.first:
        del x
        if not _is_single(owner, key, kind):
            return False
        x = load(owner, key, kind)
    return all(_are_unshared(x, name, part.kind, below) for name, below in part.below.items())


def _holds(x, ids) -> bool:
    """Return whether an object or container is one of some ids, or holds a container that is."""
    if id(x) in ids:
        return True
    below = x.values() if type(x) in DICTS else x if type(x) in RESTORED or isinstance(x, tuple) else (
        attributes_in(x).values() if is_plain_object(x) else ())
    return any(_holds(v, ids) for v in below if type(v) in RESTORED or isinstance(v, tuple))


class RemadeObjects:
    """Objects at locations that earlier recordings wrote (`targets`), to which nothing else leads as a recording starts.
    `changing` has the guards on such locations that were seen to fail (`Unshared.changed_values`)."""

    def __init__(self, targets, changing=frozenset()):
        self._changing = changing
        self._trees: list = []          # (target, its `Part`, {id: object or container below it})
        self._shared: list = []         # (target, object there to which something else leads, too)
        for t in targets:
            found: dict = {}
            there = t.there() if type(t) is RelocatedTarget else t
            is_known = type(there) is Target and t.kind in _KINDS and there.value() is not MISSING
            part = _parts_at(there.owner, t.key, t.kind, found) if is_known else None
            if part is not None:
                self._trees.append((t, part, found))
            elif is_known and is_plain_object(there.value()):
                self._shared.append((t, there.value()))
        # by id: (object that the run replaces and guards compare by identity, its place, whether its parts count)
        self.lost: dict = {}
        self._expected: dict = {}       # by id: the `Remade` of an object
        self._guards: list = []

    def expect(self, inputs: StateInputs):
        """Let guards compare the objects by class and attributes."""
        objects = [x for *_, found in self._trees for x in found.values() if is_plain_object(x)]
        inputs.remade = self._expected = {id(x): Remade(x) for x in objects}
        for x in objects:
            self._expected[id(x)].items = tuple(
                [inputs.same_as(v, x, name) or snapshot(v, inputs) for name, v in attributes_in(x).items()])
        self._guards = [Unshared(t, part, snapshot(t.value(), inputs)) for t, part, _ in self._trees]

    def settle(self, effects, held) -> tuple:
        """Compare objects by identity after all where the run writes below a location, or stores a part elsewhere (ids in
        `held`). Return (guards, ids of the objects that are compared by content)."""
        used, written = {*held, *[id(t.owner) for t in effects]}, {t.place for t in effects}
        free = [not any(_holds(x, used) for x in found.values()) for *_, found in self._trees]
        def is_replaced(t) -> bool:
            """Return whether the run puts there an object that it has made."""
            there = t.there() if type(t) is RelocatedTarget else t
            return there.place in written and id(there.value()) not in held

        for (t, part, found), is_free in zip(self._trees, free):
            if is_replaced(t):
                part.forget()
                if ("unshared", t.place) in self._changing:
                    raise ReplacedError(f"it puts another {type(t.value()).__name__} into {t.text}, with other contents each "
                                        "time; make it outside, or return it")
                self.lost.update({} if is_free else {at: (x, t.text, True) for at, x in found.items()})
        self.lost.update({id(x): (x, t.text, False) for t, x in self._shared if is_replaced(t)})
        ids = {at for (*_, found), is_free in zip(self._trees, free) if is_free for at in found}
        for at, expected in self._expected.items():
            expected.settle(at not in ids)
        guards = [guard for guard, is_free in zip(self._guards, free) if is_free]
        self._trees, self._shared, self._guards, self._expected = [], [], [], {}
        return guards, ids


class Unshared(Condition):
    """A location holds what another call put there, of the same classes and attributes, and nothing else leads to it."""

    def __init__(self, target: Target, part: Part, expected):
        self._target, self._part, self._expected = target.without_values(), part, expected
        self.identity = "unshared", target.place

    def _place(self) -> Location:
        """Return the location in the object that holds it now."""
        t = self._there()
        name = t.text.partition(" (in ")[0]
        if t.kind == "cell":
            return Location(Chain(FREE, name, ()), t.owner)
        return Location(Chain(ARGUMENT, name.rpartition("." if t.kind == "attr" else "[")[0], ((t.kind, t.key),)), t.owner)

    def _there(self) -> Target:
        return self._target.there() if type(self._target) is RelocatedTarget else self._target

    def holds(self) -> bool:
        t = self._there()
        return looks_like(t.value(), self._expected) and _are_unshared(t.owner, t.key, t.kind, self._part)

    def covers(self, other) -> bool:
        return demand_alike(self._expected, other._expected)

    def changed_values(self) -> list:
        """Return numbers and tensors that changed; the guard's identity if it fails for another reason."""
        return changed_values_in(self._place(), self._expected, self._there().value()) or [self.identity]

    def __str__(self):
        t = self._there()
        path, was, now = first_change(t.value(), self._expected)
        if was is now or looks_like(t.value(), self._expected):
            return f"others hold what is in {t.text}, too"
        return change_in_words(f"{t.text}{path}", was, now)
