"""Pointwise functions of several pieces or steps that are one operator each, so that they are one kernel in eager mode, too."""

import math

import numpy as np

from ... import dtype as dt
from ...errors import ShapeError
from ...opdef.batch_rules import LEADING
from ...opdef.op import Composite, op
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.complex_numbers import magnitude
from ..core.elementwise_rules import common, numbers_of
from ..core.moments import in_wide
from ..core.shape import expand
from .activations import in_single, wants_float


def _infer(name):
    def infer(*args, **params):
        like = common(name, args)
        wants_float(name, like)
        return like

    return infer


def pointwise(name, body, ref, vjp, *, doc, traits=()):
    """The record of a function of floating point arguments of one shape."""

    def exact(*args, **params):
        return np.asarray(ref(*args, **params), args[0].dtype)

    return op(name, infer=_infer(name), ref=in_single(exact), vjp=vjp, lower=Composite(in_wide(body)),
              traits=("takes_float", "pointwise", *traits), doc=doc, numbers=numbers_of(body), batch=LEADING)


# The square of a difference, and one that goes on as a line.


def _squared_body(x, y):
    gap = ew.sub(x, y)
    return ew.mul(gap, gap)


def _squared_slope(g, x, y):
    gap = ew.sub(ew.widened(x), ew.widened(y))
    return ew.narrowed(ew.mul(ew.mul(ew.widened(g), 2.0), gap), x)


squared_gap = pointwise("squared_gap", _squared_body, lambda x, y: (x - y) * (x - y),
                        (lambda g, out, x, y: _squared_slope(g, x, y), lambda g, out, x, y: _squared_slope(g, y, x)),
                        doc="(x - y)^2")


def _huber_body(x, y, *, bound, curve, slope):
    gap = ew.abs_(ew.sub(x, y))
    far = ew.mul(ew.sub(gap, 0.5 * bound), slope)
    return ew.where(ew.le(gap, bound), ew.mul(ew.mul(gap, gap), curve), far)


def _huber(x, y, *, bound, curve, slope):
    gap = np.abs(x - y)
    return np.where(gap <= bound, gap * gap * curve, (gap - 0.5 * bound) * slope)


def _huber_slope(g, x, y, bound, curve, slope):
    gap = ew.sub(ew.widened(x), ew.widened(y))
    steep = ew.where(ew.gt(gap, bound), slope, ew.where(ew.lt(gap, -bound), -slope, ew.mul(gap, 2 * curve)))
    return ew.narrowed(ew.mul(ew.widened(g), steep), x)


huber = pointwise("huber", _huber_body, _huber,
                  (lambda g, out, x, y, *, bound, curve, slope: _huber_slope(g, x, y, bound, curve, slope),
                   lambda g, out, x, y, *, bound, curve, slope: _huber_slope(g, y, x, bound, curve, slope)),
                  doc="curve * (x - y)^2 where |x - y| <= bound, the line (|x - y| - bound / 2) * slope beyond.")

# Between two values.


def _lerp_body(x, y, *, weight):
    span = ew.sub(y, x)
    return ew.add(x, ew.mul(span, weight)) if abs(weight) < 0.5 else ew.sub(y, ew.mul(span, 1 - weight))


def _lerp(x, y, *, weight):
    return x + (y - x) * weight if abs(weight) < 0.5 else y - (y - x) * (1 - weight)


def _lerp_x(g, out, x, y, *, weight):
    return ew.sub(g, ew.mul(g, weight)) if abs(weight) < 0.5 else ew.mul(g, 1 - weight)


def _lerp_y(g, out, x, y, *, weight):
    return ew.mul(g, weight) if abs(weight) < 0.5 else ew.sub(g, ew.mul(g, 1 - weight))


lerp = pointwise("lerp", _lerp_body, _lerp, (_lerp_x, _lerp_y),
                 doc="x + weight * (y - x), exact at both ends; gradients in the steps of the body.")

