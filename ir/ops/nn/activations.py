"""Activations, the softmax family and the linear layer."""

import math
from functools import wraps

import numpy as np

from ...errors import DTypeError, ShapeError
from ...opdef.batch_rules import ALONG, LEADING
from ...opdef.op import Composite, op
from ...reference import scalar_functions
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.batching import lifted, repeated
from ..core.elementwise import elementwise
from ..core.elementwise_rules import numbers_of
from ..core.moments import in_wide
from ..core.shape import expand, permute, reshape
from ..linalg.products import matmul


def is_low(a) -> bool:
    """Whether an array is float16 or bfloat16 (of numpy's kind V)."""
    return a.dtype.itemsize == 2 and a.dtype.kind in "fV"


def in_single(fn, rounded: int | None = None):
    """A reference that computes float16 and bfloat16 in float32 and rounds each result once, or so many of the first ones."""

    @wraps(fn)
    def ref(*args, **params):
        kind = next((a.dtype for a in args if hasattr(a, "dtype") and is_low(a)), None)
        if kind is None:
            return fn(*args, **params)
        out = fn(*[scalar_functions.copied(a, np.float32) if hasattr(a, "dtype") and is_low(a) else a for a in args], **params)
        if type(out) is tuple:
            narrow = [o.astype(kind) if o.dtype == np.float32 else o for o in out[:rounded]]
            return (*narrow, *out[len(narrow):])
        return out.astype(kind) if out.dtype == np.float32 else out

    return ref


def wants_float(name, x):
    """Raises unless the value is floating point or complex."""
    if not x.dtype.is_inexact:
        raise DTypeError(f"{name} takes floating point types, got {x}; cast with .to()")


def wants_real_float(name, x):
    """Raises unless the value is floating point."""
    if not x.dtype.is_floating_point:
        raise DTypeError(f"{name} takes real floating point types, got {x}; cast with .to()")


def composite(name, body, ref, vjp, *, doc, traits=("takes_float",), wants=wants_float):
    """The record of an elementwise function with parameters: one argument, the result is like it."""

    def infer(x, **params):
        wants(name, x)
        return x

    def exact(x, **params):
        return np.asarray(ref(x, **params)).astype(x.dtype, copy=False)

    return op(name, infer=infer, ref=in_single(exact), vjp=(vjp,), lower=Composite(in_wide(body)),
              traits=(*traits, "pointwise"), doc=doc, numbers=numbers_of(body), batch=LEADING)


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
                          (lambda g, out, x: ew.mul(g, ew.sigmoid(ew.neg(x))),), takes="real_float", doc="log(sigmoid(x))")


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
    """The normal density."""
    return ew.mul(ew.exp(ew.mul(ew.mul(x, x), -0.5)), _DENSITY)


def _gelu_slope(x):
    share = (scalar_functions.erf(x * x.dtype.type(_SQRT_HALF)) + 1) * 0.5
    return (share + x * (np.exp(x * x * -0.5) * _DENSITY)).astype(x.dtype)


def _gelu_slope_vjp(g, out, x):
    v = ew.widened(x)
    return ew.narrowed(ew.mul(ew.widened(g), ew.mul(_density(v), ew.sub(2.0, ew.mul(v, v)))), x)


gelu_slope = elementwise("gelu_slope", _gelu_slope, (_gelu_slope_vjp,), takes="real_float", doc="The derivative of gelu.")


def gelu_slope_parts(x):
    """`gelu_slope` by other operators, which do what its scalar function does."""
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


leaky_relu = composite("leaky_relu", _leaky_relu_body,
                       lambda x, *, negative_slope: np.where(x > 0, x, x * x.dtype.type(negative_slope)), _leaky_relu_vjp,
                       traits=("takes_float", "ref_first", "straight"), wants=wants_real_float,
                       doc="x above 0, negative_slope * x below.")


def _elu_body(x, *, alpha, scale, input_scale):
    below = ew.mul(ew.expm1(ew.mul(x, input_scale)), alpha * scale)
    return ew.where(ew.gt(x, 0.0), ew.mul(x, scale), below)


def _elu_vjp(g, out, x, *, alpha, scale, input_scale):
    """The exponential is that of 0 where it is not taken: it could overflow, and be nan in the rule of this rule."""
    above = ew.gt(x, 0.0)
    below = ew.mul(ew.exp(ew.mul(ew.where(above, 0.0, x), input_scale)), alpha * scale * input_scale)
    return ew.mul(g, ew.where(above, scale, below))


