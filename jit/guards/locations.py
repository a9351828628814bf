"""Locations of Python values outside of the arguments, and how to load and store them.

Numbers and tensors at locations that changed between calls (`self.temperature`, a closure's `lr`, the state of a stream) are
state inputs: they are read at every call like further arguments. While a call is recorded, a symbolic number is stored there.
"""

import builtins
import types
from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ...ir.symbols.symbolic import is_python_class
from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.tensor import Tensor
from ...runtime.optim.optimizer import State
from ..bytecode.reads import ARGUMENT, LENGTH, LENGTH_OF, MISSING, VIEWED, Chain, follow
from ..bytecode.user_code import dict_of, in_slot, is_a
from ..bytecode.uses import INSPECTED, MEASURED, SINGLE
from ..proxies.numpy_scalars import NUMBERS, fixed, number_of
from ..proxies.numpy_scalars import now as number_now
from ..proxies.plain_values import put_plain
from ..proxies.symbolic_tables import TABLES
from ..proxies.threads import ThreadView, ThreadViews
from .arg_pytree import TENSOR
from .expectation import Expectation
from .held_content import content_of, put_back
from .references import Held, Reference, can_die

MOST_LOCATIONS = 1024      # state inputs of one function
# Kinds of locations beside "cell", "item" and "attr":
EXTEND = "extend"       # items appended to a list or deque; the key is their first index
WHOLE = "whole"         # all items of a list or deque
CONTEXT = "context"     # value of a context variable
GONE = "gone"           # absent key of a dictionary
STATE = "state"         # whole content of an object in C code
DICTS = frozenset((dict, OrderedDict, defaultdict, Counter, State))
RESTORED = frozenset((list, deque, *DICTS))       # containers whose content can be replaced


@dataclass(frozen=True, eq=False)
class Location:
    """Target of a chain from a root: a namespace dict, a closure cell, or the object itself for an argument."""

    chain: Chain
    root: object

    @property
    def identity(self) -> tuple:
        return self.root_id, self.chain

    @property
    def root_id(self) -> int:
        held = self.__dict__["root"]
        return held.number if type(held) is Reference else id(held)

    def along(self, steps) -> "Location":
        """Return the location at the end of other steps from the same root, to be looked up for as long as that lives."""
        root = self.__dict__["root"]
        is_object = self.chain.root == ARGUMENT and type(root) is not Reference and can_die(root)
        return Location(self.chain._replace(steps=steps), Reference(root) if is_object else root)

    def value(self):
        """Return the current value; of a method its function."""
        return read(self.start(), self.chain.steps)

    def method(self):
        """Return the method to which the chain leads, bound to its owner, or None."""
        found = follow(self.start(), self.chain.steps)
        return found if found is not self.value() else None

    def start(self):
        return self.root if self.chain.root == ARGUMENT else root_value(self.root, self.chain.name)

    def locations_on_path(self) -> list:
        """Return (id of the owner, key) of all locations on the chain."""
        start, steps = self.start(), self.chain.steps
        owners = [(id(follow(start, steps[:n])), key) for n, (_, key) in enumerate(steps)]
        return [self.first_location, *owners]

    @property
    def first_location(self) -> tuple:
        """The location of the root's value."""
        return id(self.root), "" if is_a(self.root, types.CellType) else self.chain.name

    def owner(self):
        """Return (owner of the value, its key there, "cell", "item" or "attr"), or None if nothing can be stored."""
        return self.owner_among(self.last_owner())

    def owner_among(self, owner):
        """Return `owner()` where the last step starts from this object."""
        if not self.chain.steps:
            if isinstance(self.root, types.CellType):
                return self.root, "", "cell"
            return (self.root, self.chain.name, "item") if self.chain.name in self.root else None     # type: ignore[operator]
        kind, key = self.chain.steps[-1]
        if kind == LENGTH:
            return None
        if kind == "item":
            return (owner, key, "item") if type(owner) in RESTORED else None
        found = class_attribute(type(owner), key)
        is_plain = type(getattr(owner, "__dict__", None)) is dict and not hasattr(type(found), "__set__")
        is_plain = is_plain or is_slot(owner, key) or (isinstance(owner, type) and key in owner.__dict__)
        return (owner, key, "attr") if is_plain else None

    def holder(self):
        """Return the container of which the chain leads to an item, or None."""
        steps = self.chain.steps
        return follow(self.start(), steps[:-1]) if steps and steps[-1][0] == "item" else None

    def last_owner(self):
        """Return the object from which the last step of the chain starts."""
        return follow(self.start(), self.chain.steps[:-1])

    @property
    def measured(self):
        """Return the list whose length the chain reads, or None."""
        steps = self.chain.steps
        return follow(self.start(), steps[:-1]) if steps[-1:] == LENGTH_OF else None

    @property
    def is_settable(self) -> bool:
        """Return whether another value can be stored there, or shown to the code that reads it."""
        return self.owner() is not None or type(self.measured) is list

    @property
    def is_private(self) -> bool:
        """Return whether one thread can see a value of its own there."""
        found = self.owner()
        return self.measured is not None if found is None else found[2] == "attr" and is_viewable(found[0], found[1])


