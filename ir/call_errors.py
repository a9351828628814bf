"""Errors of calls that do not fit a signature: they show it, and the parameter that a misspelt keyword means.

Python raises a bare TypeError before a frame of the called function exists. So it is the caller in ingot that explains it: a
wrapper which the call needs for other reasons, or `explained_init` around the `__init__` of public classes. Only failed calls
cost time.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import TypeVar

from .doors import door
from .suggestions import did_you_mean

F = TypeVar("F", bound=Callable)
_PACKAGE = __name__.partition(".")[0]
_WIDTH = 120        # characters of a signature before its last parameters are left out
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


def call_error(name: str, parameters, args, kwargs, also=()) -> TypeError | None:
    """Return the error for arguments that do not fit parameters; None if they do."""
    problem = _problem(parameters, args, kwargs, also)
    return TypeError(f"{name}() {problem}\n{signature_text(name, parameters)}") if problem else None


def _problem(parameters, args, kwargs, also) -> str:
    """Return why arguments do not fit parameters, in Python's words; empty if they do."""
    kinds = {p.kind for p in parameters}
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for keyword in kwargs:
            if keyword not in named and keyword not in also:
                return f"got an unexpected keyword argument {keyword!r}{did_you_mean(keyword, [*named, *also])}"
    if len(args) > len(positional) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        most = len(positional)
        return (f"takes {'no' if not most else f'at most {most}'} positional argument{'s' * (most != 1)} but {len(args)} "
                f"{'was' if len(args) == 1 else 'were'} given")
    for p in positional[:len(args)]:
        if p.name in kwargs:
            return f"got multiple values for argument {p.name!r}"
    missing = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
               and p.name not in kwargs and p not in positional[:len(args)]]
    if not missing:
        return ""
    kind = "positional" if all(p.kind is not p.KEYWORD_ONLY for p in parameters if p.name in missing) else "keyword-only"
    return f"missing {len(missing)} required {kind} argument{'s' * (len(missing) != 1)}: {', '.join(map(repr, missing))}"


def signature_text(name: str, parameters) -> str:
    """Return a signature on one line, without annotations; of a long one the first parameters."""
    shown = _parameter_texts(parameters)
    text = f"{name}({', '.join(shown)})"
    while len(shown) > 1 and len(text) > _WIDTH:
        shown.pop()
        text = f"{name}({', '.join(shown)}, ...)"
    return text


def _parameter_texts(parameters) -> list:
    shown, is_open = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not is_open:
            shown.append("*")
        is_open = is_open or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        default = f"={p.default!r}" if p.default is not p.empty and _is_short(p.default) else ""
        shown.append(f"{star}{p.name}{default}")
    return shown


def _is_short(value) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, tuple))


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
