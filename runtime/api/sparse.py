"""Sparse tensors in coordinate form (COO), as graph code uses them: products with dense matrices, sums, conversions.

A sparse tensor is two tensors: indices (one row for each sparse dimension, one column for each entry) and values (one
entry each, with any dense dimensions after). Everything is a composition of operators on these, so gradients reach the
values, and repeated indices mean the sum of their entries.
"""

from collections.abc import Callable
from functools import partial

from ...ir import dtype as dt
from ...ir.aval import canonical_dim
from ...ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ...ir.ops import elementwise as ew
from ...ir.ops import indexing as ix
from ...ir.ops import reduce as rd
from ...ir.ops import shape as sh
from ..autograd.function import PARTS
from ..placement import beside, moved
from ..tensor import Size, Tensor
from .convert import to
from .creation import counted, filled, require_device, tensor
from .elementwise import add, mul
from .indexing import getitem, positions_of
from .join import cat, stack, total_of
from .layouts import sparse_coo, sparse_csr
from .promote import result_type, to_dtype
from .register import FUNCTIONS, api
from .sort import unique


class SparseTensor:
    """A tensor of mostly zeros: the indices and values of its entries."""

    is_sparse = True
    is_sparse_csr = False
    to_sparse_csr: Callable       # compressed rows: sparse_csr.py
    layout = sparse_coo
    __array_ufunc__ = None

    def __init__(self, indices: Tensor, values: Tensor, shape, coalesced: bool = False):
        self._i = indices
        self._v = values
        self.shape = Size(shape)
        self._coalesced = coalesced

    def like(self, values: Tensor) -> "SparseTensor":
        """The same places with other values."""
        return SparseTensor(self._i, values, self.shape, self._coalesced)

    # What it is.

    dtype = property(lambda self: self._v.dtype)
    device = property(lambda self: self._v.device)
    is_cpu = property(lambda self: self._v.is_cpu)
    is_cuda = property(lambda self: self._v.is_cuda)
    ndim = property(lambda self: len(self.shape))
    requires_grad = property(lambda self: self._v.requires_grad)
    is_leaf = property(lambda self: self._v.is_leaf)

    @property
    def grad(self):
        """The gradient that backward() has accumulated, at the places of the entries, or None."""
        g = self._v.grad
        return None if g is None else self.like(g)

    def requires_grad_(self, requires_grad: bool = True):
        """Starts (or stops) collecting a gradient for the values."""
        self._v.requires_grad_(requires_grad)
        return self

    def dim(self) -> int:
        return self.ndim

    ndimension = dim

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[canonical_dim(dim, self.ndim)]

    def numel(self) -> int:
        return self.shape.numel()

    def sparse_dim(self) -> int:
        """How many leading dimensions are sparse."""
        return self._i._a.shape[0]

    def dense_dim(self) -> int:
        """How many trailing dimensions each value has."""
        return self._v.ndim - 1

    def _nnz(self) -> int:
        return self._i._a.shape[1]

    def _indices(self) -> Tensor:
        return self._i

    def _values(self) -> Tensor:
        return self._v

    def is_coalesced(self) -> bool:
        """Whether indices are sorted and none is repeated."""
        return self._coalesced

    def indices(self) -> Tensor:
        """The places of the entries, one column each; the tensor must be coalesced."""
        return self._checked()._i

    def values(self) -> Tensor:
        """The values of the entries; the tensor must be coalesced."""
        return self._checked()._v

    def _checked(self):
        if not self._coalesced:
            raise ShapeError("indices() and values() need a coalesced tensor; call coalesce() first (or _indices(), _values())")
        return self

    # Conversions.

    def rows(self) -> tuple:
        """The index vectors, one for each sparse dimension."""
        return tuple([sh.select(self._i, dim=0, index=d) for d in range(self.sparse_dim())])

    def coalesce(self) -> "SparseTensor":
        """The same tensor with sorted indices and the entries of equal ones added."""
        if self._coalesced:
            return self
        sizes = self.shape[:self.sparse_dim()]
        found, group = unique(_linear(self.rows(), sizes), return_inverse=True)
        none = filled(self._v, found._a.shape + self._v._a.shape[1:], 0, self.dtype)
        values = ix.index_put(none, self._v, group, accumulate=True)
        return SparseTensor(_places(found, sizes), values, self.shape, True)

    def to_dense(self, dtype=None) -> Tensor:
        """The dense tensor."""
        zeros = filled(self._v, self.shape, 0, self.dtype)
        dense = ix.index_put(zeros, self._v, *self.rows(), accumulate=True)
        return dense if dtype is None else to(dense, dtype)

    def to_sparse(self, sparse_dim=None, *, layout=None):
        return self if layout is None or layout == self.layout else _in_layout(self, layout)

    def to(self, *args, **kwargs):
        return self.like(to(self._v, *args, **kwargs))

    def float(self):
        return self.to(dt.float32)

    def double(self):
        return self.to(dt.float64)

    def cpu(self):
        return self

    def detach(self):
        return self.like(self._v.detach())

    def zero_(self):
        """Forgets all entries."""
        none = (slice(None), slice(0, 0))
        self._i, self._v, self._coalesced = self._i.detach()[none], self._v.detach()[:0], True
        return self

    def clone(self):
        return SparseTensor(ew.copy(self._i), ew.copy(self._v), self.shape, self._coalesced)

    def transpose(self, dim0, dim1) -> "SparseTensor":
        """Two sparse dimensions swapped."""
        n = self.sparse_dim()
        a, b = canonical_dim(dim0, self.ndim), canonical_dim(dim1, self.ndim)
        if max(a, b) >= n:
            raise DimError(f"transpose of a sparse tensor swaps its {n} sparse dimensions, got {dim0} and {dim1}")
        order = list(range(n))
        order[a], order[b] = b, a
        shape = [*(self.shape[d] for d in order), *self.shape[n:]]
        return SparseTensor(stack([self.rows()[d] for d in order]), self._v, shape, self._coalesced and a == b)

    def t(self) -> "SparseTensor":
        """A matrix transposed."""
        return self.transpose(0, 1) if self.ndim == 2 else self

    T = property(t)

    @property
    def mT(self) -> "SparseTensor":
        """The last two dimensions swapped, which must be sparse."""
        return self.transpose(-2, -1)

    # Arithmetic.

    def __neg__(self):
        return self.like(ew.neg(self._v))

    def __mul__(self, other):
        if isinstance(other, SparseTensor):
            return _product(self, other)
        if isinstance(other, Tensor) and other.ndim:
            return self.like(mul(self._v, ix.index(sh.expand(other, shape=self.shape), *self.rows())))
        return self.like(mul(self._v, other))

    __rmul__ = mul = multiply = __mul__

    def __truediv__(self, other):
        return self.like(self._v / other)

    div = __truediv__

    def __add__(self, other):
        if isinstance(other, Tensor):
            return add(other, self.to_dense())
        if self.shape != other.shape:
            raise ShapeError(f"sparse tensors of shapes {tuple(self.shape)} and {tuple(other.shape)} cannot be added")
        return SparseTensor(cat([self._i, other._i], 1), cat([self._v, other._v]), self.shape)

    __radd__ = add = __add__

    def __sub__(self, other):
        return self + -other

    def sum(self, dim=None, dtype=None):
        """The sum of all entries, or over dims: a sparse tensor as long as sparse dimensions are left."""
        return sum(self, dim, dtype)

    def __matmul__(self, other):
        return mm(self, other)

    def __rmatmul__(self, other):
        return sh.permute(mm(self.t(), sh.permute(other, dims=(1, 0))), dims=(1, 0))

    mm = matmul = spmm = __matmul__

    def __repr__(self):
        parts = [f"indices={self._i!r}", f"values={self._v!r}", f"size={tuple(self.shape)}, nnz={self._nnz()}"]
        return "tensor(" + ",\n       ".join(p.replace("\n", "\n       ") for p in parts) + ", layout=ingot.sparse_coo)"


