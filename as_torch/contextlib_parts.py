"""`ingot.utils._contextlib`: what libraries derive context managers from that are decorators, too."""

from functools import wraps
from inspect import isgeneratorfunction
from typing import Any

from ..runtime.core.generator_contexts import around_steps

__all__: list = []


class _DecoratorContextManager:
    """A context manager that also decorates functions: each call, and each step of a generator, runs in one of its own."""

    def __call__(self, func):
        if isgeneratorfunction(func):
            return around_steps(func, self.clone)

        @wraps(func)
        def inside(*args, **kwargs):
            with self.clone():
                return func(*args, **kwargs)

        return inside

    def __enter__(self):
        raise NotImplementedError(f"{type(self).__name__} does not say what __enter__ does")

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any):
        raise NotImplementedError(f"{type(self).__name__} does not say what __exit__ does")

    def clone(self):
        """Another one with the same options; classes whose __init__ takes some define it."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One without options, which decorates as a class as well: `@manager` instead of `@manager()`."""

    def __new__(cls, orig_func=None):
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
