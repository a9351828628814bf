"""Places where Python keeps values outside of the arguments: following a chain to one, and putting something else there.

Numbers and tensors in such places that were seen to change (`self.temperature`, a closure's `lr`, the state of a stream) are
read at every call like further arguments (`Outer`). While a call is recorded with a symbolic number, that stands in its place.
"""

import builtins
import types
from dataclasses import dataclass
from typing import Any

from ..ir.symbolic import hint
from ..runtime.tensor import Tensor
from .reads import ARGUMENT, MISSING, Chain, follow
from .tree import TENSOR

MOST_PLACES = 32        # that are read at every call of one function
_ITEMS = frozenset((dict, list))


@dataclass(frozen=True, eq=False)
class Place:
    """What a chain leads to from a root: the namespace dict or closure cell, or the object itself for an argument."""

    chain: Chain
    root: object

    @property
    def watched(self) -> tuple:
        """What identifies the place."""
        return id(self.root), self.chain

    def value(self):
        """What the chain leads to now."""
        return unbound(follow(self._start(), self.chain.steps))

    def _start(self):
        return self.root if self.chain.root == ARGUMENT else root_value(self.root, self.chain.name)

    def places_on_the_way(self) -> list:
        """(id of what holds it, key) of all that the chain goes through."""
        start, steps = self._start(), self.chain.steps
        owners = [(id(follow(start, steps[:n])), key) for n, (_, key) in enumerate(steps)]
        return [(id(self.root), "" if isinstance(self.root, types.CellType) else self.chain.name), *owners]

    def owner(self):
        """(what holds the value, its key there, how it is kept): "cell", "item" or "attr"; None where nothing can be put."""
        if not self.chain.steps:
            if isinstance(self.root, types.CellType):
                return self.root, "", "cell"
            return (self.root, self.chain.name, "item") if self.chain.name in self.root else None     # type: ignore[operator]
        owner, (kind, key) = follow(self._start(), self.chain.steps[:-1]), self.chain.steps[-1]
        if kind == "item":
            return (owner, key, "item") if type(owner) in _ITEMS else None
        found = getattr(type(owner), key, None)
        is_plain = type(getattr(owner, "__dict__", None)) is dict and not hasattr(type(found), "__set__")
        return (owner, key, "attr") if is_plain or (isinstance(owner, type) and key in owner.__dict__) else None

    @property
    def is_settable(self) -> bool:
        """Whether another value can be put there."""
        return self.owner() is not None


@dataclass(frozen=True)
class Moved:
    """A place of a number or tensor that was seen to change, and what was there before."""

    place: Place
    before: object

    @property
    def is_number(self) -> bool:
        """Whether it is a number."""
        return not isinstance(self.before, Tensor)

    def __hash__(self):
        return id(self)


class Held:
    """Symbolic numbers in places while a call is recorded; tensors that lie in places, which are no captured ones.

    known    {id of what is there: its place}
    owners   {(id of what holds it, key): its place}
    """

    def __init__(self, places=(), values=()):
        self.places, self.values = places, values
        self.first = {p.watched: v for p, v in zip(places, values)}     # while the call is being recorded
        self.known: dict = {}
        self.owners: dict = {}
        self._back: list = []

    def __enter__(self):
        for place, value in zip(self.places, self.values):
            found = place.owner()
            if value is None or (found is not None and (id(found[0]), found[1]) in self.owners):
                continue
            self.known.setdefault(id(value), place)
            if found is not None:
                owner, key, kind = found
                self.owners[id(owner), key] = place
                if not isinstance(value, Tensor):
                    self._back.append((owner, key, kind, value, put(owner, key, kind, value)))
        return self

    def __exit__(self, *exc):
        for owner, key, kind, value, before in reversed(self._back):
            if kept(owner, key, kind) is value:       # else the function has written there
                put(owner, key, kind, before)

    def same_as(self, value, owner=None, key=None):
        """What a guard is to expect of a value or attribute that is looked up at every call; None for others."""
        place = self.known.get(id(value)) or self.owners.get((id(owner), key))
        return None if place is None else SameAs(place, self.first)

    def close(self):
        """The call is recorded: from now on guards look at what the places hold at the time."""
        self.values = ()
        self.first.clear()


class SameAs:
    """Stands in guards for what a place holds at the time."""

    def __init__(self, place: Place, first: dict):
        self.place, self._first = place, first

    def matches(self, now) -> bool:
        """Whether a value is what the place holds now, or held when it was recorded, as long as it is."""
        held = hint(self._first[self.place.watched]) if self.place.watched in self._first else self.place.value()
        return now is held or (type(now) is type(held) and type(now) in (int, float) and now == held)

    def __repr__(self):
        return f"what {self.place.chain} holds"


def kept(owner, key, kind):
    """What is in a place now."""
    if kind == "cell":
        return root_value(owner, key)
    if kind == "item":
        return owner[key]
    return vars(owner).get(key, MISSING)


def put(owner, key, kind, value):
    """Puts a value into a place; returns what was there."""
    before = kept(owner, key, kind)
    if kind == "cell":
        owner.cell_contents = value
    elif kind == "item":
        owner[key] = value
    elif isinstance(owner, type):
        type.__setattr__(owner, key, value)
    elif value is MISSING:
        owner.__dict__.pop(key, None)
    else:
        owner.__dict__[key] = value
    return before


def read_places(places, leaves: list, numbers: list) -> tuple:
    """Reads places as further arguments of a call: their numbers and tensors are appended, their kinds returned."""
    kinds: list = []
    for place in places:
        value: Any = place.value()
        kind = type(value)
        if kind is float or kind is int:
            numbers.append(value)
            kinds.append(kind)
        elif isinstance(value, Tensor):
            leaves.append(value)
            kinds.append(TENSOR)
        else:
            kinds.append(None)
    return tuple(kinds)


def root_value(namespace, name):
    """A global (or builtin), or the content of a closure cell."""
    if isinstance(namespace, types.CellType):
        try:
            return namespace.cell_contents
        except ValueError:
            return MISSING
    if name in namespace:
        return namespace[name]
    return getattr(builtins, name, MISSING)


def unbound(value):
    """The function of a bound method (which is a new object at every read); anything else as it is."""
    return value.__func__ if isinstance(value, types.MethodType) else value