PARTS[SparseTensor] = lambda s: ((s._i, s._v), partial(SparseTensor, shape=s.shape, coalesced=s._coalesced))


def _linear(rows, sizes):
    """The row-major number of every place."""
    at = rows[0]
    for n, row in zip(sizes[1:], rows[1:]):
        at = ew.add(ew.mul(at, n), row)
    return at


def _places(linear, sizes):
    """The index vectors, as rows, of row-major numbers."""
    rows = []
    for n in reversed(sizes):
        rows.append(ew.remainder(linear, n) if n else linear)
        linear = ew.floor_divide(linear, n) if n else linear
    return stack(rows[::-1])


# Making them.


@api(method=False)
def sparse_coo_tensor(indices, values, size=None, *, dtype=None, device=None, requires_grad=False, check_invariants=None,
                      is_coalesced=None) -> SparseTensor:
    """A sparse tensor of values at indices (one row for each sparse dimension)."""
    require_device(device)
    i = to(indices if isinstance(indices, Tensor) else tensor(indices, dtype=dt.int64), dt.int64)
    v = values if isinstance(values, Tensor) else tensor(values)
    v = v if dtype is None else to(v, dtype)
    v = v if device is None else moved(v, device)
    i = beside(i, v)
    if i.ndim != 2 or not v.ndim or i._a.shape[1] != v._a.shape[0]:
        raise ShapeError(f"sparse_coo_tensor takes indices of shape (dims, entries) and one value for each entry, got "
                         f"{i.aval} and {v.aval}")
    if size is None:
        largest = i.amax(1).tolist() if i._a.size else [-1] * len(i._a)
        size = (*[n + 1 for n in largest], *v._a.shape[1:])
    if len(size) != len(i._a) + v.ndim - 1:
        raise ShapeError(f"sparse_coo_tensor: size {tuple(size)} must have {len(i._a)} sparse and {v.ndim - 1} dense "
                         "dimensions")
    for d, row in enumerate(i._a):
        ix.require_range("sparse_coo_tensor", row, size[d], d)
    made = SparseTensor(i, v, size, bool(is_coalesced))
    return made.like(v.detach()).requires_grad_() if requires_grad else made


