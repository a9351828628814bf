"""Interrupts: exceptions that code did not raise itself, but that came while it ran.

A signal handler, a trace function or another thread can raise any exception before any instruction: a time limit, a stop asked
for by a tracker. Such an exception says nothing about the code that it meets, so nobody may take it for a failure of that code.
Its class does not tell it apart; the frame that raised it does.
"""

import signal
import sys
import types
from typing import Any

LIBRARIES = frozenset(("llvmlite", "ml_dtypes", "networkx", "numpy", "triton"))           # that ingot calls
_LIBRARIES = LIBRARIES | {__package__.partition(".")[0]}
_STDLIB = sys.stdlib_module_names


def is_interrupt(error: BaseException, of_user: bool = False) -> bool:
    """Return whether an exception did not come from the code in which it was caught. `of_user` says that this code calls the
    user's, whose own exceptions are no interrupts."""
    if not isinstance(error, Exception):
        return True
    frames, step = [], error.__traceback__
    while step is not None:
        frames.append(step.tb_frame)
        step = step.tb_next
    if not frames:
        return False
    if _is_library(frames[-1]):         # another thread gives a class alone, which has no text
        return not error.args and not is_library_class(type(error))
    return not of_user or not _handlers().isdisjoint([f.f_code for f in frames])


def is_library_class(kind: type) -> bool:
    """Return whether ingot or a library that it calls may raise exceptions of a class."""
    return kind.__module__.partition(".")[0] in _KNOWN


_KNOWN = _LIBRARIES | {"builtins"}


def _is_library(frame) -> bool:
    name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return name in _LIBRARIES or name in _STDLIB


def _handlers() -> set:
    """Return the code of the signal handlers that are installed."""
    found: set = set()
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        if isinstance(handler, types.BuiltinFunctionType) or not callable(handler):
            continue
        while hasattr(handler, "func"):         # a partial
            handler = handler.func
        handler = getattr(handler, "__func__", handler)
        if not hasattr(handler, "__code__"):
            handler = vars(type(handler)).get("__call__")
        found.add(getattr(handler, "__code__", None))
    return found - {None}
