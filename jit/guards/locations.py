"""Places where Python keeps values outside of the arguments: following a chain to one, and putting something else there.

Numbers and tensors in such places that were seen to change (`self.temperature`, a closure's `lr`, the state of a stream) are
read at every call like further arguments (`Outer`). While a call is recorded with a symbolic number, that stands in its place.
"""

import builtins
import types
from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ...ir.symbols.symbolic import made_in_python
from ...runtime.core.tensor import Tensor
from ...runtime.optim.optimizer import State
from ..bytecode.reads import ARGUMENT, LENGTH, LENGTH_OF, MISSING, VIEWED, Chain, follow
from ..bytecode.uses import INSPECTED, MEASURED, SINGLE
from ..proxies.numpy_scalars import NUMBERS, fixed, number_of
from ..proxies.numpy_scalars import now as number_now
from ..proxies.symbolic_tables import TABLES
from ..proxies.thread_overlay import ThreadViews
from .arg_pytree import TENSOR

MOST_LOCATIONS = 1024      # that are read at every call of one function
EXTEND = "extend"       # how items are kept that were appended to a list or deque; the key is where they begin
WHOLE = "whole"         # how all items of a list or deque are kept, out of which something was taken or inserted
CONTEXT = "context"     # how the value of a context variable is kept
GONE = "gone"           # how it is kept that a dictionary has a key no more
DICTS = frozenset((dict, OrderedDict, defaultdict, Counter, State))
RESTORED = frozenset((list, deque, *DICTS))       # containers of which is known how to put something else into them


@dataclass(frozen=True, eq=False)
class Location:
    """What a chain leads to from a root: the namespace dict or closure cell, or the object itself for an argument."""

    chain: Chain
    root: object

    @property
    def identity(self) -> tuple:
        """What identifies the place."""
        return id(self.root), self.chain

    def value(self):
        """What the chain leads to now; of a method its function."""
        return read(self._start(), self.chain.steps)

    def method(self):
        """The method to which the chain leads, as an object bound to its owner; None if it leads to something else."""
        found = follow(self._start(), self.chain.steps)
        return found if found is not self.value() else None

    def _start(self):
        return self.root if self.chain.root == ARGUMENT else root_value(self.root, self.chain.name)

    def locations_on_path(self) -> list:
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
        if kind == LENGTH:
            return None
        if kind == "item":
            return (owner, key, "item") if type(owner) in RESTORED else None
        found = getattr(type(owner), key, None)
        is_plain = type(getattr(owner, "__dict__", None)) is dict and not hasattr(type(found), "__set__")
        is_plain = is_plain or is_slot(owner, key) or (isinstance(owner, type) and key in owner.__dict__)
        return (owner, key, "attr") if is_plain else None

    def holder(self):
        """The container of which the chain leads to an item; None if it leads to something else."""
        steps = self.chain.steps
        return follow(self._start(), steps[:-1]) if steps and steps[-1][0] == "item" else None

    def last_owner(self):
        """What the last step of the chain starts from."""
        return follow(self._start(), self.chain.steps[:-1])

    @property
    def measured(self):
        """The list of whose length the chain tells; None if it leads to something else."""
        steps = self.chain.steps
        return follow(self._start(), steps[:-1]) if steps[-1:] == LENGTH_OF else None

    @property
    def is_settable(self) -> bool:
        """Whether another value can be put there, or shown to the code that asks."""
        return self.owner() is not None or type(self.measured) is list

    @property
    def is_private(self) -> bool:
        """Whether one thread can be shown another value there."""
        found = self.owner()
        return self.measured is not None if found is None else found[2] == "attr" and is_viewable(found[0], found[1])


@dataclass(frozen=True)
class MovedValue:
    """A place of a number or tensor that was seen to change, and what was there before."""

    place: Location
    before: object

    @property
    def is_number(self) -> bool:
        """Whether it is a number."""
        return not isinstance(self.before, Tensor)

    @property
    def number(self):
        """The number that was there."""
        return number_of(self.before)

    def __hash__(self):
        return id(self)