@dataclass(frozen=True)
class ChangedValue:
    """Location of a number or tensor that changed, with its value from before."""

    place: Location
    before: object

    @property
    def is_number(self) -> bool:
        return not isinstance(self.before, Tensor)

    @property
    def number(self):
        return number_of(self.before)

    def __hash__(self):
        return id(self)


class StateInputs:
    """State inputs of a recorded call: locations with the symbolic numbers and tensors that they hold meanwhile."""

    def __init__(self, locations=(), values=(), is_symbolic=False):
        self.locations, self.values, self.is_symbolic = locations, values, is_symbolic
        self.views = ThreadViews()
        self.contents: Any = None       # the `ContainerLog` of the call
        self.first = {p.identity: v for p, v in zip(locations, values)}        # while the call is recorded
        self.known: dict = {}           # id of a value -> its location
        self.owners: dict = {}          # (id of the owner, key) -> its location
        self.remade: dict = {}          # by id of an object: the `Remade` that guards expect of it
        self._lengths: dict = {}        # by id of a list: (symbolic length, length at first)
        self._stored: list = []
        self._tables: list = []           # (location, table that is stored there)
        self._removed: set = set()        # ids of tables that were taken away again

    def store_table(self, place, value):
        """Store a table (`symbolic_tables.py`) at a location while the call is recorded."""
        self._tables.append((place, value))

    def without_table(self, value, how, calls):
        """Return the container behind a table, or the value itself. If code that starts does more with it, as `how` and
        `calls` say, than a table supports, the container is stored back; so are those in a value."""
        if type(value) not in TABLES:
            if self._tables and how not in (INSPECTED, MEASURED, *SINGLE):
                for table in [table for place, table in self._tables if place.holder() is value]:
                    self._take_away(table)
            return value
        if not value.suits(how, calls):
            self._take_away(value)
        return value.of

    def _take_away(self, table):
        for owner, key, kind in [place.owner() for place, value in self._tables if value is table]:
            if VIEWED.get((id(owner), key)) is None:
                store(owner, key, kind, table.of)
            else:
                self.views.show(owner, key, table.of)
        self._removed.add(id(table))

    def settle(self, variables):
        """Replace tables that were taken away in the variables of code that starts."""
        for name in [name for name, value in variables.items() if id(value) in self._removed] if self._removed else ():
            variables[name] = variables[name].of

    def __enter__(self):
        for place, value in zip(self.locations, self.values):
            found = place.owner()
            if value is None or (found is not None and (id(found[0]), found[1]) in self.owners):
                continue
            self.known.setdefault(id(value), place)
            if place.measured is not None:
                self._lengths[id(place.measured)] = value, len(place.measured)
            if found is not None:
                owner, key, kind = found
                self.owners[id(owner), key] = place
                if not isinstance(value, Tensor) and not (kind == "attr" and self.show(owner, key, value)):
                    self._put(owner, key, kind, value)
        for place, value in self._tables:
            found = place.owner()
            if found is not None:
                owner, key, kind = found
                if not (kind == "attr" and self.show(owner, key, value)):
                    self._put(owner, key, kind, value)
        return self

    def _put(self, owner, key, kind, value):
        self._stored.append((owner, key, kind, value, load(owner, key, kind)))
        store(owner, key, kind, value)

    def show(self, owner, key, value=MISSING) -> bool:
        """Show symbolic numbers in an attribute to this thread alone, if possible."""
        return self.is_symbolic and is_viewable(owner, key) and self.views.show(owner, key, value)

    def length_of(self, values: list):
        """Return the length of a list: a symbolic one if it is a state input, and what the function has added."""
        symbol, first = self._lengths.get(id(values), (0, 0))
        return symbol + (len(values) - first) if len(values) != first else symbol

    def first_length(self, before: list, values: list):
        """Return the length of a list that held `before`, symbolic if it is a state input."""
        return self._lengths[id(values)][0] if id(values) in self._lengths else len(before)

    def fix(self):
        """Fix all numbers, and store plain ones back. The recording is good for these numbers alone."""
        for value in self.values:
            if value is not None and not isinstance(value, Tensor):
                fixed(value)
        self._lengths = {}
        self._put_back(lambda value: put_plain(value, fixed))       # the function goes on with its own containers

    def __exit__(self, *exc):
        self._put_back()

    def _put_back(self, plain=None):
        self.views.close(plain)     # they hide what classes hold
        for owner, key, kind, value, before in reversed(self._stored):
            if load(owner, key, kind) is value:       # else the function has written there
                store(owner, key, kind, before)
        self._stored = []

    @contextmanager
    def lifted(self, targets):
        """Store plain numbers at all locations, and in the writes `targets`, while code runs that is not recorded."""
        stored = [(owner, key, kind, value, before) for owner, key, kind, value, before in self._stored
                 if load(owner, key, kind) is value]
        for owner, key, kind, _, before in stored:
            store(owner, key, kind, before)
        hidden = self.views.hide()
        written = [(t, t.value()) for t in targets]
        for t, _ in written:
            t.fix(number_now)
        plain = [t.value() for t, _ in written]
        yield
        for (t, value), known in zip(written, plain):
            if known is not value and t.value() is known:
                t.rewrite(value)
        self.views.restore(hidden)
        for owner, key, kind, value, before in stored:
            if load(owner, key, kind) is before:
                store(owner, key, kind, value)

    def same_as(self, value, owner=None, key=None):
        """Return the expectation of a guard for a value or attribute that is a state input; None for others."""
        place = self.known.get(id(value)) or self.owners.get((id(owner), key))
        if place is not None:
            return SameAs(place, self.first)
        if id(value) in self.remade:
            return self.remade[id(value)]
        return None if self.contents is None else self.contents.snapshots.get(id(value))

    def close(self):
        """Let guards compare with the current values of locations from now on: the call is recorded."""
        self.values = ()
        self.first.clear()


