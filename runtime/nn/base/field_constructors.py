"""Constructors of modules that declare their arguments as fields: pairs of a name and a default."""

from inspect import Parameter, Signature
from typing import Any

REQUIRED = Parameter.empty      # the default of a required argument


def constructor(base: Any, fields):
    """Return an `__init__` that calls that of `base`; its signature shows the fields."""
    kind = Parameter.POSITIONAL_OR_KEYWORD

    def __init__(self, *args, **kwargs):
        base.__init__(self, *args, **kwargs)

    shown = [Parameter("self", kind), *[Parameter(name, kind, default=default) for name, default in fields]]
    __init__.__signature__ = Signature(shown)       # type: ignore[attr-defined]
    return __init__
