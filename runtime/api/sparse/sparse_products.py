"""Matrix products with sparse matrices.

With a dense matrix: a weighted sum of its rows for each sparse row (`scaled_bag_sums`, one kernel); blocks use products of
blocks. Of two sparse ones: every entry (i, k) meets all entries (k, j). Batches become one product of block diagonal matrices.
"""

from ....ir import dtype as dt
from ....ir.errors import DTypeError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.index import indexing as ix
from ....ir.ops.nn.embedding import scaled_bag_sums
from ....ir.suggestions import unknown_choice
from ...core.placement import on_device_of
from ...core.tensor import Tensor, shape_of
from ..register.layouts import sparse_csr, strided
from ..register.register import FUNCTIONS, api, deliver
from ..views.conversions import to
from ..views.join_split import stack, total_of
from ..views.tensor_factories import counted, filled
from .compressed_rows import FORMS, CompressedTensor, compressed, in_layout, starts_of_rows
from .coo import CooTensor
from .handler_table import handles, handles_sparse, unasking
from .sparse_tensor import SparseTensor, kind_text

_REDUCTIONS = {"sum": "sum", "mean": "mean", "amax": "amax", "amin": "amin", "max": "amax", "min": "amin"}
_NARROW = (dt.float16, dt.bfloat16)


def _require(name, a, b):
    """Check the dims and dtypes of two factors."""
    inner = b.shape[0] if b.ndim == 1 else b.shape[-2] if b.ndim else None
    if a.ndim < 1 or inner is None or a.shape[-1] != inner:
        raise ShapeError(f"{name}: a product takes matrices whose inner sizes agree, got shapes {list(a.shape)} and "
                         f"{list(b.shape)}")
    if a.dtype is not b.dtype:
        raise DTypeError(f"{name}: a product takes matrices of one dtype, got {a.dtype.name} and {b.dtype.name}; cast one "
                         "with .to()")
    for x in (a, b):
        if isinstance(x, SparseTensor) and x.dense_dim():
            raise ShapeError(f"{name}: a product takes sparse matrices of numbers, this has {x.dense_dim()} dense dimensions")


def _into(out, result, name):
    if isinstance(result, SparseTensor) or isinstance(out, SparseTensor):
        raise DTypeError(f"{name} of sparse tensors takes no out; copy_() takes what it gives")
    return deliver(result, out, name)


@handles("matmul", "__matmul__", "__rmatmul__", "mm", "mv", "bmm", "spmm", several=True)
def product(fn, input, other, *rest, out=None, **options):
    """Return the product of two factors, at least one of them sparse."""
    name = fn.__name__
    if out is not None:
        return _into(out, product(fn, input, other, *rest, **options), name)
    if rest or options:
        return unasking(mm)(input, other, *rest, **options)
    a, b = (other, input) if name == "__rmatmul__" else (input, other)
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        raise DTypeError(f"{name} takes tensors, got {kind_text(a)} and {kind_text(b)}")
    wanted = {"mm": (2, 2), "mv": (2, 1), "bmm": (3, 3)}.get(name)
    if wanted and (a.ndim, b.ndim) != wanted:
        raise ShapeError(f"{name} takes tensors of {wanted[0]} and {wanted[1]} dims, got {kind_text(a)} and {kind_text(b)}")
    _require(name, a, b)
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        return _sparse_by_sparse(name, a, b)
    if isinstance(b, SparseTensor):
        return _dense_by_sparse(a, b)
    return _sparse_by_dense(a, b)


def _dense_by_sparse(a, b):
    """Return a @ b as the transpose of a product with the sparse matrix first."""
    if b.ndim == 1:
        b = b.to_dense()
        return FUNCTIONS["matmul"](a, b)
    if a.ndim == 1:
        return _sparse_by_dense(b.transpose(-2, -1), a)
    return _sparse_by_dense(b.transpose(-2, -1), a.transpose(-2, -1)).transpose(-2, -1)


