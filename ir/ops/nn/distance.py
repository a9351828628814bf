"""Pairwise distances between rows: cdist, pdist and their gradients."""

import math

import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, DTypeError, ShapeError
from ...opdef.batch_rules import LEADING
from ...opdef.derived_gradients import derived_vjp
from ...opdef.op import Composite, op
from ...opdef.param_checks import check_number
from ...symbols.symbolic import hint
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.moments import vector_norm
from ..core.pointwise import in_single, in_wide
from ..core.shape import contiguous, expand, full, reshape
from ..index.indexing import gather, scatter
from ..linalg.products import matmul, transpose_last


def _check_ord(name, ord):
    """Raise unless `ord` is a number and not nan."""
    if not hint(check_number(ord, f"{name}: ord")) >= -math.inf:
        raise ArgumentError(f"{name}: ord must be a number, got {ord}")


def _infer(x, y, *, ord):
    _check_ord("distances", ord)
    if x.dtype is not y.dtype or not x.dtype.is_floating_point:
        raise DTypeError(f"distances takes two floating point tensors of one dtype, got {x} and {y}")
    if x.ndim < 2 or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2] or not x.shape[-1]:
        raise ShapeError(f"distances takes rows and columns of one length, got {x} and {y}")
    return x.with_shape((*x.shape[:-1], y.shape[-1]))


def _gaps(x, y):
    """Return the differences of all pairs: (..., rows of x, numbers, columns of y)."""
    *batch, m, k = x.shape
    n = y.shape[-1]
    shape = (*batch, m, k, n)
    one, other = reshape(x, shape=(*batch, m, k, 1)), reshape(y, shape=(*batch, 1, k, n))
    return ew.sub(expand(one, shape=shape), expand(other, shape=shape))


@in_wide
def _body(x, y, *, ord):
    return vector_norm.lower.body(_gaps(x, y), ord=ord, dim=(len(x.shape) - 1,), keepdim=False)


def _ref(x, y, *, ord):
    gaps = x[..., :, :, None] - y[..., None, :, :]
    return vector_norm.ref(gaps, ord=ord, dim=(gaps.ndim - 2,), keepdim=False)


def _vjp(g, out, x, y, *, ord, needs):
    """The gradient for y is that for x with the roles exchanged."""
    return (distances_grad(g, out, x, y, ord=ord) if needs[0] else None,
            transpose_last(distances_grad(*[transpose_last(v) for v in (g, out, y, x)], ord=ord)) if needs[1] else None)


@in_wide
def _grad_body(g, out, x, y, *, ord):
    rule, = vector_norm.vjp
    last = len(x.shape)
    return rd.sum_(rule(g, out, _gaps(x, y), ord=ord, dim=(last - 1,), keepdim=False), dim=(last,), keepdim=False)


def _grad_ref(g, out, x, y, *, ord):
    gaps = x[..., :, :, None] - y[..., None, :, :]
    size, far = np.abs(gaps), out[..., None, :]
    if ord == 0:
        slope = np.zeros_like(gaps)
    elif abs(ord) == np.inf:
        hit = size == far
        slope = np.sign(gaps) * hit / np.maximum(hit.sum(-2, keepdims=True), 1).astype(x.dtype)
    else:
        near = (size == 0) | (far == 0)
        slope = np.where(near, 0, np.sign(gaps) * (np.where(near, 1, size) / np.where(far == 0, 1, far)) ** (ord - 1))
    return np.sum(slope * g[..., None, :], axis=-1)


def _infer_grad(g, out, x, y, *, ord):
    if not g.dtype is out.dtype is x.dtype or g.shape != out.shape or out.shape != _infer(x, y, ord=ord).shape:
        raise ShapeError(f"distances_grad takes gradients and distances of all pairs, got {g} and {out} for {x} and {y}")
    return x


distances_grad = op("distances_grad", infer=_infer_grad, ref=in_single(_grad_ref), vjp=derived_vjp(_grad_body),
                    saves=(1, 2, 3, 4), lower=Composite(_grad_body), numbers=("ord",), traits=("rule_as_one",),
                    batch=LEADING, doc="The gradient of `distances` for x, of what arrives at them, the distances, x and y.")
distances = op("distances", infer=_infer, ref=in_single(_ref), vjp=_vjp, saves=(0, 1, 2), lower=Composite(_body),
               traits=("autocast_wide",), numbers=("ord",), batch=LEADING,
               doc="The norms of order `ord` of the differences between every row of x and every column of y.")


