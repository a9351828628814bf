"""Constructors of modules that declare their arguments as fields: pairs of a name and a default."""

from inspect import Parameter, Signature
from typing import Any

REQUIRED = Parameter.empty      # the default of a required argument


def field_values(module, fields, args, kwargs) -> dict:
    """Return the value of each field from the arguments of a constructor."""
    names = [name for name, _ in fields]
    by_position, kind = dict(zip(names, args)), type(module).__name__
    if len(args) > len(names) or set(kwargs) - set(names):
        raise TypeError(f"{kind} takes ({', '.join(names)}), got {len(args)} arguments and {sorted(kwargs)}")
    if by_position.keys() & kwargs:
        raise TypeError(f"{kind} got several values for {min(by_position.keys() & kwargs)}")
    values = {**dict(fields), **by_position, **kwargs}
    for name, value in values.items():
        if value is REQUIRED:
            raise TypeError(f"{kind} takes ({', '.join(names)}), and {name} is missing")
    return values


def constructor(base: Any, fields):
    """Return an `__init__` that calls that of `base`; its signature shows the fields."""
    kind = Parameter.POSITIONAL_OR_KEYWORD

    def __init__(self, *args, **kwargs):
        base.__init__(self, *args, **kwargs)

    shown = [Parameter("self", kind), *[Parameter(name, kind, default=default) for name, default in fields]]
    __init__.__signature__ = Signature(shown)       # type: ignore[attr-defined]
    return __init__
