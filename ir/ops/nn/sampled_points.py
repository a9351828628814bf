"""Weighted sums of elements at given indices into each plane, and their gradients.

Planes x are (N, C, *size), indices (N, K, *points) are flat ones into each of them. Numbers outside of a plane, such as -1,
count as elements of 0. Weights, if there are any, are like the indices. Each operator's gradients are the other two.

    taps_take   y[n, c, p] = sum over k of x[n, c, indices[n, k, p]] * weights[n, k, p]
    taps_put    x[n, c, i] = sum over k, p with indices[n, k, p] = i of y[n, c, p] * weights[n, k, p]
    taps_dots   weights[n, k, p] = sum over c of x[n, c, indices[n, k, p]] * y[n, c, p]
"""

from math import prod

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.batch_rules import IMAGES
from ...opdef.op import Composite, op
from ...opdef.param_checks import check_sizes
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.shape import cat, expand, reshape, select
from .pool import plane_put, plane_take


def _checked(name, planes, indices, weights=None):
    if not planes.dtype.is_floating_point or not indices.dtype.is_integer:
        raise DTypeError(f"{name} takes floating point planes and integer places, got {planes} and {indices}")
    if planes.ndim < 2 or indices.ndim < 2 or planes.shape[0] != indices.shape[0] or indices.shape[1] == 0:
        raise ShapeError(f"{name} takes planes [N, C, *size] and places [N, K, *points], with K of 1 or more, got {planes} and "
                         f"{indices}")
    if weights is not None and (weights.shape != indices.shape or weights.dtype is not planes.dtype):
        raise ShapeError(f"{name}: weights must be {list(indices.shape)} and of {planes.dtype.name}, got {weights}")


def _infer_take(x, indices, weights):
    _checked("taps_take", x, indices, weights)
    return x.with_shape((*x.shape[:2], *indices.shape[2:]))


def _infer_put(y, indices, weights, *, size):
    _checked("taps_put", y, indices, weights)
    if y.shape[2:] != indices.shape[2:]:
        raise ShapeError(f"taps_put: values {y} and places {indices} must have the same points")
    check_sizes(size, "taps_put: size")
    check_sizes((*y.shape[:2], *size), "taps_put: result")
    return y.with_shape((*y.shape[:2], *size))


def _infer_dots(x, y, indices):
    _checked("taps_dots", x, indices)
    if x.shape[:2] != y.shape[:2] or y.shape[2:] != indices.shape[2:] or y.dtype is not x.dtype:
        raise ShapeError(f"taps_dots: values {y} do not fit planes {x} and places {indices}")
    return x.with_shape(indices.shape)


def _tap(indices, k, like, plane):
    """Return (flat index, whether it is inside a plane of so many elements) of a tap at each point of each channel."""
    index = ew.cast(select(indices, dim=1, index=k), dtype=dt.int64)
    inside = ew.logical_and(ew.ge(index, 0), ew.lt(index, plane))
    return _per_channel(ew.where(inside, index, 0), like), _per_channel(inside, like)


def _per_channel(a, like):
    n, *points = a.shape
    return expand(reshape(a, shape=(n, 1, *points)), shape=(n, like.shape[1], *points))


def _value(x, indices, k):
    at, inside = _tap(indices, k, x, prod(x.shape[2:]))
    return ew.where(inside, plane_take(x, at), 0.0)


def _take_body(x, indices, weights):
    total = None
    for k in range(indices.shape[1]):
        value = _value(x, indices, k)
        value = value if weights is None else ew.mul(value, _per_channel(select(weights, dim=1, index=k), x))
        total = value if total is None else ew.add(total, value)
    return total


def _put_body(y, indices, weights, *, size):
    total = None
    for k in range(indices.shape[1]):
        at, inside = _tap(indices, k, y, prod(size))
        value = y if weights is None else ew.mul(y, _per_channel(select(weights, dim=1, index=k), y))
        part = plane_put(ew.where(inside, value, 0.0), at, size=tuple(size), accumulate=True)
        total = part if total is None else ew.add(total, part)
    return total


def _dots_body(x, y, indices):
    sums = [rd.sum_(ew.mul(_value(x, indices, k), y), dim=(1,), keepdim=True) for k in range(indices.shape[1])]
    return sums[0] if len(sums) == 1 else cat(*sums, dim=1)


taps_take = op("taps_take", infer=_infer_take, ref=_take_body, lower=Composite(_take_body), batch=IMAGES,
               bounds=lambda x, indices, weights: [(1, -1, prod(x.shape[2:]))],
               vjp=(lambda g, out, x, indices, weights: taps_put(g, indices, weights, size=x.shape[2:]), None,
                    lambda g, out, x, indices, weights: taps_dots(x, g, indices)),
               traits=("whole_inside",),
               doc="The weighted sum of the elements of each plane at K places for each point.")
taps_put = op("taps_put", infer=_infer_put, ref=_put_body, lower=Composite(_put_body), batch=IMAGES,
              bounds=lambda y, indices, weights, *, size: [(1, -1, prod(size))],
              vjp=(lambda g, out, y, indices, weights, *, size: taps_take(g, indices, weights), None,
                   lambda g, out, y, indices, weights, *, size: taps_dots(g, y, indices)),
              doc="Planes of zeros, to which each point's value is added at its K places, times their weights.")
taps_dots = op("taps_dots", infer=_infer_dots, ref=_dots_body, lower=Composite(_dots_body), batch=IMAGES,
               bounds=lambda x, y, indices: [(2, -1, prod(x.shape[2:]))],
               vjp=(lambda g, out, x, y, indices: taps_put(y, indices, g, size=x.shape[2:]),
                    lambda g, out, x, y, indices: taps_take(x, indices, g), None),
               traits=("whole_inside",),
               doc="For each of K places of a point, the sum over channels of the element there times the point's value.")
