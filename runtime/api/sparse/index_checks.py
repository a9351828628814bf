"""Checks of indices for sparse tensors.

NumPy inspects them without a recorder, which would take their values for a branch. A trace records equivalent operators, and
one that refuses replays whose check fails: such a call runs eagerly and meets NumPy's check.
"""

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


def require_inside(name, index, size, dim):
    """Raise unless all indices are within a dim of that size."""
    ix.require_range(name, index._a, hint(size), dim)
    if tls.m.recorder is not None:
        _in_later_calls(_inside(index, size))


def require_compressed(name, tensor, count):
    """Raise unless row (column) starts rise, and the other indices rise within each row and are below `count`."""
    starts, others = tensor._starts, tensor._others
    _look(name, tensor._form, _array(starts), _array(others), hint(count))
    if tls.m.recorder is not None:
        _in_later_calls(ew.eq(starts[..., 0], 0), ew.eq(starts[..., -1], others.shape[-1]),
                        ew.ge(starts[..., 1:], starts[..., :-1]), _inside(others, count))
        *_, at, numbers = tensor.entry_indices()
        _in_later_calls(_rise(at.reshape(others.shape), numbers.reshape(others.shape)))


def _rise(at, numbers):
    same = ew.eq(at[..., 1:], at[..., :-1])
    return ew.logical_or(ew.logical_not(same), ew.gt(numbers[..., 1:], numbers[..., :-1]))


def _inside(index, size):
    return ew.logical_and(ew.ge(index, 0), ew.lt(index, size))


def _in_later_calls(*conditions):
    """Make replays run eagerly where a boolean tensor is not true everywhere."""
    for holds in conditions:
        wrong = to(ew.logical_not(FUNCTIONS["all"](holds)), dt.int64).reshape(1)
        ix.gather(filled(wrong, (1,), 0, dt.int64), wrong, dim=0)


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
