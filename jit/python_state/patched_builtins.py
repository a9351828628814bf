"""Functions of Python that are patched while a call is recorded.

`print`, warnings and log records become host calls. `open` makes files conditions; `hasattr`, `getattr`, `dir` and `vars` make
names conditions. Functions of `math` compute with symbolic numbers and lazy scalars.
"""

import builtins
import functools
import io
import logging
import math
import os
import stat
import sys
import warnings
from contextlib import contextmanager, nullcontext
from typing import Any

from ...ir.symbols.symbolic import MATH, applied, is_symbol
from ...runtime.core.state import tls
from ...runtime.core.tensor import Tensor
from ..errors.errors import TraceError
from ..guards.frames import is_user, unprofiled
from ..guards.guards import ReadCondition
from ..guards.snapshot import snapshot
from ..host.host_call import record
from ..proxies import lazy_scalars
from ..proxies.lazy_scalars import LazyScalar
from ..side_effects.deferred_print import written
from .patched_casts import CASTS

IS_ENABLED = logging.Logger.isEnabledFor.__code__


def level_condition(logger, level) -> ReadCondition:
    """Return the condition that a logger takes, or does not take, records of a level."""
    return ReadCondition.of(("logging", id(logger), level), lambda: logger.isEnabledFor(level),
                            f"whether the logger {logger.name} takes level {level}")


def warning(tracker):
    """Return a function that wraps `warnings.warn`."""
    shows: Any = warnings
    before, filters = (warnings.showwarning, shows._showwarnmsg_impl), tuple(warnings.filters)

    def make(really):
        def warn(message, category=None, stacklevel=1, *args, **kwargs):
            if tls.m.recorder is None or args or kwargs:
                return really(message, category, stacklevel + 1, *args, **kwargs)
            tracker.world.depends_on(ReadCondition(
                ("warnings",), lambda: tuple(warnings.filters), snapshot(filters), "how warnings are filtered"))
            if (warnings.showwarning, shows._showwarnmsg_impl) != before:       # user code listens
                return really(message, category, stacklevel + 1)
            frame = sys._getframe(1)
            for _ in range(stacklevel - 1):
                frame = frame.f_back or frame
            space = frame.f_globals
            place = frame.f_code.co_filename, frame.f_lineno, space.get("__name__", "<string>")
            registry, own = space.setdefault("__warningregistry__", {}), tuple(warnings.filters)

            def say():
                with _warning_filters(own) if own != filters else nullcontext():
                    warnings.warn_explicit(message, category or UserWarning, *place, registry)

            return record(tls.m.recorder, say, (), {}, is_quiet=True)

        return warn

    return make


@contextmanager
def _warning_filters(filters):
    """Context with other filters of warnings."""
    before = warnings.filters
    try:
        warnings.filters = list(filters)
        warnings._filters_mutated()         # type: ignore[attr-defined]
        yield
    finally:
        warnings.filters = before
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


_WRITES = frozenset("wax+")
_PLAIN = (str, int, float, bool, type(None), Tensor)        # types whose text no user code makes
_frame = sys._getframe
_REAL: dict = {id(cast): cast.kind for cast in CASTS.values()}        # id of a patched function -> the original


def real(x):
    """Return the original of a patched function; other values as they are."""
    return _REAL.get(id(x), x)


class PatchedBuiltins:
    """Context in which the functions are patched; with a tracker also those that report to it."""

    def __init__(self, tracker=None):
        self._places: list = [(builtins, "print", _printing)]
        if tracker is not None:
            self._places += [(module, "open", _opening(tracker)) for module in (builtins, io)]
            self._places += [(warnings, "warn", warning(tracker))]
            self._places += [(builtins, name, make(tracker)) for name, make in _ASKS.items()]
            self._places += [(logging.Logger, "handle", logging_record)]
        self._places += [(math, name, _computing) for name in MATH] + [(math, name, _asking) for name in _ANSWERS]
        self._before: list = []

    def __enter__(self):
        for module, name, make in self._places:
            really = getattr(module, name)
            other: Any = functools.wraps(really)(make(really))
            self._before.append((module, name, really, other))
            _REAL[id(other)] = real(really)
            setattr(module, name, other)
        return self

    def __exit__(self, *exc):
        while self._before:
            module, name, really, other = self._before.pop()
            setattr(module, name, really)
            del _REAL[id(other)]


def _printing(really):
    stdout = sys.stdout

    def say(*args, **kwargs):
        really(*map(written, args), **{k: written(v) for k, v in kwargs.items()})

    def call(*args, **kwargs):
        recorder: Any = tls.m.recorder
        if recorder is None:
            return really(*args, **kwargs)
        if sys.stdout is not stdout:        # redirected by user code
            kwargs.setdefault("file", sys.stdout)
        opened = recorder.reads.printed.opened
        return record(recorder, say, tuple(map(opened, args)), {k: opened(v) for k, v in kwargs.items()},
                      is_quiet=all(isinstance(x, _PLAIN) for x in args))

    return call


def _opening(tracker):
    def make(really):
        def call(file, mode="r", *args, **kwargs):
            if tls.m.recorder is None:
                return really(file, mode, *args, **kwargs)
            tracker.world.opens(file, mode, sys._getframe(1))
            found = really(file, mode, *args, **kwargs)
            tracker.world.opened(found)
            return found

        return call

    return make


def _asks_for(tracker):
    """Wrap `hasattr`, and `getattr`, whose attribute may be missing."""
    def make(really):
        def call(*args):
            # (Nearly all callers are libraries: they must cost few profile events.)
            if not is_user(_frame(1)) or tls.m.recorder is None or len(args) < 2:
                return really(*args)
            try:
                found = really(*args)
            except AttributeError:
                unprofiled(tracker.attributes.query, *args[:2])
                raise
            if really is _HASATTR or len(args) == 3:
                unprofiled(tracker.attributes.query, *args[:2])
            return found

        return call

    return make


def _lists(tracker):
    def make(really):
        def call(*args):
            frame = sys._getframe(1)
            if not args:
                return frame.f_locals if really is _VARS else sorted(frame.f_locals)
            if tls.m.recorder is not None and is_user(frame):
                unprofiled(tracker.attributes.query_all, args[0], really is not _VARS)
            return really(*args)

        return call

    return make


_HASATTR, _VARS = hasattr, vars
_ASKS = {"hasattr": _asks_for, "getattr": _asks_for, "dir": _lists, "vars": _lists}


def _computing(really):
    name = really.__name__

    def call(*args):
        if LazyScalar in map(type, args):
            found = lazy_scalars.applied(f"math_{name}", args)
            return really(*map(lazy_scalars.forced, args)) if found is None else found
        return applied(name, args) if any(map(is_symbol, args)) else really(*args)

    return call


# Tests of numbers as comparisons: `v - v` is 0 or nan.
_ANSWERS = {"isnan": lambda v: v != v, "isfinite": lambda v: v - v == 0, "isinf": lambda v: v in (math.inf, -math.inf)}


def _asking(really):
    answer = _ANSWERS[really.__name__]
    return lambda x: answer(x) if type(x) is LazyScalar or is_symbol(x) else really(x)


def is_read_only(mode) -> bool:
    """Return whether a file with an open mode can only be read."""
    return _WRITES.isdisjoint(mode)


def file_state(path):
    """Return a value that changes when a file is replaced or written; None if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def is_stream(path) -> bool:
    """Return whether a path leads to a pipe, terminal or device, which gives other bytes each time."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
