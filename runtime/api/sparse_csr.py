"""Sparse matrices in compressed rows (CSR): where each row's entries begin, their columns, and their values.

One is a coalesced `SparseTensor` that also knows where its rows begin, so it has the same arithmetic and the same gradients.
"""

from functools import partial

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import DTypeError, ShapeError
from ...ir.ops import elementwise as ew
from ...ir.ops import indexing as ix
from ...ir.ops import shape as sh
from ..autograd.function import PARTS
from ..placement import beside, moved
from ..tensor import Tensor
from .convert import to
from .creation import filled, require_device, tensor
from .join import stack
from .layouts import sparse_csr
from .register import FUNCTIONS, api
from .sparse import SparseTensor


class SparseCsrTensor(SparseTensor):
    """A matrix of mostly zeros, row by row."""

    is_sparse = False
    is_sparse_csr = True
    layout = sparse_csr

    def __init__(self, crow: Tensor, indices: Tensor, values: Tensor, shape):
        super().__init__(indices, values, shape, True)
        self._crow = crow

    def like(self, values: Tensor) -> "SparseCsrTensor":
        """The same places with other values."""
        return SparseCsrTensor(self._crow, self._i, values, self.shape)

    def crow_indices(self) -> Tensor:
        """Where the entries of each row begin, and how many there are."""
        return self._crow

    def col_indices(self) -> Tensor:
        """The column of each entry."""
        return self.rows()[1]

    def indices(self) -> Tensor:
        """Not there: rows are compressed."""
        raise DTypeError("a sparse_csr tensor has crow_indices() and col_indices(); indices() is of to_sparse_coo()")

    def sparse_dim(self) -> int:
        """How many dimensions are sparse: rows and columns."""
        return 2

    def to_sparse(self, sparse_dim=None, *, layout=None):
        """The matrix with the place of every entry, or as it is for layout=sparse_csr."""
        return self if layout == self.layout else SparseTensor(self._i, self._v, self.shape, True)

    to_sparse_coo = to_sparse

    def to_sparse_csr(self, dense_dim=None):
        """The matrix as it is."""
        return self

    def clone(self):
        """The same matrix in new memory."""
        return self.like(ew.copy(self._v))

    def transpose(self, dim0, dim1) -> SparseTensor:
        """The matrix transposed, with the place of every entry."""
        return self.to_sparse().transpose(dim0, dim1)

    def __add__(self, other):
        found = self.to_sparse() + (other.to_sparse() if isinstance(other, SparseCsrTensor) else other)
        return compressed(found) if isinstance(other, SparseCsrTensor) else found

    __radd__ = add = __add__

    def __matmul__(self, other):
        if not isinstance(other, SparseCsrTensor):
            return self.to_sparse() @ other
        return compressed(self.to_sparse() @ other.to_sparse())

    mm = matmul = spmm = mv = __matmul__

    def __rmatmul__(self, other):
        return other @ self.to_sparse()

    def zero_(self):
        """Writes zeros over all values; their places stay."""
        self._v.zero_()
        return self

    def __repr__(self):
        parts = [f"crow_indices={self._crow!r}", f"col_indices={self.col_indices()!r}", f"values={self._v!r}",
                 f"size={tuple(self.shape)}, nnz={self._nnz()}"]
        return "tensor(" + ",\n       ".join(p.replace("\n", "\n       ") for p in parts) + ", layout=ingot.sparse_csr)"


PARTS[SparseCsrTensor] = lambda s: ((s._crow, s._i, s._v), partial(SparseCsrTensor, shape=s.shape))


def compressed(x: SparseTensor) -> SparseCsrTensor:
    """A sparse matrix in compressed rows."""
    if x.ndim - x.dense_dim() != 2:
        raise ShapeError(f"rows of a matrix can be compressed, got a sparse tensor of {x.sparse_dim()} sparse dimensions")
    x = x.coalesce()
    return SparseCsrTensor(starts_of_rows(x.rows()[0], x.shape[0]), x._i, x._v, x.shape)


@api(method=False, name="_convert_indices_from_coo_to_csr")
def starts_of_rows(input, size, *, out_int32=False) -> Tensor:
    """Where the rows begin of entries whose rows are sorted, and where the last one ends."""
    ones = filled(input, input._a.shape, 1, dt.int64)
    counts = ix.index_put(filled(input, (size + 1,), 0, dt.int64), ones, ew.add(input, 1), accumulate=True)
    starts = FUNCTIONS["cumsum"](counts, 0)
    return to(starts, dt.int32) if out_int32 else starts


