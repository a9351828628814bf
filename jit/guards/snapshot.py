"""Snapshots of Python values: content to compare later values with."""

import builtins
import os
import types
from array import array
from collections import OrderedDict, defaultdict, deque
from enum import Enum
from operator import is_
from typing import Any

import numpy as np

from ...runtime.core.tensor import Tensor
from ..bytecode.reads import key_text
from ..bytecode.user_code import is_a, is_user_defined
from ..proxies.new_objects import attributes_in
from ..proxies.set_layout import layout_of, table_of
from .exact_values import are_exact
from .expectation import Expectation, PartsExpectation, is_expectation
from .held_content import content_of
from .locations import DICTS, RESTORED

_VALUES = (bool, int, float, complex, str, bytes, type(None), np.number)
_MAPPINGS = frozenset((*DICTS, type(os.environ)))
_ANOTHER, _MOVED = object(), object()
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_BASES = (OrderedDict, dict, list, set, tuple)      # (the order of an `OrderedDict` is not that of the dictionary in it)
BUILTINS = vars(builtins)       # compared by identity: a recording patches functions there
WHOLES = frozenset((set, np.ndarray, type(os.environ)))      # containers without items that have guards of their own
WITH_MEMORY = frozenset((np.ndarray, bytearray, array))       # that an array may lie in
PLAIN_CONTAINERS = frozenset((tuple, set, *RESTORED))
CONTAINERS = frozenset((list, set, deque, *_VIEWS, *_MAPPINGS))


def base_of(kind) -> Any:
    """Return the class whose methods read a container; those of user classes may do anything."""
    return kind if kind in CONTAINERS else next(base for base in _BASES if issubclass(kind, base))


class Snapshot(PartsExpectation):
    """Content of a container: its type and its items, nested containers likewise; one that contains itself (`circle`) must be
    the very same."""

    __slots__ = ("base", "circle", "items", "itself", "keys", "kind", "layout", "rule", "table")
    step = "item"

    def __init__(self, container, inputs=None, around=()):
        self.kind, self.base, self.rule = type(container), base_of(type(container)), rule_of(container)
        self.keys: Any = tuple(self.base.__iter__(container)) if self.base is set or self.base in _MAPPINGS else None
        self.layout, self.table = (layout_of(container), table_of(container)) if self.base is set else (None, None)
        around = (*around, (container, self))
        self.circle: Itself | None = None
        self.items = tuple([snapshot(v, inputs, around) for v in self._values_of(container)])
        is_fixed = issubclass(self.kind, tuple) and not any(map(is_expectation, self.items))
        self.itself = container if is_fixed else None       # a tuple of immutable values

    def _values_of(self, container):
        return self.base.values(container) if self.base in _MAPPINGS else self.base.__iter__(container)

    def with_items(self, items) -> "Snapshot":
        made = Snapshot.__new__(Snapshot)
        made.kind, made.base, made.rule = self.kind, self.base, self.rule
        made.layout, made.table = self.layout, self.table
        made.keys, made.items, made.itself, made.circle = self.keys, tuple(items), None, self.circle
        return made

    def matches(self, now) -> bool:
        if now is self.itself and now is not None:
            return True
        if type(now) is not self.kind or self.base.__len__(now) != len(self.items) or not same_rule(now, self.rule):
            return False
        if self.circle is not None and not self.circle.matches(now):
            return False
        if self.base is set:        # in their order: functions may go through them, or through a copy
            return table_of(now) == self.table or (
                same_keys(set.__iter__(now), self.keys) and layout_of(now) == self.layout)
        if self.base in _MAPPINGS and not same_keys(self.base.__iter__(now), self.keys):
            return False
        return (all(map(is_, self._values_of(now), self.items))
                or all(looks_like(v, e) for v, e in zip(self._values_of(now), self.items)))

    def test(self, place, name_of):
        if self.kind in WITHOUT_RULE and not self.items and not self.keys:     # empty, and nothing else of it counts
            return f"(_found := {place}).__class__ is {name_of(self.kind)} and not _found"
        return f"{name_of(self)}.matches({place})"

    def differing(self, now) -> list:
        """Return (key, expected, found) of the items that differ, if the containers agree otherwise."""
        if type(now) is not self.kind or self.base.__len__(now) != len(self.items) or not same_rule(now, self.rule) or (
                self.keys is not None and not same_keys(self.base.__iter__(now), self.keys)):
            return []
        keys = self.keys if self.base in _MAPPINGS else range(len(self.items))
        return [(k, e, v) for k, v, e in zip(keys, self._values_of(now), self.items) if not looks_like(v, e)]

    def __repr__(self):
        return f"<{self.kind.__name__} of {len(self.items)}>"