class SameAs(Expectation):
    """Expectation of a guard: the current value of a location."""

    def __init__(self, place: Location, first: dict):
        self.place, self._first = place, first

    def matches(self, now) -> bool:
        """Return whether a value is that of the location, or was when the call was recorded, until that ends."""
        held = number_now(self._first[self.place.identity]) if self.place.identity in self._first else self.place.value()
        found = number_now(now)
        return found is held or (type(found) is type(held) and type(found) in NUMBERS and found == held)

    def __repr__(self):
        return f"what {self.place.chain} holds"


Location.root = Held("root")        # type: ignore[assignment]


def item_of(container, key):
    """Return an item of a list, deque, tuple or dictionary, or MISSING; also where another kind of value lies by now."""
    if type(container) in DICTS:
        return container.get(key, MISSING)
    is_there = isinstance(container, (list, deque, tuple)) and isinstance(key, int) and -len(container) <= key < len(container)
    return container[key] if is_there else MISSING


def load(owner, key, kind):
    """Load the value of a location."""
    if kind == "cell":
        return root_value(owner, key)
    if kind == "item":
        return item_of(owner, key)
    if kind == EXTEND:
        return tuple(islice(owner, key, None))
    if kind == WHOLE:
        return tuple(owner)
    if kind == GONE:
        return None
    if kind == STATE:
        return content_of(owner)
    if kind == CONTEXT:
        return owner.get(MISSING)
    view = VIEWED.get((id(owner), key)) if VIEWED else None
    if view is not None:
        return view.current(owner)
    if is_slot(owner, key):
        return in_slot(class_attribute(type(owner), key), owner, MISSING)
    return held_in(owner, key)


