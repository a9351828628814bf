"""Order statistics, counts, correlations and histograms."""

import builtins
import math
import numbers
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.dtype import FLOAT_CHARS
from ....ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ....ir.opdef.aval import canonical_dim
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import reduce as rd
from ....ir.ops.core.complex_numbers import complex_, imag, real
from ....ir.ops.core.moments import mean
from ....ir.ops.core.shape import diagonal, expand, full, reshape
from ....ir.ops.index import order_statistics
from ....ir.ops.index.indexing import scatter
from ....ir.ops.index.sort import bin_counts
from ....ir.ops.linalg import products as la
from ....ir.ops.linalg.matrix_rules import adjoint
from ....ir.suggestions import unknown_choice
from ....ir.symbols.substitute import as_float, as_int
from ...autograd.missing_rules import without_rule
from ...core.tensor import Tensor, wrap
from ...state.mode import computes_with_numbers, tls
from ..register import return_types
from ..register.register import FUNCTIONS, api, deliver
from ..register.type_promotion import rounds_once, single_in_autocast, to_dtype, widened
from ..views.tensor_factories import filled
from .numerical_gradient import entries
from .reductions import as_column, gather_along, holds_anywhere, promote_to_float
from .sort import flattened, one_along

# Medians and modes.


def _element_at(x, place):
    return reshape(gather_along(x, place, 0), shape=())


def _median(kind, input, dim, keepdim, out, skip_nan):
    if dim is None:
        x = flattened(input)
        if x.shape[0] == 0:
            value = full(x, shape=(), value=math.nan if x.dtype.is_inexact else dt.int_range(x.dtype)[0], dtype=x.dtype)
        else:
            value = _selected(x)
            if value is None:
                place = order_statistics.median_place(x, dim=0, skip_nan=skip_nan)
                value = _element_at(x.detach() if x.requires_grad else x, place)
            value = order_statistics.found_in(x, value) if tls.m.grad and x.requires_grad else value
        return deliver(value, out, kind.__name__)
    d = canonical_dim(dim, input.ndim)
    x = as_column(input)
    if x.shape[d] == 0:
        raise DimError(f"{kind.__name__} along dim {dim} of {input.aval} has no value: the dim is empty")
    return one_along(kind, input, order_statistics.median_place(x, dim=d, skip_nan=skip_nan), d, keepdim, out)


_MANY = 1 << 10         # elements from which selection beats sorting


def _selected(x):
    """Return the median of many numbers by selection, or None to leave it to operators. Operators take few numbers, recorded
    calls, nans, and a median of 0.0, which may be -0."""
    m, a = tls.m, x._a
    if a.__class__ is not np.ndarray or a.size < _MANY or a.dtype.char not in _SELECTED:
        return None
    if m.special:
        m.only_now()
        return None
    middle = (a.size - 1) // 2
    parts = m.quietly(np.partition, a, middle)
    value, largest = parts[middle], m.quietly(np.maximum.reduce, parts[middle:])
    return wrap(value) if largest == largest and (value or a.dtype.kind != "f") else None


_SELECTED = FLOAT_CHARS + "".join(np.typecodes["Integer"] + np.typecodes["UnsignedInteger"])


@api(memoised=True)
def median(input, dim=None, keepdim=False, *, out=None) -> Any:
    """Return the lower median of everything, or along a dim as (values, indices); nan if an element is nan."""
    return _median(return_types.median, input, dim, keepdim, out, False)


@api(memoised=True)
def nanmedian(input, dim=None, keepdim=False, *, out=None) -> Any:
    """Return the lower median of elements that are not nan, of everything or along a dim as (values, indices)."""
    return _median(return_types.nanmedian, input, dim, keepdim, out, True)


@api(memoised=True)
def mode(input, dim=-1, keepdim=False, *, out=None) -> return_types.mode:
    """Return the most frequent value along a dim (the smallest among equals) and its last index, as (values, indices)."""
    d = canonical_dim(dim, input.ndim)
    x = as_column(input)
    if x.shape[d] == 0:
        raise DimError(f"mode along dim {dim} of {input.aval} has no value: the dim is empty")
    return one_along(return_types.mode, input, order_statistics.mode_place(x, dim=d), d, keepdim, out)


# Quantiles.