class Itself(Expectation):
    """Expectation of the very container around a place."""

    __slots__ = ("container",)

    def __init__(self, container):
        self.container = container

    def matches(self, now) -> bool:
        return now is self.container

    def __repr__(self):
        return "the container itself"


class Remade(PartsExpectation):
    """Class and attributes of an object that calls make anew at one location; `itself` as long as it may be a fixed one."""

    __slots__ = ("is_fixed", "items", "itself", "kind", "names")
    step = "attr"

    def __init__(self, x):
        self.kind, self.itself, self.is_fixed, self.items = type(x), x, False, ()
        self.names = tuple(attributes_in(x))

    def settle(self, is_fixed):
        """Compare by identity from now on, or by content alone."""
        self.is_fixed = is_fixed
        if not is_fixed:
            self.itself = None

    def matches(self, now) -> bool:
        if self.is_fixed:
            return now is self.itself
        if type(now) is not self.kind:
            return False
        attributes = attributes_in(now)
        return tuple(attributes) == self.names and all(map(looks_like, attributes.values(), self.items))

    def differing(self, now) -> list:
        """Return (name, expected, found) of the attributes that differ, if class and names agree."""
        attributes = attributes_in(now) if type(now) is self.kind and not self.is_fixed else {}
        if tuple(attributes) != self.names:
            return []
        return [(name, e, v) for (name, v), e in zip(attributes.items(), self.items) if not looks_like(v, e)]

    def __repr__(self):
        return f"<{self.kind.__name__}>"


class HeldContent(Expectation):
    """Content of an object in C code that replays can put back."""

    __slots__ = ("content",)

    def __init__(self, x):
        self.content = content_of(x)

    def matches(self, now) -> bool:
        return content_of(now) == self.content


class Exactly(Expectation):
    """Expectation of one very container, with its content."""

    __slots__ = ("container", "expected")

    def __init__(self, container, expected):
        self.container, self.expected = container, expected

    def is_it(self, now) -> bool:
        return now is self.container

    def matches(self, now) -> bool:
        return self.is_it(now) and looks_like(now, self.expected)

    def test(self, place, name_of):
        return f"{name_of(self)}.matches({place})"

    def __repr__(self):
        return repr(self.expected)


class Apart(Exactly):
    """Expectation of a container that is none of those the function writes to, nor the `first` ones at other locations. Arrays
    share no memory with those."""

    __slots__ = ("first",)

    def __init__(self, others, first, expected):
        super().__init__(others, expected)
        self.first = first

    def is_it(self, now) -> bool:
        if type(now) is np.ndarray:
            return not any([share_memory(now, x) for x in self.container])  # noqa: C419
        return all([now is not x for x in self.container]) and all([now is not x.first for x in self.first])  # noqa: C419


