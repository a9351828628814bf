"""Checks of indices for sparse tensors.

NumPy inspects them without a recorder, which would take their values for a branch. A recorder gets equivalent operators, and
one that refuses where a check fails. The indices that later operators read depend on it, so exported models keep the check.
A replay that refuses runs eagerly and meets NumPy's check.
"""

from functools import reduce

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.index import indexing as ix
from ....ir.symbols.symbolic import hint
from ...state.mode import tls
from ..register.register import FUNCTIONS
from ..views.conversions import to
from ..views.tensor_factories import filled


def inside(name, index, sizes, first_dim=0):
    """Return rows of indices, one for each of the sizes. Raise unless all are within them."""
    for d, size in enumerate(sizes):
        ix.require_range(name, index._a[d], hint(size), first_dim + d)
    if tls.m.recorder is None:
        return index
    return _refused_unless(index, *[_inside(index[d], size) for d, size in enumerate(sizes)])


def compressed_indices(name, tensor, count):
    """Return (row or column starts, the other indices) of a tensor. Raise unless starts rise, and the other indices rise within
    each row and are below `count`."""
    starts, others = tensor._starts, tensor._others
    _look(name, tensor._form, _array(starts), _array(others), hint(count))
    if tls.m.recorder is None:
        return starts, others
    safe = _refused_unless(starts, ew.eq(starts[..., 0], 0), ew.eq(starts[..., -1], others.shape[-1]),
                           ew.ge(starts[..., 1:], starts[..., :-1]))
    *_, at, numbers = type(tensor)(safe, others, tensor._v, tensor.shape, tensor._form).entry_indices()
    return safe, _refused_unless(others, _inside(others, count), _rise(at.reshape(others.shape), numbers.reshape(others.shape)))


def _rise(at, numbers):
    same = ew.eq(at[..., 1:], at[..., :-1])
    return ew.logical_or(ew.logical_not(same), ew.gt(numbers[..., 1:], numbers[..., :-1]))


def _inside(index, size):
    return ew.logical_and(ew.ge(index, 0), ew.lt(index, size))


def _refused_unless(index, *conditions):
    """Return indices plus zero: an element of a tensor of one, at 1 and so refused if a condition does not hold everywhere."""
    holds = reduce(ew.logical_and, map(FUNCTIONS["all"], conditions))
    zero = ix.gather(filled(index, (1,), 0, index.dtype), to(ew.logical_not(holds), dt.int64).reshape(1), dim=0)
    return FUNCTIONS["add"](index, zero)


def _array(x) -> np.ndarray:
    return x._a if isinstance(x._a, np.ndarray) else x.numpy(force=True)


def _look(name, form, starts, others, count):
    first, second = form.names
    nnz = others.shape[-1]
    rows = starts.reshape(-1, starts.shape[-1])
    for at, numbers in zip(rows, others.reshape(len(rows), nnz)):
        if at[0] != 0 or at[-1] != nnz or (np.diff(at) < 0).any():
            raise ShapeError(f"{name}: {first} must rise from 0 to the number of entries, {nnz}")
        ix.require_range(name, numbers, count, 1 - form.dim)
        inside = np.ones(max(0, nnz - 1), bool)
        inside[at[(at > 0) & (at < nnz)] - 1] = False
        if (np.diff(numbers)[inside] <= 0).any():
            raise ShapeError(f"{name}: {second} must rise within each {'row' if form.dim == 0 else 'column'}")
