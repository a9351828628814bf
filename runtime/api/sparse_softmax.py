"""Softmax of sparse tensors: over the entries that are there, as if all others were minus infinity."""

from ...ir import dtype as dt
from ...ir.aval import canonical_dim
from ...ir.errors import ArgumentError, DTypeError
from .creation import filled
from .promote import to_dtype
from .register import FUNCTIONS
from .sort import unique
from .sparse import SparseTensor, _linear


def softmax(input, dim, *, dtype=None) -> SparseTensor:
    """exp(x) / sum(exp(x)) along a dimension, of the entries of a sparse tensor alone."""
    return _over_entries("softmax", input, dim, dtype, lambda shifted, exps, total, group: exps / total[group])


def log_softmax(input, dim, *, dtype=None) -> SparseTensor:
    """The logarithm of `softmax`."""
    return _over_entries("log_softmax", input, dim, dtype, lambda shifted, exps, total, group: shifted - total.log()[group])


def _over_entries(name, input, dim, dtype, combine):
    if not isinstance(input, SparseTensor):
        raise ArgumentError(f"sparse.{name} takes a sparse tensor of coordinates, got {type(input).__name__}; call to_sparse()")
    kind = input.dtype if dtype is None else dt.as_dtype(dtype)
    if not kind.is_inexact:
        raise DTypeError(f"sparse.{name} of {kind}; give a floating point dtype, as {name}(x, dim, dtype=ingot.float32)")
    dim = canonical_dim(dim, input.ndim)
    entries = input.coalesce()
    values, places = to_dtype(entries._values(), kind), entries._indices()
    depth = entries.sparse_dim()
    if dim >= depth:
        return entries.like(FUNCTIONS[name](values, dim - depth + 1))
    if not values.shape[0]:
        return entries.like(values)
    others = [d for d in range(depth) if d != dim]
    rows = [places.select(0, d) for d in others] or [places.select(0, 0) * 0]
    names, group = unique(_linear(rows, [input.shape[d] for d in others]), return_inverse=True)
    shape = (names.shape[0], *values.shape[1:])
    largest = filled(values, shape, -float("inf"), kind).index_reduce(0, group, values.detach(), "amax")
    shifted = values - FUNCTIONS["where"](largest.isfinite(), largest, 0.0)[group]
    exps = shifted.exp()
    return entries.like(combine(shifted, exps, filled(values, shape, 0.0, kind).index_add(0, group, exps), group))