class StateInputs:
    """Symbolic numbers in places while a call is recorded; tensors that lie in places, which are no captured ones.

    known    {id of what is there: its place}
    owners   {(id of what holds it, key): its place}
    """

    def __init__(self, places=(), values=(), is_symbolic=False):
        self.places, self.values, self.is_symbolic = places, values, is_symbolic
        self.views = ThreadViews()
        self.contents: Any = None       # containers that were looked at before anything was changed in them
        self.first = {p.identity: v for p, v in zip(places, values)}     # while the call is being recorded
        self.known: dict = {}
        self.owners: dict = {}
        self._lengths: dict = {}        # by id of a list: (the symbolic number that is its length, how long it was then)
        self._back: list = []
        self._laid: list = []           # (place, the table that lies there instead of what is kept there)
        self._taken: set = set()        # ids of those that were taken away again

    def lay(self, place, value):
        """Lets a table (`symbolic_tables.py`) lie in a place while the call is recorded."""
        self._laid.append((place, value))

    def given(self, value, how, calls):
        """The container for which a table stands, or the value itself. Code that begins to run does with it what `how` and
        `calls` say; where that is more than a table is for, the container lies in its place again, as do those in a value."""
        if type(value) not in TABLES:
            if self._laid and how not in (INSPECTED, MEASURED, *SINGLE):
                for table in [table for place, table in self._laid if place.holder() is value]:
                    self._take_away(table)
            return value
        if not value.suits(how, calls):
            self._take_away(value)
        return value.of

    def _take_away(self, table):
        for owner, key, kind in [place.owner() for place, value in self._laid if value is table]:
            if VIEWED.get((id(owner), key)) is None:
                put(owner, key, kind, table.of)
            else:
                self.views.show(owner, key, table.of)
        self._taken.add(id(table))

    def settle(self, variables):
        """Puts containers in the place of tables that were taken away, in the variables of code that begins to run."""
        for name in [name for name, value in variables.items() if id(value) in self._taken] if self._taken else ():
            variables[name] = variables[name].of

    def __enter__(self):
        for place, value in zip(self.places, self.values):
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
                    self._back.append((owner, key, kind, value, put(owner, key, kind, value)))
        for place, value in self._laid:
            found = place.owner()
            if found is not None:
                owner, key, kind = found
                if not (kind == "attr" and self.show(owner, key, value)):
                    self._back.append((owner, key, kind, value, put(owner, key, kind, value)))
        return self

    def show(self, owner, key, value=MISSING) -> bool:
        """Lets this thread alone see symbolic numbers in an attribute, where that is possible."""
        return self.is_symbolic and is_viewable(owner, key) and self.views.show(owner, key, value)

    def length_of(self, values: list):
        """How long a list is now, symbolic where that is looked up at every call: as long as it was, and what the function has
        added."""
        symbol, first = self._lengths.get(id(values), (0, 0))
        return symbol + (len(values) - first) if len(values) != first else symbol

    def first_length(self, before: list, values: list):
        """How long a list was, of which `before` tells what it held: symbolic where that is looked up at every call."""
        return self._lengths[id(values)][0] if id(values) in self._lengths else len(before)

    def fix(self):
        """What others could see, or read on ways that views do not lead over, is plain from now on; the recording is good for
        these numbers alone."""
        for value in self.values:
            if value is not None and not isinstance(value, Tensor):
                fixed(value)
        self._lengths = {}
        self._put_back()
        self.views.close()

    def __exit__(self, *exc):
        self._put_back()
        self.views.close()

    def _put_back(self):
        for owner, key, kind, value, before in reversed(self._back):
            if kept(owner, key, kind) is value:       # else the function has written there
                put(owner, key, kind, before)
        self._back = []

    @contextmanager
    def lifted(self, targets):
        """Plain numbers lie in all places, and in what the function has written (`targets`), for code that is not recorded."""
        lying = [(owner, key, kind, value, before) for owner, key, kind, value, before in self._back
                 if kept(owner, key, kind) is value]
        for owner, key, kind, _, before in lying:
            put(owner, key, kind, before)
        shown = self.views.lift()
        written = [(t, t.value()) for t in targets]
        for t, _ in written:
            t.fix(number_now)
        plain = [t.value() for t, _ in written]
        yield
        for (t, value), known in zip(written, plain):
            if known is not value and t.value() is known:
                t.rewrite(value)
        self.views.lay(shown)
        for owner, key, kind, value, before in lying:
            if kept(owner, key, kind) is before:
                put(owner, key, kind, value)

    def same_as(self, value, owner=None, key=None):
        """What a guard is to expect of a value or attribute that is looked up at every call; None for others."""
        place = self.known.get(id(value)) or self.owners.get((id(owner), key))
        if place is not None:
            return SameAs(place, self.first)
        return None if self.contents is None else self.contents.first.get(id(value))

    def close(self):
        """The call is recorded: from now on guards look at what the places hold at the time."""
        self.values = ()
        self.first.clear()


