"""Functions of several elementwise steps. float16 and bfloat16 are computed in float32 and rounded once."""

import math

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError
from ....ir.opdef.aval import integers
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import pointwise
from ....ir.ops.core.shape import group
from ....ir.ops.math import bessel
from ...core.tensor import Tensor
from ...state.mode import Defaults, tls
from ..register import return_types
from ..register.register import FUNCTIONS, api, deliver
from ..register.type_promotion import (
    as_operand,
    check_factor,
    in_older_order,
    need_tensors,
    promote,
    result_type,
    rounds_once,
    to_dtype,
)
from .clamp import clamp
from .elementwise import add, as_one, operate, pow, scale, unary


@api(inplace=True, memoised=True)
def float_power(input, exponent, *, out=None):
    """Return input ** exponent in float64, for complex numbers in complex128."""
    wide = dt.complex128 if result_type(input, exponent).is_complex else dt.float64
    double = [to_dtype(x, wide) for x in (input, exponent)]
    return deliver(pow(*double), out, "float_power")


@api(inplace=ew.logit, memoised=True)
def logit(input, eps=None, *, out=None):
    """Return log(x / (1 - x)). If eps is given, x is limited to [eps, 1 - eps] first; eps wins where the limits cross."""
    x = promote(ew.logit, input)[0]
    if eps is not None:
        eps = as_operand(eps, "logit")
        x = clamp(x, eps, 1 - eps) if eps <= 0.5 else ew.where(ew.lt(x, eps), eps, clamp(x, max=1 - eps))
    return deliver(ew.logit(x), out, "logit")


@api(method=False)
def polygamma(n, input, *, out=None):
    """Return the n-th derivative of digamma."""
    need_tensors("polygamma", input)
    n = integers(n, "n")[0]
    if n < 0:
        raise ArgumentError(f"polygamma takes n of at least 0, got {n}")
    x = promote(ew.digamma, input)[0]
    return deliver((ew.digamma, ew.trigamma)[n](x) if n in (0, 1) else ew.polygamma(x, n=n), out, "polygamma")


@api(function=False, inplace=True, name="polygamma")
def _polygamma_of(self, n):
    """Return the n-th derivative of digamma."""
    return polygamma(n, self)


api(inplace=True, name="i0")(unary(bessel.i0))


@api(checked=True)
def frexp(input, *, out=None) -> return_types.frexp:
    """Return mantissas with absolute values in [0.5, 1), and their exponents of two."""
    return return_types.deliver_all(return_types.frexp, ew.frexp(input), out)


@api(inplace=True)
def mvlgamma(input, p, *, out=None):
    """Return the logarithm of the multivariate gamma function of dimension p."""
    if p < 1:
        raise ArgumentError(f"mvlgamma takes p of at least 1, got {p}")
    x = promote(ew.lgamma, input)[0]
    terms = [ew.lgamma(ew.sub(x, j / 2) if j else x) for j in range(p)]
    total = ew.add(terms[0], p * (p - 1) / 4 * math.log(math.pi))
    for term in terms[1:]:
        total = ew.add(total, term)
    return deliver(total, out, "mvlgamma")


@api(inplace=True, memoised=True)
@rounds_once
def ldexp(input, other, *, out=None):
    """Return input * 2 ** other."""
    d = result_type(input, other)
    x, power = (to_dtype(v, d if d.is_inexact else Defaults.dtype) for v in (input, other))
    return operate(ew.mul, x, operate(ew.exp2, power), out=out)


