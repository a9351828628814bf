"""State of the process and of the thread that is other inside of a block: NumPy's floating point errors, filters of warnings,
handlers of signals, folders of imports, the limit of recursion.

Each block puts back what was there before, whatever ends it (`ir/blocks.py`): an interrupt may come behind any call, in the
`__exit__` of a context manager written in Python, or between a change and the `try` that follows it. No other file changes such
state for a while (`tests/ir/test_process_state.py`).
"""

import contextvars
import functools
import signal
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from .blocks import Block, block

_F = TypeVar("_F", bound=Callable)


_IGNORING = contextvars.Context()
_IGNORING.run(np.seterr, all="ignore")


def ignore_float_errors(function: _F) -> _F:
    """Decorate a function that only computes, to run without floating point errors. It runs in a context of its own, so there
    is nothing to put back. That takes a tenth of the time of `np.errstate`."""
    @functools.wraps(function)
    def run(*args, **kwargs):
        return _IGNORING.copy().run(function, *args, **kwargs)

    return run      # type: ignore[return-value]


class float_errors(Block):
    """Block, around code of users, with other reactions to floating point errors, as `np.errstate` has."""

    def __init__(self, **kinds):
        super().__init__()
        self._kinds = kinds

    def around(self):
        return partial(np.seterr, **self._kinds), partial(np.seterr, **np.geterr())


@block
def without_warnings(**which) -> tuple[Callable, Callable]:
    """Return a block that ignores warnings: all, or those that `warnings.filterwarnings` would take for these arguments."""
    before = warnings.filters

    def begin():
        warnings.filters = before[:]        # type: ignore[assignment]
        warnings.filterwarnings("ignore", **which)

    def put_back():
        warnings.filters = before
        _note_filters()

    return begin, put_back


def _note_filters():
    """Let the interpreter look for warnings anew, as each change of the filters does."""
    warnings.filterwarnings("default", "", Warning, "", 0, append=True)
    warnings.filters.pop()      # type: ignore[attr-defined]


def signal_handler(number: int, handler) -> Block:
    """Return a block in which a signal has another handler."""
    return _signal_handler(number, handler)


@block
def _signal_handler(number, handler) -> tuple[Callable, Callable]:
    before: Any = signal.getsignal(number)
    return partial(signal.signal, number, handler), partial(signal.signal, number, before)


_raised: list = []      # limits of recursion that blocks have raised


@block
def more_frames(count: int) -> tuple[Callable, Callable]:
    """Return a block, around code of users, in which calls may nest deeper, for the frames of those who watch it."""
    before = sys.getrecursionlimit()

    def begin():
        _raised.append((before + count, before))
        sys.setrecursionlimit(before + count)

    def put_back():
        if (sys.getrecursionlimit(), before) in _raised:        # else code of the user has set another limit
            sys.setrecursionlimit(before)
        _raised[:] = [pair for pair in _raised if pair != (before + count, before)]

    return begin, put_back


def recursion_limit() -> int:
    """Return the limit of recursion as it is outside of such blocks, or as code inside has set it."""
    limit = sys.getrecursionlimit()
    for raised, before in reversed(_raised):
        limit = before if limit == raised else limit
    return limit


@block
def import_folder(folder: str) -> tuple[Callable, Callable]:
    """Return a block in which imports look into a folder first."""
    before = sys.path.count(folder)

    def put_back():
        while sys.path.count(folder) > before:
            sys.path.remove(folder)

    return partial(sys.path.insert, 0, folder), put_back
