"""Sparse tensors with the position of every entry (COO), and their padded form for recorders.

The number of rows in `GappedRows` does not depend on data, as some rows are gaps.
"""

from typing import NamedTuple

import numpy as np

from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import shape as sh
from ....ir.ops.core.shape import reshape
from ....ir.ops.index import indexing as ix
from ....ir.ops.index.indexing import index as at
from ...core.tensor import Size, Tensor, shape_of, wrap
from ...state.mode import tls
from ..math.sort import unique
from ..register.layouts import sparse_coo
from ..register.register import FUNCTIONS
from ..views.conversions import to
from ..views.join_split import cat, stack
from ..views.tensor_factories import filled
from .sparse_tensor import Making, SparseTensor, kind_of_sparse, part


@kind_of_sparse
class CooTensor(SparseTensor):
    """Sparse tensor with the position of every entry; entries with equal positions are summed."""

    is_sparse = True
    layout = sparse_coo
    _i = part("_where")         # one row for each sparse dimension, one column for each entry

    def __init__(self, indices: Tensor, values: Tensor, shape, coalesced: bool = False):
        self._where = indices
        self._held = values
        self._size = Size(shape)
        self._coalesced = coalesced

    def like(self, values: Tensor) -> "CooTensor":
        return CooTensor(self._i, values, self._size, self._coalesced)

    def coo(self) -> "CooTensor":
        return self

    def parts(self) -> tuple:
        return (self._where, self._held), Making(CooTensor, (self._size, self._coalesced))

    def dense_dim(self) -> int:
        return self._v.ndim - 1

    def _nnz(self) -> int:
        return shape_of(self._i)[1]

    def _indices(self) -> Tensor:
        return self._i

    def is_coalesced(self) -> bool:
        """Return whether indices are sorted and distinct."""
        return self._coalesced

    def _coalesced_(self, coalesced):
        self._coalesced = coalesced
        return self

    def indices(self) -> Tensor:
        """Return the positions of the entries, one column each; the tensor must be coalesced."""
        return self._checked("indices")._i

    def values(self) -> Tensor:
        """Return the values of the entries; the tensor must be coalesced."""
        return self._checked("values")._v

    def _checked(self, name):
        if not self._coalesced:
            raise ShapeError(f"{name}() needs a coalesced tensor; call coalesce() first (or _{name}())")
        return self

    def rows(self) -> tuple:
        """Return the index vectors, one for each sparse dimension."""
        return tuple([sh.select(self._i, dim=0, index=d) for d in range(self.sparse_dim())])

    def linear(self) -> Tensor:
        """Return the row-major number of every entry's position."""
        return numbers_of(self.rows(), self._size)

    def coalesce(self) -> "CooTensor":
        """Return the same tensor with sorted indices and the entries of equal indices summed."""
        if self._coalesced:
            return self
        depth = self.sparse_dim()
        if not depth:                                               # all entries have one position
            total = FUNCTIONS["sum"](self._v, 0, keepdim=True, dtype=self.dtype)
            return CooTensor(sh.slice_(self._i, dim=1, start=0, stop=min(1, self._nnz()), step=1),
                             total if self._nnz() else self._v, self._size, True)
        found, group = unique(self.linear(), return_inverse=True)
        none = filled(self._v, found.shape + self._v.shape[1:], 0, self.dtype)
        values = ix.index_put(none, self._v, group, accumulate=True)
        return CooTensor(index_rows(found, self._size[:depth]), values, self._size, True)

    entries = coalesce

    def to_dense(self, dtype=None, *, masked_grad=None) -> Tensor:
        if masked_grad is not None and not masked_grad:
            raise ArgumentError("to_dense: the gradient of a sparse tensor has its entries alone; leave masked_grad out, or "
                                "make the dense tensor before it needs a gradient")
        zeros = filled(self._v, self._size, 0, self.dtype)
        if not self.sparse_dim():
            dense = FUNCTIONS["sum"](self._v, 0, dtype=self.dtype)
        else:
            dense = ix.index_put(zeros, self._v, *self.rows(), accumulate=True) if zeros.numel() else zeros
        return dense if dtype is None else to(dense, dtype)

    def _shown(self) -> list:
        return [("indices", self._i), ("values", self._v.detach())]


def numbers_of(rows, sizes) -> Tensor:
    """Return the row-major number of every position."""
    at = rows[0]
    for n, row in zip(sizes[1:], rows[1:]):
        at = ew.add(ew.mul(at, n), row)
    return at


def index_rows(numbers, sizes) -> Tensor:
    """Return the index vectors, as rows, of row-major numbers."""
    rows = []
    for n in reversed(sizes):
        rows.append(ew.remainder(numbers, n) if n else numbers)
        numbers = ew.floor_divide(numbers, n) if n else numbers
    return stack(rows[::-1])


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
            row_indices, = FUNCTIONS["nonzero"](ew.ne(self.numbers, GAP), as_tuple=True)
            numbers = at(self.numbers, row_indices)
            self._where, self._held = reshape(numbers, shape=(1, *numbers.shape)), at(self.all_rows, row_indices)
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
        is_row = numbers._a != GAP
        return CooTensor(wrap(numbers._a[is_row][None]), wrap(np.ascontiguousarray(rows._a[is_row])), self.shape)
