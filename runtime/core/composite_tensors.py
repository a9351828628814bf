"""Composite tensors: tensors that consist of others, such as sparse ones of indices and values."""

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
PARTS: dict[type, Any] = {}     # a class -> a function that gives its parts (values last), and what makes it of them


def values_in(t) -> Any:
    """Return the tensor that gets the gradient of `t`: the values of a sparse one, or `t`."""
    return PARTS[type(t)](t)[0][-1] if type(t) in PARTS else t


def composed_like(t, values) -> Any:
    """Return values (or None) as a tensor of the same composition as `t`."""
    if values is None or type(t) not in PARTS:
        return values
    return t.like(values)


def marks_of(handlers: dict) -> Callable[..., Callable[[F], F]]:
    """Return a decorator `@handles(*names)` that enters functions in a table by the names of what they handle."""
    def handles(*names):
        def mark(fn):
            handlers.update(dict.fromkeys(names, fn))
            return fn

        return mark

    return handles
