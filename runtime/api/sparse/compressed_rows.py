"""Sparse matrices with compressed rows (CSR, BSR) or columns (CSC, BSC).

One class holds all four layouts. They differ in data: which dim of a matrix is compressed, and whether entries are numbers or
blocks. Batch dims may precede, with equally many entries in each matrix, and dense dims may follow.
"""

from typing import Any, NamedTuple

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import shape as sh
from ....ir.ops.index import indexing as ix
from ...core.placement import on_device_of
from ...core.tensor import Size, Tensor, shape_of
from ..math.sort import unique
from ..register.layouts import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..register.register import FUNCTIONS, api
from ..views.conversions import to
from ..views.join_split import stack
from ..views.tensor_factories import counted, filled
from .coo import CooTensor
from .handler_table import handles
from .sparse_tensor import Making, SparseTensor, kind_of_sparse, part


class Form(NamedTuple):
    """Form of a compressed layout: the compressed dim of a matrix (0: rows), and whether entries are blocks."""

    dim: int
    blocked: bool

    @property
    def names(self) -> tuple:
        """Names of the two index tensors."""
        return ("crow_indices", "col_indices") if self.dim == 0 else ("ccol_indices", "row_indices")

    @property
    def layout(self) -> layout:
        return next(name for name, form in FORMS.items() if form == self)


FORMS = {sparse_csr: Form(0, False), sparse_csc: Form(1, False), sparse_bsr: Form(0, True), sparse_bsc: Form(1, True)}


@kind_of_sparse
class CompressedTensor(SparseTensor):
    """Sparse matrix by rows or by columns."""

    is_sparse = False
    _starts = part("_begin")        # start of each row (column)
    _others = part("_rest")         # column (row) of each entry

    def __init__(self, starts: Tensor, others: Tensor, values: Tensor, shape, form: Form):
        self._begin, self._rest, self._held = starts, others, values
        self._size, self._form = Size(shape), form

    layout = property(lambda self: self._form.layout)           # type: ignore[assignment]
    is_sparse_csr = property(lambda self: self._form == FORMS[sparse_csr])      # type: ignore[assignment]

    def like(self, values: Tensor) -> "CompressedTensor":
        return CompressedTensor(self._starts, self._others, values, self._size, self._form)

    def parts(self) -> tuple:
        return (self._begin, self._rest, self._held), Making(CompressedTensor, (self._size, self._form))

    def entries(self) -> "CompressedTensor":
        return self

    @property
    def batch(self) -> tuple:
        """Sizes of the dims before the matrices."""
        return tuple(self._size[:self._starts.ndim - 1])

    @property
    def blocksize(self) -> tuple:
        """Sizes of a block; (1, 1) where entries are numbers."""
        n = self._starts.ndim
        return tuple(self._v.shape[n:n + 2]) if self._form.blocked else (1, 1)

    @property
    def at(self) -> int:
        """Dim of rows."""
        return self._starts.ndim - 1

    def dense_dim(self) -> int:
        return self.ndim - self._starts.ndim - 1

    def sparse_dim(self) -> int:
        """Return 2: rows and columns."""
        return 2

    def _nnz(self) -> int:
        return shape_of(self._others)[-1]

    def _of_dim(self, dim, name, part):
        if self._form.dim != dim:
            raise DTypeError(f"a {self.layout} tensor has {' and '.join(self._form.names)}, and no {name}")
        return part

    def crow_indices(self) -> Tensor:
        """Return the start of each row's entries, and their total number."""
        return self._of_dim(0, "crow_indices", self._starts)

    def col_indices(self) -> Tensor:
        """Return the column of each entry."""
        return self._of_dim(0, "col_indices", self._others)

    def ccol_indices(self) -> Tensor:
        """Return the start of each column's entries, and their total number."""
        return self._of_dim(1, "ccol_indices", self._starts)

    def row_indices(self) -> Tensor:
        return self._of_dim(1, "row_indices", self._others)

    def indices(self) -> Tensor:
        """Raise: one of the dims is compressed."""
        raise DTypeError(f"a {self.layout} tensor has {self._form.names[0]}() and {self._form.names[1]}(); indices() is of "
                         f"to_sparse_coo()")

    _indices = coalesce = is_coalesced = indices

    def _shown(self) -> list:
        return list(zip((*self._form.names, "values"), (self._starts, self._others, self._v.detach())))

    # Positions of entries.

    def entry_indices(self) -> tuple:
        """Return int64 indices of every entry (block): batch dims, compressed index, other index."""
        counts = to(self._starts[..., 1:] - self._starts[..., :-1], dt.int64).reshape(-1)
        others = to(self._others, dt.int64).reshape(-1)
        total, n = others.shape[0], self._starts.shape[-1] - 1
        at = ix.repeat_index(counts, total=total)
        if not self.batch:
            return (), at, others
        batch, left = [], ew.floor_divide(at, max(n, 1))
        for size in reversed(self.batch):
            batch.append(ew.remainder(left, max(size, 1)))
            left = ew.floor_divide(left, max(size, 1))
        return tuple(batch[::-1]), ew.remainder(at, max(n, 1)), others

    def coo(self) -> CooTensor:
        """Return the tensor with the position of every number."""
        batch, at, others = self.entry_indices()
        pair = (at, others) if self._form.dim == 0 else (others, at)
        values = self._v.flatten(0, self.at) if self.batch else self._v
        if not self._form.blocked:
            return CooTensor(stack([*batch, *pair]), values, self._size, self._form.dim == 0)
        block, count = self.blocksize, at.shape[0]
        inner = [on_device_of(counted(n), at).reshape(shape) for n, shape in zip(block, ((1, -1, 1), (1, 1, -1)))]
        full = (count, *block)
        indices = [x.reshape(-1, 1, 1).expand(full) for x in batch]
        indices += [(p.reshape(-1, 1, 1) * n + step).expand(full) for p, n, step in zip(pair, block, inner)]
        return CooTensor(stack([p.reshape(-1) for p in indices]), values.flatten(0, 2), self._size, False)

    def to_dense(self, dtype=None, *, masked_grad=None) -> Tensor:
        return self.coo().to_dense(dtype, masked_grad=masked_grad)

    def matrices(self) -> list:
        if not self.batch:
            return [self]
        each = zip(*[p.flatten(0, self.at - 1).unbind(0) for p in (self._starts, self._others, self._v)])
        return [CompressedTensor(a, b, v, self._size[self.at:], self._form) for a, b, v in each]

    def transposed(self) -> "CompressedTensor":
        """Return the transposed matrices: compressed rows become compressed columns."""
        a = self.at
        size = (*self.batch, self._size[a + 1], self._size[a], *self._size[a + 2:])
        values = self._v.transpose(a + 1, a + 2) if self._form.blocked else self._v
        return CompressedTensor(self._starts, self._others, values, size, Form(1 - self._form.dim, self._form.blocked))


