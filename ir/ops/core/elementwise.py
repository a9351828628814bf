"""Elementwise operators of one and two arguments: meaning and gradient, one record each."""

import math

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError
from ...opdef.aval import Aval
from ...opdef.batch_rules import LEADING
from ...opdef.op import NO_GRAD, OPS, Host, Scalar, op
from ...opdef.param_checks import check_dtype, check_int
from ...reference import scalar_functions
from ...symbols.symbolic import is_symbol
from .elementwise_rules import ACCEPT, common, elementwise, infer_same, tensors

# Arithmetic.


add = elementwise("add", np.add, (lambda g, out, x, y: g, lambda g, out, x, y: g), traits=("commutative", "exact"))
sub = elementwise("sub", np.subtract, (lambda g, out, x, y: g, lambda g, out, x, y: neg(g)), takes="number", traits=("exact",))
mul = elementwise("mul", np.multiply, (lambda g, out, x, y: mul(g, y), lambda g, out, x, y: mul(g, x)),
                  traits=("commutative", "exact"))
div = elementwise("div", np.true_divide,
                  (lambda g, out, x, y: div(g, y), lambda g, out, x, y: neg(mul(g, div(out, y)))), takes="float",
                  traits=("exact", "rescued"))
neg = elementwise("neg", np.negative, (lambda g, out, x: neg(g),), takes="number", traits=("foreach", "exact"))


# A number's multiple of something added; what the number is makes no other kernel. Gradients are those of the steps.

add_scaled = elementwise("add_scaled", lambda x, y, n: x + y * n,
                         (lambda g, out, x, y, n: g, lambda g, out, x, y, n: mul(g, n), lambda g, out, x, y, n: mul(g, y)),
                         takes="real_float", doc="x + y * n", title="add")
blend = elementwise("blend", lambda x, y, n, m: x * n + y * m,
                    (lambda g, out, x, y, n, m: mul(g, n), lambda g, out, x, y, n, m: mul(g, m),
                     lambda g, out, x, y, n, m: mul(g, x), lambda g, out, x, y, n, m: mul(g, y)),
                    takes="real_float", doc="x * n + y * m, as running averages move", title="batch_norm")
add_product = elementwise("add_product", lambda x, y, z, n: x + y * z * n,
                          (lambda g, out, x, y, z, n: g, lambda g, out, x, y, z, n: mul(mul(g, n), z),
                           lambda g, out, x, y, z, n: mul(mul(g, n), y), lambda g, out, x, y, z, n: mul(g, mul(y, z))),
                          takes="real_float", doc="x + y * z * n", title="addcmul")
add_quotient = elementwise("add_quotient", lambda x, y, z, n: x + y / z * n,
                           (lambda g, out, x, y, z, n: g, lambda g, out, x, y, z, n: div(mul(g, n), z),
                            lambda g, out, x, y, z, n: neg(mul(mul(g, n), div(div(y, z), z))),
                            lambda g, out, x, y, z, n: mul(g, div(y, z))), takes="real_float", doc="x + y / z * n",
                           title="addcdiv")


def _zeros(g):
    """Return a zero gradient, even if infinities or nan arrive."""
    return OPS["full"](g, shape=g.shape, value=0, dtype=dt.of(g))


_FLAT = (lambda g, out, x, y: _zeros(g), lambda g, out, x, y: _zeros(g))
floor_divide = elementwise("floor_divide", scalar_functions.floor_divide, _FLAT, takes="real_number",
                           traits=("refuses_integers",), doc="The quotient rounded down.")
trunc_divide = elementwise("trunc_divide", scalar_functions.trunc_divide, _FLAT, takes="real_number",
                           traits=("refuses_integers",), doc="The quotient rounded to zero.", title="div")
remainder = elementwise("remainder", scalar_functions.remainder,
                        (lambda g, out, x, y: g, lambda g, out, x, y: neg(mul(g, floor_divide(x, y)))), takes="real_number",
                        traits=("refuses_integers",), doc="x - floor(x / y) * y, with the sign of y.")
fmod = elementwise("fmod", scalar_functions.fmod,
                   (lambda g, out, x, y: g, lambda g, out, x, y: neg(mul(g, trunc_divide(x, y)))), takes="real_number",
                   traits=("refuses_integers",), doc="x - trunc(x / y) * y, with the sign of x.")