def _infer_pairs(x, positions, *, ord):
    _check_ord("pdist", ord)
    if not x.dtype.is_floating_point or x.ndim != 2 or not x.shape[1]:
        raise ShapeError(f"pdist takes a matrix of floating point rows, got {x}")
    if positions.dtype is not dt.int64 or positions.ndim != 1:
        raise DTypeError(f"pdist takes a row of places of int64, got {positions}")
    return x.with_shape(positions.shape)


def _pairs_body(x, positions, *, ord):
    n = x.shape[0]
    return gather(reshape(distances(x, contiguous(transpose_last(x)), ord=ord), shape=(n * n,)), positions, dim=0)


def _pairs_vjp(g, out, x, positions, *, ord, needs):
    """A row's gradient sums over its pairs with all others, whichever of the two comes first."""
    n = x.shape[0]
    return distances_grad(_of_all(g, positions, n), _of_all(out, positions, n), x, contiguous(transpose_last(x)), ord=ord), None


def _of_all(values, positions, n):
    """Return condensed pairs as a symmetric matrix of all rows by all."""
    half = scatter(full(values, shape=(n * n,), value=0, dtype=dt.of(values)), positions, values, dim=0, mode="add")
    half = reshape(half, shape=(n, n))
    return ew.add(half, transpose_last(half))


pair_distances = op("pair_distances", title="pdist", infer=_infer_pairs,
                    ref=lambda x, positions, *, ord: distances.ref(x, x.T, ord=ord).reshape(-1)[positions],
                    vjp=_pairs_vjp, saves=(0, 1, 2),
                    lower=Composite(_pairs_body), traits=("autocast_wide", "rule_as_one"), numbers=("ord",),
                    bounds=lambda x, positions, *, ord: [(1, 0, x.shape[0] ** 2)],
                    doc="The norms of order `ord` of the differences of all pairs of rows: `positions` are those of the upper "
                        "triangle in the matrix of all rows by all, row by row.")


def _infer_by_product(x, y):
    if x.dtype is not y.dtype or not x.dtype.is_floating_point:
        raise DTypeError(f"euclidean_distances takes two floating point tensors of one dtype, got {x} and {y}")
    if x.ndim < 2 or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-1]:
        raise ShapeError(f"euclidean_distances takes rows of one length, got {x} and {y}")
    return x.with_shape((*x.shape[:-1], y.shape[-2]))


@in_wide
def _by_product(x, y):
    """Return sqrt(|x|^2 - 2 x.y + |y|^2), 0 where rounding leaves less."""
    last = len(x.shape) - 1
    shape = (*x.shape[:-1], y.shape[-2])
    xx = expand(rd.sum_(ew.square(x), dim=(last,), keepdim=True), shape=shape)
    yy = expand(transpose_last(rd.sum_(ew.square(y), dim=(last,), keepdim=True)), shape=shape)
    squares = ew.sub(ew.add(xx, yy), ew.mul(matmul(x, transpose_last(y)), 2.0))
    return ew.sqrt(ew.where(ew.le(squares, 0.0), 0.0, squares))


def _by_product_ref(x, y):
    squares = np.square(x).sum(-1)[..., :, None] + np.square(y).sum(-1)[..., None, :] - 2 * (x @ np.swapaxes(y, -1, -2))
    return np.sqrt(np.where(squares <= 0, 0, squares))


def _by_product_vjp(g, out, x, y, *, needs):
    """Each pair pulls along its difference with the gradient over the distance, not at all at distance 0."""
    near = ew.eq(out, 0.0)
    pull = ew.where(near, 0.0, ew.div(g, ew.where(near, 1.0, out)))
    return (_pulled(pull, x, y) if needs[0] else None, _pulled(transpose_last(pull), y, x) if needs[1] else None)


def _pulled(pull, x, y):
    """Return the weighted sums of x - y over all y."""
    weight = rd.sum_(pull, dim=(len(pull.shape) - 1,), keepdim=True)
    return ew.sub(ew.mul(x, expand(weight, shape=x.shape)), matmul(pull, y))


euclidean_distances = op("euclidean_distances", infer=_infer_by_product, ref=in_single(_by_product_ref), vjp=_by_product_vjp,
                         saves=(0, 1, 2), lower=Composite(_by_product), traits=("autocast_wide",), batch=LEADING,
                         doc="The Euclidean distances between every row of x and every row of y, by way of a matrix product.")
