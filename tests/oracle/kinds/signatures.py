"""Rows of signatures: names, order and defaults of the parameters that PyTorch has."""

import inspect

from ..row import lookup
from . import kind


def told(default) -> str:
    """Return a default as text; functions by their names."""
    if default is inspect.Parameter.empty:
        return "(none)"
    if isinstance(default, tuple):
        return str(tuple(default))
    return getattr(default, "__name__", None) or str(default).removeprefix("torch.").removeprefix("ingot.")


@kind("signature")
def run(library, row, wrap):
    """Options: `path` of a class or function below the library, its `parameters` and those of them that go `by_place`."""
    found = inspect.signature(lookup(library, row.options["path"])).parameters
    by_place = [name for name in found if name in row.options["by_place"]]
    defaults = {name: told(found[name].default) for name in row.options["parameters"] if name in found}
    first = all(found[name].kind is not inspect.Parameter.KEYWORD_ONLY for name in by_place)
    return defaults | {"by place": ", ".join(by_place), "before keywords": first}