def _lerp_by_body(x, y, w):
    span = ew.sub(y, x)
    return ew.where(ew.lt(magnitude(w), 0.5), ew.add(x, ew.mul(w, span)), ew.sub(y, ew.mul(span, ew.sub(1.0, w))))


def _lerp_by(x, y, w):
    return np.where(np.abs(w) < 0.5, x + w * (y - x), y - (y - x) * (1 - w))


lerp_by = pointwise("lerp_by", _lerp_by_body, _lerp_by,
                    (lambda g, out, x, y, w: ew.mul(g, ew.sub(1.0, w)), lambda g, out, x, y, w: ew.mul(g, w),
                     lambda g, out, x, y, w: ew.mul(g, ew.sub(y, x))),
                    doc="x + w * (y - x) for a weight of each element's own, exact at both ends.")

# What a mask leaves.


def _infer_drop(x, keep, *, scale):
    wants_float("drop", x)
    common("drop", (keep, x.with_dtype(dt.bool_)))
    return x


def _drop_body(x, keep, *, scale):
    return ew.where(keep, ew.narrowed(ew.mul(ew.widened(x), scale), x), 0.0)


def _drop(x, keep, *, scale):
    return np.asarray(np.where(keep, x * scale, 0.0), x.dtype)


drop = op("drop", infer=_infer_drop, ref=in_single(_drop),
          vjp=(lambda g, out, x, keep, *, scale: _drop_body(g, keep, scale=scale), None), lower=Composite(_drop_body),
          traits=("takes_float", "pointwise"), numbers=numbers_of(_drop_body), batch=LEADING,
          doc="x * scale where the mask holds, 0 elsewhere.")

# Limits of each element's own, either of which may be missing.


def _infer_clamp_by(x, low, high):
    return common("clamp_by", [a for a in (x, low, high) if a is not None])


def _above(x, low):
    """Where x stays itself beside a lower limit: a limit that is nan is taken, and x that is nan stays."""
    return _or_nan(ew.ge(x, low), x)


def _below(x, high):
    return _or_nan(ew.le(x, high), x)


def _or_nan(holds, x):
    return ew.logical_or(holds, ew.isnan(x)) if dt.of(x).is_inexact else holds


def _raised(x, low):
    return x if low is None else ew.where(_above(x, low), x, low)


def _clamp_by_body(x, low, high):
    x = _raised(x, low)
    return x if high is None else ew.where(_below(x, high), x, high)


def _clamp_by(x, low, high):
    if low is not None:
        x = np.where((x >= low) | (x != x), x, low)
    return x if high is None else np.where((x <= high) | (x != x), x, high)


def _clamp_by_x(g, out, x, low, high):
    if high is None:
        return ew.share(g, x, low, ew.lt(x, low))
    if low is None:
        return ew.share(g, x, high, ew.gt(x, high))
    tied = ew.logical_and(ew.lt(low, high), ew.logical_or(ew.eq(x, low), ew.eq(x, high)))
    return ew.where(ew.logical_or(ew.lt(x, low), ew.gt(x, high)), 0.0, ew.where(tied, ew.mul(g, 0.5), g))


def _to_limit(g, x, limit, passed, low, high):
    """The gradient of one of two limits, where it is not the only one to count: all beyond it, half at it."""
    tied = ew.logical_and(ew.lt(low, high), ew.eq(x, limit))
    return ew.where(ew.logical_and(ew.le(low, high), passed), g, ew.where(tied, ew.mul(g, 0.5), 0.0))


def _clamp_by_low(g, out, x, low, high):
    if high is None:
        return ew.share(g, low, x, ew.gt(x, low))
    return _to_limit(g, x, low, ew.lt(x, low), low, high)


def _clamp_by_high(g, out, x, low, high):
    if low is None:
        return ew.share(g, high, x, ew.lt(x, high))
    return ew.where(ew.gt(low, high), g, _to_limit(g, x, high, ew.gt(x, high), low, high))


