"""Writers of elementwise operators, on numbers, truth values and bits."""

import math

from ....ir import dtype as dt
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import contiguous
from .graph_writer import emits, emits_each, emits_from
from .recorded_ops import Ref


def operands(w, item, inputs=None) -> list:
    """Return names of an elementwise operator's operands.

    Operands that were only expanded or filled stay small: ONNX broadcasts, as long as one operand has the whole shape.
    """
    inputs = item.inputs if inputs is None else inputs
    dtype = next((x.dtype for x in inputs[::-1] if type(x) is Ref), item.outputs[0].dtype)
    small = [w.small(x) for x in inputs]
    whole = any(type(x) is Ref and s is None and x.shape == item.outputs[0].shape for x, s in zip(inputs, small))
    return [s if s is not None and whole else w.name(x, dtype) for x, s in zip(inputs, small)]


def kind_of(item):
    """Return the dtype of the first tensor operand."""
    return next(x.dtype for x in item.inputs if type(x) is Ref)


def same_operands(kind, **attributes):
    """Return the writer of an operator that is one node of the same operands."""
    def write(w, item, *inputs, **params):
        return w.node(kind, *operands(w, item), **attributes)

    return write


emits_from(same_operands, {
    ew.neg: "Neg", ew.sqrt: "Sqrt", ew.reciprocal: "Reciprocal", ew.exp: "Exp", ew.log: "Log", ew.sin: "Sin", ew.cos: "Cos",
    ew.tan: "Tan", ew.asin: "Asin", ew.acos: "Acos", ew.atan: "Atan", ew.sinh: "Sinh", ew.cosh: "Cosh", ew.tanh: "Tanh",
    ew.asinh: "Asinh", ew.acosh: "Acosh", ew.atanh: "Atanh", ew.erf: "Erf", ew.sigmoid: "Sigmoid", ew.eq: "Equal",
    ew.isnan: "IsNaN", ew.isinf: "IsInf", ew.sub: "Sub", ew.div: "Div", ew.pow_: "Pow",
})
emits(ew.isposinf)(same_operands("IsInf", detect_negative=0))
emits(ew.isneginf)(same_operands("IsInf", detect_positive=0))


def _or_for_bools(kind, for_bools):
    def write(w, item, *inputs):
        return w.node(for_bools if kind_of(item) is dt.bool_ else kind, *operands(w, item))

    return write


emits_from(_or_for_bools, {
    ew.add: ("Add", "Or"), ew.mul: ("Mul", "And"), ew.maximum: ("Max", "Or"), ew.minimum: ("Min", "And")})
emits_from(_or_for_bools, {
    ew.bitwise_not: ("BitwiseNot", "Not"), ew.bitwise_and: ("BitwiseAnd", "And"), ew.bitwise_or: ("BitwiseOr", "Or"),
    ew.bitwise_xor: ("BitwiseXor", "Xor"),
}, when=lambda node, opset: opset >= 18 or node.outputs[0].dtype is dt.bool_)


@emits(ew.add_scaled)
def _add_scaled(w, item, *inputs):
    x, y, n = operands(w, item)
    return w.node("Add", x, w.node("Mul", y, n))


@emits(ew.blend)
def _blend(w, item, *inputs):
    x, y, n, m = operands(w, item)
    return w.node("Add", w.node("Mul", x, n), w.node("Mul", y, m))


def _added(kind):
    """Return the writer of x plus a multiple of a product or quotient."""
    def write(w, item, *inputs):
        x, y, z, n = operands(w, item)
        return w.node("Add", x, w.node("Mul", w.node(kind, y, z), n))

    return write


emits_from(_added, {ew.add_product: "Mul", ew.add_quotient: "Div"})


def _compared(kind):
    """Return the writer of a comparison; bools are compared as numbers."""
    def write(w, item, x, y):
        names = operands(w, item)
        if kind_of(item) is dt.bool_:
            names = [w.cast(n, dt.int32) for n in names]
        return w.node(kind, *names)

    return write


emits_from(_compared, {ew.lt: "Less", ew.le: "LessOrEqual", ew.gt: "Greater", ew.ge: "GreaterOrEqual"})