def _pow_x(g, out, x, y):
    """Zero for exponents of zero, also if the base is 0 or not finite."""
    if is_symbol(y):
        return mul(g, where(eq(y, 0.0), 0.0, mul(y, pow_(x, sub(y, 1.0)))))
    if isinstance(y, (int, float, complex)):
        never = OPS["full"](g, shape=g.shape, value=False, dtype=dt.bool_)
        return mul(g, mul(pow_(x, y - 1.0), y)) if y else where(never, g, 0.0)
    flat = logical_and(eq(y, 0.0), logical_or(eq(x, 0.0), logical_not(isfinite(x))))
    return mul(g, where(flat, 0.0, mul(y, pow_(x, sub(where(flat, 1.0, y), 1.0)))))


def _pow_y(g, out, x, y):
    bounded = isfinite(out) if dt.of(y).is_complex else ge(y, 0.0)      # complex numbers have no order
    flat = logical_and(eq(x, 0.0), bounded)
    return mul(g, where(flat, 0.0, mul(out, log(x))))


pow_ = elementwise("pow", scalar_functions.power, (_pow_x, _pow_y), takes="number", traits=("wide_on_gpu",))


# Rounding and sign.

abs_ = elementwise("abs", np.abs, (lambda g, out, x: mul(g, sign(x)),), takes="real", traits=("foreach", "exact", "float8"))


def _sign(x):
    found = np.sign(x)
    if x.dtype.kind in "iu":
        return found
    found = np.asarray(found)
    found[np.isnan(x)] = 0
    return found


def _sign_any(x):
    return x.copy() if x.dtype == np.bool_ else _sign(x)


sign = elementwise("sign", _sign_any, (lambda g, out, x: _zeros(g),), takes="real", traits=("foreach", "exact"),
                   doc="-1, 0 or 1; 0 for nan.")
floor = elementwise("floor", np.floor, (lambda g, out, x: _zeros(g),), takes="real_number", traits=("foreach", "exact"))
ceil = elementwise("ceil", np.ceil, (lambda g, out, x: _zeros(g),), takes="real_number", traits=("foreach", "exact"))
trunc = elementwise("trunc", np.trunc, (lambda g, out, x: _zeros(g),), takes="real_number", traits=("foreach", "exact"))
round_ = elementwise("round", np.rint, (lambda g, out, x: _zeros(g),), takes="real_float", traits=("foreach", "exact"),
                     doc="To the nearest integer, halves to even.")
frac = elementwise("frac", lambda x: x - np.trunc(x), (lambda g, out, x: g,), takes="real_float", traits=("foreach", "exact"),
                   doc="x - trunc(x)")

# Powers, exponentials, logarithms.

sqrt = elementwise("sqrt", np.sqrt, (lambda g, out, x: div(g, mul(out, 2.0)),), takes="float",
                   traits=("foreach", "exact", "rescued"))
rsqrt = elementwise("rsqrt", lambda x: 1 / np.sqrt(x),
                    (lambda g, out, x: mul(mul(g, -0.5), mul(out, mul(out, out))),), takes="float",
                    traits=("foreach", "wide_on_gpu"))
square = elementwise("square", np.square, (lambda g, out, x: mul(g, mul(x, 2.0)),), takes="number", traits=("exact",))
reciprocal = elementwise("reciprocal", np.reciprocal, (lambda g, out, x: neg(mul(g, mul(out, out))),), takes="float",
                         traits=("foreach", "exact", "wide_on_gpu"))


def in_dtype(x, dtype):
    """Return a value in a dtype: itself, or a cast."""
    return x if dt.of(x) is dtype else cast(x, dtype=dtype)


def widened(x):
    """Cast float16 and bfloat16 to float32, for gradient rules of several steps; leave anything else, numbers too."""
    return in_dtype(x, dt.accumulator(dt.of(x))) if hasattr(x, "dtype") else x


def narrowed(v, x):
    """Cast a result of widened values back to the dtype of x."""
    return in_dtype(v, dt.of(x))


def _exp2_vjp(g, out, x):
    return narrowed(mul(mul(widened(g), widened(out)), math.log(2)), out)


def _expm1(x):
    if x.dtype.kind != "c":
        return np.expm1(x)
    plain, flat = np.expm1(x), x.imag == 0
    turning = np.isinf(x.real) & ~np.isfinite(x.imag)          # endless, in a direction that nobody knows
    out = np.empty_like(x)
    out.real = np.where(flat | turning, np.expm1(x.real), plain.real)
    out.imag = np.where(flat, x.imag, np.where(turning, np.where(x.real > 0, np.nan, 0), plain.imag))
    return out


