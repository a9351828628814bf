"""Blocks `with ...` that put state back, whatever interrupt comes.

The interpreter handles signals where a frame of Python code starts, behind calls of code in C, and where a loop goes back. So
an exception of a handler may end an `__exit__` in Python, such as that of `contextlib.contextmanager`, before its first
instruction. An `__exit__` in C has no frame, and no signal is handled between the block and it. It may resume a generator,
which handles none before the `finally` around its `yield`.
"""

from collections.abc import Callable
from contextlib import ContextDecorator
from functools import wraps
from io import IOBase
from operator import call
from typing import Any


def block(function: Callable[..., tuple[Callable, Callable]]) -> Callable[..., "Block"]:
    """Decorate a function that returns (the function that begins a block, the one that puts back what it changes).

    `with` gives what the first one returns. The second is called, too, if an exception ends the first one, and once more if one
    ends itself: it can be repeated.
    """
    @wraps(function)
    def make(*args, **kwargs):
        return Block(function, args, kwargs)

    return make


class Block(IOBase, ContextDecorator):
    """A block of the decorator above.

    `IOBase.__exit__` is code in C that calls `close`. Here that is code in C, too, which takes the innermost of the entered
    blocks and closes its generator. Nothing else of files is used.
    """

    closed = True           # so nothing is closed where the object goes

    def __init__(self, function, args, kwargs):
        self._call = function, args, kwargs
        self._entered: list = []        # the `close` of each generator
        self.close = map(call, iter(self._entered.pop, None)).__next__

    def _recreate_cm(self):
        return Block(*self._call)

    def __enter__(self) -> Any:
        function, args, kwargs = self._call
        steps = _steps(*function(*args, **kwargs))
        self._entered += (steps.close,)
        try:
            return next(steps)
        except BaseException:
            self.close()
            raise


def _steps(begin, put_back):
    try:
        yield begin()
    finally:
        try:
            put_back()
        except BaseException:
            put_back()
            raise
