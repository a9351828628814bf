"""Example arguments of an export: their structure, tensors and names, and the same arguments at other sizes."""

import inspect
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....ir.errors import ArgumentError, ShapeError
from ....ir.symbols.scope import LEAST
from ....runtime.core.tensor import Tensor, wrap
from ....runtime.nn.base.module import Module
from ...errors.extents import Extent, extent_of
from . import treespec

_FURTHER = (lambda n: n + 1, lambda n: 2 * n + 1, lambda n: n - 1, lambda n: n + 3, lambda n: n // 2, lambda n: n - 2)


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


def _declared_names(module) -> list:
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
    words = words or _declared_names(getattr(fn, "__self__", fn))
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


# Other sizes.


@dataclass
class Example:
    """Arguments of one run, as a structure with tensors, and eager's results for them."""

    structure: dict
    tensors: list
    sizes: dict
    results: Any = None


@dataclass(frozen=True)
class Dims:
    """Sizes that may change: {(number of a tensor, dim): its `Extent`, as a function of a named size}."""

    extents: dict

    @property
    def order(self) -> tuple:
        return tuple(dict.fromkeys([x.name for x in self.extents.values()]))

    def sizes(self, tensors) -> dict:
        """Return the named sizes of tensors; raise if one name has two sizes."""
        found: dict = {}
        for (i, d), extent in self.extents.items():
            size = tensors[i]._a.shape[d]
            n = extent.named(size)
            if n is None:
                raise ArgumentError(f"dynamic= says that a size is {extent.text}, but example_inputs has {size}")
            if found.setdefault(extent.name, n) != n:
                raise ArgumentError(f"dynamic= says that sizes named {extent.name} are equal, but example_inputs has "
                                    f"{found[extent.name]} and {n}")
        return found

    def resized(self, tensors, sizes: dict) -> list:
        """Return the tensors with other sizes: repeated or cut, so that indices among them stay in range."""
        made = []
        for i, t in enumerate(tensors):
            a = t._a
            for d, n in enumerate(a.shape):
                extent = self.extents.get((i, d))
                if extent is not None:
                    a = _resized(a, d, n, extent, sizes[extent.name])
            made.append(wrap(np.array(a)) if a is not t._a else t)
        return made


def _resized(a, d, size, extent: Extent, n):
    """Return an array with the size of dim d that an extent gives for the named size n."""
    wanted = extent.of(n)
    if wanted < 0:
        raise ShapeError(f"{extent.text} is {wanted} where {extent.name} is {n}")
    if wanted == size:
        return a
    if not size:
        raise ArgumentError(f"example_inputs has a size of 0 for {extent.text}, which may change; give it another one")
    return np.take(a, np.arange(wanted) % size, axis=d)


def dims_of(dynamic, tensors, names) -> Dims:
    """Parse `dynamic=`: {name or number of an input: {dim: name or extent}, or dims, or True}."""
    extents: dict = {}
    for key, wish in (dynamic or {}).items():
        if key not in names and not (isinstance(key, int) and 0 <= key < len(names)):
            raise ArgumentError(f"dynamic= names the input {key!r}, but the inputs are called {', '.join(map(repr, names))}")
        i = key if isinstance(key, int) else names.index(key)
        for d, text in _wishes(wish, tensors[i], names[i]).items():
            extents[i, d] = extent_of(text)
    return Dims(dict(sorted(extents.items())))


def _wishes(wish, t: Tensor, name):
    wish = dict.fromkeys(range(t.ndim)) if wish is True else wish
    wish = wish if isinstance(wish, dict) else dict.fromkeys(wish)
    names = {}
    for dim, text in wish.items():
        if not isinstance(dim, int) or not -t.ndim <= dim < t.ndim:
            raise ArgumentError(f"dynamic= names dim {dim!r} of {name}, which has {t.ndim} dims")
        names[dim % t.ndim] = text if isinstance(text, str) else f"{name}_{dim % t.ndim}"
    return names


def recordable(sizes: dict) -> dict:
    """Return sizes to record with. They are at least 2, because 0 and 1 mean other things to broadcasting."""
    return {name: n if n >= LEAST else LEAST + 1 for name, n in sizes.items()}


def others(n: int) -> list:
    """Return further values for a size, in the order in which they are tried."""
    return [m for m in dict.fromkeys(further(n) for further in _FURTHER) if m >= LEAST and m != n]
