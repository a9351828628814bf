"""Base classes of guards: conditions on state outside of a recording."""

from ...runtime.core.structure import Structure


class Condition:
    """Condition that a recording relies on. Its `str` says what is different now."""

    def holds(self) -> bool:
        raise NotImplementedError

    def moved(self) -> list:
        """Return the numbers and tensors that could be looked up at each call instead, if nothing else differs."""
        return []

    def tensors(self) -> dict:
        """Return the tensors, by id, that the function reaches through the guarded state."""
        return {}


class StructureCondition(Condition):
    """Condition that can only fail after a module, optimizer or hook of the process has changed."""

    version: int | None
    is_counted = True       # whether all guarded objects count their changes

    def __init__(self):
        self.version = Structure.version

    def is_as_before(self) -> bool:
        """Compare the state itself."""
        raise NotImplementedError

    def holds(self) -> bool:
        """Compare the state if any structure has changed since the last time."""
        now = Structure.version
        if now != self.version:
            if not self.is_as_before():
                return False
            self.version = now
        return True