@api(function=False, names=("to_sparse_coo",))
def to_sparse(self, sparse_dim=None, *, layout=None) -> SparseTensor:
    """The entries that are not zero, as a sparse tensor (in compressed rows, if the layout is that)."""
    if layout is not None and layout != sparse_coo:
        return _in_layout(self, layout)
    n = self.ndim if sparse_dim is None else sparse_dim
    if not 0 < n <= self.ndim:
        raise ArgumentError(f"to_sparse: sparse_dim must be within 1..{self.ndim}, got {sparse_dim}")
    hit = ew.ne(self, 0)
    if n < self.ndim:
        hit = rd.any_(hit, dim=tuple(range(n, self.ndim)), keepdim=False)
    at = positions_of(hit)
    return SparseTensor(stack(at), ix.index(self, *at), self._a.shape, True)


def _in_layout(x, layout):
    if layout != sparse_csr:
        raise ArgumentError(f"to_sparse: layout must be sparse_coo or sparse_csr, got {layout}")
    return x.to_sparse_csr()


@api(function=False)
def to_dense(self, dtype=None):
    """This tensor, which is dense."""
    return self if dtype is None else to(self, dtype)


# Sums and products.


def sum(input, dim=None, dtype=None):
    """The sum of all entries, or over dims: a sparse tensor as long as sparse dimensions are left."""
    values = input._v if dtype is None else to(input._v, dtype)
    if dim is None:
        return rd.sum_(values, dim=tuple(range(values.ndim)), keepdim=False)
    n = input.sparse_dim()
    dims = {canonical_dim(d, input.ndim) for d in ((dim,) if isinstance(dim, int) else dim)}
    dense = tuple(d - n + 1 for d in sorted(dims) if d >= n)
    values = rd.sum_(values, dim=dense, keepdim=False) if dense else values
    left = [d for d in range(n) if d not in dims]
    shape = [s for d, s in enumerate(input.shape) if d not in dims]
    if not left:
        return rd.sum_(values, dim=(0,), keepdim=False)
    rows = input.rows()
    return SparseTensor(stack([rows[d] for d in left]), values, shape).coalesce()


