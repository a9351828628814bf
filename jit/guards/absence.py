"""Guards on absent attributes, and on the set of attribute names.

Code that calls `hasattr`, `getattr(obj, name, default)`, `dir` or `vars` depends on names that are not there. These guards
fail when such a name appears. `Guard` (guards.py) compares the attributes that exist.

Operations depend on names that no code spells out: `if x` on the absence of `__bool__` and `__len__`, `x.rate` on that of a
property in the class of `x`. So the classes of the user's count by all their names.
"""

from functools import cached_property
from operator import is_

from ..bytecode.reads import static_attribute
from ..bytecode.user_code import dict_of, is_a
from ..proxies.threads import own_names
from .guards import Condition
from .references import Held, Reference, is_passed

IMMUTABLE = 1 << 8         # Py_TPFLAGS_IMMUTABLETYPE: classes written in C, which cannot gain attributes


class AbsentNames(Condition):
    """An object has no attributes of its own of some names; if it is a class, neither have its bases."""

    owner = Held("owner")

    def __init__(self, owner, text: str):
        self.owner, self.text = owner, text
        self.names: frozenset = frozenset()
        self.classes: list | None = None
        if is_a(owner, type):
            self.classes = [c for c in owner.__mro__ if not c.__flags__ & IMMUTABLE]

    @property
    def identity(self) -> tuple:
        return "absent", id(self.owner), self.names

    def present(self) -> list:
        spaces = [dict_of(self.owner)] if self.classes is None else map(vars, self.classes)
        return sorted(name for space in spaces for name in space.keys() & self.names)

    def holds(self) -> bool:
        return not self.present()

    def explained_by(self, written) -> bool:
        """Return whether the function itself writes every name that appeared."""
        return all((id(self.owner), name) in written for name in self.present())

    def computed(self) -> list:
        """Return the names that appeared, if cached properties were computed and nothing else has changed."""
        return _if_all_cached(self.owner, self.present())

    def __str__(self):
        return f"{self.text} has got {', '.join(self.present())}"


# Names that Python and its library give a class for themselves when they are first needed; annotations are empty then.
_LAZY = frozenset(("__slotnames__", "__annotations__", "__annotations_cache__"))


class ClassNames(Condition):
    """A class has the bases and attributes of the names that it had, and the same special methods: operations call them, and
    those that a library has made for it run no code that would tell."""

    def __init__(self, cls):
        self.owner, self.identity, self.order = cls, ("class", id(cls)), cls.__mro__
        self.names = self._names()
        self.fixed = {name: value for name, value in vars(cls).items() if name[:2] == "__" and _is_consulted(name, value)}

    @property
    def keys(self) -> frozenset:
        """Names with those lazy ones that are there by now."""
        return self.names | ((vars(self.owner).keys() & _LAZY) - self._names())

    def _names(self) -> frozenset:
        space = vars(self.owner)
        return own_names(self.owner) - {name for name in _LAZY if name == "__slotnames__" or not space.get(name)}

    def _changed(self) -> frozenset:
        space = vars(self.owner)
        return (self._names() ^ self.names) | {name for name, value in self.fixed.items() if space.get(name) is not value}

    def holds(self) -> bool:
        return self.owner.__mro__ == self.order and not self._changed()

    def explained_by(self, written) -> bool:
        """Return whether the function itself writes all names that have come or gone."""
        return self.owner.__mro__ == self.order and all((id(self.owner), name) in written for name in self._changed())

    def __str__(self):
        what = ", ".join(sorted(self._changed())) or "base classes"
        return f"the class {self.owner.__qualname__} has got, lost or replaced {what}"


def _is_consulted(name, value) -> bool:
    """Return whether operations may consult an entry of a class."""
    return value is None or name == "__match_args__" or callable(value)


class ObjectClasses(Condition):
    """Objects have the classes that they had, by which operations and attributes are looked up."""

    def __init__(self, found: list):
        self.objects = tuple([x for x, _ in found if not is_passed(x)])
        self.passed = tuple([Reference(x) for x, _ in found if is_passed(x)])
        self.classes = [kind for x, kind in found if not is_passed(x)] + [kind for x, kind in found if is_passed(x)]
        self.identity = "classes of objects", tuple([id(x) for x, _ in found])

    def all_objects(self) -> list:
        return [*self.objects, *[reference() for reference in self.passed]]

    def holds(self) -> bool:
        return all(map(is_, map(type, self.all_objects()), self.classes))

    def __str__(self):
        both = [(kind, type(x)) for x, kind in zip(self.all_objects(), self.classes)]
        was, now = next((pair for pair in both if pair[0] is not pair[1]), both[0])
        return f"an object of the class {was.__qualname__} is now one of {now.__qualname__}"


class AttributeNames(Condition):
    """An object has attributes of these names, in this order; with `with_classes` so have its classes."""

    owner = Held("owner")

    def __init__(self, owner, text: str, with_classes: bool):
        self.owner, self.text, self.with_classes = owner, text, with_classes
        self.identity = "keys", id(owner), with_classes
        self.names = self._now()

    def _now(self) -> list:
        kind = self.owner if is_a(self.owner, type) else type(self.owner)
        classes = [c for c in kind.__mro__ if not c.__flags__ & IMMUTABLE] if self.with_classes else []
        spaces = [dict_of(self.owner), *[vars(c) for c in classes]]
        return [tuple(space) for space in spaces]

    def holds(self) -> bool:
        return self._now() == self.names

    def explained_by(self, written) -> bool:
        """Return whether the function itself writes all names that have come or gone."""
        now = self._now()
        changed = {*now[0]} ^ {*self.names[0]}
        return now[1:] == self.names[1:] and all((id(self.owner), name) in written for name in changed)

    def computed(self) -> list:
        """Return the names that appeared, if cached properties were computed and nothing else has changed."""
        (own, *others), (before, *before_others) = self._now(), self.names
        is_grown = own[: len(before)] == before and others == before_others
        return _if_all_cached(self.owner, own[len(before):]) if is_grown else []

    def __str__(self):
        return f"{self.text} has got other attributes than it had, or in another order"


def _if_all_cached(owner, names) -> list:
    """Return some attributes of an object if cached properties have given all of them."""
    are_cached = all(isinstance(static_attribute(type(owner), name), cached_property) for name in names)
    return [*names] if are_cached else []