@api(method=False, name="_convert_indices_from_csr_to_coo")
def rows_of_entries(crow_indices, col_indices, *, out_int32=False, transpose=False) -> Tensor:
    """The row and the column of each entry, from where rows begin; the column first if transposed."""
    n = crow_indices.shape[0] - 1
    counts = ew.sub(sh.slice_(crow_indices, dim=0, start=1, stop=n + 1, step=1),
                    sh.slice_(crow_indices, dim=0, start=0, stop=n, step=1))
    rows, kind = ix.repeat_index(to(counts, dt.int64), total=col_indices.shape[0]), dt.int32 if out_int32 else dt.int64
    pair = to(rows, kind), to(col_indices, kind)
    return stack(pair[::-1] if transpose else pair)


def _check(crow, col, size):
    """Raises unless rows begin in order, and columns rise within each."""
    starts, columns = crow.numpy(force=True), col.numpy(force=True)
    if starts[0] != 0 or starts[-1] != len(columns) or (np.diff(starts) < 0).any():
        raise ShapeError(f"sparse_csr_tensor: crow_indices must rise from 0 to the number of entries, {len(columns)}")
    ix.require_range("sparse_csr_tensor", columns, size[1], 1)
    inside = np.ones(max(0, len(columns) - 1), bool)
    inside[starts[(starts > 0) & (starts < len(columns))] - 1] = False
    if (np.diff(columns)[inside] <= 0).any():
        raise ShapeError("sparse_csr_tensor: col_indices must rise within each row")


@api(method=False)
def sparse_csr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, device=None, pin_memory=False,
                      requires_grad=False, check_invariants=None) -> SparseCsrTensor:
    """A sparse matrix from where its rows begin (one more than there are rows), its columns and its values."""
    require_device(device)
    crow, col = (to(i if isinstance(i, Tensor) else tensor(i, dtype=dt.int64), dt.int64) for i in (crow_indices, col_indices))
    v = values if isinstance(values, Tensor) else tensor(values)
    v = v if device is None else moved(v, device)
    crow, col = beside(crow, v), beside(col, v)
    v = v if dtype is None else to(v, dtype)
    if crow.ndim != 1 or not crow.shape[0] or col.ndim != 1 or not v.ndim or v.shape[0] != col.shape[0]:
        raise ShapeError(f"sparse_csr_tensor takes vectors of row starts and columns, and one value for each column, got "
                         f"{crow.aval}, {col.aval} and {v.aval}")
    if size is None:
        size = (crow.shape[0] - 1, int(col.amax(0)) + 1 if col.shape[0] else 0, *v.shape[1:])
    if tuple(size) != (crow.shape[0] - 1, size[1], *v.shape[1:]):
        raise ShapeError(f"sparse_csr_tensor: size {tuple(size)} does not fit {crow.shape[0] - 1} rows and values {v.aval}")
    _check(crow, col, size)
    made = SparseCsrTensor(crow, rows_of_entries(crow, col), v, size)
    return made.like(v.detach()).requires_grad_() if requires_grad else made


@api(function=False)
def to_sparse_csr(self, dense_dim=None) -> SparseCsrTensor:
    """The entries of a matrix that are not zero, in compressed rows."""
    if self.ndim - (dense_dim or 0) != 2:
        raise ShapeError(f"to_sparse_csr takes a matrix (and dense_dim more dimensions), got {self.aval}")
    return compressed(self.to_sparse(2))


SparseTensor.to_sparse_csr = lambda self, dense_dim=None: compressed(self)

# What dense tensors answer.


@api(function=False)
def sparse_dim(self) -> int:
    """How many dimensions are sparse: none of a dense tensor."""
    return 0


@api(function=False)
def dense_dim(self) -> int:
    """How many dimensions are dense: all of a dense tensor."""
    return self.ndim


@api(function=False)
def sparse_mask(self, mask) -> SparseTensor:
    """The values at the places that a sparse tensor has, as a sparse tensor."""
    if not isinstance(mask, SparseTensor) or mask.shape != self.shape:
        raise ShapeError(f"sparse_mask takes a sparse tensor of shape {tuple(self.shape)} as its mask")
    mask = mask if isinstance(mask, SparseCsrTensor) else mask.coalesce()
    return mask.like(ix.index(self, *mask.rows()))


def _of_sparse_ones(name):

    def method(self) -> Tensor:
        raise DTypeError(f"{name}() is a method of sparse tensors, and this one is dense; see to_sparse() and to_sparse_csr()")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"{name}() of sparse tensors; an error for dense ones."
    api(function=False)(method)


for _name in ("indices", "values", "coalesce", "is_coalesced", "crow_indices", "col_indices"):
    _of_sparse_ones(_name)
