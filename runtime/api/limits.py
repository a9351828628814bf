"""Values kept between limits."""

from math import inf

from ...ir import dtype as dt
from ...ir.errors import ArgumentError
from ...ir.ops import elementwise as ew
from ...ir.ops.nn import clamp as clamp_between
from ...ir.ops.piecewise import clamp_by
from ..state import tls
from ..tensor import Tensor
from .promote import as_operand, need_tensors, result_type, to_dtype
from .register import api, deliver


@api(inplace=(clamp_between, clamp_by), names=("clip",))
def clamp(input, min=None, max=None, *, out=None):
    """Limits values to [min, max]; either may be missing, a number or a tensor."""
    if min is None and max is None:
        raise ArgumentError("clamp needs min, max or both")
    if _has_plain_bounds(input, min, max):
        low, high = dt.int_range(input.dtype) if input._a.dtype.kind != "f" else (-inf, inf)
        low, high = low if min is None else type(low)(min), high if max is None else type(high)(max)
        result = clamp_between.call(input, min_val=low, max_val=high)
        return result if out is None else deliver(result, out, "clamp")
    need_tensors("clamp", input)
    min, max = (b if b is None else as_operand(b, "clamp") for b in (min, max))
    bounds = [b for b in (min, max) if b is not None]
    d = result_type(input, *bounds)
    x = to_dtype(input, d)
    if _are_laid_over(x, bounds):
        return deliver(clamp_by(x, *[b if b is None else to_dtype(b, d) for b in (min, max)]), out, "clamp")
    if min is not None:
        x = _bound(x, min, d, ew.ge, ew.lt)
    if max is not None:
        x = _bound(x, max, d, ew.le, ew.gt)
    return deliver(x, out, "clamp")


def _has_plain_bounds(x, low, high) -> bool:
    """Whether floats without a history, or integers, are limited by plain numbers that they can be, and no recorder listens: to
    that each bound is an operand of its own, and the tape keeps masks, so that the argument may be overwritten."""
    m = tls.m
    if m.special or not isinstance(x, Tensor) or (m.grad and x._node is not None):
        return False
    kind = x._a.dtype.kind
    if kind in "iu":
        least, most = dt.int_range(x.dtype)
        return all(b is None or (b.__class__ is int and least <= b <= most) for b in (low, high))
    if kind != "f" or x._a.itemsize <= 2:
        return False
    for b in (low, high):
        if b is not None and (not (b.__class__ is float or (b.__class__ is int and -_EXACT < b < _EXACT)) or b != b):
            return False
    return True


def _are_laid_over(x, bounds) -> bool:
    """Whether all bounds are tensors of the shape of x, and no complex ones, which have no order."""
    return all([isinstance(b, Tensor) and b.shape == x.shape for b in bounds]) and not x.dtype.is_complex  # noqa: C419


_EXACT = 1 << 53     # integers below are exact as doubles


def _bound(x, bound, d, keeps, passes):
    """One side of clamp: at the bound the gradient still goes to x."""
    if isinstance(bound, Tensor):
        bound = to_dtype(bound, d)
        return ew.where.call(ew.logical_or(keeps(x, bound), ew.isnan(x)), x, bound)
    if bound != bound:
        return ew.mul(x, float("nan"))
    if d.is_integer:
        low, high = dt.int_range(d)
        if bound > high if passes is ew.lt else bound < low:
            raise ArgumentError(f"clamp: no {d} value is {'>=' if passes is ew.lt else '<='} the bound {bound}; {d} holds "
                                f"{low} to {high}")
        bound = low if bound < low else high if bound > high else bound
    return ew.where.call(passes(x, bound), bound, x)      # nan passes no bound


@api(inplace=clamp_between)
def clamp_min(input, min, *, out=None):
    """Values below min become min."""
    return clamp(input, min=min, out=out)


@api(inplace=clamp_between)
def clamp_max(input, max, *, out=None):
    """Values above max become max."""
    return clamp(input, max=max, out=out)
