"""Warnings and log records of a recorded function: host calls, so that every call gives them to the current listeners.

Filters of warnings, and levels of loggers, decide whether there is one: they are conditions. A warning keeps its place in the
user's code, so filters such as "once per location" treat it as in eager mode.
"""

import logging
import sys
import warnings
from typing import Any

from ...runtime.core.state import tls
from ..errors.errors import TraceError
from ..guards.guards import ReadCondition
from ..guards.snapshot import snapshot
from ..host.host_call import record

IS_ENABLED = logging.Logger.isEnabledFor.__code__


def filters_condition(filters: tuple) -> ReadCondition:
    """Return the condition on the filters of warnings."""

    def read():
        return tuple(warnings.filters)

    return ReadCondition(("warnings",), read, snapshot(filters), "how warnings are filtered")


def level_condition(logger, level) -> ReadCondition:
    """Return the condition that a logger takes, or does not take, records of a level."""

    def read():
        return logger.isEnabledFor(level)

    return ReadCondition(("logging", id(logger), level), read, read(), f"whether the logger {logger.name} takes level {level}")


def warning(tracker):
    """Return a function that wraps `warnings.warn`."""
    shows: Any = warnings
    before, filters = (warnings.showwarning, shows._showwarnmsg_impl), tuple(warnings.filters)

    def make(really):
        def warn(message, category=None, stacklevel=1, *args, **kwargs):
            if tls.m.recorder is None or args or kwargs:
                return really(message, category, stacklevel + 1, *args, **kwargs)
            tracker.world.depends_on(filters_condition(filters))
            if (warnings.showwarning, shows._showwarnmsg_impl) != before:       # user code listens
                return really(message, category, stacklevel + 1)
            frame = sys._getframe(1)
            for _ in range(stacklevel - 1):
                frame = frame.f_back or frame
            space = frame.f_globals
            place = frame.f_code.co_filename, frame.f_lineno, space.get("__name__", "<string>")
            registry, own = space.setdefault("__warningregistry__", {}), tuple(warnings.filters)

            def say():
                with Filters(own if own != filters else None):
                    warnings.warn_explicit(message, category or UserWarning, *place, registry)

            return record(tls.m.recorder, say, (), {}, is_quiet=True)

        return warn

    return make


class Filters:
    """Context with other filters of warnings, if there are any."""

    def __init__(self, filters):
        self._filters = filters

    def __enter__(self):
        self._before = warnings.filters
        if self._filters is not None:
            warnings.filters = list(self._filters)
            warnings._filters_mutated()         # type: ignore[attr-defined]

    def __exit__(self, *exc):
        if self._filters is not None:
            warnings.filters = self._before
            warnings._filters_mutated()         # type: ignore[attr-defined]


def logging_record(really):
    """Wrap `logging.Logger.handle`."""

    def handle(logger, given):
        recorder = tls.m.recorder
        if recorder is None:
            return really(logger, given)
        if given.exc_info:
            raise TraceError(f"this function cannot be traced: it logs an exception at {given.pathname}:{given.lineno}; do so "
                             "in a function that is marked with jit.host")

        def say(args):
            really(logger, logger.makeRecord(given.name, given.levelno, given.pathname, given.lineno, given.msg, args, None,
                                             given.funcName))

        return record(recorder, say, (given.args or (),), {})

    return handle