exp = elementwise("exp", np.exp, (lambda g, out, x: mul(g, out),), takes="float", traits=("foreach", "wide_on_gpu"))
exp2 = elementwise("exp2", np.exp2, (_exp2_vjp,), takes="float")
expm1 = elementwise("expm1", _expm1, (lambda g, out, x: mul(g, add(out, 1.0)),), takes="float",
                    traits=("foreach", "wide_on_gpu"))
log = elementwise("log", np.log, (lambda g, out, x: div(g, x),), takes="float", traits=("foreach", "wide_on_gpu"))
log2 = elementwise("log2", np.log2, (lambda g, out, x: div(g, mul(x, math.log(2))),), takes="float",
                   traits=("foreach", "wide_on_gpu"))
log10 = elementwise("log10", np.log10, (lambda g, out, x: div(g, mul(x, math.log(10))),), takes="float",
                    traits=("foreach", "wide_on_gpu"))
log1p = elementwise("log1p", np.log1p, (lambda g, out, x: div(g, add(x, 1.0)),), takes="float",
                    traits=("foreach", "wide_on_gpu"))

# Trigonometric and hyperbolic.

sin = elementwise("sin", np.sin, (lambda g, out, x: mul(g, cos(x)),), takes="float", traits=("foreach",))
cos = elementwise("cos", np.cos, (lambda g, out, x: neg(mul(g, sin(x))),), takes="float", traits=("foreach",))
tan = elementwise("tan", np.tan, (lambda g, out, x: mul(g, add(mul(out, out), 1.0)),), takes="float",
                  traits=("foreach", "wide_on_gpu"))
asin = elementwise("asin", np.arcsin, (lambda g, out, x: mul(g, rsqrt(_one_minus_square(x))),), takes="float",
                   traits=("foreach", "wide_on_gpu"))
acos = elementwise("acos", np.arccos, (lambda g, out, x: neg(mul(g, rsqrt(_one_minus_square(x)))),), takes="float",
                   traits=("foreach", "wide_on_gpu"))
atan = elementwise("atan", np.arctan, (lambda g, out, x: div(g, add(mul(x, x), 1.0)),), takes="float", traits=("foreach",))
sinh = elementwise("sinh", np.sinh, (lambda g, out, x: mul(g, cosh(x)),), takes="float", traits=("foreach", "wide_on_gpu"))
cosh = elementwise("cosh", np.cosh, (lambda g, out, x: mul(g, sinh(x)),), takes="float", traits=("foreach", "wide_on_gpu"))
tanh = elementwise("tanh", np.tanh, (lambda g, out, x: mul(g, _one_minus_square(out)),), takes="float", traits=("foreach",))
asinh = elementwise("asinh", np.arcsinh, (lambda g, out, x: mul(g, rsqrt(add(mul(x, x), 1.0))),), takes="float")
acosh = elementwise("acosh", np.arccosh, (lambda g, out, x: mul(g, _acosh_slope(x)),), takes="float")
atanh = elementwise("atanh", np.arctanh, (lambda g, out, x: div(g, _one_minus_square(x)),), takes="float")


def _acosh_slope(x):
    if dt.of(x).is_complex:         # the root of a product may be the negative of the product of the roots
        return mul(rsqrt(sub(x, 1.0)), rsqrt(add(x, 1.0)))
    return rsqrt(sub(mul(x, x), 1.0))


def _one_minus_square(x):
    return sub(1.0, mul(x, x))


def _squared_radius(a, b):
    """1 at the origin, where the angle has no gradient: the gradient is then 0."""
    squared = add(mul(a, a), mul(b, b))
    return where(eq(squared, 0.0), 1.0, squared)


atan2 = elementwise("atan2", np.arctan2,
                    (lambda g, out, y, x: div(mul(g, x), _squared_radius(x, y)),
                     lambda g, out, y, x: neg(div(mul(g, y), _squared_radius(x, y)))), takes="real_float",
                    doc="The angle of the point (x, y), from -pi to pi.")
hypot = elementwise("hypot", np.hypot,
                    (lambda g, out, x, y: mul(g, div(x, out)), lambda g, out, x, y: mul(g, div(y, out))), takes="real_float",
                    doc="sqrt(x^2 + y^2), without overflow between.")

