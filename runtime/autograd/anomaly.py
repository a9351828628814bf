"""Anomaly mode: operations record the user's line, and backward stops at the first nan."""

from functools import partial
from typing import Any

from ...ir.blocks import Block
from ..core.node import CHECK_NAN, TRACE_LINES
from ..state.mode import tls


def _set(level, result=None):
    m = tls.m
    m.anomaly = level
    m.refresh()
    return result


class set_detect_anomaly(Block):
    """Switch of anomaly mode for the current thread, at once and as a context manager. An error in backward then names the line
    that recorded the operation. With `check_nan` a gradient rule that returns nan is such an error."""

    def __init__(self, mode: bool, check_nan: bool = True):
        super().__init__()
        self._before: Any = tls.m.anomaly
        self._level = (CHECK_NAN if check_nan else TRACE_LINES) if mode else 0
        _set(self._level)

    def _recreate_cm(self):
        return type(self)(bool(self._level), self._level != TRACE_LINES)

    def around(self):
        return lambda: self, partial(_set, self._before)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode inside a `with` block or a decorated function."""

    def __init__(self, check_nan: bool = True):
        Block.__init__(self)
        self._level = CHECK_NAN if check_nan else TRACE_LINES

    def _recreate_cm(self):
        return self

    def around(self):
        return partial(_set, self._level, self), partial(_set, tls.m.anomaly)


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on in the current thread."""
    return bool(tls.m.anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode stops at nan."""
    return tls.m.anomaly == CHECK_NAN