class SameAs:
    """Stands in guards for what a place holds at the time."""

    def __init__(self, place: Location, first: dict):
        self.place, self._first = place, first

    def matches(self, now) -> bool:
        """Whether a value is what the place holds now, or held when it was recorded, as long as it is."""
        held = number_now(self._first[self.place.identity]) if self.place.identity in self._first else self.place.value()
        found = number_now(now)
        return found is held or (type(found) is type(held) and type(found) in NUMBERS and found == held)

    def __repr__(self):
        return f"what {self.place.chain} holds"


def kept(owner, key, kind):
    """What is in a place now."""
    if kind == "cell":
        return root_value(owner, key)
    if kind == "item":
        return owner.get(key, MISSING) if type(owner) in DICTS else owner[key] if key < len(owner) else MISSING
    if kind == EXTEND:
        return tuple(islice(owner, key, None))
    if kind == WHOLE:
        return tuple(owner)
    if kind == GONE:
        return None
    if kind == CONTEXT:
        return owner.get(MISSING)
    view = VIEWED.get((id(owner), key)) if VIEWED else None
    if view is not None:
        return view.seen(owner)
    return getattr(owner, key, MISSING) if is_slot(owner, key) else vars(owner).get(key, MISSING)


def is_slot(owner, key) -> bool:
    """Whether an object keeps an attribute in a slot of its class, which is none of C's."""
    found: Any = getattr(type(owner), key, None)
    return type(found) is types.MemberDescriptorType and made_in_python(found.__objclass__)


def is_viewable(owner, key) -> bool:
    """Whether an attribute is kept by its object alone, so that a descriptor can stand in for it."""
    found = getattr(type(owner), key, None)
    is_own = type(getattr(owner, "__dict__", None)) is dict and not isinstance(owner, type)
    return is_own and not hasattr(type(found), "__set__")


def put(owner, key, kind, value):
    """Puts a value into a place; returns what was there."""
    before = kept(owner, key, kind)
    if kind == "cell":
        owner.cell_contents = value
    elif type(owner) is State:
        owner.put(key, value)
    elif kind == "item":
        owner[key] = value
    elif kind == EXTEND:
        for at, item in enumerate(value, key):
            owner[at] = item
    elif kind == WHOLE:
        owner.clear()
        owner.extend(value)
    elif kind == GONE:
        owner.pop(key, None)
    elif kind == CONTEXT:
        owner.set(value)
    elif isinstance(owner, type):
        type.__setattr__(owner, key, value)
    elif is_slot(owner, key):
        getattr(type(owner), key).__set__(owner, value)
    elif value is MISSING:
        owner.__dict__.pop(key, None)
    else:
        owner.__dict__[key] = value
    return before


def read_locations(places, leaves: list, numbers: list) -> tuple:
    """Reads places as further arguments of a call: their numbers and tensors are appended, their kinds returned."""
    kinds: list = []
    for place in places:
        value: Any = place.value()
        kind = type(value)
        if kind in NUMBERS:
            numbers.append(number_of(value))
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


def read(start, steps):
    """What steps lead to. A method of the object on which it was looked up, a new object at every look, is its function; one
    that was kept somewhere is bound to whom it was taken from."""
    found = follow(start, steps)
    if type(found) is not types.MethodType or not steps or follow(start, steps) is found:
        return found
    return found.__func__ if found.__self__ is follow(start, steps[:-1]) else found
