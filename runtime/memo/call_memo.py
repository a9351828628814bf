"""Memo of public functions: calls of a kind, stored as the operators that they ran.

Many functions prepare arguments (common dtypes, dims counted from the front, windows, masks). The result is the same for all
tensors of the same shapes and dtypes, and takes longer than the operators on few numbers. Such a function, marked as
memoised, is recorded at its second call of a kind. From then on such calls run the recorded operators, generated as one
function with constant parameters. Calls that take long are left alone.

A function may be marked if the operators that it runs follow from its arguments, their shapes and dtypes, and the default
dtype. A run is stored only if operators computed its results from the arguments, from results of earlier operators, or from
small tables that the function keeps (`keeps_table`). It is not if it read values, wrote, drew random keys or warned
(`Mode.only_now`).
"""

from collections.abc import Callable

import numpy as np

from ...ir.dtype import DType
from ...ir.weak_table import WeakTable
from ..core.tensor import Size, Tensor
from ..state.mode import Defaults

TENSORS: set = {Tensor}                 # classes of plain tensors, those that modules own among them
_PLAIN = frozenset((int, bool, str, type(None), DType, Size))
MOST = 4096                             # kinds of calls that are stored of each function
TAPED = "taped"                         # says that a tensor has a history, which will go on
tables: list = []                       # (function, what is known of its calls by their kinds)
_ndarray = np.ndarray


def forget() -> None:
    """Forget all calls."""
    for _, table in tables:
        table.clear()


Defaults.told.append(forget)


def new_table(fn: Callable) -> dict:
    """Return a new table of calls by kind for a function."""
    tables.append((fn, {}))
    return tables[-1][1]


_tables_kept = WeakTable()       # by their ids
_MOST_KEPT = 1 << 13                    # elements of a table that a memoised call may hold


def keeps_table(table: Tensor) -> Tensor:
    """Return a tensor, marked as a table: nobody writes it, and calls of a kind get the same elements. A large one is not
    marked, as calls would hold it."""
    if table._a.__class__ is _ndarray and table._a.size <= _MOST_KEPT:
        _tables_kept[id(table)] = table
    return table


def is_cached_table(t: Tensor) -> bool:
    """Return whether a tensor is such a table."""
    return _tables_kept.get(id(t)) is t


def kind_of_call(args, kwargs, grad: bool) -> tuple | None:
    """Return the key of a call; equal keys run the same operators. None if there is no key. Most arguments are tensors and
    ints, which are handled here, as a call for each would take as long as the rest."""
    kind: list = []
    for a in args:
        what = a.__class__
        if what in TENSORS:
            array = a._a
            if array.__class__ is not _ndarray:
                return None
            kind.append(array.shape)
            kind.append(array.dtype)
            if grad and a._node is not None:
                kind.append(TAPED)
        elif what is int:               # whatever else is no tensor stands behind its class
            kind.append(a)
        elif not _add(kind, a, what, grad):
            return None
    if kwargs:
        for name, a in kwargs.items():
            kind.append(name)
            if not _add(kind, a, a.__class__, grad):
                return None
    return tuple(kind)


def past_tracker(m, fn, args, kwargs):
    """Call a function that a user calls. If the arguments are plain, no code of users runs in it, and a tracker of Python need
    not look."""
    if m.own_code is None or not all(map(_is_plain, (*args, *kwargs.values()))):
        return fn(*args, **kwargs)
    return m.own_code(fn, *args, **kwargs)


def _is_plain(x) -> bool:
    """Return whether an argument is a tensor, a number or a text itself, and no proxy of one, or a sequence of such."""
    kind = type(x)
    return kind in TENSORS or kind in _PLAIN or kind is float or ((kind is tuple or kind is list) and all(map(_is_plain, x)))


def _add(kind: list, a, what, grad: bool) -> bool:
    """Append an argument of a class to a key; return whether it has one."""
    if what in TENSORS:
        array = a._a
        kind.append(array.shape)
        kind.append(array.dtype)
        if grad and a._node is not None:
            kind.append(TAPED)
        return array.__class__ is _ndarray
    kind.append(what)
    if what in _PLAIN:
        kind.append(a)
        return True
    if what is float:
        if type(a) is not float:        # a proxy, which a comparison would ask what number it is
            return False
        kind.append(a or a.hex())       # to a table 0.0 and -0.0 are one
        return a == a                   # and nan is none
    if what is tuple or what is list:
        kind.append(len(a))
        for item in a:                  # noqa: SIM110  (quicker)
            if not _add(kind, item, item.__class__, grad):
                return False
        return True
    return False