@emits(ew.sign)
def _sign(w, item, x):
    name = w.name(x)
    if x.dtype is dt.bool_:
        return name
    if not x.dtype.is_inexact:
        return w.node("Sign", name)
    return w.node("Where", w.node("IsNaN", name), w.scalar(0, x.dtype), w.node("Sign", name))


def _rounding(kind):
    """Return the writer of a rounding; integers stay."""
    def write(w, item, x):
        return w.node(kind, w.name(x)) if x.dtype.is_inexact else w.name(x)

    return write


emits_from(_rounding, {ew.floor: "Floor", ew.ceil: "Ceil", ew.round_: "Round"})


def truncated(w, name, dtype):
    """Round towards zero."""
    if not dtype.is_inexact:
        return name
    below = w.node("Less", name, w.scalar(0, dtype))
    return w.node("Where", below, w.node("Ceil", name), w.node("Floor", name))


# Division with a whole result.


def _fmod(w, a, b):
    return w.node("Mod", a, b, fmod=1)


def _remainder(w, pair, dtype):
    """Return the remainder of two operands with the sign of the divisor."""
    a, b = pair
    if not dtype.is_inexact:
        return w.node("Mod", a, b)
    r, zero = _fmod(w, a, b), w.scalar(0, dtype)
    differs = w.node("Xor", w.node("Less", r, zero), w.node("Less", b, zero))
    turn = w.node("And", w.node("Not", w.node("Equal", r, zero)), differs)
    return w.node("Where", turn, w.node("Add", r, b), r)


@emits(ew.floor_divide)
def _floor_divide(w, item, x, y):
    (a, b), kind = operands(w, item), kind_of(item)
    whole = w.node("Div", w.node("Sub", a, _remainder(w, (a, b), kind)), b)
    return w.node("Round", whole) if kind.is_inexact else whole


@emits(ew.trunc_divide)
def _trunc_divide(w, item, x, y):
    (a, b), kind = operands(w, item), kind_of(item)
    return truncated(w, w.node("Div", a, b), kind)


# Functions written by others.


@emits(ew.expm1)
def _expm1(w, item, x):
    """tanh(x / 2) * (exp(x) + 1), which keeps its digits near 0."""
    half = w.node("Tanh", w.node("Mul", w.name(x), w.scalar(0.5, x.dtype)))
    return w.node("Mul", half, w.node("Add", w.node("Exp", w.name(x)), w.scalar(1, x.dtype)))


def log1p(w, name, dtype):
    """log(u) * x / (u - 1) with u = 1 + x, which keeps its digits near 0."""
    one = w.scalar(1, dtype)
    u = w.node("Add", name, one)
    gap = w.node("Sub", u, one)
    plain = w.node("Or", w.node("Equal", gap, w.scalar(0, dtype)), w.node("IsInf", gap))
    ratio = w.node("Div", name, w.node("Where", plain, one, gap))
    logs = w.node("Mul", w.node("Log", u), w.node("Where", plain, one, ratio))
    return w.node("Where", w.node("Equal", gap, w.scalar(0, dtype)), name, logs)


def _log_base(base):
    def write(w, item, x):
        return w.node("Mul", w.node("Log", w.name(x)), w.scalar(1 / math.log(base), x.dtype))

    return write


emits_from(_log_base, {ew.log2: 2, ew.log10: 10})


_FRACTIONS = 60         # steps of erfcx's continued fraction, enough from 2 on


@emits(ew.erfcx)
def _erfcx(w, item, x):
    """exp(x^2) erfc(x) up to 2, a continued fraction beyond."""
    two, large = w.scalar(2, x.dtype), w.node("Greater", w.name(x), w.scalar(2, x.dtype))
    far, near = w.node("Where", large, w.name(x), two), w.node("Where", large, two, w.name(x))
    fraction = far
    for k in range(_FRACTIONS, 0, -1):
        fraction = w.node("Add", far, w.node("Div", w.scalar(k / 2, x.dtype), fraction))
    far = w.node("Div", w.scalar(1 / math.sqrt(math.pi), x.dtype), fraction)
    rest = w.node("Sub", w.scalar(1, x.dtype), w.node("Erf", near))
    return w.node("Where", large, far, w.node("Mul", w.node("Exp", w.node("Mul", near, near)), rest))