@api(inplace=(pointwise.lerp, pointwise.lerp_by), memoised=True)
@rounds_once
def lerp(input, end, weight: Tensor | float, *, out=None):
    """Return input + weight * (end - input), exact at both ends."""
    weight = as_operand(weight, "lerp")
    d = result_type(input, end, weight) if isinstance(weight, Tensor) else result_type(input, end)
    if not d.is_inexact:
        raise DTypeError(f"lerp takes floating point tensors, got {input.aval} and {end.aval}; cast with .to()")
    if isinstance(weight, complex) and not d.is_complex:
        raise DTypeError(f"lerp takes a real weight between real tensors, got {weight}")
    x, y = to_dtype(input, d), to_dtype(end, d)
    if isinstance(weight, Tensor):
        w = to_dtype(weight, d)
        whole = d.is_floating_point and x.shape == y.shape == w.shape
        result = pointwise.lerp_by(x, y, w) if whole else pointwise.lerp_by.lower.body(x, y, w)
    else:
        whole = d.is_floating_point and x.shape == y.shape
        if whole and not tls.m.listened:
            result = pointwise.lerp(x, y, weight=float(weight))
        else:                               # to recorders the weight is an operand
            x, y = group(x, y) if whole else (x, y)         # gradients add up before they meet those from elsewhere, as there
            result = pointwise.lerp.lower.body(x, y, weight=weight)
    return deliver(result, out, "lerp")


@api(inplace=(ew.add, ew.add_product), memoised=True)
@rounds_once
def addcmul(input, tensor1, tensor2, *older, value=1, out=None):
    """Return input + value * tensor1 * tensor2."""
    if older:
        return in_older_order(addcmul, (input, tensor1, tensor2, *older), 3, out, value=value)
    d = result_type(input, tensor1, tensor2)
    check_factor(value, d, "addcmul")
    if isinstance(value, float) and not d.is_inexact:
        raise DTypeError(f"addcmul: value must be an integer for integer tensors, got {value}")
    if as_one((input, tensor1, tensor2), value):
        return deliver(ew.add_product(input, tensor1, tensor2, value), out, "addcmul")
    product = operate(ew.mul, to_dtype(tensor1, d), to_dtype(tensor2, d))
    return add(input, product if value == 1 else operate(ew.mul, product, value), out=out)


@api(inplace=(ew.add, ew.add_quotient), memoised=True)
@rounds_once
def addcdiv(input, tensor1, tensor2, *older, value=1, out=None):
    """Return input + value * tensor1 / tensor2."""
    if older:
        return in_older_order(addcdiv, (input, tensor1, tensor2, *older), 3, out, value=value)
    if as_one((input, tensor1, tensor2), value):
        return deliver(ew.add_quotient(input, tensor1, tensor2, value), out, "addcdiv")
    d = result_type(input, tensor1, tensor2)
    check_factor(value, d, "addcdiv")
    quotient = operate(ew.div, to_dtype(tensor1, d), to_dtype(tensor2, d))
    return add(input, quotient if value == 1 else operate(ew.mul, quotient, value), out=out)


@api(inplace=ew.mul)
def deg2rad(input, *, out=None):
    """Convert degrees to radians."""
    return scale(ew.mul, promote(ew.sin, input)[0], math.pi / 180, out)


@api(inplace=ew.mul)
def rad2deg(input, *, out=None):
    """Convert radians to degrees."""
    return scale(ew.mul, promote(ew.sin, input)[0], 180 / math.pi, out)


@api(inplace=pointwise.nan_to_num, memoised=True)
def nan_to_num(input, nan=None, posinf=None, neginf=None, *, out=None):
    """Replace nan (by 0) and infinities (by the largest finite numbers, unless given). Complex numbers are replaced part by
    part; those with such a part have no gradient."""
    if input.dtype.is_complex:
        parts = nan_to_num(FUNCTIONS["view_as_real"](FUNCTIONS["resolve_conj"](input.detach())), nan, posinf, neginf)
        found = FUNCTIONS["where"](FUNCTIONS["isfinite"](input), input, FUNCTIONS["view_as_complex"](parts))
        return deliver(found, out, "nan_to_num")
    if not input.dtype.is_floating_point:
        return deliver(ew.copy(input), out, "nan_to_num")
    low, high = dt_limits(input.dtype)
    chosen = {"nan": nan or 0.0, "posinf": high if posinf is None else posinf, "neginf": low if neginf is None else neginf}
    if tls.m.listened:       # to recorders the numbers are operands
        return deliver(pointwise.nan_to_num.lower.body(input, **chosen), out, "nan_to_num")
    return deliver(pointwise.nan_to_num(input, **{k: float(v) for k, v in chosen.items()}), out, "nan_to_num")


def dt_limits(d):
    """Return the smallest and largest finite numbers of a dtype."""
    info = dt.finfo(d)
    return float(info.min), float(info.max)
