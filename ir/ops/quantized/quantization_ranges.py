"""Running ranges observed in training, and the quantisation steps that ranges are divided into."""


import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, ShapeError
from ...opdef.aval import Aval
from ...opdef.op import NO_GRAD, Composite, op
from ...opdef.param_checks import check_choice, check_flag, check_int, check_number
from ...process_state import ignore_float_errors
from ..core import elementwise as ew
from ..core.pointwise import in_single, in_wide, wants_real_float
from ..core.shape import expand, full

AFFINE, SYMMETRIC, FITTED, FLOATING = KINDS = ("affine", "symmetric", "fitted", "floating")
_LEAST, _MOST = -1 << 31, (1 << 31) - 1       # of steps
_MOST_SINGLE = float(np.finfo(np.float32).max)


def _infer_followed(low, high, seen_low, seen_high, *, share):
    if any(v != low for v in (high, seen_low, seen_high)) or low.dtype is not dt.float32:
        raise ShapeError(f"followed_range takes ends of float32 of one shape, got {low}, {high}, {seen_low} and {seen_high}")
    check_number(share, "followed_range: share", -_MOST_SINGLE, _MOST_SINGLE)
    return low, low


def _followed_body(low, high, seen_low, seen_high, *, share):
    def follow(latest, running):
        return ew.where(ew.isinf(running), latest, ew.add(running, ew.mul(ew.sub(latest, running), share)))

    return follow(low, seen_low), follow(high, seen_high)


@ignore_float_errors
def _followed(low, high, seen_low, seen_high, *, share):
    share = np.float32(share)
    return tuple(np.where(np.isinf(running), latest, running + (latest - running) * share)
                 for latest, running in ((low, seen_low), (high, seen_high)))


followed_range = op("followed_range", infer=_infer_followed, ref=_followed, vjp=NO_GRAD, lower=Composite(_followed_body),
                    traits=("ref_first",),
                    doc="A range (its two ends) on its way to the one that was found, by a share of the distance; ends that "
                        "are infinite have seen nothing yet and become what was found.")

# Steps.


def _infer_steps(low, high, *, least, most, kind, eps, middle):
    if low != high or low.dtype is not dt.float32:
        raise ShapeError(f"range_steps takes the ends of ranges in float32, got {low} and {high}")
    for what, number in (("least", least), ("most", most), ("middle", middle)):
        check_int(number, f"range_steps: {what}", _LEAST, _MOST)
    if not least < most:
        raise ArgumentError(f"range_steps takes least < most, got {least} and {most}")
    check_choice(kind, KINDS, "range_steps: kind")
    check_number(eps, "range_steps: eps", 0, _MOST_SINGLE)
    return low, Aval(low.shape, dt.float32 if kind == FLOATING else dt.int32)


def _fit(least, most) -> tuple:
    """Return (divisors of a range's ends, factor of the larger quotient), so that neither end is cut off."""
    half = (most - least) // 2
    return float(half + 1), float(half), (2 * half + 1) / (most - least)


def _steps_body(low, high, *, least, most, kind, eps, middle):
    if kind == FLOATING:
        scale = ew.div(ew.sub(high, low), float(most - least))
        scale = ew.where(ew.gt(scale, eps), scale, 1.0)
        return scale, ew.div(ew.neg(low), scale)
    low, high = ew.minimum(low, 0.0), ew.maximum(high, 0.0)
    if kind in (SYMMETRIC, FITTED):
        below, above, more = _fit(least, most)
        scale = ew.div(ew.maximum(ew.neg(low), high), (most - least) / 2) if kind == SYMMETRIC else ew.mul(
            ew.maximum(ew.div(ew.neg(low), below), ew.div(high, above)), more)
        return ew.maximum(scale, eps), full(low, shape=low.shape, value=middle, dtype=dt.int32)
    scale = ew.maximum(ew.div(ew.sub(high, low), float(most - least)), eps)
    zero = ew.sub(float(least), ew.round_(ew.div(low, scale)))
    zero = ew.where(ew.ge(zero, float(least)), zero, float(least))
    return scale, ew.cast(ew.where(ew.le(zero, float(most)), zero, float(most)), dtype=dt.int32)


