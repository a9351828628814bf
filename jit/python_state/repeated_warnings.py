"""Warnings that replays repeat under the filters of the block that gave them, such as one of `warnings.catch_warnings()`.

`warnings.warn_explicit` reads the filters of the process. Other threads would see those of the block there, so the decision is
made here.
"""

import warnings
from typing import Any

_module: Any = warnings


class OwnFilters:
    """The filters that the function had set where it warned last, and the registries of modules that it used under them."""

    def __init__(self):
        self._filters: Any = None
        self._content: tuple = ()
        self._registries: list = []

    def is_first(self, filters: list, registry: dict) -> bool:
        """Return whether a warning is the first under these filters that uses a registry."""
        if filters is not self._filters or tuple(filters) != self._content:
            self._filters, self._content, self._registries = filters, tuple(filters), []
        is_first = all(r is not registry for r in self._registries)
        self._registries.append(registry)
        return is_first


def warn_under(filters, is_first: bool, message, category, filename: str, lineno: int, module: str, registry: dict):
    """Do what `warnings.warn_explicit` does, under other filters than those of the process. The first warning finds an empty
    registry, since filters were changed before it."""
    if is_first:
        registry.clear()
        _module._filters_mutated()
    text = str(message)
    if isinstance(message, Warning):
        category = type(message)
    else:
        message = category(message)
    if registry.get((text, category, lineno)):
        return
    action = _action(filters, text, category, module, lineno)
    if action == "error":
        raise message
    if action != "ignore" and not _is_known(action, text, category, lineno, registry):
        _module._showwarnmsg(warnings.WarningMessage(message, category, filename, lineno))


def _action(filters, text, category, module, lineno) -> str:
    for action, pattern, kind, place, line in filters:
        if _fits(pattern, text) and issubclass(category, kind) and _fits(place, module) and line in (0, lineno):
            return action
    return _module.defaultaction


def _fits(pattern, text) -> bool:
    """Return whether a text fits the pattern of a filter: a string of those that Python starts with, or an expression."""
    return pattern is None or (pattern == text if isinstance(pattern, str) else pattern.match(text) is not None)


def _is_known(action, text, category, lineno, registry) -> bool:
    """Return whether a warning was shown before, and note it."""
    if action in ("always", "all"):
        return False
    registry[text, category, lineno] = 1
    key: tuple
    if action == "once":
        registry, key = _module.onceregistry, (text, category)
    elif action == "module":
        key = (text, category, 0)
    else:
        return False
    is_known = bool(registry.get(key))
    registry[key] = 1
    return is_known
