"""Functions of sampled data: numerical derivatives, histograms with edges, sub-tensors of bounded norm, angles."""

import builtins
import math
import numbers
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ....ir.opdef.aval import canonical_dim, canonical_dims, integers
from ....ir.ops.core import complex_numbers as co
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import reduce as rd
from ....ir.ops.core.moments import vector_norm
from ....ir.ops.core.shape import cat, expand, full, reshape, slice_
from ....ir.symbols.substitute import as_float
from ...autograd.missing_rules import without_rule
from ...core.tensor import Tensor
from ..register import return_types
from ..register.register import FUNCTIONS, api, deliver
from ..register.type_promotion import promote, to_dtype


@api(inplace=True)
def angle(input, *, out=None):
    """The angle of a number in the complex plane: of real ones 0 or, below zero, pi; nan stays nan."""
    x = promote(ew.sin, input)[0]
    if x.dtype.is_complex:
        return deliver(ew.atan2(co.imag(x), co.real(x)), out, "angle")
    turned = ew.where(ew.lt(x, 0.0), full(x, shape=(), value=math.pi, dtype=x.dtype), 0.0)
    return deliver(ew.where(ew.isnan(x), x, turned), out, "angle")


@api(inplace=True, remembered=True)
def renorm(input, p, dim, maxnorm, *, out=None):
    """Each slice along `dim` scaled down to a norm of at most maxnorm."""
    if input.ndim < 2:
        raise ShapeError(f"renorm takes a tensor of at least two dimensions, got {input.aval}")
    d = canonical_dim(dim, input.ndim)
    others = tuple(i for i in range(input.ndim) if i != d)
    size = vector_norm(co.magnitude(input) if input.dtype.is_complex else input, ord=as_float(p), dim=others, keepdim=True)
    scale = ew.where(ew.gt(size, maxnorm), ew.div(as_float(maxnorm), ew.add(size, 1e-7)), 1.0)
    return deliver(ew.mul(input, expand(to_dtype(scale, input.dtype), shape=input.shape)), out, "renorm")


# Numerical derivatives.


def _part(x, d, start, stop):
    n = x.shape[d]
    return slice_(x, dim=d, start=start % n if start < 0 else start, step=1, stop=n + stop if stop <= 0 else stop)


def _distance(spacing):
    return spacing if isinstance(spacing, complex) else as_float(spacing)


def _gaps(spacing, n, like, d):
    """The distances between neighbours, laid out along dim d: a number, or places as a tensor."""
    if not isinstance(spacing, Tensor):
        return _distance(spacing), _distance(spacing)
    if spacing.ndim != 1 or spacing.shape[0] != n:
        raise ShapeError(f"gradient: places along a dimension of size {n} must be a vector of that size, got {spacing.aval}")
    steps = ew.sub(_part(spacing, 0, 1, 0), _part(spacing, 0, 0, -1))
    steps = reshape(to_dtype(steps, like.dtype), shape=tuple(n - 1 if i == d else 1 for i in range(like.ndim)))
    return _part(steps, d, 0, -1), _part(steps, d, 1, 0)


def _edge(x, spacing, d, order, last):
    """The one-sided derivative at the first or last place."""
    n = x.shape[d]
    at = [(n - 1 - k if last else k) for k in range(order + 1)]
    values = [_part(x, d, i, i + 1) for i in at]
    sign = -1.0 if last else 1.0
    if isinstance(spacing, Tensor):
        place = [reshape(to_dtype(_part(spacing, 0, i, i + 1), x.dtype), shape=(1,) * x.ndim) for i in at]
    else:
        place = [sign * k * _distance(spacing) for k in range(order + 1)]
    h1: Any = place[1] - place[0]
    if order == 1:
        return (values[1] - values[0]) / h1
    h2: Any = place[2] - place[1]
    weights = (-(2 * h1 + h2) / (h1 * (h1 + h2)), (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2)))
    total = values[0] * weights[0]
    for v, w in zip(values[1:], weights[1:]):
        total = total + v * w
    return total


