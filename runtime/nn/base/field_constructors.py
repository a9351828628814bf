"""Constructors of modules that declare their arguments as fields: pairs of a name and a default."""

from inspect import Parameter, Signature
from typing import Any

from ....ir.error_texts.call_errors import call_error

REQUIRED = Parameter.empty      # the default of a required argument


def field_values(module, fields, args, kwargs) -> dict:
    """Return the value of each field from the arguments of a constructor."""
    names = [name for name, _ in fields]
    by_position, kind = dict(zip(names, args)), type(module).__name__
    values = {**dict(fields), **by_position, **kwargs}
    if len(args) > len(names) or len(values) > len(names) or by_position.keys() & kwargs or REQUIRED in values.values():
        refused = call_error(kind, _parameters(fields), args, kwargs)
        if refused is not None:
            raise refused
    return values


def _parameters(fields) -> list:
    return [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default) for name, default in fields]


def constructor(base: Any, fields):
    """Return an `__init__` that calls that of `base`; its signature shows the fields."""
    def __init__(self, *args, **kwargs):
        base.__init__(self, *args, **kwargs)

    shown = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *_parameters(fields)]
    __init__.__signature__ = Signature(shown)       # type: ignore[attr-defined]
    return __init__
