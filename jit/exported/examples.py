"""Arguments for other sizes than those of the example: what an export is recorded with and checked at."""

import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir.errors import ArgumentError
from ...ir.scope import LEAST, RESERVED
from ...runtime.tensor import Tensor, wrap

_FURTHER = (lambda n: n + 1, lambda n: 2 * n + 1, lambda n: n - 1, lambda n: n + 3, lambda n: n // 2, lambda n: n - 2)


@dataclass
class Example:
    """Arguments of one run as a structure and its tensors, and what eager gave for them."""

    structure: dict
    tensors: list
    sizes: dict
    results: Any = None


@dataclass(frozen=True)
class Dims:
    """Which sizes may change: {(number of a tensor, dim): name}."""

    names: dict

    @property
    def order(self) -> tuple:
        """The names, each once."""
        return tuple(dict.fromkeys(self.names.values()))

    def sizes(self, tensors) -> dict:
        """The sizes by name that tensors have; raises where one name has two."""
        found: dict = {}
        for (i, d), name in self.names.items():
            n = tensors[i]._a.shape[d]
            if found.setdefault(name, n) != n:
                raise ArgumentError(f"dynamic= says that sizes named {name} are equal, but example_inputs has {found[name]} "
                                    f"and {n}")
        return found

    def resized(self, tensors, sizes: dict) -> list:
        """The tensors with other sizes: repeated or cut, so that indices among them stay in range."""
        made = []
        for i, t in enumerate(tensors):
            a = t._a
            for d, n in enumerate(a.shape):
                name = self.names.get((i, d))
                if name is not None and sizes[name] != n:
                    if not n:
                        raise ArgumentError(f"example_inputs has a size of 0 for {name}, which may change; give it another one")
                    a = np.take(a, np.arange(sizes[name]) % n, axis=d)
            made.append(wrap(np.array(a)) if a is not t._a else t)
        return made


def dims_of(dynamic, tensors, names) -> Dims:
    """`dynamic=` of the user: {name or number of an input: {dim: name}, or dims, or True}."""
    found: dict = {}
    for key, wish in (dynamic or {}).items():
        if key not in names and not (isinstance(key, int) and 0 <= key < len(names)):
            raise ArgumentError(f"dynamic= names the input {key!r}; there are {', '.join(names)}")
        i = key if isinstance(key, int) else names.index(key)
        for d, said in _wishes(wish, tensors[i], names[i]).items():
            found[i, d] = said
    for name in found.values():
        if not name.isidentifier() or name in RESERVED or unicodedata.normalize("NFKC", name) != name:
            raise ArgumentError(f"dynamic= calls a size {name!r}; take an identifier such as 'batch'")
    return Dims(dict(sorted(found.items())))


def _wishes(wish, t: Tensor, name):
    wish = dict.fromkeys(range(t.ndim)) if wish is True else wish
    wish = wish if isinstance(wish, dict) else dict.fromkeys(wish)
    made = {}
    for dim, said in wish.items():
        if not isinstance(dim, int) or not -t.ndim <= dim < t.ndim:
            raise ArgumentError(f"dynamic= names dim {dim!r} of {name}, which has {t.ndim} dims")
        made[dim % t.ndim] = said if isinstance(said, str) else f"{name.replace('.', '_')}_{dim % t.ndim}"
    return made


def recordable(sizes: dict) -> dict:
    """Sizes to record with: an example's, none of them 0 or 1, which mean other things to broadcasting."""
    return {name: n if n >= LEAST else LEAST + 1 for name, n in sizes.items()}


def others(n: int) -> list:
    """Further values for a size, in the order in which they are tried."""
    return [m for m in dict.fromkeys(further(n) for further in _FURTHER) if m >= LEAST and m != n]
