"""Base classes of conditions on state outside of a recording."""

from ...runtime.core.structure import Structure


class Condition:
    """One thing that a recording relies on. Its `str` says what is different now."""

    def holds(self) -> bool:
        """Whether it is as it was when the trace was recorded."""
        raise NotImplementedError

    def moved(self) -> list:
        """What could be looked up at each call instead, if that is all that differs."""
        return []

    def tensors(self) -> dict:
        """The tensors, by id, that the function reaches by way of what is watched."""
        return {}


class StructureCondition(Condition):
    """A condition that only fails after some module, optimizer or hook of the process has changed."""

    version: int | None
    is_counted = True       # whether all that it watches counts its changes

    def __init__(self):
        self.version = Structure.version

    def is_as_before(self) -> bool:
        """Whether it holds, looked at in earnest."""
        raise NotImplementedError

    def holds(self) -> bool:
        """Whether it is as it was, or nothing has changed since it last was."""
        now = Structure.version
        if now != self.version:
            if not self.is_as_before():
                return False
            self.version = now
        return True