# The error function, gamma, the logistic function.

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _gauss(x):
    return mul(exp(neg(mul(x, x))), _TWO_OVER_SQRT_PI)


erf = elementwise("erf", scalar_functions.erf, (lambda g, out, x: mul(g, _gauss(x)),), takes="real_float", traits=("foreach",))
erfc = elementwise("erfc", scalar_functions.erfc, (lambda g, out, x: neg(mul(g, _gauss(x))),), takes="real_float",
                   traits=("foreach",))
erfcx = elementwise("erfcx", scalar_functions.erfcx, (lambda g, out, x: mul(g, sub(mul(mul(x, out), 2.0), _TWO_OVER_SQRT_PI)),),
                    takes="real_float", doc="exp(x^2) erfc(x)")
erfinv = elementwise("erfinv", scalar_functions.erfinv,
                     (lambda g, out, x: mul(g, mul(exp(mul(out, out)), math.sqrt(math.pi) / 2)),), takes="real_float",
                     traits=("wide_on_gpu", "rescued"))
lgamma = elementwise("lgamma", scalar_functions.lgamma, (lambda g, out, x: mul(g, digamma(x)),), takes="real_float",
                     traits=("foreach",))
digamma = elementwise("digamma", scalar_functions.digamma, (lambda g, out, x: mul(g, trigamma(x)),), takes="real_float")
trigamma = elementwise("trigamma", scalar_functions.trigamma, (lambda g, out, x: mul(g, polygamma(x, n=2)),),
                       takes="real_float")
_floats_of_polygamma = infer_same("polygamma", *ACCEPT["real_float"])


def _infer_polygamma(x, *, n):
    check_int(n, "n", 1, 170)       # whose factorial is a double
    return _floats_of_polygamma(x)


polygamma = op("polygamma", infer=_infer_polygamma,
               ref=scalar_functions.polygamma, vjp=(lambda g, out, x, *, n: mul(g, polygamma(x, n=n + 1)),),
               lower=Scalar("polygamma"),
               traits=("takes_float",), doc="The n-th derivative of digamma, n >= 1.")
sigmoid = elementwise("sigmoid", scalar_functions.sigmoid, (lambda g, out, x: mul(g, mul(out, sub(1.0, out))),),
                      takes="float", traits=("foreach",))


def _logit_vjp(g, out, x):
    room = mul(x, sub(1.0, x))
    return div(g, where(lt(room, 0.0), math.nan, room))


logit = elementwise("logit", scalar_functions.logit, (_logit_vjp,), takes="real_float")


def _sinc_vjp(g, out, x):
    y = mul(x, math.pi)
    slope = div(sub(cos(y), out), where(eq(x, 0.0), 1.0, x))
    return mul(g, where(eq(x, 0.0), 0.0, slope))


sinc = elementwise("sinc", scalar_functions.sinc, (_sinc_vjp,), takes="float", traits=("rescued",), doc="sin(pi x) / (pi x)")


def _portion(g, x, y, scale=1.0):
    """Return g times the share of x in log(exp(x) + exp(y))."""
    gap = sub(widened(x), widened(y))
    return narrowed(mul(widened(g), sigmoid(gap if scale == 1.0 else mul(gap, scale))), x)


logaddexp = elementwise("logaddexp", scalar_functions.logaddexp,
                        (lambda g, out, x, y: _portion(g, x, y), lambda g, out, x, y: _portion(g, y, x)),
                        takes="float", traits=("commutative",), doc="log(exp(x) + exp(y)), without overflow.")
logaddexp2 = elementwise("logaddexp2", np.logaddexp2,
                         (lambda g, out, x, y: _portion(g, x, y, math.log(2)),
                          lambda g, out, x, y: _portion(g, y, x, math.log(2))), takes="real_float", traits=("commutative",))


def _xlogy_x(g, out, x, y):
    flat = logical_and(eq(x, 0.0), le(y, 0.0))
    return where(flat, 0.0, mul(g, log(y)))


xlogy = elementwise("xlogy", scalar_functions.xlogy, (_xlogy_x, lambda g, out, x, y: mul(g, div(x, y))), takes="real_float",
                    doc="x log y; 0 where x is 0, unless y is nan.")
