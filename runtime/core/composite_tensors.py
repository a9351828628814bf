"""Tensors that are made of others, as sparse ones are of the places and the values of their entries."""

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
PARTS: dict[type, Any] = {}     # a class -> a function that gives its parts (values last), and what makes it of them


def values_in(t) -> Any:
    """What the gradient of a tensor goes to: the values of a sparse one, others as they are."""
    return PARTS[type(t)](t)[0][-1] if type(t) in PARTS else t


def made_like(t, values) -> Any:
    """Values (or None) as a tensor that is made as `t` is."""
    if values is None or type(t) not in PARTS:
        return values
    return t.like(values)


def marks_of(handlers: dict) -> Callable[..., Callable[[F], F]]:
    """What marks functions as those that a table has for functions and methods of some names: `@handles(*names)`."""
    def handles(*names):
        def mark(fn):
            handlers.update(dict.fromkeys(names, fn))
            return fn

        return mark

    return handles
