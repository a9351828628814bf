"""Registry of ONNX importers: their table, the call that they see, and ingot's functions."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.blocks import Block
from ....ir.errors import DimError, FileError
from ....ir.symbols.symbolic import SymInt, pinned
from ....runtime.api.register.register import FUNCTIONS
from ....runtime.api.views.tensor_factories import created
from ....runtime.core.tensor import Tensor, wrap
from ....runtime.state.mode import other_mode
from ..format.proto import dtype_of


class _Functions:
    """ingot's public functions as attributes."""

    def __getattr__(self, name: str) -> Any:
        return FUNCTIONS[name]


ing = _Functions()


@dataclass(frozen=True)
class Importer:
    """Implementation of an ONNX operator: `run(call, *inputs)` returns one result or a tuple of them.

    since    first operator version that it implements
    host     positions of inputs taken as NumPy arrays (shapes, axes): known numbers, not data
    either   positions of inputs that are arrays if their numbers are known, else tensors
    raw      inputs are passed unchanged (tensors, arrays of known numbers, lists), for operators that only look at shapes
    """

    name: str
    domain: str
    since: int
    run: Callable
    host: frozenset
    either: frozenset
    raw: bool


IMPORTERS: dict[tuple, list] = {}


def onnx_op(*names, since=1, host=(), either=(), raw=False, domain=""):
    """Register the decorated importer of one or several ONNX operators."""

    def mark(fn):
        for name in names:
            rows = IMPORTERS.setdefault((domain, name), [])
            rows.append(Importer(name, domain, since, fn, frozenset(host), frozenset(either), raw))
            rows.sort(key=lambda r: r.since)
        return fn

    return mark


def onnx_ops(table: dict, **how):
    """Register importers by the name, or names, of their operators; `how` as for `onnx_op`."""
    for names, fn in table.items():
        onnx_op(*(names if isinstance(names, tuple) else (names,)), **how)(fn)


def importer_of(domain: str, name: str, version: int) -> Importer | None:
    """Return the importer of an operator in a version, or None."""
    found = [r for r in IMPORTERS.get((domain, name), ()) if r.since <= version]
    return found[-1] if found else None


@dataclass
class Call:
    """One node as its importer sees it."""

    kind: str
    attributes: dict
    version: int                 # of the operator set
    results: int                 # number of results that it names
    wanted: tuple = ()           # results that are requested
    graphs: dict = field(default_factory=dict)   # attribute -> program
    scope: dict = field(default_factory=dict)    # enclosing values, for the programs

    def get(self, name: str, default=None) -> Any:
        return self.attributes.get(name, default)

    def need(self, name: str) -> Any:
        try:
            return self.attributes[name]
        except KeyError:
            raise FileError(f"operator {self.kind} lacks its attribute {name!r}") from None

    def dtype(self, name: str, default=None) -> dt.DType:
        number = self.attributes.get(name, default)
        return dtype_of(number, f"the result of operator {self.kind}")

    def wants(self, position: int) -> bool:
        return position < len(self.wanted) and self.wanted[position]


# Values: tensors, NumPy arrays of known numbers (sizes, axes and values computed from them), or None if omitted.


@dataclass(frozen=True)
class OfSizes:
    """A tensor computed from the symbolic `sizes` alone."""

    tensor: Tensor
    sizes: tuple

    @staticmethod
    def behind(values) -> tuple:
        """Return the symbolic sizes that values depend on."""
        found: list = []
        for x in values:
            if isinstance(x, OfSizes):
                found += x.sizes
            elif isinstance(x, np.ndarray) and x.dtype == object:
                found += [n for n in x.reshape(-1) if type(n) is SymInt]
        return tuple(found)


def to_tensor(x) -> Any:
    """Return a value as a tensor, which follows symbolic sizes; lists and None stay."""
    if type(x) is OfSizes:
        return x.tensor
    if not isinstance(x, np.ndarray):
        return x
    if x.dtype != object:
        return created(wrap(x))
    if not any(type(v) is SymInt for v in x.reshape(-1)):
        return created(wrap(x.astype(np.int64)))
    parts = [ing.full((), v, dtype=dt.int64) for v in x.reshape(-1)]
    return ing.stack(parts).reshape(x.shape)


def to_host(x) -> Any:
    """Return a value as a NumPy array of known numbers.

    Reading a tensor makes the program depend on its values, or on the sizes alone if it was computed from these.
    """
    if type(x) is OfSizes:
        for n in x.sizes:
            pinned(n)
        return np.array(x.tensor._a)
    if isinstance(x, Tensor):
        return np.asarray(x.tolist(), x.dtype.np).reshape(tuple(x.shape))
    return x


def unrecorded() -> Block:
    """Return a block that computes tensors without recorder and gradients, for known numbers."""
    return other_mode(recorder=None, grad=False)


def ints(a, default=None) -> Any:
    """Return a host array or list as a list of Python ints (or symbolic ones); the default for None."""
    if a is None:
        return default
    return [v if type(v) is SymInt else int(v) for v in np.asarray(a).reshape(-1)]


def whole_axis(axis: int, ndim: int) -> int:
    """Return an axis counted from the front; raise unless a value of `ndim` dims has it."""
    if not -ndim <= axis < ndim:
        raise DimError(f"the model names axis {axis} of a value with {ndim} dims")
    return axis + ndim if axis < 0 else axis


def as_rows(x, axis: int) -> Any:
    """Return a tensor as a matrix: dims before an axis as rows, those from it on as columns."""
    axis = axis if axis == x.ndim else whole_axis(axis, x.ndim)
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
