"""Modules whose names are switches, which can be frozen."""

from contextlib import contextmanager
from types import ModuleType

from ...ir.errors import ArgumentError
from ..state import float32_precision
from ..state.switches import Setting, Switch

frozen = Switch("whether switches may be set only by flags()", False)


class SwitchBoard(ModuleType):
    """A module whose `SWITCHES` cannot be set while frozen. Subclasses have a `Setting` or property for each."""

    SWITCHES: tuple = ()

    def __setattr__(self, name, value):
        if frozen.peek() and name in self.SWITCHES:
            public = self.__name__.replace(".runtime.", ".")
            raise ArgumentError(f"{public}.{name} cannot be set after disable_global_flags(); use {public}.flags()")
        super().__setattr__(name, value)


@contextmanager
def switched(board: ModuleType, values: dict):
    """Set switches inside."""
    settings = {name: vars(type(board))[name].switch for name in values if type(vars(type(board))[name]) is Setting}
    before, entries = {name: switch.peek() for name, switch in settings.items()}, float32_precision.chosen()
    try:
        with frozen.held(False):
            for name, value in values.items():
                setattr(board, name, value)
        yield
    finally:
        for name, value in before.items():
            settings[name].set(value)
        float32_precision.restore(entries)
