"""Activations as composites and the scalar functions of their gradients."""

import math

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.batch_rules import LEADING
from ...opdef.op import Composite, op
from ...opdef.param_checks import check_element, check_number
from ...reference import scalar_functions
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.elementwise import elementwise
from ..core.elementwise_rules import numbers_of
from ..core.pointwise import common_with_numbers, in_single, in_wide, pointwise, wants_float, wants_real_float

# Activations with a scalar function of their own.

relu = elementwise("relu", lambda x: np.maximum(x, np.asarray(0, x.dtype)),
                   (lambda g, out, x: ew.where(ew.le(out, 0), 0.0, g),), takes="real", traits=("exact", "straight"),
                   doc="max(x, 0)")


def _log1p_exp(x):
    return np.log1p(np.exp(-np.abs(x)))


softplus = elementwise("softplus", lambda x: np.maximum(x, 0) + _log1p_exp(x),
                       (lambda g, out, x: ew.mul(g, ew.sigmoid(x)),), takes="real_float",
                       traits=("wide_on_gpu",), doc="log(1 + exp(x))")
log_sigmoid = elementwise("log_sigmoid", lambda x: np.minimum(x, 0) - _log1p_exp(x),
                          (lambda g, out, x: ew.mul(g, ew.sigmoid(ew.neg(x))),), takes="real_float", doc="log(sigmoid(x))",
                          title="logsigmoid")


def _silu_vjp(g, out, x):
    v = ew.widened(x)
    s = ew.sigmoid(v)
    return ew.narrowed(ew.mul(ew.widened(g), ew.mul(s, ew.add(ew.mul(v, ew.sub(1.0, s)), 1.0))), x)


silu = elementwise("silu", lambda x: x * scalar_functions.sigmoid(x), (_silu_vjp,), takes="float", doc="x * sigmoid(x)")


def _mish_vjp(g, out, x):
    v = ew.widened(x)
    t = ew.tanh(softplus(v))
    slope = ew.mul(ew.mul(v, ew.sigmoid(v)), ew.sub(1.0, ew.mul(t, t)))
    return ew.narrowed(ew.mul(ew.widened(g), ew.add(t, slope)), x)


mish = elementwise("mish", lambda x: x * np.tanh(np.maximum(x, 0) + _log1p_exp(x)), (_mish_vjp,), takes="real_float",
                   doc="x * tanh(softplus(x))")

_SQRT_HALF = math.sqrt(0.5)
_DENSITY = 1 / math.sqrt(2 * math.pi)
_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBE = 0.044715


def _density(x):
    return ew.mul(ew.exp(ew.mul(ew.mul(x, x), -0.5)), _DENSITY)


def _gelu_slope(x):
    share = (scalar_functions.erf(x * x.dtype.type(_SQRT_HALF)) + 1) * 0.5
    return (share + x * (np.exp(x * x * -0.5) * _DENSITY)).astype(x.dtype)


def _gelu_slope_vjp(g, out, x):
    v = ew.widened(x)
    return ew.narrowed(ew.mul(ew.widened(g), ew.mul(_density(v), ew.sub(2.0, ew.mul(v, v)))), x)


gelu_slope = elementwise("gelu_slope", _gelu_slope, (_gelu_slope_vjp,), takes="real_float", doc="The derivative of gelu.")


def gelu_slope_parts(x):
    """Return `gelu_slope` computed by other operators, with its scalar function's steps."""
    share = ew.mul(ew.add(ew.erf(ew.mul(x, _SQRT_HALF)), 1.0), 0.5)
    return ew.add(share, ew.mul(x, _density(x)))


def _gelu_vjp(g, out, x):
    return ew.narrowed(ew.mul(ew.widened(g), gelu_slope(ew.widened(x))), x)


gelu = elementwise("gelu", lambda x: (0.5 * x * (1 + scalar_functions.erf(x * x.dtype.type(_SQRT_HALF)))).astype(x.dtype),
                   (_gelu_vjp,),
                   takes="real_float", doc="x times the normal distribution function of x.")


def _gelu_tanh(x):
    inner = _TANH_SCALE * x * (1 + _TANH_CUBE * x * x)
    return 0.5 * x * (1 + np.tanh(inner))


