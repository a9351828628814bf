"""Objects of user classes among arguments that calls make anew: taken apart into the attributes that code reads.

An object counts by identity at first. Once calls pass another object of its class, and the last one has not come back, a
recording depends on the class and on each attribute whose name stands in code that ran. So a new object needs no recording, and
dies after its call. A class of which the function changes, keeps, hashes, shows or compares objects counts by
identity.
"""

import inspect
import types
import weakref
from dataclasses import is_dataclass
from typing import Any, Generic, Protocol

from ..bytecode.user_code import has_library_methods, is_a, is_user_defined, is_user_module
from ..proxies.new_objects import attributes_in, is_plain_object
from ..proxies.set_layout import SetContent
from .exact_values import ByContent, ByIdentity

_EMPTY_BASES = frozenset((Generic, Protocol))
_TEXTS = ("__repr__", "__str__", "__format__")
_LOOK = frozenset((
    isinstance, issubclass, callable, getattr, hasattr, setattr, delattr, type, super, len, iter, next, bool, abs, list, tuple,
    zip, enumerate, map, filter, any, all, reversed, max, min, sorted, sum, range, int, float, round))
_SHOW = frozenset((print, str, repr, format))
_ALL = frozenset((vars, dir))
_PUT = frozenset(("append", "insert", "extend"))        # methods of lists
MOST_LASTING = 8    # objects of a class that come back, until others of it are taken apart all the same
_DEEPEST = 3        # containers in containers that a call may pass on


class ObjectArguments:
    """Classes of objects that calls take apart: `names` of the attributes that count by class, None for all."""

    def __init__(self):
        self.names: dict = {}
        self._read: frozenset = frozenset()     # names in all code that ran
        self._by_identity: set = set()          # classes
        self._last: dict = {}                   # class -> weak references to its objects in the last call that was recorded
        self._lasting: dict = {}                # class -> how many of its objects have come back

    def attributes(self, x) -> dict:
        """Return the attributes that count of an object that is taken apart."""
        names, found = self.names[type(x)], attributes_in(x)
        return found if names is None else {name: v for name, v in found.items() if name in names}

    def vary(self, spec, came_back) -> frozenset:
        """Return the classes of objects in a call that are taken apart from now on, since the call has others than before.
        `came_back` tells of objects whether calls with one of them were replayed: a few that last count by identity."""
        met: dict = {}
        for x in objects_in(spec):
            if type(x) not in self.names and type(x) not in self._by_identity and can_be_taken_apart(x):
                met.setdefault(type(x), []).append(x)
        found = set()
        for kind, objects in met.items():
            last = [ref() for ref in self._last.get(kind, ())]
            self._last[kind] = [weakref.ref(x) for x in objects]
            if last and any(all(x is not other for other in last) for x in objects):
                self._lasting[kind] = self._lasting.get(kind, 0) + 1
                if self._lasting[kind] > MOST_LASTING or not came_back(last):
                    found.add(kind)
        self.names = {**self.names, **dict.fromkeys(found, self._read)}
        return frozenset(found)

    def learn(self, parts, names, spec) -> str:
        """Take in a recording of code with some names; return why it does not hold for objects made anew, or nothing."""
        self._read |= names
        unfit = parts.by_identity | {type(x) for x in objects_in(spec) if id(x) in parts.apart}
        if unfit:
            self.give_up(unfit)
            text = ", ".join(sorted([kind.__qualname__ for kind in unfit]))
            return (f"it changes, keeps or shows a {text} that is an argument, or asks which object that is; so such objects "
                    "count by identity")
        for x in parts.apart.values():
            kind, known = type(x), self.names.get(type(x), frozenset())
            if known is not None and (kind in parts.whole or not attributes_in(x).keys() & self._read <= known):
                self.names = {**self.names, kind: None if kind in parts.whole else self._read}
                return f"it reads more attributes of a {kind.__qualname__} than before"
        return ""

    def give_up(self, kinds):
        """Let objects of some classes count by identity."""
        self._by_identity.update(kinds)
        self.names = {kind: names for kind, names in self.names.items() if kind not in self._by_identity}