def held_in(owner, name):
    """Return what an object or a class itself holds under a name, behind what one thread sees there, or MISSING."""
    found = dict_of(owner).get(name, MISSING)
    return found.hidden if type(found) is ThreadView else found


def class_attribute(cls, key):
    """Return what a class or a base of it holds under a name, past all descriptors and views, or MISSING."""
    for c in cls.__mro__:
        found = c.__dict__.get(key, MISSING)
        if type(found) is ThreadView:
            found = found.hidden
        if found is not MISSING:
            return found
    return MISSING


def is_slot(owner, key) -> bool:
    """Return whether an object keeps an attribute in a slot of a Python class."""
    found: Any = class_attribute(type(owner), key)
    return type(found) is types.MemberDescriptorType and is_python_class(found.__objclass__)


def is_viewable(owner, key) -> bool:
    """Return whether an object alone keeps an attribute, so that a descriptor can hide it."""
    found = class_attribute(type(owner), key)
    is_own = type(getattr(owner, "__dict__", None)) is dict and not isinstance(owner, type)
    return is_own and not hasattr(type(found), "__set__")


def store(owner, key, kind, value):
    """Store a value at a location; return the value from before."""
    before = load(owner, key, kind)
    if kind == "cell" and value is MISSING:
        del owner.cell_contents
    elif kind == "cell":
        owner.cell_contents = value
    elif type(owner) is State:
        owner.put(key, value)
    elif kind == "item":
        owner[key] = value
    elif kind == EXTEND:
        for at, item in enumerate(value, key):
            owner[at] = item
    elif kind == WHOLE:
        refill(owner, value)
    elif kind == GONE:
        owner.pop(key, None)
    elif kind == STATE:
        put_back(owner, value)
    elif kind == CONTEXT:
        owner.set(value)
    elif is_a(owner, type) and type(owner.__dict__.get(key)) is ThreadView:
        owner.__dict__[key].hidden = value
    elif is_a(owner, type):
        type.__setattr__(owner, key, value)
    elif is_slot(owner, key):
        class_attribute(type(owner), key).__set__(owner, value)
    elif value is MISSING:
        dict_of(owner).pop(key, None)
    else:
        dict_of(owner)[key] = value
    return before


def refill(container, content):
    """Replace the whole content of a container or an array."""
    if type(container) is np.ndarray:
        container[...] = content
        return
    container.clear()
    (container.extend if type(container) in (list, deque) else container.update)(content)


def read_locations(locations, leaves: list, numbers: list) -> tuple:
    """Append the numbers and tensors of locations, as further arguments of a call; return their kinds."""
    kinds: list = []
    for place in locations:
        value: Any = place.value()
        kind = type(value)
        if kind in NUMBERS:
            numbers.append(number_of(value))
            kinds.append(kind)
        elif isinstance(value, Tensor) and type(value) not in PARTS:     # (those of parts are compared by these)
            leaves.append(value)
            kinds.append(TENSOR)
        else:
            kinds.append(None)
    return tuple(kinds)


def root_value(namespace, name):
    """Return a global (or builtin), or the content of a closure cell."""
    if isinstance(namespace, types.CellType):
        try:
            return namespace.cell_contents
        except ValueError:
            return MISSING
    if name in namespace:
        return namespace[name]
    return getattr(builtins, name, MISSING)


def read(start, steps):
    """Return the end of steps; a method looked up on its object, new at every lookup, is its function."""
    found = follow(start, steps)
    if type(found) is not types.MethodType or not steps or follow(start, steps) is found:
        return found
    return found.__func__ if found.__self__ is follow(start, steps[:-1]) else found
