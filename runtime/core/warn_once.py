"""Warnings that appear once in a process, however often their reason comes back; each time after `set_warn_always(True)`."""

import warnings

from ..state.switches import Switch
from .storage import user_line

ALWAYS = Switch("whether warnings always appear", False)
_given: set = set()


def warn_once(text: str) -> None:
    """Warn about the user's line, unless the same text was shown before."""
    if text in _given and not ALWAYS.peek():
        return
    _given.add(text)
    file, line = user_line(2)
    warnings.warn_explicit(text, UserWarning, file, line)       # no registry: Python hides no repeated line
