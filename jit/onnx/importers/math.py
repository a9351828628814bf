"""Importers of elementwise ONNX operators."""

import math
from functools import reduce

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.core.shape import bitcast
from ....runtime.nn import functional as F
from .registry import ing, ints, onnx_op, onnx_ops, to_host, to_tensor
from .run_budget import allow_numbers
from .symbolic_values import is_symbolic


def _plain(onnx_name, name):
    onnx_op(onnx_name)(lambda call, *xs: getattr(ing, name)(*xs))


for _onnx, _name in {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Add": "add", "And": "logical_and", "Asin": "asin", "Asinh": "asinh",
    "Atan": "atan", "Atanh": "atanh", "BitwiseAnd": "bitwise_and", "BitwiseNot": "bitwise_not", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Det": "det", "Equal": "eq", "Erf": "erf",
    "Exp": "exp", "Floor": "floor", "Greater": "gt", "GreaterOrEqual": "ge", "IsNaN": "isnan", "Less": "lt",
    "LessOrEqual": "le", "Log": "log", "Mul": "mul", "Neg": "neg", "Not": "logical_not", "Or": "logical_or",
    "Reciprocal": "reciprocal", "Relu": "relu", "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin",
    "Sinh": "sinh", "Sqrt": "sqrt", "Sub": "sub", "Tan": "tan", "Tanh": "tanh", "Where": "where", "Xor": "logical_xor",
}.items():
    _plain(_onnx, _name)


@onnx_op("Pow")
def _power(call, a, b):
    if a.dtype is b.dtype:
        return ing.pow(a, b)
    wide = dt.promote_types(a.dtype, b.dtype)
    return ing.pow(a.to(wide), b.to(wide)).to(a.dtype)


@onnx_op("BitShift")
def _bit_shift(call, a, b):
    """Shift bits; beyond the width all bits but the sign are lost."""
    width = 8 * a.dtype.itemsize
    inside = b < width
    if call.need("direction") == "LEFT":
        return ing.where(inside, ing.bitwise_left_shift(a, b), ing.zeros_like(a))
    if a.dtype.is_signed:
        return ing.bitwise_right_shift(a, ing.where(inside, b, ing.full_like(b, width - 1)))
    return ing.where(inside, ing.bitwise_right_shift(a, b), ing.zeros_like(a))


def _limited(x, low, high):
    if low is not None:
        x = ing.maximum(x, low.to(x.dtype) if hasattr(low, "to") else ing.full_like(x, low))
    if high is not None:
        x = ing.minimum(x, high.to(x.dtype) if hasattr(high, "to") else ing.full_like(x, high))
    return x


@onnx_op("IsInf")
def _is_infinite(call, x):
    up, down = call.get("detect_positive", 1), call.get("detect_negative", 1)
    if up and down:
        return ing.isinf(x)
    if up or down:
        return ing.isposinf(x) if up else ing.isneginf(x)
    return ing.zeros(tuple(x.shape), dtype=dt.bool_)


@onnx_op("Selu")
def _selu(call, x):
    alpha, gamma = call.get("alpha", 1.6732632423543772), call.get("gamma", 1.0507009873554805)
    return ing.where(x > 0, x, ing.expm1(x) * alpha) * gamma


@onnx_op("Swish")
def _swish(call, x):
    alpha = call.get("alpha", 1.0)
    return F.silu(x) if alpha == 1 else x * ing.sigmoid(x * alpha)


@onnx_op("Shrink")
def _shrink(call, x):
    bias, lambd = call.get("bias", 0.0), call.get("lambd", 0.5)
    if x.dtype.is_inexact:
        return ing.where(x < -lambd, x + bias, ing.where(x > lambd, x - bias, ing.zeros_like(x)))
    return _shrink(call, x.to(dt.float64)).to(x.dtype)


def convert(x, dtype, saturate=True):
    """Return x in another dtype, as ONNX casts: floats towards zero, anything but 0 is True.

    A number too large for a float8 becomes its largest number or, without `saturate`, nan in float8_e4m3fn and infinity in
    float8_e5m2.
    """
    if x.dtype is dtype:
        return x
    if dtype in dt.FLOAT8 and x.dtype.is_inexact:
        x = x.to(dt.float32) if x.dtype in dt.NARROW else x
        if saturate:
            largest = dt.finfo(dtype).max
            x = ing.clamp(x, -float(largest), float(largest))
        elif dtype is dt.float8_e4m3fn:
            x = ing.where(ing.abs(x) > _NEAREST_E4M3FN, math.nan, x)
    return ing.ne(x, 0) if dtype is dt.bool_ else x.to(dtype)


