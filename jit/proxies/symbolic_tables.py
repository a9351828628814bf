"""Tables: what lies in the place of lists, tuples and arrays of numbers that are looked up by a number which changes
(`symbolic_lookups.py`), while a call is recorded. They hold the same and are of their kind; what they give for a symbolic
number is a number that each call looks up."""

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
    """What lies in the place of a container while a call is recorded: `of` is that, `calls` are those to which it may be
    given."""

    of: Any = None
    calls: frozenset = frozenset()

    def suits(self, how, calls) -> bool:
        """Whether code that begins to run may have it, by what it does with the container."""
        return how in (INSPECTED, PASSED, MEASURED, *SINGLE) and self.calls.issuperset(calls)

    def __getitem__(self, key):
        if type(key) is SymInt and self.of is not None and key.scope.open:
            return _looked_up(self.of, key)
        return (super().__getitem__(key) if self.of is None else self.of[key])      # type: ignore[misc]


class ListTable(Table, list):
    """A list in whose place it lies, and what that held at `first`."""

    first: tuple = ()

    @property  # type: ignore[misc]
    def __class__(self):
        return list


class TupleTable(Table, tuple):
    """A tuple in whose place it lies."""

    @property  # type: ignore[misc]
    def __class__(self):
        return tuple


class ArrayTable(Table, np.ndarray):
    """An array over the memory of that in whose place it lies. What is computed of it are plain arrays."""

    @property  # type: ignore[misc]
    def __class__(self):
        return np.ndarray

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if "out" in kwargs:
            kwargs["out"] = tuple(map(real_table, kwargs["out"]))
        return getattr(ufunc, method)(*map(real_table, inputs), **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        return function(*_without(args), **_without(kwargs))


TABLES = (ListTable, TupleTable, ArrayTable)


def real_table(x):
    """The container in whose place a table lies; anything else as it is."""
    if type(x) not in TABLES:
        return x
    return x.view(np.ndarray) if x.of is None else x.of


def _without(x):
    """Arguments of numpy's functions with containers in the place of tables."""
    if type(x) in (tuple, list):
        return type(x)(map(_without, x))
    return {k: _without(v) for k, v in x.items()} if type(x) is dict else real_table(x)


def table_of(container) -> Any:
    """A table for a container, if it is a list or tuple with floats or ints in it, or an array of floats; else None."""
    kind = type(container)
    made: Any
    if kind is np.ndarray and container.ndim == 1 and container.dtype.type in _FLOATS and container.size:
        made = container.view(ArrayTable)
    elif kind in (list, tuple) and not _NUMBERS.isdisjoint(map(type, container)):
        made = (ListTable if kind is list else TupleTable)(container)
        made.first = tuple(container)
    else:
        return None
    made.of = container
    return made


def _with_kinds(container) -> list:
    """What a container of numbers holds, each with its kind: an int is another one than the float that it equals."""
    return [(type(v).__name__, v) for v in container]


def was_written(made) -> bool:
    """Whether anything was put into a list's table, or taken out of it. What was is done to the list, too."""
    if type(made) is not ListTable or (len(made) == len(made.first) and all(map(is_, list.__iter__(made), made.first))):
        return False
    made.of[:] = list(list.__iter__(made))
    return True


def _looked_up(container, key: SymInt):
    """What a container holds under a symbolic number: a number that each call looks up, if it is a float; of an int it counts
    that it is this one."""
    n = len(container)
    kind = type(container[key.hint]) if -n <= key.hint < n else None
    if kind is int and key >= -n and key < n and _NUMBERS.issuperset(map(type, container)):
        found = container[key.hint]
        key.scope.note(f"{table(_with_kinds(container))}({source_of(key)}) == {(int.__name__, found)!r}")
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