def _quantile(name, input, q, dim, keepdim, interpolation, out, skip_nan):
    if interpolation not in order_statistics.INTERPOLATIONS:
        modes = ", ".join(order_statistics.INTERPOLATIONS)
        raise unknown_choice(f"{name}: interpolation", interpolation, modes)
    if input.dtype not in (dt.float32, dt.float64):
        raise DTypeError(f"{name} takes float32 or float64, got {input.aval}")
    q = _levels(name, input, q)
    d = 0 if dim is None else canonical_dim(dim, input.ndim)
    x = flattened(input) if dim is None else as_column(input)
    if 0 in input.shape:
        raise ShapeError(f"{name} of {input.aval} has no value: there are no elements")
    # If a gradient is needed, run single operators, so that backward need not sort again.
    run = order_statistics.quantile.lower.body if input.requires_grad or q.requires_grad else order_statistics.quantile
    found = run(x, flattened(q), dim=d, interpolation=interpolation, skip_nan=skip_nan)
    shape = () if q.ndim == 0 else (q.shape[0],)
    rest = [] if not input.ndim else [1 if dim is None or i == d else n for i, n in enumerate(input.shape)
                                      if keepdim or not (dim is None or i == d)]
    return deliver(reshape(found, shape=(*shape, *rest)), out, name)


def _levels(name, input, q):
    """Return the requested quantiles as a checked tensor of the input's dtype."""
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise ArgumentError(f"{name}: q must be within 0 and 1")
        return filled(input, (), as_float(q), input.dtype)
    if q.ndim > 1 or q.dtype is not input.dtype:
        raise ShapeError(f"{name}: q must be a number or a row of {input.dtype.name}, got {q.aval}")
    inside = ew.logical_and(ew.ge(q, 0.0), ew.le(q, 1.0))
    if not bool(rd.all_(inside, dim=tuple(range(q.ndim)), keepdim=False)):
        raise ArgumentError(f"{name}: q must be within 0 and 1")
    return q


@api(memoised=True)
@single_in_autocast
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """Return the q-th quantiles (a number or a row of them), of everything or along a dim; nan if an element is nan."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, out, False)


@api(memoised=True)
@single_in_autocast
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """Return the q-th quantiles of elements that are not nan."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, out, True)


# Counts.


@api(checked=True)
def bincount(input, weights=None, minlength=0):
    """Count how many times each of 0, 1, 2, ... occurs, or sum the weights of its occurrences."""
    if input.ndim != 1 or not input.dtype.is_integer:
        raise ShapeError(f"bincount takes one row of integers, got {input.aval}")
    if minlength < 0:
        raise ArgumentError(f"bincount takes a minlength of at least 0, got {minlength}")
    if weights is not None and weights.shape != input.shape:
        raise ShapeError(f"bincount: weights {weights.aval} must have the shape of {input.aval}")
    if weights is None and not tls.m.special and input._a.__class__ is np.ndarray and input._a.dtype.kind == "i":
        if input._a.size and input._a.min() < 0:
            raise ArgumentError("bincount takes integers of at least 0")
        return wrap(np.bincount(input._a, minlength=minlength).astype(np.int64, copy=False))
    n = minlength
    if input.shape[0]:
        if rd.amin(input, dim=(0,), keepdim=False) < 0:
            raise ArgumentError("bincount takes integers of at least 0")
        n = max(n, rd.amax(input, dim=(0,), keepdim=False).item() + 1)
    if weights is None:
        weights = full(input, shape=tuple(input.shape), value=1, dtype=dt.int64)
    elif weights.dtype is not dt.float32:
        weights = to_dtype(weights, dt.float64)
    zeros = full(input, shape=(n,), value=0, dtype=weights.dtype)
    return scatter(zeros, to_dtype(input, dt.int64), weights, dim=0, mode="add")


@api(checked=True)
@computes_with_numbers
def histc(input, bins=100, min=0, max=0, *, out=None):
    """Count elements in equal bins between min and max (the data's range if both are equal), without those outside."""
    if not input.dtype.is_floating_point:
        raise DTypeError(f"histc takes a floating point tensor, got {input.aval}; use bincount for integers")
    if bins <= 0:
        raise ArgumentError(f"histc needs at least one bin, got {bins}")
    x = to_dtype(flattened(input.detach()), dt.accumulator(input.dtype))
    low, high = as_float(min), as_float(max)
    if low == high and x.shape[0]:
        low, high = rd.amin(x, dim=(0,), keepdim=False).item(), rd.amax(x, dim=(0,), keepdim=False).item()
    if low == high:
        low, high = low - 1, high + 1
    if not -math.inf < low < high < math.inf:
        raise ArgumentError(f"histc needs finite min <= max, got {low} and {high}")
    # A recorder takes each limit as an operand, since it may have been read out of data.
    counts = (bin_counts if tls.m.recorder is None else bin_counts.lower.body)(x, bins=as_int(bins), low=low, high=high)
    return deliver(ew.cast(counts, dtype=input.dtype), out, "histc")


