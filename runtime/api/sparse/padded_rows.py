"""Sparse rows of a table for recorders: their number does not depend on data, as some rows are gaps."""

from typing import NamedTuple

import numpy as np

from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import reshape
from ....ir.ops.index.indexing import index as at
from ...core.state import tls
from ...core.tensor import Tensor, wrap
from ..register.register import FUNCTIONS
from ..views.join_split import cat
from .coo import CooTensor
from .sparse_tensor import kind_of_sparse, part

GAP = -1


@kind_of_sparse
class GappedRows(CooTensor):
    """Rows at indices; those at `GAP` are dropped on first use, which reads their number."""

    def __init__(self, numbers: Tensor, rows: Tensor, shape):
        self._numbers, self._rows = numbers, rows
        super().__init__(numbers, rows, shape)
        self._is_closed = False

    def _close(self):
        """Drop the gaps."""
        if not self._is_closed:
            self._is_closed = True
            kept, = FUNCTIONS["nonzero"](ew.ne(self.numbers, GAP), as_tuple=True)
            numbers = at(self.numbers, kept)
            self._where, self._held = reshape(numbers, shape=(1, *numbers.shape)), at(self.all_rows, kept)
        return self

    numbers = part("_numbers")          # of all rows, gaps included
    all_rows = part("_rows")
    _i = property(lambda self: self._close()._where)        # type: ignore[assignment]
    _v = property(lambda self: self._close()._held)
    dtype = property(lambda self: self.all_rows.dtype)
    device = property(lambda self: self.all_rows.device)
    is_cpu = property(lambda self: self.all_rows.is_cpu)
    requires_grad = property(lambda self: self.all_rows.requires_grad, lambda self, value: self.requires_grad_(value))

    def dense_dim(self) -> int:
        return self.all_rows.ndim - 1

    def detach(self):
        return GappedRows(self.numbers, self.all_rows.detach(), self._size)

    def parts(self) -> tuple:
        return (self._numbers, self._rows), Closing(tuple(self._size))


def are_rows(a, b) -> bool:
    """Return whether two tensors are sparse rows of one dtype."""
    return all(isinstance(x, CooTensor) and x.sparse_dim() == 1 for x in (a, b)) and a.dtype is b.dtype


def joined(a, b) -> GappedRows:
    """Return the entries of two tensors of sparse rows."""
    numbers, rows = zip(*[(x.numbers, x.all_rows) if type(x) is GappedRows else (x.rows()[0], x._v) for x in (a, b)])
    return GappedRows(cat(numbers), cat(rows), a.shape)


class Closing(NamedTuple):
    """Rebuild function for such parts: without gaps if nothing records."""

    shape: tuple

    def __call__(self, numbers, rows):
        if tls.m.recorder is not None:
            return GappedRows(numbers, rows, self.shape)
        kept = numbers._a != GAP
        return CooTensor(wrap(numbers._a[kept][None]), wrap(np.ascontiguousarray(rows._a[kept])), self.shape)
