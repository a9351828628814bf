"""Modules whose names are switches, which can be frozen."""

from types import ModuleType

from ...ir.blocks import block
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


@block
def switched(board: ModuleType, values: dict):
    """Set switches inside."""
    switches = [vars(type(board))[name].switch for name in values if type(vars(type(board))[name]) is Setting]
    before, entries = [(switch, switch.peek()) for switch in switches], float32_precision.chosen()

    def begin():
        with frozen.held(False):
            for name, value in values.items():
                setattr(board, name, value)

    def put_back():
        for switch, value in before:
            switch.set(value)
        float32_precision.restore(entries)

    return begin, put_back
