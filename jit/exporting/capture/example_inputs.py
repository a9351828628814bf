"""Example arguments at other sizes, with which an export is recorded and checked."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....ir.errors import ArgumentError, ShapeError
from ....ir.symbols.scope import LEAST
from ....runtime.core.tensor import Tensor, wrap
from ...errors.extents import Extent, extent_of

_FURTHER = (lambda n: n + 1, lambda n: 2 * n + 1, lambda n: n - 1, lambda n: n + 3, lambda n: n // 2, lambda n: n - 2)


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
    found: dict = {}
    for key, wish in (dynamic or {}).items():
        if key not in names and not (isinstance(key, int) and 0 <= key < len(names)):
            raise ArgumentError(f"dynamic= names the input {key!r}, but the inputs are called {', '.join(map(repr, names))}")
        i = key if isinstance(key, int) else names.index(key)
        for d, said in _wishes(wish, tensors[i], names[i]).items():
            found[i, d] = extent_of(said)
    return Dims(dict(sorted(found.items())))


def _wishes(wish, t: Tensor, name):
    wish = dict.fromkeys(range(t.ndim)) if wish is True else wish
    wish = wish if isinstance(wish, dict) else dict.fromkeys(wish)
    made = {}
    for dim, said in wish.items():
        if not isinstance(dim, int) or not -t.ndim <= dim < t.ndim:
            raise ArgumentError(f"dynamic= names dim {dim!r} of {name}, which has {t.ndim} dims")
        made[dim % t.ndim] = said if isinstance(said, str) else f"{name}_{dim % t.ndim}"
    return made


def recordable(sizes: dict) -> dict:
    """Return sizes to record with. They are at least 2, because 0 and 1 mean other things to broadcasting."""
    return {name: n if n >= LEAST else LEAST + 1 for name, n in sizes.items()}


def others(n: int) -> list:
    """Return further values for a size, in the order in which they are tried."""
    return [m for m in dict.fromkeys(further(n) for further in _FURTHER) if m >= LEAST and m != n]
