"""`ingot.overrides`: helpers for classes with `__torch_function__`, and modes that intercept every function.

Dispatch itself is in `torch_function.py`.
"""

import functools
import importlib
import inspect
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from ...core.tensor import Tensor
from . import torch_function
from .register import FUNCTIONS
from .torch_function import NAMESPACES, PLAIN, asks_for

__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode", "asks", "enable_reentrant_dispatch",
           "get_default_nowrap_functions", "get_ignored_functions",
           "get_overridable_functions", "get_testing_overrides", "handle_torch_function", "has_torch_function",
           "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property",
           "redispatch_function", "resolve_name", "wrap_torch_function"]

_FACE = __name__.partition(".")[0]
asks = asks_for


# For functions of users.


def is_tensor_like(inp) -> bool:
    """Return whether an object is a tensor or a tensor-like."""
    return isinstance(inp, Tensor) or torch_function.KINDS[type(inp)] is True


def has_torch_function(relevant_args) -> bool:
    """Return whether a mode is active or an argument overrides `__torch_function__`. Plain tensors do not."""
    if torch_function.skipped():
        return False
    found = bool(torch_function.modes()) or any(map(torch_function.asks, relevant_args))
    if found:
        torch_function.start()
    return found


def has_torch_function_unary(x) -> bool:
    """Return whether a mode is active or the argument overrides `__torch_function__`."""
    return has_torch_function((x,))


def has_torch_function_variadic(*args) -> bool:
    """Return whether a mode is active or an argument overrides `__torch_function__`."""
    return has_torch_function(args)


def handle_torch_function(public_api: Callable, relevant_args, *args, **kwargs) -> Any:
    """Call the `__torch_function__` of the mode, then of each class, subclasses before their bases; return the first
    result."""
    overriding = torch_function.overriding_objects(relevant_args)
    found = torch_function.answer(public_api, overriding, args, kwargs)
    if found is NotImplemented:
        raise torch_function.refusal(public_api, overriding)
    return found


def wrap_torch_function(dispatcher: Callable):
    """Return a decorator that calls overrides found among the arguments that `dispatcher(*args, **kwargs)` returns."""

    def mark(func):
        @functools.wraps(func)
        def handing_over(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(handing_over, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return handing_over

    return mark


def redispatch_function(func: Callable, types, args, kwargs) -> Any:
    """Call a function without overrides at its top level; functions that it calls still dispatch. `types` is ignored: the
    function runs itself, whatever classes its arguments have."""
    plain = torch_function.without_asking(func)
    if plain is not None:
        return plain(*args, **(kwargs or {}))
    with torch_function.skipping():
        return func(*args, **(kwargs or {}))


# Questions about functions.


def is_tensor_method_or_property(func) -> bool:
    """Return whether a function belongs to Tensor."""
    return any(func is v or func is getattr(v, "fget", None) for v in vars(Tensor).values())


def resolve_name(f) -> str | None:
    """Return the name of a function with its module."""
    name = getattr(f, "__qualname__", None)
    return None if name is None else f"{f.__module__}.{name}" if getattr(f, "__module__", None) else name


def get_ignored_functions() -> set:
    """Return the functions that never dispatch: they only inspect their arguments, or make a tensor from them."""
    return {FUNCTIONS[name] if name in FUNCTIONS else getattr(Tensor, name) for name in PLAIN}


@functools.cache
def get_default_nowrap_functions() -> set:
    """Return getters whose result is not wrapped: `t.grad is t.grad` for every class of `t`."""
    return {Tensor.grad.__get__}        # type: ignore[attr-defined]


def get_overridable_functions() -> dict[Any, list[Callable]]:
    """Return the functions that classes can override, by owner: a module, or Tensor."""
    torch_function.start()
    modules = [importlib.import_module(name) for name in (_FACE, *[f"{_FACE}.{name}" for name in NAMESPACES])]
    found: dict[Any, list] = {place: [getattr(place, name) for name in place.__all__] for place in modules}
    dispatching: dict[Any, list] = {place: [f for f in functions if inspect.isfunction(f) and torch_function.asks_classes(f)]
                              for place, functions in found.items()}
    dispatching[Tensor] = [value for _, value in (*torch_function.public_methods(), *torch_function.operators())]
    return dispatching


@functools.cache
def get_testing_overrides() -> dict[Callable, Callable]:
    """Return, for each overridable function, a function with the same parameters that returns -1."""
    return {f: _with_parameters_of(f) for functions in get_overridable_functions().values() for f in functions}


def _with_parameters_of(function) -> Callable:
    signature = inspect.signature(function)

    def minus_one(*args, **kwargs):
        signature.bind(*args, **kwargs)
        return -1

    minus_one.__signature__ = signature         # type: ignore[attr-defined]
    return minus_one


# Modes.


class TorchFunctionMode:
    """Mode that intercepts every function of a thread inside a `with` block, before classes do. A mode is inactive while it
    runs; the mode around it is not."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__} does not say what it does: define "
                                  f"__torch_function__(self, func, types, args=(), kwargs=None)")

    def __enter__(self):
        torch_function.enter_mode(self)
        return self

    def __exit__(self, *exc):
        torch_function.leave_mode()


class BaseTorchFunctionMode(TorchFunctionMode):
    """Mode that calls the function unchanged."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@contextmanager
def enable_reentrant_dispatch():
    """Do nothing: dispatch does not depend on the caller."""
    yield
