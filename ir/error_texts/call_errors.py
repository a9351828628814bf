"""Errors of calls that do not fit a signature, explained where they are raised.

The caller in ingot explains the error: a wrapper which the call needs for other reasons, or `explained_init` around the
`__init__` of public classes. So the text is right for code that catches the error, too. Calls that no frame of ingot sees are
explained later (`ir/error_texts/refused_calls.py`).
"""

import inspect
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import TypeVar

from ..doors import door
from .refused_calls import call_error

F = TypeVar("F", bound=Callable)
_PACKAGE = __name__.partition(".")[0]
_OF_PYTHON = "() got ", "() takes ", "() missing "


def explain_call(error: TypeError, fn, args, kwargs, name: str, also=()) -> None:
    """Rewrite a TypeError if `fn` refused its arguments, in the frame that catches it. `also` are further keywords of `fn`."""
    trace = error.__traceback__
    if type(error) is not TypeError or trace is None or trace.tb_next is not None:
        return
    if not any(words in str(error) for words in _OF_PYTHON):
        return
    parameters = [*inspect.signature(fn).parameters.values()]
    if parameters and parameters[0].name == "self" and args:
        parameters, args = parameters[1:], args[1:]
    told = call_error(name, parameters, args, kwargs, also)
    if told is not None:
        error.args = told.args


def explained(fn: F) -> F:
    """Decorate a function that is called rarely: calls that do not fit it are explained."""
    @wraps(fn)
    def explained_call(*args, **kwargs):
        try:
            return fn(*args, **kwargs)
        except TypeError as error:
            explain_call(error, fn, args, kwargs, fn.__name__)
            raise

    return explained_call       # type: ignore[return-value]


# Constructors.


def explained_init(cls: type) -> None:
    """Make the `__init__` that a class defines explain calls that do not fit it."""
    init = vars(cls).get("__init__")
    if type(init) is not FunctionType or hasattr(init, "__wrapped__"):
        return

    @wraps(init)
    def __init__(self, *args, **kwargs):        # (a trace knows by the name of the code that an object is new)
        try:
            init(self, *args, **kwargs)
        except TypeError as error:
            kind = type(self)
            explain_call(error, init, (self, *args), kwargs, kind.__name__ if kind.__init__ is __init__ else cls.__name__)
            raise

    cls.__init__ = door(__init__)       # type: ignore[misc]


def explain_constructors(*spaces: dict) -> None:
    """Do that for the classes of ingot in namespaces, and for their bases."""
    for value in [value for space in spaces for value in space.values() if isinstance(value, type)]:
        if _is_own(value) and not issubclass(value, BaseException):
            for base in value.__mro__:
                if _is_own(base):
                    explained_init(base)


def _is_own(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == _PACKAGE