nextafter = elementwise("nextafter", scalar_functions.nextafter,
                        (lambda g, out, x, y: g, lambda g, out, x, y: _zeros(g)), takes="real_float",
                        traits=("exact", "branches"), widens=False, doc="The next number after x in the direction of y.")


def _copysign_x(g, out, x, y):
    return mul(g, where(eq(x, 0.0), 0.0, mul(sign(x), sign(out))))


copysign = elementwise("copysign", np.copysign, (_copysign_x, lambda g, out, x, y: _zeros(g)), takes="real_float",
                       traits=("exact", "branches"), doc="|x| with the sign of y.")
heaviside = elementwise("heaviside", lambda x, v: np.where(x == 0, v, (x > 0).astype(x.dtype)),
                        (lambda g, out, x, v: _zeros(g), lambda g, out, x, v: where(eq(x, 0.0), g, 0.0)), takes="real",
                        traits=("exact",), doc="0 below 0, 1 above, v at 0.")
gcd = elementwise("gcd", np.gcd, NO_GRAD, takes="integer", traits=("commutative", "exact"))
lcm = elementwise("lcm", np.lcm, NO_GRAD, takes="integer", traits=("commutative", "exact"))

# Comparisons and choice.


def compare(name, fn, *traits, takes="real"):
    """Return the record of a comparison."""
    return elementwise(name, fn, NO_GRAD, takes=takes, gives="bool", traits=("exact", *traits))


eq = compare("eq", np.equal, "float8", takes="any")
ne = compare("ne", np.not_equal, "float8", takes="any")
lt = compare("lt", np.less)
le = compare("le", np.less_equal)
gt = compare("gt", np.greater)
ge = compare("ge", np.greater_equal)


def share(g, x, y, loses):
    """Return the gradient of a maximum or minimum: all to the winner, half each for ties, all to both if one is nan."""
    return where(eq(x, y), mul(g, 0.5), where(loses, 0.0, g))


maximum = elementwise("maximum", np.maximum,
                      (lambda g, out, x, y: share(g, x, y, lt(x, y)), lambda g, out, x, y: share(g, x, y, lt(y, x))),
                      takes="real", traits=("exact",), doc="The larger number; nan if one is nan.")
minimum = elementwise("minimum", np.minimum,
                      (lambda g, out, x, y: share(g, x, y, gt(x, y)), lambda g, out, x, y: share(g, x, y, gt(y, x))),
                      takes="real", traits=("exact",), doc="The smaller number; nan if one is nan.")


def _takes_first(x, y, better):
    return logical_or(better, isnan(y))


fmax = elementwise("fmax", scalar_functions.fmax,
                   (lambda g, out, x, y: share(g, x, y, logical_not(_takes_first(x, y, gt(x, y)))),
                    lambda g, out, x, y: share(g, x, y, _takes_first(x, y, gt(x, y)))), takes="real", traits=("exact",),
                   doc="The larger number; the other one if one is nan.")
fmin = elementwise("fmin", scalar_functions.fmin,
                   (lambda g, out, x, y: share(g, x, y, logical_not(_takes_first(x, y, lt(x, y)))),
                    lambda g, out, x, y: share(g, x, y, _takes_first(x, y, lt(x, y)))), takes="real", traits=("exact",),
                   doc="The smaller number; the other one if one is nan.")


def _infer_where(cond, x, y):
    values = tensors((x, y))
    if tensors((cond,)) and cond.dtype is not dt.bool_:
        raise DTypeError(f"where takes a bool condition, got {cond}; compare it first, as in x != 0")
    if not values:
        return cond.with_dtype(dt.float32)
    value = common("where", (x, y))
    common("where", (cond, value.with_dtype(dt.bool_)))
    return value


def _where(cond, x, y):
    kind = next((a.dtype for a in (x, y) if hasattr(a, "dtype")), np.dtype(np.float32))
    return np.where(cond,
                    *(v if getattr(v, "dtype", None) == kind else scalar_functions.as_kind(np.asarray(v), kind) for v in (x,
                                                                                                                          y)))


where = op("where", infer=_infer_where, ref=_where,
           vjp=(None, lambda g, out, c, x, y: where(c, g, 0.0), lambda g, out, c, x, y: where(c, 0.0, g)),
           lower=Scalar("where"), traits=("exact", "float8", "branches"), doc="x where the condition holds, y elsewhere.")

# Predicates and logic.


def _never(x):
    return np.not_equal(x, x)       # False for integers and bools, in the layout of x


