"""`ingot.overrides`: classes of the user's that stand for tensors, by the protocol `__torch_function__`.

Functions of the user's (or of a library) that ask `has_torch_function` hand over to such a class. ingot's own functions take
tensors, and ask classes that derive from Tensor (`api/subclasses.py`), no others.
"""

import functools
from collections.abc import Callable
from typing import Any

from ..ir.errors import DTypeError, IngotError
from .api.register import FUNCTIONS
from .api.subclasses import PLAIN, asks
from .tensor import Tensor

__all__ = ["TorchFunctionMode", "get_ignored_functions", "handle_torch_function", "has_torch_function",
           "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property",
           "resolve_name", "wrap_torch_function"]


def _overrides(x) -> bool:
    return asks(x) if isinstance(x, Tensor) else not isinstance(x, type) and hasattr(type(x), "__torch_function__")


def is_tensor_like(inp) -> bool:
    """Whether an object is a tensor or stands for one."""
    return isinstance(inp, Tensor) or _overrides(inp)


def has_torch_function(relevant_args) -> bool:
    """Whether any of the arguments has a `__torch_function__` of its own; plain tensors have none."""
    return any(_overrides(x) for x in relevant_args)


def has_torch_function_unary(x) -> bool:
    """Whether the argument has a `__torch_function__` of its own."""
    return _overrides(x)


def has_torch_function_variadic(*args) -> bool:
    """Whether any of the arguments has a `__torch_function__` of its own."""
    return has_torch_function(args)


def handle_torch_function(public_api: Callable, relevant_args, *args, **kwargs) -> Any:
    """What the first class that knows `public_api` gives for it; subclasses are asked before their bases."""
    asked: list = []
    for x in relevant_args:
        if _overrides(x) and type(x) not in map(type, asked):
            at = next((i for i, y in enumerate(asked) if issubclass(type(x), type(y))), len(asked))
            asked.insert(at, x)
    types = tuple(map(type, asked))
    for x in asked:
        found = type(x).__torch_function__(public_api, types, args, kwargs)
        if found is not NotImplemented:
            return found
    raise DTypeError(f"no class among {', '.join(t.__name__ for t in types) or 'the arguments'} knows "
                     f"{resolve_name(public_api) or public_api!r}: every __torch_function__ gave NotImplemented")


def wrap_torch_function(dispatcher: Callable):
    """A decorator for functions that hand over to what `dispatcher(*args, **kwargs)` gives, if that overrides them."""

    def mark(func):
        @functools.wraps(func)
        def asking(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(asking, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return asking

    return mark


def is_tensor_method_or_property(func) -> bool:
    """Whether a function belongs to Tensor."""
    return any(func is v or func is getattr(v, "fget", None) for v in vars(Tensor).values())


def resolve_name(f) -> str | None:
    """A function's name with its module."""
    name = getattr(f, "__qualname__", None)
    return None if name is None else f"{f.__module__}.{name}" if getattr(f, "__module__", None) else name


def get_ignored_functions() -> set:
    """Functions that never hand over: those that only look at what they are given, or make a tensor of it."""
    return {FUNCTIONS[name] for name in PLAIN}


class TorchFunctionMode:
    """Refused when it is entered: ingot's functions ask no mode."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        raise IngotError("ingot has no modes that stand between a program and its functions; for what runs when, see "
                         "ingot.profiler, for dtypes ingot.autocast, for devices the argument `device`")

    def __exit__(self, *exc):
        return None