def _gelu_tanh_vjp(g, out, x):
    v = ew.widened(x)
    x2 = ew.mul(v, v)
    t = ew.tanh(ew.mul(ew.mul(v, _TANH_SCALE), ew.add(ew.mul(x2, _TANH_CUBE), 1.0)))
    inner = ew.mul(ew.add(ew.mul(x2, 3 * _TANH_CUBE), 1.0), _TANH_SCALE)
    slope = ew.mul(ew.mul(v, 0.5), ew.mul(ew.sub(1.0, ew.mul(t, t)), inner))
    return ew.narrowed(ew.mul(ew.widened(g), ew.add(ew.mul(ew.add(t, 1.0), 0.5), slope)), x)


gelu_tanh = elementwise("gelu_tanh", _gelu_tanh, (_gelu_tanh_vjp,), takes="real_float", doc="gelu by its tanh approximation.")

# Activations with parameters.


def _leaky_relu_body(x, *, negative_slope):
    return ew.where(ew.gt(x, 0.0), x, ew.mul(x, negative_slope))


def _leaky_relu_vjp(g, out, x, *, negative_slope):
    return ew.where(ew.gt(x, 0.0), g, ew.mul(g, negative_slope))


leaky_relu = pointwise("leaky_relu", _leaky_relu_body,
                       lambda x, *, negative_slope: np.where(x > 0, x, x * x.dtype.type(negative_slope)), (_leaky_relu_vjp,),
                       traits=("ref_first", "straight"), wants=wants_real_float,
                       doc="x above 0, negative_slope * x below.")


def _elu_body(x, *, alpha, scale, input_scale):
    below = ew.mul(ew.expm1(ew.mul(x, input_scale)), alpha * scale)
    return ew.where(ew.gt(x, 0.0), ew.mul(x, scale), below)


def _elu_vjp(g, out, x, *, alpha, scale, input_scale):
    """exp of the branch not taken gets 0, as it could overflow and make this rule's own gradient nan."""
    above = ew.gt(x, 0.0)
    below = ew.mul(ew.exp(ew.mul(ew.where(above, 0.0, x), input_scale)), alpha * scale * input_scale)
    return ew.mul(g, ew.where(above, scale, below))


elu = pointwise("elu", _elu_body,
                lambda x, *, alpha, scale, input_scale:
                    np.where(x > 0, x * scale, np.expm1(np.minimum(x, 0) * input_scale) * (alpha * scale)), (_elu_vjp,),
                doc="scale * x above 0, scale * alpha * (exp(input_scale * x) - 1) below.")


def _hardtanh_body(x, *, min_val, max_val):
    return ew.maximum(ew.minimum(x, max_val), min_val)


def _hardtanh_vjp(g, out, x, *, min_val, max_val):
    return ew.where(ew.logical_or(ew.le(out, min_val), ew.ge(out, max_val)), 0.0, g)


def _infer_limited(name, x, **numbers):
    """Return the type of a real value some of whose elements are exchanged for numbers."""
    if x.dtype.is_complex:
        raise DTypeError(f"{name} takes real types, got {x}: complex numbers have no order")
    for what, number in numbers.items():
        check_element(number, x.dtype, f"{name}: {what}")
    return x


def _infer_hardtanh(x, *, min_val, max_val):
    return _infer_limited("hardtanh", x, min_val=min_val, max_val=max_val)


hardtanh = op("hardtanh", infer=_infer_hardtanh,
              ref=in_single(lambda x, *, min_val, max_val:
                            np.maximum(np.minimum(x, np.asarray(max_val, x.dtype)), np.asarray(min_val, x.dtype))),
              vjp=(_hardtanh_vjp,), lower=Composite(_hardtanh_body), numbers=("min_val", "max_val"), batch=LEADING,
              traits=("exact", "rescued", "pointwise", "straight"),
              doc="x limited to [min_val, max_val]; no gradient at or beyond the limits.")


def _hardsigmoid_body(x):
    return ew.div(ew.maximum(ew.minimum(ew.add(x, 3.0), 6.0), 0.0), 6.0)


def _hardsigmoid_vjp(g, out, x):
    return ew.where(ew.logical_and(ew.gt(x, -3.0), ew.lt(x, 3.0)), ew.div(g, 6.0), 0.0)


hardsigmoid = pointwise("hardsigmoid", _hardsigmoid_body, lambda x: np.clip(x + 3, 0, 6) / 6, (_hardsigmoid_vjp,),
                        traits=("straight",), doc="clamp(x + 3, 0, 6) / 6")


def _hardswish_body(x):
    return ew.div(ew.mul(x, ew.maximum(ew.minimum(ew.add(x, 3.0), 6.0), 0.0)), 6.0)


