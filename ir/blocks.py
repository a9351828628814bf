"""Blocks `with ...` that put state back, whatever interrupt comes.

The interpreter handles signals where a frame of Python code starts, behind calls of code in C, and where a loop goes back. So
an exception of a handler may end an `__exit__` in Python, such as that of `contextlib.contextmanager`, before its first
instruction. An `__exit__` in C has no frame, and no signal is handled between the block and it. It may resume a generator,
which handles none before the `finally` around its `yield`.
"""

from _io import _IOBase  # (io.IOBase has a metaclass, too)
from collections.abc import Callable
from functools import wraps
from itertools import starmap
from operator import call
from typing import Any


class Block(_IOBase):
    """A context manager and decorator, which may be entered again inside of itself.

    `IOBase.__exit__` is code in C that calls `close`. Here that is code in C, too, which takes the innermost of the entered
    blocks and closes its generator. Nothing else of files is used.
    """

    closed = True           # so nothing is closed where the object goes

    def __init__(self):
        self._put_back_by([])

    def _put_back_by(self, entered):
        """Set the list of (function in C that puts back what the block changes, *arguments), the innermost last."""
        self._entered = entered
        self.close = starmap(call, iter(entered.pop, None)).__next__

    def __call__(self, fn):
        @wraps(fn)
        def inside(*args, **kwargs):        # (a frame of `contextlib` would show in tracebacks)
            with self._recreate_cm():
                return fn(*args, **kwargs)

        return inside

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in ("_entered", "close")}

    def __setstate__(self, state):
        Block.__init__(self)
        vars(self).update(state)

    def _recreate_cm(self):
        """Return the block that a call of a decorated function enters."""
        return self

    def around(self) -> tuple[Callable, Callable]:
        """Return (the function that begins a block, the one that puts back what it changes).

        `with` gives what the first one returns. The second is called, too, if an exception ends the first one, and once more
        if one ends itself: it can be repeated.
        """
        raise NotImplementedError

    def __enter__(self) -> Any:
        steps = _steps(*self.around())
        self._entered += ((steps.close,),)
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


def block(function: Callable[..., tuple[Callable, Callable]]) -> Callable[..., Block]:
    """Decorate a function that returns what `Block.around` does."""
    @wraps(function)
    def make(*args, **kwargs):
        return _BlockOf(function, args, kwargs)

    return make


class _BlockOf(Block):
    def __init__(self, function, args, kwargs):
        super().__init__()
        self._call = function, args, kwargs

    def _recreate_cm(self):
        return _BlockOf(*self._call)

    def __repr__(self):
        function, args, kwargs = self._call
        words = [*map(repr, args), *[f"{name}={value!r}" for name, value in kwargs.items()]]
        return f"<{function.__name__}({', '.join(words)}) for a with block>"

    def around(self):
        function, args, kwargs = self._call
        return function(*args, **kwargs)
