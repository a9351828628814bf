"""Warnings of ingot's own code, at the user's line. A recorder hears of them, since each replay must give them again."""

import warnings

from ...ir.tracebacks import user_level
from .mode import tls


def warn(message, category=None) -> None:
    """Warn about the line that called ingot, however deep inside the reason lies. Python's filters go by that line."""
    recorder, level = tls.m.recorder, user_level()
    (warnings.warn if recorder is None else recorder.hosts.warn)(message, category, level)
