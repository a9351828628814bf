"""Progress bars and consoles of tqdm and rich: their methods become host calls, so each call moves and draws them.

A bar that the recorded function makes itself belongs to the loop that is recorded: it is drawn then, and never at a replay.
"""

import functools
import sys
from typing import Any

from ...runtime.state.mode import tls
from ..host.host_call import record
from ..side_effects.deferred_print import SHOWN, written

PACKAGES = frozenset(("tqdm", "rich"))
_METHODS = (
    ("tqdm.std", "tqdm", ("clear", "close", "refresh", "reset", "set_description", "set_description_str", "set_postfix",
                          "set_postfix_str", "unpause", "update")),
    ("rich.progress", "Progress", ("advance", "refresh", "reset", "start_task", "stop_task", "update")),
    ("rich.console", "Console", ("log", "out", "print", "rule")),
)


class _Held:
    """A bar as an argument of a host call: itself, where bars compare by their positions."""

    __slots__ = ("bar",)

    def __init__(self, bar):
        self.bar = bar

    def __eq__(self, other):
        return type(other) is _Held and other.bar is self.bar

    def __hash__(self):
        return id(self.bar)


def stand_ins() -> list:
    """Return (method, its stand-in) for classes of libraries that were loaded since the last call."""
    found: list = []
    for module, name, methods in _METHODS:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and kind not in SHOWN:
            SHOWN[kind] = frozenset(methods)
            found += [(vars(kind)[m], _called_by_host(vars(kind)[m])) for m in methods if m in vars(kind)]
    return found


def _called_by_host(really):
    def move(held, *args, **kwargs):
        really(held.bar, *map(written, args), **{k: written(x) for k, x in kwargs.items()})

    move.__name__ = move.__qualname__ = really.__qualname__         # for messages

    @functools.wraps(really)
    def call(bar, *args, **kwargs):
        recorder: Any = tls.m.recorder
        tracker = getattr(recorder, "tracker", None)
        if tracker is None or not recorder.repeats_messages or id(bar) in tracker.known.own:
            return really(bar, *args, **kwargs)
        opened = recorder.reads.printed.opened
        return record(recorder, move, (_Held(bar), *map(opened, args)), {k: opened(x) for k, x in kwargs.items()})

    return call
