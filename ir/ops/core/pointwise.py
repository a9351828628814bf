"""Composites of independent elements: the maker of their records, and interpolation, limits, entropy, branches."""

import math
from functools import wraps

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.aval import same_shape
from ...opdef.batch_rules import LEADING
from ...opdef.op import Composite, op
from ...opdef.param_checks import check_element
from ...process_state import ignore_float_errors
from ...reference import scalar_functions
from . import elementwise as ew
from .complex_numbers import magnitude
from .elementwise_rules import common, is_low, numbers_of

# Low precision: computed in float32 and rounded once.


def in_single(fn, rounded: int | None = None):
    """Wrap a reference: float16 and bfloat16 are computed in float32 and each result, or only the first `rounded`, rounded
    once."""

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


def in_wide(body, rounded: int | None = None):
    """Wrap a body: float16 and bfloat16 are computed in float32 and each result, or only the first `rounded`, rounded once."""

    def wide(*args, **params):
        kind = dt.of(args[0])
        carried = dt.accumulator(kind)
        if carried is kind:
            return body(*args, **params)
        found = body(*[a if a is None or (hasattr(a, "dtype") and dt.of(a) is not kind) else ew.cast(a, dtype=carried)
                       for a in args], **params)
        if type(found) is not tuple:
            return ew.cast(found, dtype=kind)
        narrow = [ew.cast(x, dtype=kind) for x in found[:rounded]]
        return (*narrow, *found[len(narrow):])

    return wide


def wants_float(name, x):
    """Raise unless the value is floating point or complex."""
    if not x.dtype.is_inexact:
        raise DTypeError(f"{name} takes floating point types, got {x}; cast with .to()")


def wants_real_float(name, x):
    """Raise unless the value is floating point."""
    if not x.dtype.is_floating_point:
        raise DTypeError(f"{name} takes real floating point types, got {x}; cast with .to()")


def common_with_numbers(name, args):
    """Return the aval shared by all tensor arguments; raise for complex numbers beside real tensors."""
    like = common(name, args)
    for a in args:
        if type(a) is complex:
            check_element(a, like.dtype, f"{name}: an operand")
    return like


def pointwise(name, body, ref, vjp, *, doc, traits=(), wants=wants_float, title=""):
    """Return the record of a function of arguments of one floating point dtype and shape. Parameters of `body` are numbers."""

    said = title or name

    def infer(*args, **params):
        like = common_with_numbers(said, args)
        for what, number in params.items():
            check_element(number, like.dtype, what)
        wants(said, like)
        return like

    def exact(*args, **params):
        return np.asarray(ref(*args, **params), args[0].dtype)

    return op(name, infer=infer, ref=in_single(exact), vjp=vjp, lower=Composite(in_wide(body)),
              traits=("takes_float", "pointwise", *traits), doc=doc, numbers=numbers_of(body), batch=LEADING, title=title)


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


# Limits.


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


def _infer_clamp(x, *, min_val, max_val):
    if x.dtype.is_complex:
        raise DTypeError(f"clamp takes real types, got {x}: complex numbers have no order")
    check_element(min_val, x.dtype, "min_val")
    check_element(max_val, x.dtype, "max_val")
    return x


clamp = op("clamp", infer=_infer_clamp, ref=in_single(_clamp), vjp=(_clamp_vjp,),
           lower=Composite(_clamp_body), numbers=("min_val", "max_val"), batch=LEADING,
           traits=("exact", "ref_first", "rescued", "pointwise"),
           doc="x limited to [min_val, max_val]; the gradient goes to what lies strictly between. Infinite limits are none.")


def _infer_clamp_by(x, low, high):
    return common_with_numbers("clamp_by", [a for a in (x, low, high) if a is not None])


def _above(x, low):
    """x >= low, or x is nan. A limit that is nan is taken."""
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
    """Gradient of one of two limits: all beyond it, half at it."""
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


def _finite_body(x, *, nan, posinf, neginf):
    x = ew.where(ew.isnan(x), nan, x)
    x = ew.where(ew.isposinf(x), posinf, x)
    return ew.where(ew.isneginf(x), neginf, x)


def _finite(x, *, nan, posinf, neginf):
    x = np.where(np.isnan(x), x.dtype.type(nan), x)
    x = np.where(np.isposinf(x), x.dtype.type(posinf), x)
    return np.where(np.isneginf(x), x.dtype.type(neginf), x)


nan_to_num = pointwise("nan_to_num", _finite_body, _finite,
                       (lambda g, out, x, *, nan, posinf, neginf: ew.where(ew.isfinite(x), g, 0.0),), wants=wants_real_float,
                       doc="x with other numbers for nan and, after that, for both infinities.")


@ignore_float_errors
def _entr(x):
    return np.where(x < 0, -np.inf, np.where(x == 0, 0.0, -x * np.log(x)))


entr = pointwise("entr", lambda x: ew.where(ew.lt(x, 0.0), -math.inf, ew.sub(0.0, ew.xlogy(x, x))), _entr,
                 (lambda g, out, x: ew.where(ew.lt(x, 0.0), 0.0, ew.neg(ew.mul(g, ew.add(ew.log(x), 1.0)))),),
                 doc="-x log x; 0 at 0 and -inf below.")

# One of two whole values: a branch whose sides were both computed.


def _infer_choose(pred, x, y):
    if pred.dtype is not dt.bool_ or pred.shape:
        raise DTypeError(f"choose takes a bool without dimensions, got {pred}")
    if x.dtype is not y.dtype or not same_shape(x.shape, y.shape):
        raise ShapeError(f"choose takes two values of one kind, got {x} and {y}")
    return x


choose = op("choose", infer=_infer_choose, ref=lambda pred, x, y: np.array(x if pred else y),
            vjp=(None, lambda g, out, pred, x, y: ew.where(pred, g, 0.0), lambda g, out, pred, x, y: ew.where(pred, 0.0, g)),
            lower=Composite(lambda pred, x, y: ew.where(pred, x, y)), traits=("exact",),
            doc="x if the bool holds, else y: two tensors of one shape and dtype.")