class ArraySnapshot(Expectation):
    """Content of a NumPy array, and whether code may write to it. Objects in it count as those in a list."""

    __slots__ = ("circle", "copy", "is_writeable", "items")

    def __init__(self, a, inputs=None, around=()):
        self.copy, self.is_writeable, self.circle = a.copy(), a.flags.writeable, None
        around = (*around, (a, self))
        self.items = [snapshot(v, inputs, around) for v in _objects_in(a)] if a.dtype.hasobject else None

    def matches(self, now) -> bool:
        old = self.copy
        if not (type(now) is np.ndarray and now.shape == old.shape and now.dtype == old.dtype
                and now.flags.writeable is self.is_writeable):
            return False
        if self.items is not None:
            return (self.circle is None or self.circle.matches(now)) and all(map(looks_like, _objects_in(now), self.items))
        return now.tobytes() == old.tobytes()

    def differing(self, now) -> list:
        """Return (place, item before, item now) of the first item that differs, if nothing but items does."""
        old = self.copy
        if not (type(now) is np.ndarray and now.shape == old.shape and now.dtype == old.dtype):
            return []
        if self.items is not None:
            pairs = zip(np.ndindex(old.shape), self.items, _objects_in(now))
            return next(([found] for found in pairs if not looks_like(found[2], found[1])), [])
        if not old.nbytes:
            return []
        before, after = [np.frombuffer(a.tobytes(), np.uint8).reshape(old.size, -1) for a in (old, now)]
        differs = (before != after).any(1)
        place = tuple([int(i) for i in np.unravel_index(differs.argmax(), old.shape)])
        return [(place, old[place], now[place])] if differs.any() else []

    def __repr__(self):
        return f"an array of {self.copy.dtype}{list(self.copy.shape)}"


def _objects_in(a) -> list:
    """Return the objects in an array, row by row; records as tuples."""
    return a.reshape(-1).tolist()


def share_memory(a, x) -> bool:
    """Return whether an array may share memory with an array or with an object that holds bytes. Sets and the like have none.
    """
    if type(x) not in WITH_MEMORY:
        return False
    return np.may_share_memory(a, x if type(x) is np.ndarray else np.frombuffer(x, np.uint8) if len(x) else ())


def same_keys(now, before: tuple) -> bool:
    """Return whether a dictionary or set, or an iterator over its keys, has these keys in this order."""
    keys = tuple(now)
    return len(keys) == len(before) and (all(map(is_, keys, before)) or all(map(are_exact, keys, before)))


WITHOUT_RULE = frozenset((dict, OrderedDict, list, set, tuple))
_RULES: dict = {deque: vars(deque)["maxlen"], defaultdict: vars(defaultdict)["default_factory"]}


def rule_of(container):
    """Return what a container does beside holding its items: how many it takes, or what makes those that are missing."""
    if type(container) in WITHOUT_RULE:
        return None
    return next((rule.__get__(container) for base, rule in _RULES.items() if issubclass(type(container), base)), None)


def same_rule(container, rule) -> bool:
    """Return whether a container has a rule (`rule_of`)."""
    now = rule_of(container)
    return now is rule or (type(now) is int and now == rule)


def same_items(a, b) -> bool:
    """Return whether two containers of one kind hold the same objects in the same order, or two arrays the same bytes."""
    if type(a) is np.ndarray:
        return a.shape == b.shape and a.tobytes() == b.tobytes()
    x, y = [[*c, *c.values()] if isinstance(c, dict) else [*c] for c in (a, b)]
    return len(x) == len(y) and all(map(is_, x, y))


def is_changeable(value) -> bool:
    """Return whether a value is compared by its content."""
    return (type(value) in CONTAINERS and value is not BUILTINS) or type(value) is np.ndarray or is_own_container(value)


def has_content(value) -> bool:
    """Return whether a value is compared by its content, or is a tuple of such."""
    return is_changeable(value) or (is_a(value, tuple) and not is_plain(value))


def is_own_container(value) -> bool:
    """Return whether a value is a list, dictionary or set of a user class."""
    return is_a(value, (list, dict, set)) and is_user_defined(type(value))


def is_container(value) -> bool:
    """Return whether a value is a container that functions make: no dictionary of the system, no view of another one."""
    return type(value) in PLAIN_CONTAINERS or is_own_container(value)


def is_item(owner, kind, key) -> bool:
    """Return whether a step from an object leads to an item of a container."""
    if kind == "item":
        return is_container(owner) or is_a(owner, tuple)
    return is_a(owner, tuple) and key in getattr(type(owner), "_fields", ())


