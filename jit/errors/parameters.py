"""Names of what a callable takes, from its signature, and `dynamic=` by these names. Traces and all exporters ask here.

A tensor inside of an argument is named by its path. `batch.ids`, `batch["ids"]` and `batch_ids` are spellings of one path.
"""

import difflib
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

from ...ir.errors import ArgumentError
from ...ir.interrupts import raise_interrupt
from ...runtime.nn.base.module import Module

_PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def signature_of(fn) -> inspect.Signature | None:
    """Return the signature of calls of a function, method, module, partial or loaded model; None if it does not say."""
    described = _described(fn)
    try:
        return inspect.signature(described)
    except (TypeError, ValueError) as error:
        raise_interrupt(error, inspect.signature, described)
        return None


def _described(fn) -> Callable:
    """Return a callable with the parameters of `fn` that `inspect` knows: `Module.__call__` takes anything."""
    if isinstance(fn, functools.partial):
        return functools.partial(_described(fn.func), *fn.args, **fn.keywords)
    fn = inspect.unwrap(fn, stop=lambda f: hasattr(f, "__signature__"))        # traced functions, decorated ones
    if isinstance(fn, functools.partial):
        return _described(fn)
    return fn.forward if isinstance(fn, Module) and not hasattr(fn, "__signature__") else fn


def parameters_of(fn) -> tuple:
    """Return the names of parameters; `*args` with its star."""
    found = signature_of(fn)
    return () if found is None else tuple([("*" if p.kind is p.VAR_POSITIONAL else "") + p.name
                                           for p in found.parameters.values()])


def positional_names(signature: inspect.Signature | None, count: int) -> list:
    """Return names of so many positional arguments: `rest_0` for the first one in `*rest`."""
    parameters = [] if signature is None else [*signature.parameters.values()]
    plain = [p.name for p in parameters if p.kind in _PLAIN][:count]
    star = next((f"{p.name}_" for p in parameters if p.kind is p.VAR_POSITIONAL), "arg")
    first = 0 if star != "arg" else len(plain)
    return [*plain, *[f"{star}{first + i}" for i in range(count - len(plain))]]


def identifier(path) -> str:
    """Return a path of Python (`cache[0]['key']`) or a name of another format as an identifier: `cache_0_key`."""
    text = "_".join(re.findall(r"\w+", str(path)))
    return f"_{text}" if text[:1].isdigit() else text


def unique(names) -> list:
    """Make names unique by appending numbers."""
    found: dict = {}
    for name in names:
        fresh, n = name, 1
        while fresh in found:
            fresh, n = f"{name}_{n}", n + 1
        found[fresh] = None
    return [*found]


def meant(name, known) -> str:
    """Return a question for the known name that is closest to an unknown one, to end a message."""
    close = difflib.get_close_matches(str(name), [*map(str, known)], 1, 0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


# `dynamic=`.


def inputs_of(key, names, owners) -> list:
    """Return the numbers of the tensors that a key of `dynamic=` means: by number, by path, or all in an argument.

    names     identifiers of the tensors
    owners    names of the arguments that the tensors are in
    """
    if isinstance(key, int) and 0 <= key < len(names):
        return [key]
    if isinstance(key, str):
        path = identifier(key)
        exact = [i for i, name in enumerate(names) if name == key or identifier(name) == path]
        found = exact or [i for i, owner in enumerate(owners) if owner == key]
        if found:
            return found
    shown = dict.fromkeys([*names, *owners])
    raise ArgumentError(f"dynamic= names the input {key!r}, but the inputs are called {', '.join(map(repr, shown))}"
                        f"{meant(key, shown)}")


def wanted_dims(wish: Any, ndim: int, name: str, error: type = ArgumentError) -> dict:
    """Return {dim: name of its size} of an entry of `dynamic=`: {dim: name}, dims, the name of dim 0, True for all dims, or
    None."""
    if wish is None:
        return {}
    wish = range(ndim) if wish is True else {0: wish} if isinstance(wish, str) else wish
    named = {}
    for dim, size in (wish if isinstance(wish, dict) else dict.fromkeys(wish, "")).items():
        if not isinstance(dim, int) or not -ndim <= dim < ndim:
            raise error(f"dynamic= names dim {dim!r} of {name}, which has {ndim} dims")
        if size is not None:
            named[dim % ndim] = size if size and isinstance(size, str) else getattr(size, "__name__", f"{name}_{dim % ndim}")
    return named