# Correlation.


def _weights_of(name, x, fweights, aweights):
    """Return the product of both kinds of weights in x's dtype, or None."""
    total = None
    for kind, w, integral in (("fweights", fweights, True), ("aweights", aweights, False)):
        if w is None:
            continue
        if w.ndim > 1 or w.dtype.is_integer is not integral or (w.ndim and w.shape[0] != x.shape[1]):
            numbers = "integers" if integral else "floats"
            raise ShapeError(f"{name}: {kind} must be one row of {x.shape[1]} {numbers}, got {w.aval}")
        if holds_anywhere(ew.lt(w, 0)):
            raise ArgumentError(f"{name}: {kind} must not be negative")
        w = expand(to_dtype(w, x.dtype), shape=(x.shape[1],))
        total = w if total is None else ew.mul(total, w)
    return total


@api(memoised=True)
def cov(input, *, correction=1, fweights=None, aweights=None):
    """Return covariances between the rows of a matrix; each column is an observation."""
    if input.ndim > 2:
        raise ShapeError(f"cov takes a vector or a matrix, got {input.aval}")
    x = input if input.dtype.is_inexact else to_dtype(input, promote_to_float(input))
    x = reshape(x, shape=(1, rd.count_of(x.shape, range(x.ndim)))) if input.ndim < 2 else x
    d = x.dtype
    x = to_dtype(x, dt.accumulator(d))
    w = _weights_of("cov", x, fweights, aweights)
    d = d if aweights is None else dt.promote_types(d, aweights.dtype)
    if w is None:
        centre, norm = mean(x, dim=(1,), keepdim=True), as_float(max(0, x.shape[1] - correction))
        gap = weighted = ew.sub(x, expand(centre, shape=tuple(x.shape)))
    else:
        total = rd.sum_(w, dim=(0,), keepdim=True)
        row = expand(w, shape=tuple(x.shape))
        centre = ew.div(rd.sum_(ew.mul(x, row), dim=(1,), keepdim=True), reshape(total, shape=(1, 1)))
        gap = ew.sub(x, expand(centre, shape=tuple(x.shape)))
        weighted = ew.mul(gap, row)
        norm = _freedom(total, w, correction, fweights, aweights, x.dtype)
    product = la.matmul(gap, adjoint(weighted))
    d = d if product.dtype is gap.dtype else product.dtype      # the dtype of a product under autocast
    result = ew.div(product, expand(norm, shape=tuple(product.shape)) if isinstance(norm, Tensor) else norm)
    return to_dtype(reshape(result, shape=()) if x.shape[0] == 1 else result, d)


def _freedom(total, w, correction, fweights, aweights, d):
    """Return the divisor of a weighted covariance, at least 0."""
    if aweights is None:
        left = ew.sub(total, float(correction))
    else:
        a = to_dtype(aweights, d)
        squares = rd.sum_(ew.mul(w, expand(a, shape=tuple(w.shape))), dim=(0,), keepdim=True)
        left = ew.sub(total, ew.mul(ew.div(squares, total), float(correction)))
    left = real(left) if left.dtype.is_complex else left
    return to_dtype(reshape(ew.where(ew.lt(left, 0.0), 0.0, left), shape=(1, 1)), d)


@api(memoised=True)
@rounds_once
def corrcoef(input):
    """Return correlations between the rows of a matrix, within [-1, 1]."""
    found = cov(input)
    c = widened(found)
    if c.ndim == 0:
        return to_dtype(ew.div(c, c), found.dtype)
    parts = (real(c), imag(c)) if c.dtype.is_complex else (c,)
    spread = ew.sqrt(diagonal(parts[0], offset=0, dim1=0, dim2=1))
    n = c.shape[0]
    column, row = (expand(reshape(spread, shape=s), shape=(n, n)) for s in ((n, 1), (1, n)))
    ratios = [ew.div(ew.div(part, column), row) for part in parts]
    within = [ew.where(ew.gt(r, 1.0), 1.0, ew.where(ew.lt(r, -1.0), -1.0, r)) for r in ratios]
    return to_dtype(complex_(*within) if len(within) > 1 else within[0], found.dtype)


# Histograms.