elu = composite("elu", _elu_body,
                lambda x, *, alpha, scale, input_scale:
                    np.where(x > 0, x * scale, np.expm1(np.minimum(x, 0) * input_scale) * (alpha * scale)), _elu_vjp,
                doc="scale * x above 0, scale * alpha * (exp(input_scale * x) - 1) below.")


def _hardtanh_body(x, *, min_val, max_val):
    return ew.maximum(ew.minimum(x, max_val), min_val)


def _hardtanh_vjp(g, out, x, *, min_val, max_val):
    return ew.where(ew.logical_or(ew.le(out, min_val), ew.ge(out, max_val)), 0.0, g)


hardtanh = op("hardtanh", infer=lambda x, *, min_val, max_val: x,
              ref=in_single(lambda x, *, min_val, max_val:
                            np.maximum(np.minimum(x, np.asarray(max_val, x.dtype)), np.asarray(min_val, x.dtype))),
              vjp=(_hardtanh_vjp,), lower=Composite(_hardtanh_body), numbers=("min_val", "max_val"), batch=LEADING,
              traits=("exact", "rescued", "pointwise", "straight"),
              doc="x limited to [min_val, max_val]; no gradient at or beyond the limits.")


def _clamp(x, *, min_val, max_val):
    x = np.where(x < min_val, np.asarray(min_val, x.dtype), x)
    return np.where(x > max_val, np.asarray(max_val, x.dtype), x)


def _clamp_body(x, *, min_val, max_val):
    x = ew.where(ew.lt(x, min_val), min_val, x)
    return ew.where(ew.gt(x, max_val), max_val, x)


def _clamp_vjp(g, out, x, *, min_val, max_val):
    above = (ew.ge if min_val == -math.inf else ew.gt)(out, min_val)
    below = (ew.le if max_val == math.inf else ew.lt)(out, max_val)
    return ew.where(ew.logical_and(above, below), g, 0.0)


clamp = op("clamp", infer=lambda x, *, min_val, max_val: x, ref=in_single(_clamp), vjp=(_clamp_vjp,),
           lower=Composite(_clamp_body), numbers=("min_val", "max_val"), batch=LEADING,
           traits=("exact", "ref_first", "rescued", "pointwise"),
           doc="x limited to [min_val, max_val]; the gradient goes to what lies strictly between. Infinite limits are none.")


def _hardsigmoid_body(x):
    return ew.div(ew.maximum(ew.minimum(ew.add(x, 3.0), 6.0), 0.0), 6.0)


def _hardsigmoid_vjp(g, out, x):
    return ew.where(ew.logical_and(ew.gt(x, -3.0), ew.lt(x, 3.0)), ew.div(g, 6.0), 0.0)


hardsigmoid = composite("hardsigmoid", _hardsigmoid_body, lambda x: np.clip(x + 3, 0, 6) / 6, _hardsigmoid_vjp,
                        traits=("takes_float", "straight"), doc="clamp(x + 3, 0, 6) / 6")


def _hardswish_body(x):
    return ew.div(ew.mul(x, ew.maximum(ew.minimum(ew.add(x, 3.0), 6.0), 0.0)), 6.0)


def _hardswish_vjp(g, out, x):
    middle = ew.narrowed(ew.mul(ew.widened(g), ew.add(ew.div(ew.widened(x), 3.0), 0.5)), x)
    return ew.where(ew.le(x, -3.0), 0.0, ew.where(ew.lt(x, 3.0), middle, g))


hardswish = composite("hardswish", _hardswish_body, lambda x: x * np.clip(x + 3, 0, 6) / 6, _hardswish_vjp,
                      doc="x * hardsigmoid(x)")


def _outside(g, out, x, *, lambd):
    """The gradient of what shrinks |x| <= lambd to 0, compared as the function compares: in float32 at least."""
    return ew.where(ew.le(ew.abs_(ew.widened(x)), lambd), 0.0, g)


def _hardshrink_body(x, *, lambd):
    return ew.where(ew.le(ew.abs_(x), lambd), 0.0, x)


hardshrink = composite("hardshrink", _hardshrink_body, lambda x, *, lambd: np.where(np.abs(x) <= lambd, 0, x), _outside,
                       doc="0 where |x| <= lambd, x elsewhere.", traits=("exact", "takes_float", "straight"))


