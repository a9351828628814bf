"""Switching recording on and off for the current thread."""

import inspect
from contextlib import ContextDecorator

from ..core.generator_contexts import around_steps
from ..core.state import tls


class _Switch(ContextDecorator):
    """A context manager and decorator that sets grad mode and restores it, re-entrant and per thread."""

    def __init__(self, grad: bool, inference: bool | None = None):
        self._grad = grad
        self._inference = inference
        self._before: list = []

    def _recreate_cm(self):
        return type(self)(*self._arguments())

    def _arguments(self):
        return ()

    def __call__(self, fn):
        return around_steps(fn, self._recreate_cm) if inspect.isgeneratorfunction(fn) else super().__call__(fn)

    def __enter__(self):
        m = tls.m
        self._before.append((m.grad, m.inference))
        m.grad = self._grad
        if self._inference is not None:
            m.inference = self._inference
        return self

    def __exit__(self, *exc):
        m = tls.m
        m.grad, m.inference = self._before.pop()


class no_grad(_Switch):
    """Nothing inside is recorded for differentiation."""

    def __new__(cls, fn=None):
        made = super().__new__(cls)
        if fn is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(fn)

    def __init__(self, fn=None):
        super().__init__(False)


class enable_grad(no_grad):
    """Recording is on inside."""

    def __init__(self, fn=None):
        _Switch.__init__(self, True)


class inference_mode(_Switch):
    """Like no_grad; results are plain tensors."""

    def __init__(self, mode: bool = True):
        self._mode = mode
        super().__init__(not mode and tls.m.grad, mode)

    def _arguments(self):
        return (self._mode,)


class set_grad_enabled(_Switch):
    """Sets recording on or off, at once and as a context manager."""

    def __init__(self, mode: bool):
        self._mode = mode
        super().__init__(bool(mode))
        self._at_once: tuple | None = (tls.m.grad, tls.m.inference)
        tls.m.grad = bool(mode)

    def _arguments(self):
        return (self._mode,)

    def __enter__(self):
        before, self._at_once = self._at_once, None
        super().__enter__()
        if before is not None:
            self._before[-1] = before
        return self

    def __call__(self, fn):
        if self._at_once is not None:
            tls.m.grad = self._at_once[0]
        return super().__call__(fn)


def is_grad_enabled() -> bool:
    """Return whether the current thread records operations."""
    return tls.m.grad


def is_inference_mode_enabled() -> bool:
    """Return whether the current thread is in inference mode."""
    return tls.m.inference


class set_multithreading_enabled:
    """Nothing, whatever is asked: a walk backward stays in its thread, and kernels take what threads they have."""

    def __init__(self, mode: bool):
        self.mode = bool(mode)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def is_multithreading_enabled() -> bool:
    """False: see `set_multithreading_enabled`."""
    return False
