"""The guard of what objects do not have."""

from .conditions import Condition

_IMMUTABLE = 1 << 8         # Py_TPFLAGS_IMMUTABLETYPE


class Lack(Condition):
    """An object has no attributes of its own of some names; a class has none, nor have those above it."""

    def __init__(self, owner, text: str):
        self.owner, self.text = owner, text
        self.names: frozenset = frozenset()
        self.spaces: list | None = None
        if isinstance(owner, type):         # those of C get no attributes
            self.spaces = [vars(c) for c in owner.__mro__ if not c.__flags__ & _IMMUTABLE]

    @property
    def watched(self) -> tuple:
        """What identifies the condition."""
        return "lack", id(self.owner), self.names

    def found(self) -> list:
        """The names that are there by now."""
        spaces = [getattr(self.owner, "__dict__", {})] if self.spaces is None else self.spaces
        return sorted(name for space in spaces for name in space.keys() & self.names)

    def holds(self) -> bool:
        """Whether it is still so."""
        return not self.found()

    def is_filled_by(self, places) -> bool:
        """Whether all that is there by now is in places that the function writes."""
        return all((id(self.owner), name) in places for name in self.found())

    def __str__(self):
        return f"{self.text} has got {', '.join(self.found())}"
