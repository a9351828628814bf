"""Row: one comparison, as plain data that either library can run."""

from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

import numpy as np


class Leaf(NamedTuple):
    """A tensor argument whose gradient is compared."""

    array: np.ndarray


class Name(NamedTuple):
    """An attribute of the library, by path: `float32`, `nn.functional.relu`."""

    path: str


class Build(NamedTuple):
    """An object made by a call of the library: `Build("distributions.Normal", (0.0, 1.0), {})`."""

    target: str
    args: tuple = ()
    kwargs: dict = {}


class Function(NamedTuple):
    """A Python function that both libraries get, by its name in `kinds.FUNCTIONS`."""

    name: str


@dataclass
class Row:
    """One comparison.

    name       identity within its family; the part before the first `/` groups rows into one test
    kind       the runner: a key of `kinds.KINDS`
    target     path below the library of the function or class under test
    args       positional arguments: numbers, strings, arrays, `Leaf`, `Name`, `Build`, `Function`, in lists, tuples, dicts
    kwargs     keyword arguments
    options    more that the runner of this kind takes; `eager`: the row is not traced, others of its group are;
               `host`: the row asks where tensors are, so devices answer otherwise
    tolerance  relative, in place of the dtype's; give `reason` with it
    """

    name: str
    kind: str
    target: str
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    tolerance: float | None = None
    reason: str = ""
    results: dict = field(default_factory=dict)


def lookup(library, path: str):
    """Return the attribute of a library at a dotted path."""
    return attrgetter(path)(library)


class Slot(NamedTuple):
    """The place of tensor `index` in a value that was prepared for a library."""

    index: int


def prepare(library, value):
    """Return (template, arrays): the value with `Slot`s for its arrays and the library's objects for names and functions."""
    arrays: list = []

    def go(v):
        if isinstance(v, (Leaf, np.ndarray)):
            arrays.append((v.array, True) if isinstance(v, Leaf) else (v, False))
            return Slot(len(arrays) - 1)
        if isinstance(v, Name):
            return lookup(library, v.path)
        if isinstance(v, Function):
            return FUNCTIONS[v.name](library)
        if isinstance(v, Build):
            return Build(lookup(library, v.target), go(tuple(v.args)), go(dict(v.kwargs)))
        if isinstance(v, (list, tuple)):
            return type(v)([go(x) for x in v])
        return {k: go(x) for k, x in v.items()} if isinstance(v, dict) else v

    return go(value), arrays


def fill(template, tensors):
    """Return a prepared value with tensors in place of its slots."""
    if isinstance(template, Slot):
        return tensors[template.index]
    if isinstance(template, Build):
        return template.target(*fill(template.args, tensors), **fill(template.kwargs, tensors))
    if isinstance(template, (list, tuple)):
        return type(template)([fill(v, tensors) for v in template])
    return {k: fill(v, tensors) for k, v in template.items()} if isinstance(template, dict) else template


# Python functions that rows name: each takes the library and returns the function.
FUNCTIONS: dict = {}


def function(name: str):
    """Register a Python function that rows can name."""
    def mark(make):
        assert name not in FUNCTIONS, name
        FUNCTIONS[name] = make
        return make
    return mark