def _matrices(mat1, mat2):
    if mat1.ndim != 2 or mat2.ndim not in (1, 2) or mat1.shape[1] != mat2.shape[0]:
        raise ShapeError(f"a product takes matrices whose inner sizes agree, got shapes {tuple(mat1.shape)} and "
                         f"{tuple(mat2.shape)}")
    if mat1.dtype is not mat2.dtype:
        raise DTypeError(f"a product takes matrices of one dtype, got {mat1.dtype} and {mat2.dtype}; cast one with .to()")


@api(method=False, name="spmm")
def mm(mat1, mat2, reduce="sum"):
    """The product of a sparse matrix with a dense matrix or vector, or with a sparse matrix (which is sparse again)."""
    _matrices(mat1, mat2)
    if not isinstance(mat1, SparseTensor):
        return mat2.__rmatmul__(mat1)
    if isinstance(mat2, SparseTensor):
        return _sparse_product(mat1, mat2)
    rows, cols = mat1.rows()
    weights = mat1._v if mat2.ndim == 1 else sh.reshape(mat1._v, shape=(mat1._nnz(), 1))
    terms = ew.mul(ix.index(mat2, cols), weights)
    out = filled(mat2, (mat1.shape[0], *mat2._a.shape[1:]), 0, mat2.dtype)
    total = ix.index_put(out, terms, rows, accumulate=True)
    return total if reduce == "sum" else _mean(total, rows, reduce)


def _mean(total, rows, reduce):
    if reduce != "mean":
        raise ArgumentError(f"spmm: reduce must be 'sum' or 'mean', got {reduce!r}")
    ones = filled(total, rows._a.shape, 1, total.dtype)
    counts = ix.index_put(filled(total, total._a.shape[:1], 0, total.dtype), ones, rows, accumulate=True)
    counts = ew.maximum(counts, 1)
    return ew.div(total, counts if total.ndim == 1 else sh.reshape(counts, shape=(counts._a.size, 1)))


def _sparse_product(a, b):
    """Every entry (i, k) of a meets all entries (k, j) of b: row k of b is a stretch of its sorted entries."""
    b = b.coalesce()
    (rows, inner), (b_rows, b_cols) = a.rows(), b.rows()
    ones = filled(b._v, b_rows._a.shape, 1, dt.int64)
    lengths = ix.index_put(filled(b._v, (b.shape[0],), 0, dt.int64), ones, b_rows, accumulate=True)
    starts = ew.sub(FUNCTIONS["cumsum"](lengths, 0), lengths)
    counts = ix.index(lengths, inner)
    of_a = ix.repeat_index(counts, total=total_of(counts))
    ends = ew.sub(FUNCTIONS["cumsum"](counts, 0), counts)
    of_b = ew.add(ew.sub(beside(counted(of_a._a.size), of_a), ix.index(ends, of_a)), ix.index(starts, ix.index(inner, of_a)))
    values = ew.mul(ix.index(a._v, of_a), ix.index(b._v, of_b))
    places = stack([ix.index(rows, of_a), ix.index(b_cols, of_b)])
    return SparseTensor(places, values, (a.shape[0], b.shape[1])).coalesce()


def _product(a, b):
    """Elementwise: the entries of a times what b holds at their places."""
    if a.shape != b.shape:
        raise ShapeError(f"sparse tensors of shapes {tuple(a.shape)} and {tuple(b.shape)} cannot be multiplied")
    a, d = a.coalesce(), result_type(a._v, b._v)
    return a.like(ew.mul(to_dtype(a._v, d), to_dtype(getitem(b.to_dense(), a.rows()), d)))


def addmm(mat, mat1, mat2, *, beta=1, alpha=1):
    """beta * mat + alpha * (mat1 @ mat2), mat1 sparse."""
    return add(mul(mat, beta), mul(mm(mat1, mat2), alpha))
