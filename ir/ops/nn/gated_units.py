"""Gated linear units: one half of a tensor times the sigmoid of the other."""

import numpy as np

from ...errors import ShapeError
from ...opdef.batch_rules import ALONG
from ...opdef.op import Composite, op
from ...opdef.param_checks import check_dim, check_operand
from ...symbols.symbolic import hint
from ..core import elementwise as ew
from ..core.pointwise import in_single, in_wide, pointwise, wants_real_float
from ..core.shape import cat, slice_


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _slope_body(g, x, y):
    s = ew.sigmoid(y)
    return ew.mul(ew.mul(g, x), ew.mul(s, ew.sub(1.0, s)))


def _slope(g, x, y):
    s = _sigmoid(y)
    return g * x * s * (1 - s)


def _bend(h, out, g, x, y):
    s = ew.sigmoid(y)
    return ew.mul(gate_slope(ew.mul(h, g), x, y), ew.sub(1.0, ew.mul(s, 2.0)))


gate_slope = pointwise("gate_slope", _slope_body, _slope,
                       (lambda h, out, g, x, y: gate_slope(h, x, y), lambda h, out, g, x, y: gate_slope(h, g, y), _bend),
                       doc="The gradient of gate(x, y) for y, of the result's gradient g.")

gate = pointwise("gate", lambda x, y: ew.mul(x, ew.sigmoid(y)), lambda x, y: x * _sigmoid(y),
                 (lambda g, out, x, y: gate(g, y), lambda g, out, x, y: gate_slope(g, x, y)), doc="x * sigmoid(y)")


def halves(x, dim):
    """Return the first and the second half along a dimension."""
    n = x.shape[dim] // 2
    return slice_(x, dim=dim, start=0, stop=n, step=1), slice_(x, dim=dim, start=n, stop=2 * n, step=1)


def _infer_glu(x, *, dim):
    wants_real_float("glu", x)
    if hint(x.shape[check_dim(dim, x.ndim, "glu: dim")]) % 2:
        raise ShapeError(f"glu of {x} needs an even size in dim {dim}")
    return x.with_shape([n // 2 if d == dim else n for d, n in enumerate(x.shape)])


def _glu_grad_body(g, x, *, dim):
    first, second = halves(x, dim)
    return cat(gate(g, second), gate_slope(g, first, second), dim=dim)


def _glu_grad(g, x, *, dim):
    first, second = np.split(x, 2, dim)
    return np.concatenate([g * _sigmoid(second), _slope(g, first, second)], dim)


def _glu_grad_g(h, out, g, x, *, dim):
    (first, second), (h1, h2) = halves(x, dim), halves(h, dim)
    return ew.add(gate(h1, second), gate_slope(h2, first, second))


def _glu_grad_x(h, out, g, x, *, dim):
    (first, second), (h1, h2) = halves(x, dim), halves(h, dim)
    return cat(gate_slope(h2, g, second), ew.add(gate_slope(h1, g, second), _bend(h2, None, g, first, second)), dim=dim)


def _infer_glu_grad(g, x, *, dim):
    half = _infer_glu(x, dim=dim)
    check_operand(g, half.shape, x.dtype, f"glu_grad of {x}: the gradient")
    return x


glu_grad = op("glu_grad", infer=_infer_glu_grad, ref=in_single(_glu_grad), vjp=(_glu_grad_g, _glu_grad_x), batch=ALONG,
              lower=Composite(in_wide(_glu_grad_body)), doc="The gradient of glu.")


def _glu(x, *, dim):
    first, second = np.split(x, 2, dim)
    return first * _sigmoid(second)


glu = op("glu", infer=_infer_glu, ref=in_single(_glu), vjp=(lambda g, out, x, *, dim: glu_grad(g, x, dim=dim),), batch=ALONG,
         lower=Composite(in_wide(lambda x, *, dim: gate(*halves(x, dim)))), traits=("takes_float",),
         doc="The first half times the sigmoid of the second.")