def _softshrink_body(x, *, lambd):
    low = ew.where(ew.lt(x, -lambd), ew.add(x, lambd), ew.mul(x, 0.0))
    return ew.where(ew.gt(x, lambd), ew.sub(x, lambd), low)


softshrink = composite("softshrink", _softshrink_body,
                       lambda x, *, lambd: np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0)), _outside,
                       doc="x moved towards 0 by lambd, 0 within.", traits=("exact", "takes_float", "straight"))
threshold = op("threshold", infer=lambda x, *, threshold, value: x,
               ref=in_single(lambda x, *, threshold, value:
                             np.where(x <= np.asarray(threshold, x.dtype), np.asarray(value, x.dtype), x)),
               vjp=(lambda g, out, x, *, threshold, value: ew.where(ew.le(ew.widened(x), threshold), 0.0, g),),
               lower=Composite(in_wide(lambda x, *, threshold, value: ew.where(ew.le(x, threshold), value, x))),
               numbers=("threshold", "value"), batch=LEADING, traits=("exact", "pointwise", "straight"),
               doc="x above the threshold, value elsewhere.")

# Softmax.


def _along(name):
    def infer(x, *, dim):
        wants_real_float(name, x)
        if not 0 <= dim < x.ndim:
            raise ShapeError(f"{name} of {x} along dim {dim}: there is no such dimension")
        return x

    return infer


def _row_sum(x, dim):
    """Sums along a dimension, laid out over it again."""
    return expand(rd.sum_(x, dim=(dim,), keepdim=True), shape=x.shape)


def shifted(x, dim):
    """x minus its largest value along a dimension (which may be empty)."""
    if not x.shape[dim]:
        return x
    return ew.sub(x, expand(rd.amax(x, dim=(dim,), keepdim=True), shape=x.shape))


def _softmax_body(x, *, dim):
    e = ew.exp(shifted(x, dim))
    total = rd.sum_(e, dim=(dim,), keepdim=True)
    return ew.mul(e, expand(ew.div(1.0, total), shape=x.shape))


def _softmax(x, *, dim):
    if not x.size:
        return np.array(x, copy=True)
    e = np.exp(x - x.max(axis=dim, keepdims=True))
    e /= e.sum(axis=dim, keepdims=True)
    return e


def _softmax_grad_body(g, y, *, dim):
    weighted = ew.mul(g, y)
    return ew.sub(weighted, ew.mul(y, _row_sum(weighted, dim)))


def _softmax_grad(g, y, *, dim):
    weighted = g * y
    return weighted - y * weighted.sum(dim, keepdims=True)


def _softmax_grad_y(h, out, g, y, *, dim):
    return ew.sub(ew.mul(h, ew.sub(g, _row_sum(ew.mul(g, y), dim))), ew.mul(g, _row_sum(ew.mul(h, y), dim)))


softmax_grad = op("softmax_grad", infer=lambda g, y, *, dim: y, ref=in_single(_softmax_grad), batch=ALONG,
                  vjp=(lambda h, out, g, y, *, dim: softmax_grad(h, y, dim=dim), _softmax_grad_y),
                  lower=Composite(in_wide(_softmax_grad_body)), doc="The gradient of softmax by its result y.")

softmax = op("softmax", infer=_along("softmax"), ref=in_single(_softmax), lower=Composite(_softmax_body), batch=ALONG,
             vjp=(lambda g, out, x, *, dim: softmax_grad(g, out, dim=dim),),
             traits=("takes_float", "wide_on_gpu"), doc="exp(x) / sum(exp(x)) along a dimension, without overflow.")


def _log_softmax_body(x, *, dim):
    y = shifted(x, dim)
    return ew.sub(y, ew.log(_row_sum(ew.exp(y), dim)))


def _log_softmax(x, *, dim):
    if not x.size:
        return np.array(x, copy=True)
    y = x - x.max(axis=dim, keepdims=True)
    y -= np.log(np.exp(y).sum(axis=dim, keepdims=True))
    return y


def _log_softmax_grad_body(g, y, *, dim):
    return ew.sub(g, ew.mul(ew.exp(y), _row_sum(g, dim)))


