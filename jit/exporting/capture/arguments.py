"""Example arguments of an export: their structure, their tensors, and names from the function's parameters."""

import inspect
from typing import Any, NamedTuple

from ....ir.errors import ArgumentError
from ....runtime.nn.base.module import Module
from . import treespec


class ExampleArguments(NamedTuple):
    """Parsed `example_inputs`.

    structure     structure of (positional, named) arguments (`treespec.rebuild`)
    tensors       the tensors in them, in order
    names         names of the tensors, all different
    parameters    names of the positional arguments
    """

    structure: dict[str, Any]
    tensors: list
    names: list
    parameters: list


class Call(NamedTuple):
    """Arguments by position and by name, as an example."""

    args: tuple
    kwargs: dict


def arguments_of(fn, example_inputs) -> ExampleArguments:
    """Parse a tensor, a tuple of arguments, a dict of them by name, or a `Call`.

    The tensors are copies: one tensor given for two arguments, or two parts of one memory, become different tensors.
    """
    given = example_inputs
    if treespec.is_tensor(given):
        given = (given,)
    if not isinstance(given, (tuple, list, dict)):
        raise ArgumentError("example_inputs is a tensor, a tuple of arguments or a dict of them by name, got "
                            f"{type(given).__name__}")
    args, kwargs = given if isinstance(given, Call) else ((), dict(given)) if isinstance(given, dict) else (tuple(given), {})
    parameters = _parameters(fn.forward if isinstance(fn, Module) else fn, args, kwargs)
    tensors: list = []
    names: list = []
    items = [treespec.describe(a, tensors, names, name) for a, name in zip(args, parameters)]
    entries = [[k, treespec.describe(v, tensors, names, k)] for k, v in kwargs.items()]
    if not tensors:
        raise ArgumentError("example_inputs has no tensor in it")
    tensors = [treespec.as_tensor(t).detach().clone() for t in tensors]
    return ExampleArguments({"tuple": [{"tuple": items}, {"dict": entries}]}, tensors, unique(names), parameters)


def _said(module) -> list:
    """Return the input names of a module that takes `*inputs` (`from_onnx` makes such), where they are Python identifiers."""
    return [name if name.isidentifier() else f"arg{i}" for i, name in enumerate(getattr(module, "input_names", ()))]


def _parameters(fn, args, kwargs) -> list:
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
    """Return names of results from their paths in containers: `output` if there is one, `output_<path>` for paths of
    numbers."""
    return ["output"] if len(names) == 1 else unique([f"output_{n}" if n[0].isdigit() else n for n in names])


def unique(names) -> list:
    """Make names unique by appending numbers."""
    found: list = []
    for name in names:
        fresh, n = name, 1
        while fresh in found:
            fresh, n = f"{name}_{n}", n + 1
        found.append(fresh)
    return found
