"""Completeness of the rows: which public names have rows, and whether each parameter takes more than one value over them."""

import inspect
from collections import defaultdict

import numpy as np

from . import files
from .row import Build, Leaf, Name

# Parameters that are no part of a result's values, or stand in for others.
NEUTRAL = {"out", "dtype", "device", "layout", "requires_grad", "pin_memory", "memory_format", "generator", "size_average",
           "reduce", "name", "args", "kwargs", "params", "optimizer", "self", "input", "validate_args",
           "sparse", "size", "dims", "shape",
           "repeats", "implicit", "cache_size", "dropout", "dropout_p"}


# Leading arguments that the runners of a kind make themselves, such as an optimizer's parameters.
MADE = {"optimizer": 1, "closure": 1, "unrolled": 1, "clipping": 1, "scaler": 1, "schedule": 1, "averaged model": 1,
        "batch statistics": 2}
GIVEN = object()
OTHER_TARGETS = {"operator", "program"}     # kinds whose targets are no paths of the library


def rows() -> dict:
    """Return the rows of all files by target, those of nested targets (`Build`) included."""
    found = defaultdict(list)
    for family in files.families():
        for row in files.read(files.FOLDER / f"{family}.xz")[1]:
            if row.kind in OTHER_TARGETS:
                continue
            if row.kind == "grid":
                found[row.target] += grid(row)
                continue
            made = 2 if row.target.endswith("SequentialLR") else MADE.get(row.kind, 0)
            found[row.target].append(((*[GIVEN] * made, *row.args), row.kwargs))
            for target, args, kwargs in built(row.args) + built(row.kwargs) + built(row.options):
                found[target].append((args, kwargs))
            for path, args, kwargs in row.options.get("nested", ()):
                found[path].append(((GIVEN, *args), kwargs))
    return found


def grid(row) -> list:
    """Return (args, kwargs) of the calls in one row of many."""
    operands, keywords = row.options["operands"], row.options["keywords"]
    return [(tuple(operands[i] for i in indices if i >= 0), keywords[k]) for *indices, k in row.options["calls"].tolist()]


def built(value) -> list:
    """Return (target, args, kwargs) of every `Build` inside of a value."""
    if isinstance(value, Build):
        return [(value.target, value.args, value.kwargs), *built(value.args), *built(value.kwargs)]
    if isinstance(value, (list, tuple)) and not isinstance(value, (Leaf, Name)):
        return [b for v in value for b in built(v)]
    return [b for v in value.values() for b in built(v)] if isinstance(value, dict) else []


def same(value):
    """Return what tells values of a parameter apart."""
    if isinstance(value, Leaf):
        value = value.array
    return (value.dtype.name, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else repr(value)


def constant_parameters(target: str, function, calls: list) -> list[str]:
    """Return the parameters that take one value in all calls of a target."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    values: dict = defaultdict(set)
    for args, kwargs in calls:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            continue
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if value is not GIVEN:
                values[name].add(same(value))
    ignored = {name for name, p in signature.parameters.items() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)} | NEUTRAL
    return sorted(name for name, seen in values.items() if len(seen) < 2 and name not in ignored and not name.startswith("_"))
