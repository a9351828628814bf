"""Clamp: values limited to an interval."""

from math import inf, nan

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.pointwise import clamp as clamp_between
from ....ir.ops.core.pointwise import clamp_by
from ...core.device_array import DeviceArray
from ...core.placement import on_device_of
from ...core.tensor import Tensor
from ...state.mode import tls
from ..register.register import api, deliver
from ..register.type_promotion import as_operand, need_tensors, result_type, to_dtype
from ..views.reshaping import broadcast_tensors


@api(inplace=(clamp_between, clamp_by), names=("clip",), memoised=True)
def clamp(input, min=None, max=None, *, out=None):
    """Limit values to [min, max]; either may be missing, a number or a tensor."""
    if min is None and max is None:
        raise ArgumentError("clamp needs min, max or both")
    if _has_plain_bounds(input, min, max):
        result = _within(input, min, max)
        return result if out is None else deliver(result, out, "clamp")
    need_tensors("clamp", input)
    min, max = (b if b is None else as_operand(b, "clamp") for b in (min, max))
    d = result_type(input, *[b for b in (min, max) if b is not None])
    if d.is_complex:
        raise DTypeError(f"clamp takes real types, got {d.name}: complex numbers have no order")
    x, tensors = to_dtype(input, d), [isinstance(b, Tensor) for b in (min, max)]
    if not any(tensors):
        x = _between(x, min, max, d)
    elif min is None or max is None or all(tensors):
        x = _between_tensors(x, min, max, d)
    else:
        x = (_between_tensors if tensors[0] else _between)(x, min, None, d)
        x = (_between_tensors if tensors[1] else _between)(x, None, max, d)
    return deliver(x, out, "clamp")


def _between_tensors(x, low, high, d):
    known = [v if v is None else to_dtype(v, d) for v in (x, low, high)]
    if any(v is not None and v.shape != x.shape for v in known):
        there = iter(broadcast_tensors(*[v if v.ndim or v._a.__class__ is DeviceArray else on_device_of(v, x)
                                         for v in known if v is not None]))
        known = [v if v is None else next(there) for v in known]
    return clamp_by(*known)


def _between(x, low, high, d):
    """Limit values by numbers. The gradient passes strictly between them. The tape saves only a mask, so the argument may be
    overwritten."""
    if not (tls.m.grad and x.requires_grad):
        return _limited(x, low, high, d)
    above, below = None if low is None else ew.gt(x, low), None if high is None else ew.lt(x, high)
    inside = below if above is None else above if below is None else ew.logical_and(above, below)
    return ew.where.call(inside, x, _limited(x.detach(), low, high, d))


def _limited(x, low, high, d):
    """Limit values by numbers, without the tape."""
    if _has_plain_bounds(x, low, high):
        return _within(x, low, high)
    if low is not None:
        x = _bound(x, low, d, ew.lt)
    return x if high is None else _bound(x, high, d, ew.gt)


def _within(x, low, high):
    """Limit values by plain numbers; a missing one is the bound of the dtype."""
    least, most = dt.int_range(x.dtype) if x._a.dtype.kind != "f" else (-inf, inf)
    return clamp_between.call(x, min_val=least if low is None else type(least)(low),
                              max_val=most if high is None else type(most)(high))


def _has_plain_bounds(x, low, high) -> bool:
    """Return whether plain numbers limit floats or integers, and the dtype holds them. For the tape they must be finite. A
    recorder needs each bound as an operand."""
    m = tls.m
    if m.special or not isinstance(x, Tensor):
        return False
    kind = x._a.dtype.kind
    if kind in "iu":
        least, most = dt.int_range(x.dtype)
        return all(b is None or (b.__class__ is int and least <= b <= most) for b in (low, high))
    if kind != "f" or x._a.itemsize <= 2:
        return False
    taped = m.grad and x._node is not None
    for b in (low, high):
        if b is None:
            continue
        if not (b.__class__ is float or (b.__class__ is int and -_EXACT < b < _EXACT)) or b != b or (taped and abs(b) == inf):
            return False
    return True


_EXACT = 1 << 53     # integers below are exact as doubles


def _bound(x, bound, d, passes):
    """Apply one side of clamp by a number."""
    if bound != bound:
        return ew.mul.call(x, nan)
    if d.is_integer:
        low, high = dt.int_range(d)
        if bound > high if passes is ew.lt else bound < low:
            raise ArgumentError(f"clamp: no {d.name} value is {'>=' if passes is ew.lt else '<='} the bound {bound}; {d.name} "
                                f"holds {low} to {high}")
        bound = low if bound < low else high if bound > high else bound
    return ew.where.call(passes(x, bound), bound, x)      # nan passes no bound


@api(inplace=clamp_between, memoised=True)
def clamp_min(input, min, *, out=None):
    """Raise values below min to min."""
    return clamp(input, min=min, out=out)


@api(inplace=clamp_between, memoised=True)
def clamp_max(input, max, *, out=None):
    """Lower values above max to max."""
    return clamp(input, max=max, out=out)
