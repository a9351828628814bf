"""Warnings of ingot's own code. A recorder hears of them, since each replay must give them again."""

import warnings

from .mode import tls


def warn(message, category=None, stacklevel=1) -> None:
    """Warn as `warnings.warn` does."""
    recorder = tls.m.recorder
    (warnings.warn if recorder is None else recorder.hosts.warn)(message, category, stacklevel + 1)