def snapshot(value, inputs=None, around=()):
    """Return what a guard compares a value with: containers, tuples and arrays by content, `inputs` by location, others as
    is; `around`: (container, its snapshot) of those that contain the value."""
    expected = None if inputs is None else inputs.same_as(value)
    if expected is not None:
        return expected
    if value is BUILTINS:
        return value
    is_array = type(value) is np.ndarray
    if type(value) in CONTAINERS or is_own_container(value) or (is_a(value, tuple) and not is_plain(value)) or is_array:
        for container, made in around:
            if container is value:
                made.circle = Itself(container)
                return made.circle
        return (ArraySnapshot if is_array else Snapshot)(value, inputs, around)
    return value


def looks_like(now, expected) -> bool:
    """Return whether a value is as expected: numbers and strings by value, containers by content, other objects by identity."""
    if now is expected:
        return True
    if is_expectation(expected):
        return expected.matches(now)
    if type(expected) is types.MethodType:      # each lookup makes another object
        return type(now) is types.MethodType and now.__self__ is expected.__self__ and now.__func__ is expected.__func__
    return type(now) is type(expected) and is_plain(expected) and are_exact(now, expected)


def demand_alike(a, b) -> bool:
    """Return whether two expectations are known to accept the same values."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Itself):
        return a.container is b.container
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(demand_alike, a, b))
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and not a.dtype.hasobject and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(demand_alike(a[k], b[k]) for k in a)
    if not is_expectation(a):
        return looks_like(a, b) or (isinstance(a, (bytes, set, frozenset)) and a == b)
    slots = [name for c in type(a).__mro__ for name in getattr(c, "__slots__", ())] or vars(a)
    return all(demand_alike(getattr(a, name), getattr(b, name)) for name in slots)


def first_change(now, expected) -> tuple:
    """Return (path, value from before, value now) of the first difference from an expectation."""
    if is_a(expected, Exactly):
        if not expected.is_it(now):
            return "", _ANOTHER, now
        expected = expected.expected
    is_known = type(expected) is Remade or (type(expected) is Snapshot and expected.base is not set)
    differing = expected.differing(now) if is_known or type(expected) is ArraySnapshot else []
    if not differing:
        is_moved = type(expected) is Snapshot and expected.base is set and type(now) is expected.kind and (
            same_keys(set.__iter__(now), expected.keys))
        return "", _MOVED if is_moved else expected, now
    key, was, became = differing[0]
    path, was, became = first_change(became, was)
    if type(expected) is ArraySnapshot:
        step = f"[{', '.join(map(str, key)) or '()'}]"
    else:
        step = f".{key}" if type(expected) is Remade else f"[{key_text(key)}]"
    return step + path, was, became


def change_in_words(name, was, now) -> str:
    """Return in words what changed at a place; a value with the text of the one before is another one."""
    if was is _ANOTHER:
        return f"{name} is another object, which counts by identity"
    if was is _MOVED:
        return f"{name} is a set after other changes, which goes on in another order"
    before, after = brief(was), brief(now)
    return f"{name} was {before}, is {'another one' if after == before else after}"


def brief(value) -> str:
    """Return a short text of a value for messages: tensors, arrays and long containers by their kind."""
    if is_a(value, Tensor):
        return f"a tensor of shape {list(value.shape)}"
    if is_a(value, np.ndarray):
        return f"an array of {value.dtype}{list(value.shape)}"
    kind: Any = type(value)
    if kind in CONTAINERS and (len(value) > 4 or not is_plain(tuple(getattr(value, "values", value.__iter__)()))):
        return f"<{kind.__name__} of {len(value)}>"
    if kind in (tuple, frozenset) and not is_plain(value):
        return f"<{kind.__name__} of {len(value)}>"
    is_asked = is_user_defined(kind) and not is_a(value, Enum)       # (its own code would run)
    text = object.__repr__(value) if is_asked else repr(value)
    return text if len(text) <= 120 else text[:117] + "..."


def is_plain(value) -> bool:
    """Return whether a value is a number, a string or a tuple of such, which is compared by value. One of a class that gives it
    attributes is an object."""
    if is_a(value, _VALUES):
        return not type(value).__dictoffset__
    base = next((c for c in (tuple, frozenset) if is_a(value, c)), None)
    return base is not None and all(map(is_plain, base.__iter__(value)))
