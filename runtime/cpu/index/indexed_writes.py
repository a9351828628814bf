"""Indexed writes into an array that is there: scatters and `index_put` without a copy of all that they leave as it is.

These are writers as `inplace_kernels.py` describes them. They take the array as what is written and as the operator's first
operand, look at indices before anything is written, and decline what shares memory with another operand or is summed in a wider
type.
"""

import numpy as np

from ....ir.opdef.op import OPS, Op
from ....ir.ops.core.elementwise_rules import wide
from ....ir.ops.index import indexing
from ....ir.ops.index.assign import assign_view
from ..calls.kernel_table import KernelTable
from ..nn import eager_sequence
from . import gathers

TABLE = KernelTable()


def _takes(out, x, *others) -> bool:
    """Whether a writer writes over its first operand, and nothing else lies there."""
    return x is out and out.ndim > 0 and out.flags.carray and not any(
        [a is not None and np.may_share_memory(a, out) for a in others])  # noqa: C419


def _sums_as_it_is(out) -> bool:
    return wide(out[:0]).dtype == out.dtype


@TABLE.makes(indexing.scatter, indexing.scatter_reduce)
def scatter(op: Op):
    """Elements along a dim, put or combined with what is there."""

    def write(out, x, index, src, *, dim, mode) -> bool:
        if not _takes(out, x, index, src) or (mode != "set" and not _sums_as_it_is(out)):
            return False
        indexing.require_range("scatter", index, out.shape[dim], dim)
        if gathers.can_gather(out.dtype, out.shape, index.dtype, index.shape, dim) \
                and src.shape == index.shape and gathers.can_scatter(out.dtype, mode):
            gathers.scatter_into(out, index, src, dim=dim, how=mode)
        elif index.size:
            indexing.put_along(out, index, src, dim, mode)
        return True

    return write


@TABLE.makes(indexing.index_put)
def index_put(op: Op):
    """Elements at index arrays, put or added."""

    def write(out, x, value, *indices, accumulate) -> bool:
        if not _takes(out, x, value, *indices) or (accumulate and not _sums_as_it_is(out)):
            return False
        if not accumulate:
            try:
                out[indexing.key_of(indices)] = value
            except IndexError:
                indexing.require_ranges("index_put", out, indices)
                raise
        elif value.size >= eager_sequence.FEW_ADDED:
            return eager_sequence.add_into(out, value, indices)
        else:
            indexing.require_ranges("index_put", out, indices)
            ufunc = np.logical_or if out.dtype == np.bool_ else np.add
            ufunc.at(out, indexing.key_of(indices), value)
        return True

    return write


@TABLE.makes(assign_view)
def assign(op: Op):
    """The part that views select, where they are views in memory."""

    def write(out, base, value, *, chain) -> bool:
        if not _takes(out, base):
            return False
        part = out
        for name, params in chain:
            part = OPS[name].ref(part, **dict(params))
        if part.size and not np.may_share_memory(part, out):
            return False
        part.setflags(write=True)
        part[...] = value
        return True

    return write