def _sparse_by_dense(a, b):
    if a.ndim == 1:
        return FUNCTIONS["matmul"](a.to_dense(), b)
    if b.ndim == 1:
        found = _sparse_by_dense(a, b.reshape(-1, 1))
        return found.reshape(found.shape[:-1])
    if a.ndim == 2 and b.ndim == 2:
        return _in_wide(_matrix_by_dense, a, b)
    if a.ndim == 2:                                     # one matrix for all
        columns = b.movedim(-2, 0)
        found = _in_wide(_matrix_by_dense, a, columns.flatten(1))
        return found.reshape(a.shape[0], *columns.shape[1:]).movedim(0, -2)
    batch = tuple(a.shape[:-2])
    if tuple(b.shape[:-2]) != batch:
        b = b.expand(*FUNCTIONS["broadcast_shapes"](batch, tuple(b.shape[:-2])), *b.shape[-2:])
    if tuple(b.shape[:-2]) != batch:
        raise ShapeError(f"a product of a sparse batch does not repeat its matrices, got shapes {list(a.shape)} and "
                         f"{list(b.shape)}")
    found = _in_wide(_matrix_by_dense, _along_diagonal(a), b.flatten(0, -2))
    return found.reshape(*batch, a.shape[-2], b.shape[-1])


def _along_diagonal(a) -> CooTensor:
    """Return a batch as one block diagonal matrix."""
    coo, count = a.coo(), 1
    *batch, rows, cols = coo.rows()
    number = None
    for size, at in zip(a.shape, batch):
        number = at if number is None else ew.add(ew.mul(number, size), at)
        count *= size
    m, k = a.shape[-2:]
    indices = stack([ew.add(ew.mul(number, m), rows), ew.add(ew.mul(number, k), cols)])
    return CooTensor(indices, coo._v, (count * m, count * k), coo._coalesced)


def _in_wide(fn, a, b):
    """Sum products of narrow floats in float32."""
    return to(fn(a.to(dt.float32), to(b, dt.float32)), a.dtype) if a.dtype in _NARROW else fn(a, b)


def _matrix_by_dense(a, b):
    if isinstance(a, CompressedTensor):
        if a._form.blocked:
            return _blocks_by_dense(a, b)
        if a._form.dim == 0:
            return _rows_by_dense(a._starts, a._others, a._v, b)
        a = a.coo()
    rows, cols = a.rows()
    if not a._coalesced:
        order = FUNCTIONS["argsort"](rows, stable=True)
        rows, cols, values = ix.index(rows, order), ix.index(cols, order), ix.index(a._v, order)
    else:
        values = a._v
    return _rows_by_dense(starts_of_rows(rows, a.shape[0]), cols, values, b)


def _rows_by_dense(starts, cols, values, b):
    """Return for each row the sum of the rows of b at its columns, times its values."""
    if b.dtype.is_complex:
        return _complex_rows(starts, cols, values, b)
    if b.dtype.is_inexact:
        return scaled_bag_sums(b, cols, starts[:-1], values)
    # Whole numbers.
    counts = to(starts[1:] - starts[:-1], dt.int64)
    rows = ix.repeat_index(counts, total=shape_of(cols)[0])
    terms = ew.mul(ix.index(b, cols), values.reshape(-1, 1))
    return ix.index_put(filled(b, (counts.shape[0], b.shape[1]), 0, b.dtype), terms, rows, accumulate=True)


def _complex_rows(starts, cols, values, b):
    """Compute the rows for complex numbers from their parts."""
    parts, shape = FUNCTIONS["view_as_real"](b).flatten(1), (starts.shape[0] - 1, b.shape[1], 2)
    (rr, ri), (ir, ii) = [scaled_bag_sums(parts, cols, starts[:-1], v).reshape(shape).unbind(-1)
                          for v in (values.real, values.imag)]
    return FUNCTIONS["complex"](ew.sub(rr, ii), ew.add(ri, ir))