@emits(ew.sinc)
def _sinc(w, item, x):
    zero, one = w.scalar(0, x.dtype), w.scalar(1, x.dtype)
    at_zero = w.node("Equal", w.name(x), zero)
    angle = w.node("Where", at_zero, one, w.node("Mul", w.name(x), w.scalar(math.pi, x.dtype)))
    return w.node("Where", at_zero, one, w.node("Div", w.node("Sin", angle), angle))


@emits(ew.hypot)
def _hypot(w, item, x, y):
    """Scale by the larger side."""
    kind = kind_of(item)
    a, b = [w.node("Abs", n) for n in operands(w, item)]
    large, small = w.node("Max", a, b), w.node("Min", a, b)
    plain = w.node("Or", w.node("Equal", large, w.scalar(0, kind)), w.node("IsInf", large))
    ratio = w.node("Div", small, w.node("Where", plain, w.scalar(1, kind), large))
    root = w.node("Sqrt", w.node("Add", w.scalar(1, kind), w.node("Mul", ratio, ratio)))
    return w.node("Where", plain, large, w.node("Mul", large, root))


def _negative(w, name, dtype):
    """Return whether the sign bit of a float is set (nan aside)."""
    zero = w.scalar(0, dtype)
    minus = w.node("And", w.node("Equal", name, zero), w.node("Less", w.node("Reciprocal", name), zero))
    return w.node("Or", w.node("Less", name, zero), minus)


@emits(ew.atan2)
def _atan2(w, item, y, x):
    (a, b), kind = operands(w, item), kind_of(item)
    pi, zero = w.scalar(math.pi, kind), w.scalar(0, kind)
    both_inf = w.node("And", w.node("IsInf", a), w.node("IsInf", b))
    both_zero = w.node("And", w.node("Equal", a, zero), w.node("Equal", b, zero))
    level = w.node("Where", both_inf, w.scalar(1, kind), w.node("Div", w.node("Abs", a), w.node("Abs", b)))
    angle = w.node("Atan", w.node("Where", both_zero, zero, level))
    angle = w.node("Where", _negative(w, b, kind), w.node("Sub", pi, angle), angle)
    return w.node("Where", _negative(w, a, kind), w.node("Neg", angle), angle)


def _log_add(exponential, logarithm):
    """Return the writer of max + log(1 + base ** -distance)."""
    def write(w, item, x, y):
        (a, b), kind = operands(w, item), kind_of(item)
        top = w.node("Max", a, b)
        gap = w.node("Sub", w.node("Min", a, b), top)
        gap = w.node("Where", w.node("IsNaN", gap), w.scalar(0, kind), gap)
        raised = w.node("Exp", gap if exponential == 1 else w.node("Mul", gap, w.scalar(exponential, kind)))
        rest = log1p(w, raised, kind)
        rest = rest if logarithm == 1 else w.node("Mul", rest, w.scalar(logarithm, kind))
        return w.node("Where", w.node("IsInf", top), top, w.node("Add", top, rest))

    return write


emits_from(_log_add, {ew.logaddexp: (1, 1), ew.logaddexp2: (math.log(2), 1 / math.log(2))})


@emits(ew.xlogy)
def _xlogy(w, item, x, y):
    (a, b), kind = operands(w, item), kind_of(item)
    zero = w.node("And", w.node("Equal", a, w.scalar(0, kind)), w.node("Not", w.node("IsNaN", b)))
    return w.node("Where", zero, w.scalar(0, kind), w.node("Mul", a, w.node("Log", b)))


@emits(ew.copysign)
def _copysign(w, item, x, y):
    (a, b), kind = operands(w, item), kind_of(item)
    size = w.node("Abs", a)
    return w.node("Where", _negative(w, b, kind), w.node("Neg", size), size)


@emits(ew.signbit)
def _signbit(w, item, x):
    if x.dtype.is_inexact:
        return _negative(w, w.name(x), x.dtype)
    name = w.name(x) if x.dtype is not dt.bool_ else w.cast(w.name(x), dt.int32)
    return w.node("Less", name, w.scalar(0, dt.int32 if x.dtype is dt.bool_ else x.dtype))


@emits(ew.heaviside)
def _heaviside(w, item, x, y):
    (a, b), kind = operands(w, item), kind_of(item)
    zero, one = w.scalar(0, kind), w.scalar(1, kind)
    side = w.node("Where", w.node("Greater", a, zero), one, zero)
    return w.node("Where", w.node("Equal", a, zero), b, side)