@ignore_float_errors
def _steps(low, high, *, least, most, kind, eps, middle):
    one, eps = np.float32, np.float32(eps)
    if kind == FLOATING:
        scale = (high - low) / one(most - least)
        scale = np.where(scale > eps, scale, one(1))
        return scale, np.asarray(-low / scale)
    low, high = np.minimum(low, one(0)), np.maximum(high, one(0))
    if kind in (SYMMETRIC, FITTED):
        below, above, more = map(one, _fit(least, most))
        scale = np.maximum(-low, high) / one((most - least) / 2) if kind == SYMMETRIC else np.maximum(
            -low / below, high / above) * more
        return np.asarray(np.maximum(scale, eps)), np.full(low.shape, middle, np.int32)
    scale = np.asarray(np.maximum((high - low) / one(most - least), eps))
    zero = one(least) - np.rint(low / scale)
    zero = np.where(zero >= least, zero, one(least))
    return scale, np.where(zero <= most, zero, one(most)).astype(np.int32)


range_steps = op("range_steps", infer=_infer_steps, ref=_steps, vjp=NO_GRAD, lower=Composite(_steps_body),
                 traits=("ref_first",),
                 doc="The size of steps from `least` to `most` over ranges that 0 is a part of (at least eps), and the step "
                     "that 0 is: the nearest ('affine'); `middle`, for ranges that go as far up as down ('symmetric'), or "
                     "have one step more below, as bytes do ('fitted'); a float ('floating').")


def _infer_fake_quantize(x, inverse, scale, zero, *, low, high, whole):
    wants_real_float("fake_quantize", x)
    for name, limit in (("low", low), ("high", high)):
        check_number(limit, f"fake_quantize: {name}", _LEAST, _MOST)
    check_flag(whole, "fake_quantize: whole")
    for name, v in (("scale", scale), ("inverse", inverse), ("zero", zero)):
        if v.dtype is not x.dtype or v.ndim != x.ndim or any(n not in (1, size) for n, size in zip(v.shape, x.shape)):
            raise ShapeError(f"fake_quantize of {x} takes a {name} of its dtype that can be laid out over it, got {v}")
    return x


def _step_of(x, inverse, zero, whole):
    """Return the number of the step nearest to x, before limits."""
    count, zero = ew.mul(x, expand(inverse, shape=x.shape)), expand(zero, shape=x.shape)
    return ew.add(ew.round_(count), zero) if whole else ew.round_(ew.add(count, zero))


def _fake_quantize_body(x, inverse, scale, zero, *, low, high, whole):
    step = _step_of(x, inverse, zero, whole)
    step = ew.where(ew.ge(step, low), step, low)
    step = ew.where(ew.le(step, high), step, high)
    return ew.mul(ew.sub(step, expand(zero, shape=x.shape)), expand(scale, shape=x.shape))


def _fake_quantize(x, inverse, scale, zero, *, low, high, whole):
    step = np.round(x * inverse) + zero if whole else np.round(x * inverse + zero)
    step = np.where(step >= low, step, x.dtype.type(low))
    return (np.where(step <= high, step, x.dtype.type(high)) - zero) * scale


def _fake_quantize_x(g, out, x, inverse, scale, zero, *, low, high, whole):
    step = _step_of(x, inverse, zero, whole)
    return ew.where(ew.logical_and(ew.ge(step, low), ew.le(step, high)), g, 0.0)


fake_quantize = op("fake_quantize", infer=_infer_fake_quantize, ref=in_single(_fake_quantize), traits=("takes_float",),
                   vjp=(_fake_quantize_x, None, None, None), lower=Composite(in_wide(_fake_quantize_body)),
                   doc="x as it comes back from the nearest of steps of size `scale`, numbered from low to high, where `zero` "
                       "is 0, a whole number or one between (nan is the lowest step). The gradient is that of x itself, where "
                       "x is between the limits.")