log_softmax_grad = op(
    "log_softmax_grad", infer=lambda g, y, *, dim: y, batch=ALONG, lower=Composite(in_wide(_log_softmax_grad_body)),
    ref=in_single(lambda g, y, *, dim: g - np.exp(y) * g.sum(dim, keepdims=True)),
    vjp=(lambda h, out, g, y, *, dim: ew.sub(h, _row_sum(ew.mul(ew.exp(y), h), dim)),
         lambda h, out, g, y, *, dim: ew.neg(ew.mul(ew.mul(h, ew.exp(y)), _row_sum(g, dim)))),
    doc="The gradient of log_softmax by its result y.")

log_softmax = op("log_softmax", infer=_along("log_softmax"), ref=in_single(_log_softmax),
                 vjp=(lambda g, out, x, *, dim: log_softmax_grad(g, out, dim=dim),),
                 lower=Composite(_log_softmax_body), batch=ALONG,
                 traits=("takes_float", "wide_on_gpu"), doc="log(softmax(x)) along a dimension.")

# The linear layer.


def _infer_linear(x, w, b):
    kinds = [a for a in (x, w, b) if a is not None]
    if any(a.dtype is not x.dtype for a in kinds):
        raise DTypeError(f"linear takes tensors of one dtype, got {' and '.join(map(str, kinds))}; cast one with .to()")
    if x.ndim < 1 or w.ndim != 2 or x.shape[-1] != w.shape[1]:
        raise ShapeError(f"linear of {x} with weight {w}: the weight is (out_features, in_features) and in_features must be "
                         f"the input's last size")
    if b is not None and b.shape != w.shape[:1]:
        raise ShapeError(f"linear with weight {w} takes a bias of shape ({w.shape[0]},), got {b}")
    return x.with_shape((*x.shape[:-1], w.shape[0]))


def _linear(x, w, b):
    out = np.matmul(x.reshape(-1, x.shape[-1]) if x.size else x.reshape(rows_of(x.shape), x.shape[-1]), w.T)
    if b is not None:
        out += b
    return out.reshape(*x.shape[:-1], w.shape[0])


def rows_of(shape) -> int:
    """How many rows a value has when all but its last dimension count as rows."""
    return math.prod(shape[:-1])


def as_rows(x):
    """The value as a matrix: all but the last dimension are rows."""
    return x if len(x.shape) == 2 else reshape(x, shape=(rows_of(x.shape), x.shape[-1]))


def _linear_body(x, w, b):
    out = matmul(as_rows(x), permute(w, dims=(1, 0)))
    out = out if len(x.shape) == 2 else reshape(out, shape=(*x.shape[:-1], w.shape[0]))
    return out if b is None else ew.add(out, expand(b, shape=out.shape))


def _linear_x(g, out, x, w, b):
    back = matmul(as_rows(g), w)
    return back if len(x.shape) == 2 else reshape(back, shape=x.shape)


def _linear_w(g, out, x, w, b):
    return matmul(permute(as_rows(g), dims=(1, 0)), as_rows(x))


def _linear_b(g, out, x, w, b):
    return rd.sum_(as_rows(g), dim=(0,), keepdim=False)


def _batch_linear(size, op, args, held, params):
    x, w, b = args
    if not held[1] and not held[2]:
        return op(x, w, b)
    inner = x.shape[held[0]:]
    if not held[1]:
        found = op(x, w, None)
    else:
        flat = reshape(x, shape=(*x.shape[:held[0]], math.prod(inner[:-1]), inner[-1]))
        flat = flat if held[0] else repeated(flat, size)
        found = reshape(matmul(flat, permute(w, dims=(0, 2, 1))), shape=(size, *inner[:-1], w.shape[1]))
    return found if b is None else ew.add(found, lifted(b, len(inner)) if held[2] else b)


linear = op("linear", infer=_infer_linear, ref=in_single(_linear), vjp=(_linear_x, _linear_w, _linear_b),
            lower=Composite(_linear_body), batch=_batch_linear, traits=("autocast_low", "self_checking", "reads_turned_weight"),
            flops=lambda args, outs, params: 2 * math.prod(outs[0].shape) * args[0].shape[-1],
            doc="x @ w.T + b; w is (out_features, in_features), b may be None.")

# Joining the histories of several values.

group = op("group", infer=lambda *xs: tuple(xs), ref=lambda *xs: tuple(xs),
           vjp=lambda g, out, *xs, needs: g if type(g) is tuple else (g,), saves=(), lower=Composite(lambda *xs: xs),
           batch=LEADING,
           traits=("exact", "keeps_order", "one_by_one"),
           doc="Its floating point arguments, with one history node for all of them.")
