"""Tables: proxies for lists, tuples and arrays that a symbolic number indexes (`symbolic_lookups.py`). A table holds the same
items and has the same type. For a symbolic number it gives a number that each call looks up."""

import operator
from operator import is_
from typing import Any

import numpy as np

from ...ir.symbols.substitute import table
from ...ir.symbols.symbolic import SymFloat, SymInt, names_of, source_of
from ..bytecode.uses import INSPECTED, MEASURED, PASSED, SINGLE
from .numpy_scalars import with_kind

_FLOATS = (float, np.float64, np.float32)
_NUMBERS = frozenset((float, int))


class Table:
    """Proxy of the container `of`; `calls` are those that may receive it."""

    of: Any = None
    calls: frozenset = frozenset()

    def suits(self, how, calls) -> bool:
        """Return whether code that starts may use the table, given its use of the container."""
        return how in (INSPECTED, PASSED, MEASURED, *SINGLE) and self.calls.issuperset(calls)

    def __getitem__(self, key):
        if type(key) is SymInt and self.of is not None and key.scope.open:
            return _looked_up(self.of, key)
        return (super().__getitem__(key) if self.of is None else self.of[key])      # type: ignore[misc]


class ListTable(Table, list):
    """Table of a list, which held `first`."""

    first: tuple = ()
    __class__ = property(lambda self: list)     # type: ignore[assignment]


class TupleTable(Table, tuple):
    """Table of a tuple."""

    __class__ = property(lambda self: tuple)    # type: ignore[assignment]


class ArrayTable(Table, np.ndarray):
    """Table over the memory of an array. Results of computations with it are plain arrays."""

    __class__ = property(lambda self: np.ndarray)       # type: ignore[assignment]

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if "out" in kwargs:
            kwargs["out"] = tuple(map(real_table, kwargs["out"]))
        return getattr(ufunc, method)(*map(real_table, inputs), **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        return function(*_without(args), **_without(kwargs))


TABLES = (ListTable, TupleTable, ArrayTable)


def real_table(x):
    """Return the container behind a table; other values as they are."""
    if type(x) not in TABLES:
        return x
    return x.view(np.ndarray) if x.of is None else x.of


def _without(x):
    """Return arguments of NumPy functions with containers in place of tables."""
    if type(x) in (tuple, list):
        return type(x)(map(_without, x))
    return {k: _without(v) for k, v in x.items()} if type(x) is dict else real_table(x)


def table_of(container) -> Any:
    """Return a table for a list or tuple with floats or ints, or an array of floats; else None."""
    kind = type(container)
    proxy: Any
    if kind is np.ndarray and container.ndim == 1 and container.dtype.type in _FLOATS and container.size:
        proxy = container.view(ArrayTable)
    elif kind in (list, tuple) and not _NUMBERS.isdisjoint(map(type, container)):
        proxy = (ListTable if kind is list else TupleTable)(container)
        proxy.first = tuple(container)
    else:
        return None
    proxy.of = container
    return proxy


def was_written(proxy) -> bool:
    """Return whether a list's table was written; do the same to the list."""
    if type(proxy) is not ListTable or (len(proxy) == len(proxy.first) and all(map(is_, list.__iter__(proxy), proxy.first))):
        return False
    proxy.of[:] = list(list.__iter__(proxy))
    return True


def _looked_up(container, key: SymInt):
    """Return the item under a symbolic number: a number that each call looks up if it is a float; an int is a condition."""
    n = len(container)
    kind = type(container[key.hint]) if -n <= key.hint < n else None
    if kind is int and key >= -n and key < n and _NUMBERS.issuperset(map(type, container)):
        found = container[key.hint]
        key.scope.note(f"{table([(type(v).__name__, v) for v in container])}({source_of(key)}) == {(int.__name__, found)!r}")
        return found
    if kind not in _FLOATS or not (key >= -n and key < n):
        return container[operator.index(key)]
    is_array = isinstance(container, np.ndarray)
    if kind is not float and not is_array:
        return container[operator.index(key)]
    numbers = container.tolist() if is_array else container
    text = f"{table(numbers)}({source_of(key)})"
    if kind is float and not all(type(x) is float for x in numbers):
        key.scope.note(f"type({text}) is float")
    return with_kind(kind, SymFloat(key.scope, text, float(numbers[key.hint]), names_of(key)))