def _derivative(x, spacing, d, edge_order):
    n = x.shape[d]
    if n < edge_order + 1:
        raise ShapeError(f"gradient of {x.aval} with edge_order={edge_order} needs at least {edge_order + 1} elements "
                         f"along dim {d}")
    ends = [_edge(x, spacing, d, edge_order, last) for last in (False, True)]
    if n == 2:
        return cat(*ends, dim=d)
    before, here, after = _part(x, d, 0, n - 2), _part(x, d, 1, n - 1), _part(x, d, 2, n)
    left, right = _gaps(spacing, n, x, d)
    if isinstance(spacing, Tensor):
        left, right = (expand(h, shape=here.shape) for h in (left, right))
        both = ew.add(left, right)
        middle = ew.add(ew.mul(ew.div(ew.sub(here, before), left), ew.div(right, both)),
                        ew.mul(ew.div(ew.sub(after, here), right), ew.div(left, both)))
    else:
        middle = ew.div(ew.sub(after, before), left + right)
    return cat(ends[0], middle, ends[1], dim=d)


@api(method=False)
def gradient(input, *, spacing=1, dim=None, edge_order=1) -> tuple[Tensor, ...]:
    """Derivatives along dims by central differences, one-sided at the ends; `spacing` is a number, one for each dim, or the
    places themselves."""
    if edge_order not in (1, 2):
        raise ArgumentError(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    n = input.ndim
    dims = canonical_dims(None, n) if dim is None else [canonical_dim(d, n) for d in integers(dim, "dim")]
    if len(set(dims)) < len(dims):
        raise DimError(f"gradient: a dim stands twice in {dim}")
    spacing = 1 if spacing is None else spacing
    spaces = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    spaces = [s.item() if isinstance(s, Tensor) and not s.ndim else s for s in spaces]
    if len(spaces) != len(dims):
        raise ArgumentError(f"gradient: {len(spaces)} spacings were given for {len(dims)} dimensions")
    return tuple([_derivative(x, at, d, edge_order) for d, (x, at) in zip(dims, [promote(ew.div, input, s) for s in spaces])])


# Histograms.


@api(checked=True)
def histogram(input, bins=100, *, range=None, weight=None, density=False, out=None):
    """(hist, bin_edges): how much falls between neighbouring edges; the last bin holds its upper edge."""
    _check_sampled("histogram", input, [bins], weight)
    x = reshape(input, shape=(input.numel(),))
    edges, even = (bins.clone(), None) if isinstance(bins, Tensor) else _equal_edges(x, bins, range)
    w = full(x, shape=x.shape, value=1.0, dtype=x.dtype) if weight is None else reshape(weight, shape=x.shape)
    count = edges.shape[0] - 1
    place, inside = _bins_of(x, edges, even)
    held = ew.where(inside, w, 0.0)
    hist = full(x, shape=(count,), value=0.0, dtype=x.dtype).index_add(0, ew.where(inside, place, 0), held)
    if density:
        widths = ew.sub(_part(edges, 0, 1, 0), _part(edges, 0, 0, -1))
        total = rd.sum_(hist, dim=(0,), keepdim=True)
        hist = ew.div(hist, ew.mul(widths, expand(total, shape=widths.shape)))
    return return_types.deliver_all(return_types.histogram, (without_rule("histogram", hist, input, bins), edges), out)


def _check_sampled(name, input, bins, weight):
    """Raises for what is not counted: integers, edges or weights of another dtype, and fewer than two edges."""
    if not input.dtype.is_floating_point:
        raise DTypeError(f"{name} takes floating point numbers, got {input.aval}; cast with .to()")
    edges = [("edges", b) for b in bins if isinstance(b, Tensor)]
    for what, t in edges if weight is None else [*edges, ("a weight", weight)]:
        if t.dtype is not input.dtype:
            raise DTypeError(f"{name}: {what} must be of {input.dtype}, as the input is, got {t.aval}")
        if what == "edges" and (t.ndim != 1 or t.shape[0] < 2):
            raise ShapeError(f"{name} takes edges in one row of at least 2, got {t.aval}")


def _equal_edges(input, bins, between):
    """(edges of even bins, their ends as numbers)"""
    if not isinstance(bins, numbers.Integral) or bins < 1:
        raise ArgumentError(f"histogram: bins is a number of them, at least 1, or a tensor of edges, got {bins!r}")
    if between is not None and len(between) != 2:
        raise ArgumentError(f"histogram: range is two numbers, got {between!r}")
    low, high = (float(v) for v in between) if between is not None else (0.0, 1.0)      # of nothing
    if between is None and input.numel():
        low, high = input.min().item(), input.max().item()
    if low == high:
        low, high = low - 0.5, high + 0.5
    if not -math.inf < low < high < math.inf:
        raise ArgumentError(f"histogram: there are no bins between {low} and {high}; give a finite range that increases")
    return FUNCTIONS["linspace"](low, high, bins + 1, dtype=input.dtype, device=input.device), (low, high)


def _bins_of(x, edges, even):
    """(the bin of each element, whether it is in one at all); the ends of `even` bins are known as numbers."""
    count = edges.shape[0] - 1
    if even is not None and _tells_apart(x.dtype, even, count):
        return _even_bins_of(x, edges, even, count)
    place = FUNCTIONS["searchsorted"](edges, x, right=True) - 1
    place = ew.where(ew.eq(x, expand(_part(edges, 0, count, count + 1), shape=x.shape)), count - 1, place)
    return place, ew.logical_and(ew.ge(place, 0), ew.lt(place, count))


def _tells_apart(dtype, ends, count) -> bool:
    """Whether numbers of a dtype between two ends say within one which of so many even bins they are in."""
    low, high = ends
    return dtype in (dt.float32, dt.float64) and (high - low) / count > 16 * np.finfo(dtype.np).eps * max(abs(low), abs(high))


def _even_bins_of(x, edges, ends, count):
    """`_bins_of` by arithmetic, put right where rounding took a number over an edge."""
    x, (low, high) = x.detach(), ends
    first, last = (expand(_part(edges, 0, at, at + 1), shape=x.shape) for at in (0, count))
    inside = ew.logical_and(ew.ge(x, first), ew.le(x, last))
    place = ew.mul(ew.sub(ew.where(inside, x, low), low), count / (high - low)).to(dt.int64).clamp(0, count - 1)
    place = ew.sub(place, ew.lt(x, edges[place]).to(dt.int64))
    place = ew.add(place, ew.ge(x, edges[place + 1]).to(dt.int64))
    return place.clamp(0, count - 1), inside


@api(method=False, checked=True)
def histogramdd(input, bins, *, range=None, weight=None, density=False, out=None) -> return_types.histogramdd:
    """(hist, bin_edges) of points, which are the rows of the input; for each of its columns a number of bins, or edges."""
    count = input.shape[-1]
    points = reshape(input, shape=(math.prod(input.shape[:-1]), count))
    given = list(bins) if isinstance(bins, (tuple, list)) else [bins] * count
    if len(given) != count or (range is not None and len(range) != 2 * count):
        raise ArgumentError(f"histogramdd of points in {count} dimensions takes {count} bins and {2 * count} ends of ranges")
    _check_sampled("histogramdd", input, given, weight)
    columns = [points[:, d].contiguous() for d in builtins.range(count)]
    between = [None if range is None else range[2 * d:2 * d + 2] for d in builtins.range(count)]
    pairs = [(b, None) if isinstance(b, Tensor) else _equal_edges(x, b, r) for x, b, r in zip(columns, given, between)]
    edges = [e for e, _ in pairs]
    sizes = [e.shape[0] - 1 for e in edges]
    place = full(points, shape=points.shape[:1], value=0, dtype=dt.int64)
    inside = full(points, shape=points.shape[:1], value=count > 0, dtype=dt.bool_)
    for x, (e, even), n in zip(columns, pairs, sizes):
        at, within = _bins_of(x, e, even)
        inside = within & inside
        place = place * n + at
    w = full(points, shape=points.shape[:1], value=1.0, dtype=points.dtype) if weight is None else reshape(
        weight, shape=points.shape[:1])
    hist = full(points, shape=(math.prod(sizes),), value=0.0, dtype=points.dtype)
    hist = hist.index_add(0, ew.where(inside, place, 0), ew.where(inside, w, 0.0)).reshape(sizes)
    if density:
        hist = hist / hist.sum()
        for d, e in enumerate(edges):
            hist = hist / (e[1:] - e[:-1]).reshape([-1 if k == d else 1 for k in builtins.range(count)])
    hist = without_rule("histogramdd", hist, input, *edges)
    if out is not None:
        hist, edges = deliver(hist, out[0], "histogramdd"), [deliver(e, o, "histogramdd") for e, o in zip(edges, out[1])]
    return return_types.histogramdd(hist, tuple(edges))