def _hardswish_vjp(g, out, x):
    middle = ew.narrowed(ew.mul(ew.widened(g), ew.add(ew.div(ew.widened(x), 3.0), 0.5)), x)
    return ew.where(ew.le(x, -3.0), 0.0, ew.where(ew.lt(x, 3.0), middle, g))


hardswish = pointwise("hardswish", _hardswish_body, lambda x: x * np.clip(x + 3, 0, 6) / 6, (_hardswish_vjp,),
                      doc="x * hardsigmoid(x)")


def _outside(g, out, x, *, lambd):
    """Return the gradient outside |x| <= lambd, compared as the function compares: in float32 at least."""
    return ew.where(ew.le(ew.abs_(ew.widened(x)), lambd), 0.0, g)


def _hardshrink_body(x, *, lambd):
    return ew.where(ew.le(ew.abs_(x), lambd), 0.0, x)


hardshrink = pointwise("hardshrink", _hardshrink_body, lambda x, *, lambd: np.where(np.abs(x) <= lambd, 0, x), (_outside,),
                       doc="0 where |x| <= lambd, x elsewhere.", traits=("exact", "straight"))


def _softshrink_body(x, *, lambd):
    low = ew.where(ew.lt(x, -lambd), ew.add(x, lambd), ew.mul(x, 0.0))
    return ew.where(ew.gt(x, lambd), ew.sub(x, lambd), low)


softshrink = pointwise("softshrink", _softshrink_body,
                       lambda x, *, lambd: np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0)), (_outside,),
                       doc="x moved towards 0 by lambd, 0 within.", traits=("exact", "straight"))


def _infer_threshold(x, *, threshold, value):
    return _infer_limited("threshold", x, threshold=threshold, value=value)


threshold = op("threshold", infer=_infer_threshold,
               ref=in_single(lambda x, *, threshold, value:
                             np.where(x <= np.asarray(threshold, x.dtype), np.asarray(value, x.dtype), x)),
               vjp=(lambda g, out, x, *, threshold, value: ew.where(ew.le(ew.widened(x), threshold), 0.0, g),),
               lower=Composite(in_wide(lambda x, *, threshold, value: ew.where(ew.le(x, threshold), value, x))),
               numbers=("threshold", "value"), batch=LEADING, traits=("exact", "pointwise", "straight"),
               doc="x above the threshold, value elsewhere.")

# A slope of each channel's own.


def _infer_prelu(x, w):
    wants_float("prelu", x)
    if w.dtype is not x.dtype or w.ndim != x.ndim or any(n not in (1, size) for n, size in zip(w.shape, x.shape)):
        raise ShapeError(f"prelu of {x} takes a weight of its dtype that can be laid out over it, got {w}")
    return x


def _prelu_body(x, w):
    return ew.where(ew.gt(x, 0.0), x, ew.mul(w, x))


def _prelu_x(g, out, x, w):
    return ew.where(ew.gt(x, 0.0), g, ew.mul(w, g))


def _prelu_w(g, out, x, w):
    share = ew.where(ew.gt(x, 0.0), 0.0, ew.mul(x, g))
    dims = tuple([d for d, n in enumerate(w.shape) if n != x.shape[d]])
    return rd.sum_(share, dim=dims, keepdim=True) if dims else share


prelu = op("prelu", infer=_infer_prelu, ref=in_single(lambda x, w: np.where(x > 0, x, w * x)), vjp=(_prelu_x, _prelu_w),
           lower=Composite(_prelu_body), traits=("takes_float", "keeps_order", "autocast_low", "straight"),
           doc="x above 0, w * x below; w is laid out over x.")


# Masked activations.


def _infer_drop(x, keep, *, scale):
    wants_float("dropout", x)
    common_with_numbers("dropout", (keep, x.with_dtype(dt.bool_)))
    check_number(scale, "dropout: scale")
    return x


def _drop_body(x, keep, *, scale):
    return ew.where(keep, ew.narrowed(ew.mul(ew.widened(x), scale), x), 0.0)


def _drop(x, keep, *, scale):
    return np.asarray(np.where(keep, x * scale, 0.0), x.dtype)


drop = op("drop", title="dropout", infer=_infer_drop, ref=in_single(_drop),
          vjp=(lambda g, out, x, keep, *, scale: _drop_body(g, keep, scale=scale), None), lower=Composite(_drop_body),
          traits=("takes_float", "pointwise"), numbers=numbers_of(_drop_body), batch=LEADING,
          doc="x * scale where the mask holds, 0 elsewhere.")
