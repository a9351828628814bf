"""Guards on absent attributes, and on the set of attribute names.

Code that calls `hasattr`, `getattr(obj, name, default)`, `dir` or `vars` depends on names that are not there. These guards
fail when such a name appears. `Guard` (guards.py) compares the attributes that exist.
"""

from .guards import Condition

IMMUTABLE = 1 << 8         # Py_TPFLAGS_IMMUTABLETYPE: classes written in C, which cannot gain attributes


class AbsentNames(Condition):
    """An object has no attributes of its own of some names; if it is a class, neither have its bases."""

    def __init__(self, owner, text: str):
        self.owner, self.text = owner, text
        self.names: frozenset = frozenset()
        self.classes: list | None = None
        if isinstance(owner, type):
            self.classes = [c for c in owner.__mro__ if not c.__flags__ & IMMUTABLE]

    @property
    def identity(self) -> tuple:
        return "absent", id(self.owner), self.names

    def present(self) -> list:
        spaces = [getattr(self.owner, "__dict__", {})] if self.classes is None else map(vars, self.classes)
        return sorted(name for space in spaces for name in space.keys() & self.names)

    def holds(self) -> bool:
        return not self.present()

    def explained_by(self, written) -> bool:
        """Return whether the function itself writes every name that appeared."""
        return all((id(self.owner), name) in written for name in self.present())

    def __str__(self):
        return f"{self.text} has got {', '.join(self.present())}"


class AttributeNames(Condition):
    """An object has attributes of these names, in this order; with `with_classes` so have its classes."""

    def __init__(self, owner, text: str, with_classes: bool):
        self.owner, self.text, self.with_classes = owner, text, with_classes
        self.identity = "keys", id(owner), with_classes
        self.names = self._now()

    def _now(self) -> list:
        kind = self.owner if isinstance(self.owner, type) else type(self.owner)
        classes = [c for c in kind.__mro__ if not c.__flags__ & IMMUTABLE] if self.with_classes else []
        spaces = [getattr(self.owner, "__dict__", {}), *[vars(c) for c in classes]]
        return [tuple(space) for space in spaces]

    def holds(self) -> bool:
        return self._now() == self.names

    def explained_by(self, written) -> bool:
        """Return whether the function itself writes all names that have come or gone."""
        now = self._now()
        changed = {*now[0]} ^ {*self.names[0]}
        return now[1:] == self.names[1:] and all((id(self.owner), name) in written for name in changed)

    def __str__(self):
        return f"{self.text} has got other attributes than it had, or in another order"
