"""Grad mode: recording for differentiation, on and off per thread."""

import inspect
from collections import deque
from functools import wraps
from itertools import starmap

from ...ir.blocks import Block
from ..state.mode import tls


def around_steps(fn, context):
    """Return a generator function that runs each step of `fn` inside of `context()`, but not the caller's code between."""
    @wraps(fn)
    def steps(*args, **kwargs):
        generator = fn(*args, **kwargs)
        step, given = generator.send, None
        while True:
            try:
                with context():
                    value = step(given)
            except StopIteration as end:
                return end.value
            try:
                step, given = generator.send, (yield value)
            except GeneratorExit:
                with context():
                    generator.close()
                raise
            except BaseException as error:   # thrown in by the user: the generator decides
                step, given = generator.throw, error

    return steps


class _ByThread:
    """Entries of a switch that several threads are inside of: each thread takes its own, found by its mode."""

    def __init__(self, mode, entered):
        self._entered = {mode: entered}

    def __iadd__(self, entries):
        self._entered.setdefault(tls.m, []).extend(entries)
        return self

    def pop(self):
        """Take the last entry of this thread."""
        return self._entered[tls.m].pop()


class _Switch(Block):
    """Context manager and decorator that sets grad mode and restores it; re-entrant and per thread.

    It sets attributes alone, so `__enter__` needs no generator: no signal is handled from its first instruction that sets one.
    """

    _inside = None      # mode of the thread that is inside, or was the last one

    def __init__(self, grad: bool):
        super().__init__()
        self._grad = grad

    def _admit(self, mode):
        """Let another thread enter, perhaps while one is inside."""
        if type(self._entered) is _ByThread:
            return
        if self._entered:
            self._put_back_by(_ByThread(self._inside, self._entered))
        self._inside = mode

    def __getstate__(self):
        return {name: value for name, value in super().__getstate__().items() if name != "_inside"}

    def _recreate_cm(self):
        return type(self)(*self._arguments())

    def _arguments(self):
        return ()

    def __call__(self, fn):
        return around_steps(fn, self._recreate_cm) if inspect.isgeneratorfunction(fn) else super().__call__(fn)

    def __enter__(self):
        m = tls.m
        if self._inside is not m:
            self._admit(m)
        self._entered += ((setattr, m, "grad", m.grad),)
        m.grad = self._grad
        return self


class no_grad(_Switch):
    """Context manager and decorator: nothing inside is recorded for differentiation."""

    def __new__(cls, fn=None):
        made = super().__new__(cls)
        if fn is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(fn)

    def __init__(self, fn=None):
        super().__init__(False)


class enable_grad(no_grad):
    """Context manager and decorator: recording is on inside."""

    def __init__(self, fn=None):
        _Switch.__init__(self, True)


class inference_mode(_Switch):
    """no_grad with results that are plain tensors."""

    def __init__(self, mode: bool = True):
        self._mode = mode
        super().__init__(not mode and tls.m.grad)

    def _arguments(self):
        return (self._mode,)

    def __enter__(self):
        m = tls.m
        if self._inside is not m:
            self._admit(m)
        before = (m, "grad", m.grad), (m, "inference", m.inference)
        self._entered += ((deque, starmap(setattr, before), 0),)
        m.grad, m.inference = self._grad, self._mode
        return self


class set_grad_enabled(_Switch):
    """Switch of recording, at once and as a context manager."""

    def __init__(self, mode: bool):
        self._mode = mode
        super().__init__(bool(mode))
        self._at_once: bool | None = tls.m.grad
        tls.m.grad = bool(mode)

    def _arguments(self):
        return (self._mode,)

    def __enter__(self):
        m = tls.m
        if self._inside is not m:
            self._admit(m)
        self._entered += ((setattr, m, "grad", m.grad if self._at_once is None else self._at_once),)
        self._at_once = None
        m.grad = self._grad
        return self

    def __call__(self, fn):
        if self._at_once is not None:
            tls.m.grad = self._at_once
        return super().__call__(fn)


def is_grad_enabled() -> bool:
    """Return whether the current thread records operations."""
    return tls.m.grad


def is_inference_mode_enabled() -> bool:
    """Return whether the current thread is in inference mode."""
    return tls.m.inference


class set_multithreading_enabled:
    """Switch without effect: backward stays in its thread, and kernels use the thread pool."""

    def __init__(self, mode: bool):
        self.mode = bool(mode)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def is_multithreading_enabled() -> bool:
    """Return False: see `set_multithreading_enabled`."""
    return False
