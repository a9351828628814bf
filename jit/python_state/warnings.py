"""Warnings and log records of a recorded function: host steps, so that every call gives them, to whoever listens then.

What decides whether there is one at all is a condition: the filters of warnings, and the level of a logger. A warning is given
again with its own place in the user's code, so that filters such as "once per location" do with it what they do in eager mode.
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
    """The condition that warnings are filtered so."""

    def read():
        return tuple(warnings.filters)

    return ReadCondition(("warnings",), read, snapshot(filters), "how warnings are filtered")


def level_condition(logger, level) -> ReadCondition:
    """The condition that a logger takes, or does not take, records of a level."""

    def read():
        return logger.isEnabledFor(level)

    return ReadCondition(("logging", id(logger), level), read, read(), f"whether the logger {logger.name} takes level {level}")


def warning(tracker):
    """What makes the function that stands in for `warnings.warn`."""
    shows: Any = warnings
    before, filters = (warnings.showwarning, shows._showwarnmsg_impl), tuple(warnings.filters)

    def make(really):
        def warn(message, category=None, stacklevel=1, *args, **kwargs):
            if tls.m.recorder is None or args or kwargs:
                return really(message, category, stacklevel + 1, *args, **kwargs)
            tracker.world.depends_on(filters_condition(filters))
            if (warnings.showwarning, shows._showwarnmsg_impl) != before:       # the function itself listens
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
    """Puts filters of warnings in place, where there are any."""

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
    """What stands in for `logging.Logger.handle`."""

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