def batched(matrices, batch) -> CompressedTensor:
    """Return compressed matrices with equally many entries as a batch."""
    first = matrices[0]
    if any(m._nnz() != first._nnz() for m in matrices):
        raise ShapeError(f"the matrices of a {first.layout} batch have equally many entries, got "
                         f"{[m._nnz() for m in matrices]}")
    starts, others, values = [p.reshape(*batch, *p.shape[1:]) for p in map(FUNCTIONS["stack"], zip(*[
        m.parts()[0] for m in matrices]))]
    return CompressedTensor(starts, others, values, (*batch, *first._size), first._form)


def compressed(x: SparseTensor, form: Form, blocksize=None) -> CompressedTensor:
    """Convert a sparse matrix to a compressed form."""
    if isinstance(x, CompressedTensor):
        if x._form == form and (not form.blocked or tuple(blocksize or x.blocksize) == x.blocksize):
            return x
        blocksize = x.blocksize if blocksize is None and x._form.blocked and form.blocked else blocksize
        if x.batch:
            return batched([compressed(m, form, blocksize) for m in x.matrices()], x.batch)
    if x.sparse_dim() != 2:
        raise ShapeError(f"to {form.layout}: a matrix is compressed, and this tensor has {x.sparse_dim()} sparse dimensions")
    entries = x.coo().coalesce()
    (rows, cols), block = entries.rows(), _blocksize(x, form, blocksize)
    if not form.blocked:
        at, others, values = (rows, cols, entries._v) if form.dim == 0 else _by_columns(rows, cols, entries._v)
    else:
        at, others, values = _blocks(entries, rows, cols, block, form)
    return CompressedTensor(starts_of_rows(at, x.shape[form.dim] // block[form.dim]), others, values, x.shape, form)


def _blocksize(x, form, blocksize) -> tuple:
    if not form.blocked:
        if blocksize is not None:
            raise ArgumentError(f"{form.layout} has no blocks, got blocksize={blocksize}")
        return 1, 1
    blocksize = (blocksize, blocksize) if isinstance(blocksize, int) else blocksize
    if blocksize is None or len(blocksize) != 2 or min(blocksize) < 1:
        raise ArgumentError(f"{form.layout} takes a blocksize of two sizes above zero, got {blocksize}")
    if any(n % b for n, b in zip(x.shape, blocksize)):
        raise ShapeError(f"to {form.layout}: sizes {list(x.shape[:2])} must be multiples of the blocksize {list(blocksize)}")
    return tuple(blocksize)


def _by_columns(rows, cols, values):
    order = FUNCTIONS["argsort"](cols, stable=True)
    return ix.index(cols, order), ix.index(rows, order), ix.index(values, order)


def _blocks(x, rows, cols, block, form):
    """Return (compressed index, other index, values) of the blocks that have an entry."""
    pair = [ew.floor_divide(p, n) for p, n in zip((rows, cols), block)]
    inside = [ew.remainder(p, n) for p, n in zip((rows, cols), block)]
    count = x.shape[1 - form.dim] // block[1 - form.dim]
    found, group = unique(ew.add(ew.mul(pair[form.dim], count), pair[1 - form.dim]), return_inverse=True)
    none = filled(x._v, (*found.shape, *block, *x._v.shape[1:]), 0, x.dtype)
    values = ix.index_put(none, x._v, group, *inside, accumulate=True)
    count = max(count, 1)
    return ew.floor_divide(found, count), ew.remainder(found, count), values


@api(method=False, name="_convert_indices_from_coo_to_csr")
def starts_of_rows(input, size, *, out_int32=False) -> Tensor:
    """Return row starts for entries with sorted rows, and the end of the last row."""
    ones = filled(input, shape_of(input), 1, dt.int64)
    counts = ix.index_put(filled(input, (size + 1,), 0, dt.int64), ones, ew.add(input, 1), accumulate=True)
    starts = FUNCTIONS["cumsum"](counts, 0)
    return to(starts, dt.int32) if out_int32 else starts


@api(method=False, name="_convert_indices_from_csr_to_coo")
def rows_of_entries(crow_indices, col_indices, *, out_int32=False, transpose=False) -> Tensor:
    """Return the row and column of each entry from row starts; the column first if transposed."""
    n = crow_indices.shape[0] - 1
    counts = ew.sub(sh.slice_(crow_indices, dim=0, start=1, stop=n + 1, step=1),
                    sh.slice_(crow_indices, dim=0, start=0, stop=n, step=1))
    rows, kind = ix.repeat_index(to(counts, dt.int64), total=col_indices.shape[0]), dt.int32 if out_int32 else dt.int64
    pair = to(rows, kind), to(col_indices, kind)
    return stack(pair[::-1] if transpose else pair)


# Conversions.


def in_layout(x, wanted, blocksize=None, dense_dim=None) -> Any:
    """Return a sparse tensor, or the nonzero entries of a dense one, in a layout."""
    if wanted == sparse_coo:
        if blocksize is not None:
            raise ArgumentError(f"sparse_coo has no blocks, got blocksize={blocksize}")
        return x.coo() if isinstance(x, SparseTensor) else from_dense(x, x.ndim - (dense_dim or 0))
    if wanted not in FORMS:
        raise ArgumentError(f"to_sparse: layout must be sparse_coo or one of {', '.join(FORMS)}, got {wanted}")
    if isinstance(x, SparseTensor):
        if dense_dim not in (None, x.dense_dim()):
            raise ArgumentError(f"to {wanted}: the {x.dense_dim()} dense dimensions of a sparse tensor stay, got dense_dim="
                                f"{dense_dim}")
        return compressed(x, FORMS[wanted], blocksize)
    n = x.ndim - (dense_dim or 0)
    if n < 2:
        raise ShapeError(f"to {wanted} takes a matrix (and dense_dim more dimensions), got {x.aval}")
    if n == 2:
        return compressed(from_dense(x, 2), FORMS[wanted], blocksize)
    batch = tuple(x.shape[:n - 2])
    if not x.numel():
        raise ShapeError(f"to {wanted} of a batch takes matrices that are not empty, got {x.aval}")
    each = x.flatten(0, n - 3).unbind(0)
    return batched([compressed(from_dense(m, 2), FORMS[wanted], blocksize) for m in each], batch)


def from_dense(x, depth) -> CooTensor:
    """Return the nonzero entries of a dense tensor, sparse in its first `depth` dims."""
    if not 0 <= depth <= x.ndim or (not depth and x.ndim):
        raise DimError(f"to_sparse: sparse_dim must be within 1..{x.ndim}, got {depth}")
    if not depth:
        return CooTensor(filled(x, (0, 1), 0, dt.int64), x.reshape(1), (), True)
    hit = ew.ne(x, 0)
    if depth < x.ndim:
        hit = FUNCTIONS["any"](hit.flatten(depth), -1)
    at = FUNCTIONS["nonzero"](hit, as_tuple=True)
    return CooTensor(stack(at), ix.index(x, *at), x.shape, True)


@handles("to_sparse")
def _to_sparse(fn, input, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None) -> Any:
    if sparse_dim is not None and sparse_dim != input.sparse_dim():
        raise ArgumentError(f"to_sparse: a sparse tensor keeps its {input.sparse_dim()} sparse dimensions, got {sparse_dim}")
    return in_layout(input, sparse_coo if layout is None else layout, blocksize, dense_dim)


for _name, _layout in (("coo", sparse_coo), ("csr", sparse_csr), ("csc", sparse_csc)):
    handles(f"to_sparse_{_name}")(lambda fn, input, dense_dim=None, layout=_layout: in_layout(input, layout, None, dense_dim))
for _name, _layout in (("bsr", sparse_bsr), ("bsc", sparse_bsc)):
    handles(f"to_sparse_{_name}")(
        lambda fn, input, blocksize, dense_dim=None, layout=_layout: in_layout(input, layout, blocksize, dense_dim))
