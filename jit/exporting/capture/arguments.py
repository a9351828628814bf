"""The arguments of an export: their structure, the tensors in them, and names for these from the function's parameters."""

import inspect
from typing import Any, NamedTuple

from ....ir.errors import ArgumentError
from ....runtime.nn.base.module import Module
from . import treespec as structure


class Given(NamedTuple):
    """What `example_inputs` says.

    structure     of the positional and the named arguments (`structure.rebuild`)
    tensors       the tensors in them, in order, and `names`, all different
    parameters    the names of the positional arguments
    """

    structure: dict[str, Any]
    tensors: list
    names: list
    parameters: list


class Call(NamedTuple):
    """Arguments by position and by name, as an example."""

    args: tuple
    kwargs: dict


def arguments_of(fn, example_inputs) -> Given:
    """The arguments from a tensor, a tuple of arguments, a dict of them by name, or a `Call` of both. Their tensors are copies:
    those given for several arguments at once, or parts of one memory, stand for tensors that differ."""
    given = example_inputs
    if structure.is_tensor(given):
        given = (given,)
    if not isinstance(given, (tuple, list, dict)):
        raise ArgumentError("example_inputs is a tensor, a tuple of arguments or a dict of them by name, got "
                            f"{type(given).__name__}")
    args, kwargs = given if isinstance(given, Call) else ((), dict(given)) if isinstance(given, dict) else (tuple(given), {})
    parameters = _parameters(fn.forward if isinstance(fn, Module) else fn, args, kwargs)
    tensors: list = []
    names: list = []
    items = [structure.describe(a, tensors, names, name) for a, name in zip(args, parameters)]
    entries = [[k, structure.describe(v, tensors, names, k)] for k, v in kwargs.items()]
    if not tensors:
        raise ArgumentError("example_inputs has no tensor in it")
    tensors = [structure.as_tensor(t).detach().clone() for t in tensors]
    return Given({"tuple": [{"tuple": items}, {"dict": entries}]}, tensors, unique(names), parameters)


def _said(module) -> list:
    """What a module that takes `*inputs` calls them (`from_onnx` makes such), as far as these are names in Python, too."""
    return [name if name.isidentifier() else f"arg{i}" for i, name in enumerate(getattr(module, "input_names", ()))]


def _parameters(fn, args, kwargs) -> list:
    """A name for each argument by position."""
    try:
        signature = inspect.signature(fn)
    except ValueError:
        return [f"arg{i}" for i in range(len(args))]
    try:
        signature.bind(*args, **kwargs)
    except TypeError as e:
        raise ArgumentError(f"example_inputs does not fit the function: {e}") from None
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    words = [p.name for p in signature.parameters.values() if p.kind in plain]
    words = words or _said(getattr(fn, "__self__", fn))
    return [words[i] if i < len(words) else f"arg{i}" for i in range(len(args))]


def result_names(names) -> list:
    """Names of results from their ways through containers: a single one is the `output`, and numbers come behind that word."""
    return ["output"] if len(names) == 1 else unique([f"output_{n}" if n[0].isdigit() else n for n in names])


def unique(names) -> list:
    """The names, with numbers after those that would be there twice."""
    found: list = []
    for name in names:
        fresh, n = name, 1
        while fresh in found:
            fresh, n = f"{name}_{n}", n + 1
        found.append(fresh)
    return found
