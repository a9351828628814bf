"""The callback that ingot has in `gc.callbacks`, for good: a recording tells it what to call, so nobody sees the list change.

It is a partial, and runs no Python code outside of recordings: an interrupt inside of a callback in Python would be lost.
"""

import functools
import gc
from collections.abc import Callable

_nothing: Callable = {}.get       # takes what callbacks are called with, (phase, info)
CALLBACK: functools.partial = functools.partial(_nothing)
gc.callbacks.insert(0, CALLBACK)


def call_in_collections(function: Callable | None) -> Callable | None:
    """Let collections of all threads call a function of (phase, info) from now on, or none. Return the one before."""
    before = CALLBACK.func
    CALLBACK.__setstate__((function or _nothing, (), {}, None))         # type: ignore[attr-defined]
    return None if before is _nothing else before