@api(checked=True)
def histogram(input, bins=100, *, range=None, weight=None, density=False, out=None) -> return_types.histogram:
    """Return (hist, bin_edges): counts or weights between neighbouring edges; the last bin includes its upper edge."""
    _check_sampled("histogram", input, [bins], weight)
    x = reshape(input, shape=(input.numel(),))
    edges, even = (bins.clone(), None) if isinstance(bins, Tensor) else _equal_edges(x, bins, range)
    w = full(x, shape=x.shape, value=1.0, dtype=x.dtype) if weight is None else reshape(weight, shape=x.shape)
    count = edges.shape[0] - 1
    place, inside = _bins_of(x, edges, even)
    held = ew.where(inside, w, 0.0)
    hist = full(x, shape=(count,), value=0.0, dtype=x.dtype).index_add(0, ew.where(inside, place, 0), held)
    if density:
        widths = ew.sub(entries(edges, 0, 1, 0), entries(edges, 0, 0, -1))
        total = rd.sum_(hist, dim=(0,), keepdim=True)
        hist = ew.div(hist, ew.mul(widths, expand(total, shape=widths.shape)))
    return return_types.deliver_all(return_types.histogram, (without_rule("histogram", hist, input, bins), edges), out)


def _check_sampled(name, input, bins, weight):
    """Raise for integers, for edges or weights of another dtype, and for fewer than two edges."""
    if not input.dtype.is_floating_point:
        raise DTypeError(f"{name} takes floating point numbers, got {input.aval}; cast with .to()")
    edges = [("edges", b) for b in bins if isinstance(b, Tensor)]
    for what, t in edges if weight is None else [*edges, ("a weight", weight)]:
        if t.dtype is not input.dtype:
            raise DTypeError(f"{name}: {what} must be of {input.dtype.name}, as the input is, got {t.aval}")
        if what == "edges" and (t.ndim != 1 or t.shape[0] < 2):
            raise ShapeError(f"{name} takes edges in one row of at least 2, got {t.aval}")


def _equal_edges(input, bins, between):
    """Return edges of even bins, and their ends as numbers."""
    if not isinstance(bins, numbers.Integral) or bins < 1:
        raise ArgumentError(f"histogram: bins is a number of them, at least 1, or a tensor of edges, got {bins!r}")
    if between is not None and len(between) != 2:
        raise ArgumentError(f"histogram: range is two numbers, got {between!r}")
    low, high = (float(v) for v in between) if between is not None else (0.0, 1.0)      # without elements
    if between is None and input.numel():
        low, high = input.min().item(), input.max().item()
    if low == high:
        low, high = low - 0.5, high + 0.5
    if not -math.inf < low < high < math.inf:
        raise ArgumentError(f"histogram: there are no bins between {low} and {high}; give a finite range that increases")
    return FUNCTIONS["linspace"](low, high, bins + 1, dtype=input.dtype, device=input.device), (low, high)


def _bins_of(x, edges, even):
    """Return the bin of each element, and whether it is in one; the ends of `even` bins are known as numbers."""
    count = edges.shape[0] - 1
    if even is not None and _tells_apart(x.dtype, even, count):
        return _even_bins_of(x, edges, even, count)
    place = FUNCTIONS["searchsorted"](edges, x, right=True) - 1
    place = ew.where(ew.eq(x, expand(entries(edges, 0, count, count + 1), shape=x.shape)), count - 1, place)
    return place, ew.logical_and(ew.ge(place, 0), ew.lt(place, count))


def _tells_apart(dtype, ends, count) -> bool:
    """Return whether arithmetic in a dtype finds the right one of `count` even bins within one."""
    low, high = ends
    return dtype in (dt.float32, dt.float64) and (high - low) / count > 16 * np.finfo(dtype.np).eps * max(abs(low), abs(high))


def _even_bins_of(x, edges, ends, count):
    """Compute `_bins_of` by arithmetic, corrected where rounding crossed an edge."""
    x, (low, high) = x.detach(), ends
    first, last = (expand(entries(edges, 0, at, at + 1), shape=x.shape) for at in (0, count))
    inside = ew.logical_and(ew.ge(x, first), ew.le(x, last))
    place = ew.mul(ew.sub(ew.where(inside, x, low), low), count / (high - low)).to(dt.int64).clamp(0, count - 1)
    place = ew.sub(place, ew.lt(x, edges[place]).to(dt.int64))
    place = ew.add(place, ew.ge(x, edges[place + 1]).to(dt.int64))
    return place.clamp(0, count - 1), inside


@api(method=False, checked=True)
def histogramdd(input, bins, *, range=None, weight=None, density=False, out=None) -> return_types.histogramdd:
    """Return (hist, bin_edges) of points, the rows of the input; each column has a number of bins, or edges."""
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
