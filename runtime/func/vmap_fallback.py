"""Operators whose record does not say how they treat a batch: one sample after the other."""

from ...ir.ops.core.shape import cat, reshape, select
from ..core.tensor import shape_of


def one_by_one(size, op, args, held, params):
    """The results of every sample by itself, put together."""
    each = [op(*[select(a, dim=0, index=i) if has else a for a, has in zip(args, held)], **params) for i in range(size)]
    if type(each[0]) is tuple:
        return tuple([_stacked(column) for column in zip(*each)])
    return _stacked(each)


def _stacked(tensors):
    return cat(*[reshape(t, shape=(1, *shape_of(t))) for t in tensors], dim=0)