def can_be_taken_apart(x) -> bool:
    """Return whether an object is no more than its class and attributes, all of which the user's code gives."""
    kind: Any = type(x)
    return (is_plain_object(x) and not is_dataclass(kind) and not has_library_methods(kind) and kind.__weakrefoffset__ != 0
            and all(is_user_defined(c) or c in _EMPTY_BASES for c in kind.__mro__[:-1])
            and kind.__getattribute__ is object.__getattribute__ and kind.__hash__ is object.__hash__
            and kind.__eq__ is object.__eq__ and not hasattr(kind, "__del__"))


def objects_in(spec):
    """Yield the objects that a structure holds as they are, those in sets and keys among them."""
    if is_a(spec, ByIdentity):
        value = spec.value
        if type(spec) is ByContent and type(value) is SetContent:
            yield from value.elements
        elif type(spec) is ByContent and type(value) in (frozenset, list, tuple, dict):
            yield from value
        else:
            yield value
    elif is_a(spec, tuple):
        if len(spec) == 2 and isinstance(spec[0], type) and type(spec[1]) is spec[0] and spec[0] is not tuple:
            yield spec[1]
        for part in spec:
            yield from objects_in(part)


class TakenApart:
    """Objects of one call that are taken apart, and uses of them that would need the very object.

    apart           by id
    fields          their attributes that count, likewise
    by_identity     classes with such a use
    whole           classes of which code may read any attribute
    names           attributes that code reads by names that it computes
    """

    def __init__(self):
        self.apart: dict = {}
        self.fields: dict = {}
        self.by_identity: set = set()
        self.whole: set = set()
        self.names: set = set()

    def take(self, objects: ObjectArguments, containers):
        """Note those of the containers among the arguments that are objects."""
        for x in containers:
            if type(x) in objects.names:
                self.apart[id(x)], self.fields[id(x)] = x, objects.attributes(x)

    def is_apart(self, x) -> bool:
        return id(x) in self.apart

    def needs_itself(self, x):
        """Note a use of an object that another one would not serve."""
        if id(x) in self.apart:
            self.by_identity.add(type(x))

    def any_needs_itself(self):
        self.by_identity.update(map(type, self.apart.values()))

    def takes_all(self, x):
        """Note that code may read any attribute of an object."""
        if id(x) in self.apart:
            self.whole.add(type(x))

    def reaches(self, x):
        """Note an object that code reaches otherwise than as an argument, and may compare to those, or write to."""
        if self.apart and any(type(x) is type(other) for other in self.apart.values()):
            self.by_identity.add(type(x))

    def called(self, function, args, kwargs):
        """Note a call of code that may be other than the user's, with operands, or with unknown ones (None)."""
        if not self.apart or _is_users(function):
            return
        is_known = type(function) is type or type(function) is types.BuiltinFunctionType
        if is_known and function in _LOOK:
            return
        if args is None:
            self.any_needs_itself()
            return
        receiver = getattr(function, "__self__", None)
        if type(receiver) is list and getattr(function, "__name__", "") in _PUT:
            return
        for x in self._among((receiver, *args, *kwargs.values())):
            if is_known and function in _ALL:
                self.takes_all(x)
            elif not (is_known and function in _SHOW and shows_itself(x)):
                self.needs_itself(x)

    def operated(self, method, operands):
        """Note an operation that makes a text of its operands."""
        if self.apart and method in ("__format__", "__mod__"):
            for x in self._among(operands):
                if not shows_itself(x):
                    self.needs_itself(x)

    def _among(self, values, depth=0):
        """Yield the objects among some values and in containers of these."""
        for x in values:
            if id(x) in self.apart:
                yield x
            elif depth < _DEEPEST and isinstance(x, (list, tuple, set, dict)):
                yield from self._among(list(x.values()) + list(x) if isinstance(x, dict) else list(x), depth + 1)


def shows_itself(x) -> bool:
    """Return whether a user's code makes the text of an object, which else holds its address."""
    return any(getattr(type(x), name) is not getattr(object, name) for name in _TEXTS)


def _is_users(function) -> bool:
    """Return whether a callable runs the user's own code at once. The globals of a function tell where it was written."""
    function = getattr(function, "__func__", function)
    if isinstance(function, types.FunctionType):
        return is_user_module(function.__globals__.get("__name__", ""))
    if isinstance(function, type):
        return is_user_defined(function)
    call: Any = inspect.getattr_static(type(function), "__call__", None)
    return isinstance(call, types.FunctionType) and is_user_module(call.__globals__.get("__name__", ""))
