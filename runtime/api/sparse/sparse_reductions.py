"""Sums, norms and softmax of sparse tensors."""

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError
from ....ir.opdef.aval import canonical_dim
from ..math.sort import unique
from ..register.register import FUNCTIONS
from ..register.type_promotion import to_dtype
from ..views.conversions import to
from ..views.join_split import stack
from ..views.tensor_factories import filled
from .compressed_rows import CompressedTensor
from .coo import CooTensor, numbers_of
from .handler_table import handles
from .sparse_elementwise import compressed_as
from .sparse_tensor import SparseTensor


@handles("sum")
def _sum(fn, input, dim=None, keepdim=False, *, dtype=None, out=None):
    """Sum all entries, or over dims; the result is sparse while sparse dimensions are left."""
    values = input._v if dtype is None else to(input._v, dtype)
    if dtype is None and not values.dtype.is_inexact and values.dtype is not dt.int64:
        values = to(values, dt.int64)
    if dim is None or dim == ():
        return fn(values)
    dims = {canonical_dim(d, input.ndim) for d in ((dim,) if isinstance(dim, int) else dim)}
    x = input.like(values).coo()
    n = x.sparse_dim()
    inner = tuple([d - n + 1 for d in sorted(dims) if d >= n])
    values = fn(x._v, inner, keepdim) if inner else x._v
    left = [d for d in range(n) if d not in dims]
    if not left:
        total = fn(values, 0)
        return total.reshape((1,) * n + tuple(total.shape)) if keepdim else total
    rows, shape = x.rows(), [1 if d in dims else s for d, s in enumerate(x.shape) if keepdim or d not in dims]
    indices = [filled(x._i, (x._nnz(),), 0, dt.int64) if d in dims else rows[d] for d in range(n) if keepdim or d not in dims]
    found = CooTensor(stack(indices), values, shape).coalesce()
    return compressed_as(found, input) if keepdim and isinstance(input, CompressedTensor) and not input._form.blocked else found


@handles("mean")
def _mean(fn, input, dim=None, keepdim=False, *, dtype=None, out=None):
    """Return the sum divided by the number of elements, zeros included."""
    kind = input.dtype if dtype is None else dt.as_dtype(dtype)
    if not kind.is_inexact:
        raise DTypeError(f"mean takes floating point numbers, got {kind}; give a dtype")
    dims = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    count = 1
    for d in dims:
        count *= input.shape[d]
    return _sum(FUNCTIONS["sum"], input, dim, keepdim, dtype=kind) / count


@handles("any", "count_nonzero")
def _of_all(fn, input, dim=None, keepdim=False):
    """Reduce all elements by reducing the values."""
    if dim is not None:
        raise ArgumentError(f"{fn.__name__} of a sparse tensor is of all its elements; for a dim call to_dense()")
    return fn(input.entries()._v)


@handles("norm", "vector_norm")
def _norm(fn, input, p=2, dim=None, keepdim=False, dtype=None):
    """Return the norm of all elements, for orders above 0."""
    p = 2 if p in (None, "fro") else p
    if dim is not None or keepdim or not isinstance(p, (int, float)) or p < 0:
        raise ArgumentError(f"{fn.__name__} of a sparse tensor is of all its elements, with an order from 0 on; call "
                            f"to_dense()")
    values = input.entries()._v if dtype is None else to(input.entries()._v, dtype)
    return FUNCTIONS["norm"](values, p) if values.numel() else values.abs().sum()


# Softmax over existing entries, as if all others were minus infinity.


def softmax(input, dim, *, dtype=None):
    """Return exp(x) / sum(exp(x)) along a dimension, over the entries of a sparse tensor alone."""
    return _over_entries("softmax", input, dim, dtype, lambda shifted, exps, total, group: exps / total[group])


def log_softmax(input, dim, *, dtype=None):
    """Return the logarithm of `softmax`."""
    return _over_entries("log_softmax", input, dim, dtype, lambda shifted, exps, total, group: shifted - total.log()[group])


def _over_entries(name, input, dim, dtype, combine):
    if not isinstance(input, SparseTensor):
        raise ArgumentError(f"sparse.{name} takes a sparse tensor, got {type(input).__name__}; call to_sparse()")
    kind = input.dtype if dtype is None else dt.as_dtype(dtype)
    if not kind.is_inexact:
        raise DTypeError(f"sparse.{name} of {kind}; give a floating point dtype, as {name}(x, dim, dtype=ingot.float32)")
    dim = canonical_dim(dim, input.ndim)
    if isinstance(input, CompressedTensor):
        return compressed_as(_over_entries(name, input.coo(), dim, dtype, combine), input)
    entries: CooTensor = input.coo().coalesce()
    values, indices = to_dtype(entries._values(), kind), entries._indices()
    depth = entries.sparse_dim()
    if dim >= depth:
        return entries.like(FUNCTIONS[name](values, dim - depth + 1))
    if not values.shape[0]:
        return entries.like(values)
    others = [d for d in range(depth) if d != dim]
    rows = [indices.select(0, d) for d in others] or [indices.select(0, 0) * 0]
    names, group = unique(numbers_of(rows, [input.shape[d] for d in others]), return_inverse=True)
    shape = (names.shape[0], *values.shape[1:])
    largest = filled(values, shape, -float("inf"), kind).index_reduce(0, group, values.detach(), "amax")
    shifted = values - FUNCTIONS["where"](largest.isfinite(), largest, 0.0)[group]
    exps = shifted.exp()
    return entries.like(combine(shifted, exps, filled(values, shape, 0.0, kind).index_add(0, group, exps), group))


@handles("softmax", "log_softmax")
def _softmax(fn, input, dim=None, *args, **kwargs):
    raise DTypeError(f"{fn.__name__} of a dense tensor with these entries is not sparse; sparse.{fn.__name__} goes over the "
                     f"entries alone, or call to_dense()")
