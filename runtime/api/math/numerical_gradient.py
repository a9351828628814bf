"""Numerical derivatives of sampled data."""

from typing import Any

from ....ir.errors import ArgumentError, DimError, ShapeError
from ....ir.opdef.aval import canonical_dim, canonical_dims, integers
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import cat, expand, reshape, slice_
from ....ir.symbols.substitute import as_float
from ...core.tensor import Tensor
from ..register.register import api
from ..register.type_promotion import promote, to_dtype


def entries(x, d, start, stop):
    """Return x[start:stop] along a dim; a stop of 0 is the end."""
    n = x.shape[d]
    return slice_(x, dim=d, start=start % n if start < 0 else start, step=1, stop=n + stop if stop <= 0 else stop)


def _distance(spacing):
    return spacing if isinstance(spacing, complex) else as_float(spacing)


def _gaps(spacing, n, like, d):
    """Return the distances between neighbours along dim d: a number, or positions as a tensor."""
    if not isinstance(spacing, Tensor):
        return _distance(spacing), _distance(spacing)
    if spacing.ndim != 1 or spacing.shape[0] != n:
        raise ShapeError(f"gradient: places along a dimension of size {n} must be a vector of that size, got {spacing.aval}")
    steps = ew.sub(entries(spacing, 0, 1, 0), entries(spacing, 0, 0, -1))
    steps = reshape(to_dtype(steps, like.dtype), shape=tuple(n - 1 if i == d else 1 for i in range(like.ndim)))
    return entries(steps, d, 0, -1), entries(steps, d, 1, 0)


def _edge(x, spacing, d, order, last):
    """Return the one-sided derivative at the first or last position."""
    n = x.shape[d]
    at = [(n - 1 - k if last else k) for k in range(order + 1)]
    values = [entries(x, d, i, i + 1) for i in at]
    sign = -1.0 if last else 1.0
    if isinstance(spacing, Tensor):
        place = [reshape(to_dtype(entries(spacing, 0, i, i + 1), x.dtype), shape=(1,) * x.ndim) for i in at]
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
    before, here, after = entries(x, d, 0, n - 2), entries(x, d, 1, n - 1), entries(x, d, 2, n)
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
    """Return derivatives along dims by central differences, one-sided at the ends. `spacing` is a number, one for each dim, or
    the positions themselves."""
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