_NEAREST_E4M3FN = 464.0      # the last number that is nearest to a finite one


@onnx_op("Cast")
def cast(call, x):
    """Cast to the dtype of the attribute."""
    return convert(x, call.dtype("to"), call.get("saturate", 1) != 0)


@onnx_op("Constant")
def constant(call):
    """Return the attribute's value, as a known number."""
    for name, kind in (("value", None), ("value_float", np.float32), ("value_floats", np.float32), ("value_int", np.int64),
                       ("value_ints", np.int64)):
        if name in call.attributes:
            value = call.attributes[name]
            return value if kind is None else np.array(value, kind)
    return call.need("value")


@onnx_op("ConstantOfShape", raw=True)
def _constant_of_shape(call, shape):
    """Return a constant array; floats are data, other values stay known numbers."""
    sizes = tuple(ints(to_host(shape)))
    value = call.get("value", np.zeros(1, np.float32)).reshape(-1)[0]
    if value.dtype.kind in "iub" and not is_symbolic(shape) and math.prod(sizes) <= 1 << 16:
        return np.full(sizes, value)
    return ing.full(sizes, value.item(), dtype=dt.from_numpy(value.dtype))


@onnx_op("Range", raw=True)
def _numbers(call, *bounds):
    """Return numbers from start to limit (excluded) by step: a tensor, so that a trace holds for other sizes."""
    host = [to_host(x) for x in bounds]
    kind = dt.int64 if any(is_symbolic(x) for x in host) else dt.from_numpy(host[0].dtype)
    if not kind.is_inexact:
        return ing.arange(*[ints(x)[0] for x in host], dtype=kind)
    start, limit, step = [float(x.reshape(-1)[0]) for x in host]
    return ing.arange(max(0, math.ceil((limit - start) / step)), dtype=kind) * step + start


@onnx_op("EyeLike")
def _eye_like(call, x):
    dtype = call.dtype("dtype") if "dtype" in call.attributes else x.dtype
    rows, columns = x.shape
    allow_numbers(rows * columns, "a diagonal")
    on = np.eye(rows, columns, call.get("k", 0), dtype=bool)
    return to_tensor(on).to(dtype)


onnx_ops({
    "Div": lambda call, a, b: ing.div(a, b) if a.dtype.is_inexact else ing.div(a, b, rounding_mode="trunc"),
    "Mod": lambda call, a, b: ing.fmod(a, b) if call.get("fmod", 0) else ing.remainder(a, b),
    "Sum": lambda call, *xs: reduce(ing.add, xs),
    "Max": lambda call, *xs: reduce(ing.maximum, xs),
    "Min": lambda call, *xs: reduce(ing.minimum, xs),
    "Mean": lambda call, *xs: reduce(ing.add, xs) / len(xs),
    "Clip": lambda call, x: _limited(x, call.get("min"), call.get("max")),
    "Celu": lambda call, x: F.celu(x, call.get("alpha", 1.0)),
    "Elu": lambda call, x: F.elu(x, call.get("alpha", 1.0)),
    "Gelu": lambda call, x: F.gelu(x, approximate=call.get("approximate", "none")),
    "HardSigmoid": lambda call, x: ing.clamp(x * call.get("alpha", 0.2) + call.get("beta", 0.5), 0.0, 1.0),
    "HardSwish": lambda call, x: F.hardswish(x),
    "LeakyRelu": lambda call, x: F.leaky_relu(x, call.get("alpha", 0.01)),
    "PRelu": lambda call, x, slope: ing.where(x < 0, x * slope, x),
    "Mish": lambda call, x: F.mish(x),
    "Softplus": lambda call, x: ing.maximum(x, ing.zeros_like(x)) + ing.log1p(ing.exp(-ing.abs(x))),
    "Softsign": lambda call, x: F.softsign(x),
    "ThresholdedRelu": lambda call, x: ing.where(x > call.get("alpha", 1.0), x, ing.zeros_like(x)),
    "CastLike": lambda call, x, like: convert(x, like.dtype, call.get("saturate", 1) != 0),
    "BitCast": lambda call, x: bitcast(x, dtype=call.dtype("to")),
})


onnx_op("Identity", raw=True)(lambda call, x: x)
onnx_op("Clip", since=11)(lambda call, x, low=None, high=None: _limited(x, low, high))