clamp_by = op("clamp_by", infer=_infer_clamp_by, ref=in_single(_clamp_by),
              vjp=(_clamp_by_x, _clamp_by_low, _clamp_by_high), lower=Composite(_clamp_by_body), traits=("exact", "pointwise"),
              doc="x limited by tensors of its shape; at a limit both have half of the gradient.")

# Finite numbers for those that are not.


def _finite_body(x, *, nan, posinf, neginf):
    x = ew.where(ew.isnan(x), nan, x)
    x = ew.where(ew.isposinf(x), posinf, x)
    return ew.where(ew.isneginf(x), neginf, x)


def _finite(x, *, nan, posinf, neginf):
    x = np.where(np.isnan(x), x.dtype.type(nan), x)
    x = np.where(np.isposinf(x), x.dtype.type(posinf), x)
    return np.where(np.isneginf(x), x.dtype.type(neginf), x)


nan_to_num = pointwise("nan_to_num", _finite_body, _finite,
                       (lambda g, out, x, *, nan, posinf, neginf: ew.where(ew.isfinite(x), g, 0.0),),
                       doc="x with other numbers for nan and, after that, for both infinities.")

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

# To steps and back.


def _infer_steps(x, inverse, scale, zero, *, low, high, whole):
    wants_float("fake_quantize", x)
    for name, v in (("scale", scale), ("inverse", inverse), ("zero", zero)):
        if v.dtype is not x.dtype or v.ndim != x.ndim or any(n not in (1, size) for n, size in zip(v.shape, x.shape)):
            raise ShapeError(f"fake_quantize of {x} takes a {name} of its dtype that can be laid out over it, got {v}")
    return x


def _step_of(x, inverse, zero, whole):
    """The number of the step that is nearest to x, before it is limited."""
    count, zero = ew.mul(x, expand(inverse, shape=x.shape)), expand(zero, shape=x.shape)
    return ew.add(ew.round_(count), zero) if whole else ew.round_(ew.add(count, zero))


def _steps_body(x, inverse, scale, zero, *, low, high, whole):
    step = _step_of(x, inverse, zero, whole)
    step = ew.where(ew.ge(step, low), step, low)
    step = ew.where(ew.le(step, high), step, high)
    return ew.mul(ew.sub(step, expand(zero, shape=x.shape)), expand(scale, shape=x.shape))


def _steps(x, inverse, scale, zero, *, low, high, whole):
    step = np.round(x * inverse) + zero if whole else np.round(x * inverse + zero)
    step = np.where(step >= low, step, x.dtype.type(low))
    return (np.where(step <= high, step, x.dtype.type(high)) - zero) * scale


def _steps_x(g, out, x, inverse, scale, zero, *, low, high, whole):
    step = _step_of(x, inverse, zero, whole)
    return ew.where(ew.logical_and(ew.ge(step, low), ew.le(step, high)), g, 0.0)


fake_quantize = op("fake_quantize", infer=_infer_steps, ref=in_single(_steps), vjp=(_steps_x, None, None, None),
                   lower=Composite(in_wide(_steps_body)), traits=("takes_float",),
                   doc="x as it comes back from the nearest of steps of size `scale`, numbered from low to high, where `zero` "
                       "is 0, a whole number or one between (nan is the lowest step). The gradient is that of x itself, where "
                       "x is between the limits.")


# Entropy.


def _entr(x):
    with np.errstate(all="ignore"):
        return np.where(x < 0, -np.inf, np.where(x == 0, 0.0, -x * np.log(x)))


entr = pointwise("entr", lambda x: ew.where(ew.lt(x, 0.0), -math.inf, ew.sub(0.0, ew.xlogy(x, x))), _entr,
                 (lambda g, out, x: ew.where(ew.lt(x, 0.0), 0.0, ew.neg(ew.mul(g, ew.add(ew.log(x), 1.0)))),),
                 doc="-x log x; 0 at 0 and -inf below.")
