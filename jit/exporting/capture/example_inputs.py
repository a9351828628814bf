"""Example arguments of an export: their structure, tensors and names, and the same arguments at other sizes."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....ir.errors import ArgumentError, ShapeError
from ....ir.symbols.scope import LEAST
from ....runtime.core.tensor import wrap
from ...errors.extents import Extent, extent_of
from ...errors.parameters import identifier, inputs_of, positional_names, signature_of, unique, wanted_dims
from . import treespec

_FURTHER = (lambda n: n + 1, lambda n: 2 * n + 1, lambda n: n - 1, lambda n: n + 3, lambda n: n // 2, lambda n: n - 2)


class ExampleArguments(NamedTuple):
    """Parsed `example_inputs`.

    structure     structure of (positional, named) arguments (`treespec.rebuild`)
    tensors       the tensors in them, in order
    names         names of the tensors, all different
    owners        names of the arguments that the tensors are in
    parameters    names of the positional arguments
    """

    structure: dict[str, Any]
    tensors: list
    names: list
    owners: list
    parameters: list


class Call(NamedTuple):
    """Arguments by position and by name, as an example."""

    args: tuple
    kwargs: dict


def arguments_of(fn, example_inputs) -> ExampleArguments:
    """Parse a tensor, a tuple of arguments, a dict of them by name, or a `Call`. Arguments by name are put in signature order.

    The tensors are copies: one tensor given for two arguments, or two parts of one memory, become different tensors.
    """
    given = example_inputs
    if treespec.is_tensor(given):
        given = (given,)
    if not isinstance(given, (tuple, list, dict)):
        raise ArgumentError("example_inputs is a tensor, a tuple of arguments or a dict of them by name, got "
                            f"{type(given).__name__}")
    args, kwargs = given if isinstance(given, Call) else ((), dict(given)) if isinstance(given, dict) else (tuple(given), {})
    parameters, kwargs = _bound(signature_of(fn), args, kwargs)
    tensors: list = []
    names: list = []
    owners: list = []

    def described(value, owner):
        structure = treespec.describe(value, tensors, names, identifier(owner))
        owners.extend([owner] * (len(names) - len(owners)))
        return structure

    items = [described(a, name) for a, name in zip(args, parameters)]
    entries = [[k, described(v, k)] for k, v in kwargs.items()]
    if not tensors:
        raise ArgumentError("example_inputs has no tensor in it")
    tensors = [treespec.as_tensor(t).detach().clone() for t in tensors]
    return ExampleArguments({"tuple": [{"tuple": items}, {"dict": entries}]}, tensors, unique(names), owners,
                            parameters)


def _bound(signature, args, kwargs) -> tuple:
    """Return (names of the positional arguments, the others in the order of the signature)."""
    if signature is None:
        return positional_names(None, len(args)), kwargs
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError as e:
        raise ArgumentError(f"example_inputs does not fit the function: {e}") from None
    return positional_names(signature, len(args)), {k: kwargs[k] for k in (*bound, *kwargs) if k in kwargs}


def result_names(names) -> list:
    """Return names of results from their paths in containers: `output` if there is one, `output_<path>` for paths of
    numbers."""
    return ["output"] if len(names) == 1 else unique([f"output_{n}" if n[0].isdigit() else n for n in names])


# Other sizes.


@dataclass
class Example:
    """Arguments of one run, as a structure with tensors, and eager's results for them."""

    structure: dict
    tensors: list
    sizes: dict
    results: Any = None
    names: tuple = ()       # of the tensors


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


def dims_of(dynamic, tensors, names, owners=()) -> Dims:
    """Parse `dynamic=`: {an input (see `inputs_of`): {dim: name or extent}, or dims, or True}."""
    extents: dict = {}
    for key, wish in (dynamic or {}).items():
        for i in inputs_of(key, names, owners):
            for d, text in wanted_dims(wish, tensors[i].ndim, names[i]).items():
                extents[i, d] = extent_of(text)
    return Dims(dict(sorted(extents.items())))


def recordable(sizes: dict) -> dict:
    """Return sizes to record with. They are at least 2, because 0 and 1 mean other things to broadcasting."""
    return {name: n if n >= LEAST else LEAST + 1 for name, n in sizes.items()}


def others(n: int) -> list:
    """Return further values for a size, in the order in which they are tried."""
    return [m for m in dict.fromkeys(further(n) for further in _FURTHER) if m >= LEAST and m != n]