def _floats(fn):
    return lambda x: fn(x) if x.dtype.kind not in "biu" else _never(x)


isnan = elementwise("isnan", _floats(np.isnan), NO_GRAD, gives="bool", traits=("exact", "float8"))
isinf = elementwise("isinf", _floats(np.isinf), NO_GRAD, gives="bool", traits=("exact", "float8"))
isfinite = elementwise("isfinite", lambda x: np.isfinite(x) if x.dtype.kind not in "biu" else ~_never(x), NO_GRAD,
                       gives="bool", traits=("exact", "float8"))
isposinf = elementwise("isposinf", _floats(lambda x: x == np.inf), NO_GRAD, gives="bool", traits=("exact",))
isneginf = elementwise("isneginf", _floats(lambda x: x == -np.inf), NO_GRAD, gives="bool", traits=("exact",))
signbit = elementwise("signbit", lambda x: np.signbit(x) if x.dtype.kind != "b" else _never(x), NO_GRAD, takes="real",
                      gives="bool", traits=("exact",))
logical_not = elementwise("logical_not", np.logical_not, NO_GRAD, gives="bool", traits=("exact",))
logical_and = elementwise("logical_and", np.logical_and, NO_GRAD, gives="bool", traits=("commutative", "exact"))
logical_or = elementwise("logical_or", np.logical_or, NO_GRAD, gives="bool", traits=("commutative", "exact"))
logical_xor = elementwise("logical_xor", np.logical_xor, NO_GRAD, gives="bool", traits=("commutative", "exact"))
bitwise_not = elementwise("bitwise_not", np.invert, NO_GRAD, takes="integral", traits=("exact",))
bitwise_and = elementwise("bitwise_and", np.bitwise_and, NO_GRAD, takes="integral", traits=("commutative", "exact"))
bitwise_or = elementwise("bitwise_or", np.bitwise_or, NO_GRAD, takes="integral", traits=("commutative", "exact"))
bitwise_xor = elementwise("bitwise_xor", np.bitwise_xor, NO_GRAD, takes="integral", traits=("commutative", "exact"))
# (numpy's own functions would be called without a look at dtypes, and take bool for int8)
bitwise_left_shift = elementwise("bitwise_left_shift", lambda x, y: np.left_shift(x, y), NO_GRAD, takes="integer",
                                 traits=("exact",))
bitwise_right_shift = elementwise("bitwise_right_shift", lambda x, y: np.right_shift(x, y), NO_GRAD, takes="integer",
                                  traits=("exact",))

# Between dtypes.


def _cast(x, *, dtype):
    if x.dtype.kind == "c" and not dtype.is_complex:
        x = x != 0 if dtype is dt.bool_ else x.real
    if dtype.itemsize == 1 or x.itemsize == 1:
        return scalar_functions.as_kind(x, dtype.np, "C" if 0 in x.strides else "K")
    return scalar_functions.copied(x, dtype.np)


cast = op("cast", infer=lambda x, *, dtype: Aval(x.shape, check_dtype(dtype)), ref=_cast,
          vjp=(lambda g, out, x, *, dtype: cast(g, dtype=dt.as_dtype(x.dtype)),), lower=Scalar("cast"),
          traits=("exact", "float8"), doc="The same values in another dtype; floats to integers truncate.")
copy = op("copy", infer=lambda x: x, ref=scalar_functions.copied, vjp=(lambda g, out, x: g,), lower=Scalar("copy"),
          traits=("exact", "float8"), doc="The same values in new memory.")


def _infer_frexp(x):
    if not x.dtype.is_floating_point:
        raise DTypeError(f"frexp takes floating point numbers, got {x}; cast with .to()")
    return x, x.with_dtype(dt.int32)


def _frexp(x):
    wide = x if x.dtype.kind == "f" else x.astype(np.float32)
    mantissa, exponent = np.frexp(wide)
    return np.asarray(mantissa).astype(x.dtype), np.asarray(exponent, np.int32)


def _frexp_vjp(g, out, x, *, needs):
    exponent = cast(out[1], dtype=dt.of(x))
    return (mul(g, exp2(neg(exponent))),)


frexp = op("frexp", infer=_infer_frexp, ref=_frexp, vjp=_frexp_vjp, saves=(0,), lower=Host(), batch=LEADING,
           doc="Mantissas with sizes in [0.5, 1), and the powers of two that they are multiplied by.")
