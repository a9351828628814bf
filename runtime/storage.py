"""What tensors that share memory have in common: a version, and who they are."""

import sys
import weakref
from types import FrameType
from typing import Any

_PACKAGE = __name__.split(".")[0]


class Storage:
    """Shared by all tensors over the same memory.

    version   how often the memory was written in place
    aliases   weak references to views that know their base, so that a write can renew their histories
    writer    (operator name, file, line) of the last write in place, for error messages
    """

    version = 0
    aliases: Any = ()
    writer = None

    def add_alias(self, tensor):
        """Remembers a view; dead entries are dropped as the list doubles."""
        if self.aliases == ():
            self.aliases = []
        live = self.aliases
        if len(live) >= 16 and len(live) & (len(live) - 1) == 0:
            live[:] = [r for r in live if r() is not None]
        live.append(weakref.ref(tensor))

    def wrote(self, name: str):
        """Counts a write in place and remembers where the user asked for it."""
        self.version += 1
        self.writer = (name, *user_line())

    def wrote_with(self, other: "Storage"):
        """Counts a write in place that was one with another storage's last write."""
        self.version += 1
        self.writer = other.writer


def user_line() -> tuple:
    """File and line of the nearest frame outside ingot."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not (name == _PACKAGE or name.startswith(_PACKAGE + ".")):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "<unknown>", 0
