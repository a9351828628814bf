"""Modules whose names are switches, which can be frozen."""

from contextlib import contextmanager
from types import ModuleType

from ...ir.errors import ArgumentError
from ..core import float32_precision


class Freezing:
    """Whether switches may be set only by `flags()`."""

    is_on = False


@contextmanager
def thawed():
    """Allow setting of switches inside."""
    before, Freezing.is_on = Freezing.is_on, False
    try:
        yield
    finally:
        Freezing.is_on = before


class SwitchBoard(ModuleType):
    """A module whose `SWITCHES` cannot be set while frozen. Subclasses have properties for switches stored elsewhere."""

    SWITCHES: tuple = ()

    def __setattr__(self, name, value):
        if Freezing.is_on and name in self.SWITCHES:
            public = self.__name__.replace(".runtime.", ".")
            raise ArgumentError(f"{public}.{name} cannot be set after disable_global_flags(); use {public}.flags()")
        super().__setattr__(name, value)


@contextmanager
def switched(board: ModuleType, values: dict):
    """Set switches inside."""
    plain = {name: getattr(board, name) for name in values if not hasattr(type(board), name)}
    entries = float32_precision.chosen()
    try:
        with thawed():
            for name, value in values.items():
                setattr(board, name, value)
        yield
    finally:
        with thawed():
            for name, value in plain.items():
                setattr(board, name, value)
        float32_precision.restore(entries)