def _blocks_by_dense(a, b):
    _, at, others = a.entry_indices()
    (rows, cols), (high, wide) = (at, others) if a._form.dim == 0 else (others, at), a.blocksize
    parts = FUNCTIONS["bmm"](a._v, ix.index(b.reshape(-1, wide, b.shape[1]), cols))
    none = filled(b, (a.shape[0] // high, high, b.shape[1]), 0, b.dtype)
    return ix.index_put(none, parts, rows, accumulate=True).reshape(a.shape[0], b.shape[1])


# Of two sparse ones.


def _sparse_by_sparse(name, a, b):
    if a.ndim != 2 or b.ndim != 2:
        raise ShapeError(f"{name} of two sparse tensors takes matrices, got shapes {list(a.shape)} and {list(b.shape)}; call "
                         f"to_dense() on one")
    x, y = a.coo(), b.coo().coalesce()
    (rows, inner), (_, cols) = x.rows(), y.rows()
    starts = starts_of_rows(y.rows()[0], y.shape[0])
    counts = ix.index(ew.sub(starts[1:], starts[:-1]), inner)
    of_x = ix.repeat_index(counts, total=total_of(counts))
    before = ew.sub(FUNCTIONS["cumsum"](counts, 0), counts)
    step = ew.sub(on_device_of(counted(shape_of(of_x)[0]), of_x), ix.index(before, of_x))
    of_y = ew.add(step, ix.index(starts, ix.index(inner, of_x)))
    values = ew.mul(ix.index(x._v, of_x), ix.index(y._v, of_y))
    indices = stack([ix.index(rows, of_x), ix.index(cols, of_y)])
    found = CooTensor(indices, values, (a.shape[0], b.shape[1])).coalesce()
    same = a.layout == b.layout or {a.layout, b.layout} <= set(FORMS)
    return in_layout(found, sparse_csr if a._form.blocked or a.layout != b.layout else a.layout) \
        if same and isinstance(a, CompressedTensor) else found


@handles("svd_lowrank", "pca_lowrank", "lobpcg", several=True)
def _by_products(fn, *args, **kwargs):
    """Call the plain form of functions that only multiply by the matrix."""
    return fn._asks_for(*args, **kwargs)


# Functions of sparse tensors.


@api(method=False, name="spmm")
def mm(mat1, mat2, reduce="sum", *, out=None) -> Tensor:
    """Return the product of two matrices, at least one of them sparse. `reduce` "mean", "amax" or "amin" replaces the sum of
    products, for a sparse matrix times a dense one."""
    if reduce not in _REDUCTIONS:
        raise unknown_choice("sparse.mm: reduce", reduce, _REDUCTIONS)
    if not isinstance(mat1, Tensor) or not isinstance(mat2, Tensor) or mat1.ndim != 2 or mat2.ndim not in (1, 2):
        raise ShapeError(f"sparse.mm takes matrices, got {kind_text(mat1)} and {kind_text(mat2)}")
    _require("sparse.mm", mat1, mat2)
    if reduce == "sum" or not isinstance(mat1, SparseTensor):
        return FUNCTIONS["matmul"](mat1, mat2, out=out)
    if isinstance(mat2, SparseTensor):
        raise DTypeError(f"sparse.mm with reduce={reduce!r} takes a sparse matrix and a dense one, got two sparse ones")
    return deliver(_reduced(compressed(mat1, FORMS[sparse_csr]), mat2, _REDUCTIONS[reduce]), out, "sparse.mm")


def _reduced(a, b, reduce):
    if reduce == "mean":
        total = product(FUNCTIONS["matmul"], a, b)
        counts = to(a._starts[1:] - a._starts[:-1], b.dtype).clamp(min=1)
        return total / (counts if b.ndim == 1 else counts.reshape(-1, 1))
    rows, cols = a.coo().rows()
    terms = ew.mul(ix.index(b, cols), a._v.reshape(-1, *[1] * (b.ndim - 1)))
    at = rows.reshape(-1, *[1] * (b.ndim - 1)).expand(terms.shape)
    none = filled(b, (a.shape[0], *b.shape[1:]), 0, b.dtype)
    return FUNCTIONS["scatter_reduce"](none, 0, at, terms, reduce, include_self=False)


def _plus(name, input, beta, product, alpha):
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    scaled = input if beta == 1 else input * beta
    if isinstance(product, SparseTensor) or isinstance(scaled, SparseTensor):
        return scaled + product
    return FUNCTIONS["add"](scaled, product)


@handles("addmm", "addmv", "baddbmm", several=True)
def _addmm(fn, input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """Return beta * input + alpha * a product with a sparse factor."""
    if not isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        raise DTypeError(f"{fn.__name__}: a sparse tensor is added to a product of dense ones only after to_dense(); for some "
                         f"of its numbers see sparse.sampled_addmm()")
    return _plus(fn.__name__, input, beta, product(FUNCTIONS["matmul"], mat1, mat2), alpha)


def addmm(mat, mat1, mat2, *, beta=1, alpha=1) -> Tensor:
    """Return beta * mat + alpha * (mat1 @ mat2), mat1 or mat2 sparse."""
    _require("sparse.addmm", mat1, mat2)
    return _addmm(addmm, mat, mat1, mat2, beta=beta, alpha=alpha)


@handles("linear", several=True)
def _linear(fn, input, weight, bias=None):
    """Return input @ weight.T + bias, the weight or the input sparse."""
    if isinstance(bias, SparseTensor):
        raise DTypeError("linear takes a dense bias; call to_dense()")
    weight = weight.t() if weight.ndim > 1 else weight
    found = product(FUNCTIONS["matmul"], input, weight)
    return found if bias is None else found + bias


@api(method=False)
@handles_sparse
def dsmm(mat1, mat2, *, out=None) -> Tensor:
    """Return the product of two matrices (old name of `mm` for sparse ones)."""
    return mm(mat1, mat2, out=out)


@api(method=False)
@handles_sparse
def hspmm(mat1, mat2, *, out=None) -> Tensor:
    """Return a sparse matrix times a dense one, with the rows in which the sparse one has entries."""
    _sparse_and_dense("hspmm", mat1, mat2)
    whole = product(FUNCTIONS["matmul"], mat1, mat2)
    rows = FUNCTIONS["unique"](mat1.coo().rows()[0])
    return _delivered(out, CooTensor(rows.reshape(1, -1), ix.index(whole, rows), whole.shape, True), "hspmm")


def _delivered(out, result, name) -> Tensor:
    """Return a sparse result, written into `out` if given."""
    if out is not None and not isinstance(out, SparseTensor):
        raise DTypeError(f"{name} gives a sparse tensor, which out={kind_text(out)} cannot take")
    return result if out is None else out.copy_(result)


def _sparse_and_dense(name, a, b):
    if not isinstance(a, SparseTensor) or isinstance(b, SparseTensor) or a.ndim != 2 or b.ndim != 2:
        raise DTypeError(f"{name} takes a sparse matrix and a dense one, got {kind_text(a)} and {kind_text(b)}")


@api()
@handles_sparse
def smm(input, mat) -> Tensor:
    """Return a sparse matrix times a dense one as a sparse matrix, with all of each row in which the first has entries."""
    _sparse_and_dense("smm", input, mat)
    found = hspmm(input, mat)
    count, width = found._v.shape
    rows = found.rows()[0].reshape(-1, 1).expand(count, width).reshape(-1)
    cols = on_device_of(counted(width), rows).reshape(1, -1).expand(count, width).reshape(-1)
    return CooTensor(stack([rows, cols]), found._v.reshape(-1), found.shape, True)


@api()
@handles_sparse
def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1, out=None) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2), all sparse but mat2."""
    if not isinstance(input, SparseTensor):
        raise DTypeError(f"sspaddmm takes a sparse matrix to add to, got {kind_text(input)}; see addmm()")
    return _delivered(out, _plus("sspaddmm", input.coo(), beta, smm(mat1, mat2), alpha), "sspaddmm")


FUNCTIONS.update(hsmm=FUNCTIONS["hspmm"], saddmm=FUNCTIONS["sspaddmm"])       # old names


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2), computed only at the entries of `input`, a CSR matrix (or batch)."""
    if not isinstance(input, CompressedTensor) or input._form.blocked:
        raise DTypeError(f"sparse.sampled_addmm takes a sparse_csr or sparse_csc tensor first, got {kind_text(input)}")
    for x in (mat1, mat2):
        if isinstance(x, SparseTensor) or x.layout != strided:
            raise DTypeError(f"sparse.sampled_addmm multiplies dense matrices, got {kind_text(x)}")
    _require("sparse.sampled_addmm", mat1, mat2)
    if (*mat1.shape[:-1], mat2.shape[-1]) != tuple(input.shape) or mat1.shape[:-2] != mat2.shape[:-2]:
        raise ShapeError(f"sparse.sampled_addmm: the product of {mat1.aval} and {mat2.aval} has not the shape of the sparse "
                         f"matrix, {list(input.shape)}")
    *batch, rows, cols = input.coo().rows()
    at_rows = ix.index(mat1, *batch, rows)
    at_cols = ix.index(mat2.transpose(-2, -1), *batch, cols)
    found = FUNCTIONS["sum"](ew.mul(at_rows, at_cols), -1).reshape(input._v.shape)
    return _delivered(out, input.like(_plus("sampled_addmm", input._v, beta, found, alpha)), "sparse.sampled_addmm")