def _skipping_nan(kind, for_bools):
    def write(w, item, x, y):
        (a, b), both = operands(w, item), _or_for_bools(kind, for_bools)(w, item, x, y)
        if not kind_of(item).is_inexact:
            return both
        return w.node("Where", w.node("IsNaN", a), b, w.node("Where", w.node("IsNaN", b), a, both))

    return write


emits_from(_skipping_nan, {ew.fmax: ("Max", "Or"), ew.fmin: ("Min", "And")})


def truth(w, name, dtype):
    """Return whether elements are not 0."""
    return name if dtype is dt.bool_ else w.cast(name, dt.bool_)


def _logical(kind):
    def write(w, item, *inputs):
        dtype = kind_of(item)
        return w.node(kind, *[truth(w, n, dtype) for n in operands(w, item)])

    return write


emits_from(_logical, {ew.logical_not: "Not", ew.logical_and: "And", ew.logical_or: "Or", ew.logical_xor: "Xor"})


@emits(ew.bitwise_left_shift)
def _left_shift(w, item, x, y):
    (a, b), kind = operands(w, item), kind_of(item)
    if not kind.is_signed:
        return w.node("BitShift", a, b, direction="LEFT")
    return w.node("Mul", a, w.node("Pow", w.scalar(2, kind), b))


@emits(ew.bitwise_right_shift)
def _right_shift(w, item, x, y):
    (a, b), kind = operands(w, item), kind_of(item)
    if not kind.is_signed:
        return w.node("BitShift", a, b, direction="RIGHT")
    by = w.node("Pow", w.scalar(2, kind), b)
    return w.node("Div", w.node("Sub", a, w.node("Mod", a, by)), by)


# Choosing, converting.


@emits(ew.where)
def _where(w, item, cond, x, y):
    kind = item.outputs[0].dtype
    small = [w.small(v) if type(v) is Ref else w.scalar(v, kind) for v in (cond, x, y)]
    whole = any(type(v) is Ref and s is None and v.shape == item.outputs[0].shape for v, s in zip((cond, x, y), small))
    names = [s if s is not None and (whole or type(v) is not Ref) else w.name(v, kind) for v, s in zip((cond, x, y), small)]
    return w.node("Where", truth(w, names[0], cond.dtype), *names[1:])


emits(ew.copy, contiguous)(lambda w, item, x: w.name(x))


emits_each({
    ew.abs_: lambda w, item, x: w.name(x) if x.dtype is dt.bool_ else w.node("Abs", w.name(x)),
    ew.square: lambda w, item, x: w.name(x) if x.dtype is dt.bool_ else w.node("Mul", w.name(x), w.name(x)),
    ew.logit: lambda w, item, x: w.node("Log", w.node("Div", w.name(x), w.node("Sub", w.scalar(1, x.dtype), w.name(x)))),
    ew.remainder: lambda w, item, x, y: _remainder(w, operands(w, item), kind_of(item)),
    ew.ne: lambda w, item, x, y: w.node("Not", w.node("Equal", *operands(w, item))),
    ew.trunc: lambda w, item, x: truncated(w, w.name(x), x.dtype),
    ew.frac: lambda w, item, x: w.node("Sub", w.name(x), truncated(w, w.name(x), x.dtype)),
    ew.fmod: lambda w, item, x, y: _fmod(w, *operands(w, item)),
    ew.rsqrt: lambda w, item, x: w.node("Reciprocal", w.node("Sqrt", w.name(x))),
    ew.exp2: lambda w, item, x: w.node("Pow", w.scalar(2, x.dtype), w.name(x)),
    ew.log1p: lambda w, item, x: log1p(w, w.name(x), x.dtype),
    ew.erfc: lambda w, item, x: w.node("Sub", w.scalar(1, x.dtype), w.node("Erf", w.name(x))),
    ew.isfinite: lambda w, item, x: w.node("Not", w.node("Or", w.node("IsInf", w.name(x)), w.node("IsNaN", w.name(x)))),
    ew.cast: lambda w, item, x, *, dtype: w.name(x) if x.dtype is dtype else w.cast(w.name(x), dtype),
})
