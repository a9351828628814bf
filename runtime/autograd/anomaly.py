"""Anomaly mode: operations record the user's line, and backward stops at the first nan."""

from contextlib import ContextDecorator
from typing import Any

from ..core.node import CHECK_NAN, TRACE_LINES
from ..state.mode import tls


def _set(level):
    m = tls.m
    m.anomaly = level
    m.refresh()


class set_detect_anomaly(ContextDecorator):
    """Switch of anomaly mode for the current thread, at once and as a context manager. An error in backward then names the line
    that recorded the operation. With `check_nan` a gradient rule that returns nan is such an error."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self._before: Any = tls.m.anomaly
        self._level = (CHECK_NAN if check_nan else TRACE_LINES) if mode else 0
        _set(self._level)

    def _recreate_cm(self):
        return type(self)(bool(self._level), self._level != TRACE_LINES)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _set(self._before)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode inside a `with` block or a decorated function."""

    def __init__(self, check_nan: bool = True):
        self._level = CHECK_NAN if check_nan else TRACE_LINES
        self._before = []

    def _recreate_cm(self):
        return self

    def __enter__(self):
        self._before.append(tls.m.anomaly)
        _set(self._level)
        return self

    def __exit__(self, *exc):
        _set(self._before.pop())


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on in the current thread."""
    return bool(tls.m.anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode stops at nan."""
    return tls.m.anomaly == CHECK_NAN
