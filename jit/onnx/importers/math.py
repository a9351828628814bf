"""Importers of elementwise ONNX operators."""

import math
from functools import reduce

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.core.shape import bitcast
from ....runtime.nn import functional as F
from .registry import ing, ints, onnx_op, to_host, to_tensor
from .symbolic_values import is_symbolic


def _plain(onnx_name, name):
    """Return an operator that is one of ingot's functions of the same arguments."""
    onnx_op(onnx_name)(lambda call, *xs: getattr(ing, name)(*xs))


for _onnx, _name in {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Add": "add", "And": "logical_and", "Asin": "asin", "Asinh": "asinh",
    "Atan": "atan", "Atanh": "atanh", "BitwiseAnd": "bitwise_and", "BitwiseNot": "bitwise_not", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Equal": "eq", "Erf": "erf", "Exp": "exp",
    "Floor": "floor", "Greater": "gt", "GreaterOrEqual": "ge", "IsNaN": "isnan", "Less": "lt", "LessOrEqual": "le",
    "Log": "log", "Mul": "mul", "Neg": "neg", "Not": "logical_not", "Or": "logical_or", "Reciprocal": "reciprocal",
    "Relu": "relu", "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Sqrt": "sqrt",
    "Sub": "sub", "Tan": "tan", "Tanh": "tanh", "Where": "where", "Xor": "logical_xor",
}.items():
    _plain(_onnx, _name)


@onnx_op("Identity", raw=True)
def identity(call, x):
    """Return the input itself."""
    return x


@onnx_op("Div")
def divide(call, a, b):
    """Integers are divided towards zero."""
    return ing.div(a, b) if a.dtype.is_inexact else ing.div(a, b, rounding_mode="trunc")


@onnx_op("Mod")
def modulo(call, a, b):
    """With the sign of the divisor, or of the dividend where fmod is set."""
    return ing.fmod(a, b) if call.get("fmod", 0) else ing.remainder(a, b)


@onnx_op("Pow")
def power(call, a, b):
    """In the first argument's dtype."""
    if a.dtype is b.dtype:
        return ing.pow(a, b)
    wide = dt.promote_types(a.dtype, b.dtype)
    return ing.pow(a.to(wide), b.to(wide)).to(a.dtype)


@onnx_op("BitShift")
def bit_shift(call, a, b):
    """To the left or to the right; beyond the width everything is shifted out but the sign."""
    width = 8 * a.dtype.itemsize
    inside = b < width
    if call.need("direction") == "LEFT":
        return ing.where(inside, ing.bitwise_left_shift(a, b), ing.zeros_like(a))
    if a.dtype.is_signed:
        return ing.bitwise_right_shift(a, ing.where(inside, b, ing.full_like(b, width - 1)))
    return ing.where(inside, ing.bitwise_right_shift(a, b), ing.zeros_like(a))


@onnx_op("Sum")
def total(call, *xs):
    """Return all inputs added."""
    return reduce(ing.add, xs)


@onnx_op("Max")
def largest(call, *xs):
    """Return the largest of all inputs."""
    return reduce(ing.maximum, xs)


@onnx_op("Min")
def smallest(call, *xs):
    """Return the smallest of all inputs."""
    return reduce(ing.minimum, xs)


@onnx_op("Mean")
def average(call, *xs):
    """Return the mean of all inputs."""
    return reduce(ing.add, xs) / len(xs)


def _limited(x, low, high):
    if low is not None:
        x = ing.maximum(x, low.to(x.dtype) if hasattr(low, "to") else ing.full_like(x, low))
    if high is not None:
        x = ing.minimum(x, high.to(x.dtype) if hasattr(high, "to") else ing.full_like(x, high))
    return x


@onnx_op("Clip")
def clip_by_attributes(call, x):
    """Limit that are attributes."""
    return _limited(x, call.get("min"), call.get("max"))


@onnx_op("Clip", since=11)
def clip(call, x, low=None, high=None):
    """Limit that are inputs."""
    return _limited(x, low, high)


@onnx_op("IsInf")
def is_infinite(call, x):
    """Of the signs that are asked for."""
    up, down = call.get("detect_positive", 1), call.get("detect_negative", 1)
    if up and down:
        return ing.isinf(x)
    if up or down:
        return ing.isposinf(x) if up else ing.isneginf(x)
    return ing.zeros(tuple(x.shape), dtype=dt.bool_)


# Activations.


@onnx_op("Celu")
def celu(call, x):
    """x above 0, alpha * (exp(x / alpha) - 1) below."""
    return F.celu(x, call.get("alpha", 1.0))


@onnx_op("Elu")
def elu(call, x):
    """x above 0, alpha * (exp(x) - 1) below."""
    return F.elu(x, call.get("alpha", 1.0))


@onnx_op("Selu")
def selu(call, x):
    """Return a scaled Elu."""
    alpha, gamma = call.get("alpha", 1.6732632423543772), call.get("gamma", 1.0507009873554805)
    return ing.where(x > 0, x, ing.expm1(x) * alpha) * gamma


@onnx_op("Gelu")
def gelu(call, x):
    """Exact, or by tanh."""
    return F.gelu(x, approximate=call.get("approximate", "none"))


@onnx_op("HardSigmoid")
def hard_sigmoid(call, x):
    """alpha * x + beta within 0 and 1."""
    return ing.clamp(x * call.get("alpha", 0.2) + call.get("beta", 0.5), 0.0, 1.0)


@onnx_op("HardSwish")
def hard_swish(call, x):
    """x * hard_sigmoid(x) with alpha 1/6."""
    return F.hardswish(x)


@onnx_op("LeakyRelu")
def leaky_relu(call, x):
    """x above 0, alpha * x below."""
    return F.leaky_relu(x, call.get("alpha", 0.01))


@onnx_op("PRelu")
def prelu(call, x, slope):
    """x above 0, slope * x below."""
    return ing.where(x < 0, x * slope, x)


@onnx_op("Mish")
def mish(call, x):
    """x * tanh(softplus(x))"""
    return F.mish(x)


@onnx_op("Swish")
def swish(call, x):
    """x * sigmoid(alpha * x)"""
    alpha = call.get("alpha", 1.0)
    return F.silu(x) if alpha == 1 else x * ing.sigmoid(x * alpha)


@onnx_op("Shrink")
def shrink(call, x):
    """Moved towards 0 by bias outside of [-lambd, lambd], 0 within."""
    bias, lambd = call.get("bias", 0.0), call.get("lambd", 0.5)
    if x.dtype.is_inexact:
        return ing.where(x < -lambd, x + bias, ing.where(x > lambd, x - bias, ing.zeros_like(x)))
    return shrink(call, x.to(dt.float64)).to(x.dtype)


@onnx_op("Softplus")
def softplus(call, x):
    """log(1 + exp(x))"""
    return ing.maximum(x, ing.zeros_like(x)) + ing.log1p(ing.exp(-ing.abs(x)))


@onnx_op("Softsign")
def softsign(call, x):
    """x / (1 + |x|)"""
    return F.softsign(x)


@onnx_op("ThresholdedRelu")
def thresholded_relu(call, x):
    """x above alpha, 0 elsewhere."""
    return ing.where(x > call.get("alpha", 1.0), x, ing.zeros_like(x))


# Types.


def convert(x, dtype, saturate=True):
    """x in another dtype, as ONNX casts: floats towards zero, anything but 0 is True. What is too large for a float8 becomes
    its largest number, or (without `saturate`) nan in float8_e4m3fn and infinity in float8_e5m2."""
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
    """To the dtype of the attribute."""
    return convert(x, call.dtype("to"), call.get("saturate", 1) != 0)


@onnx_op("CastLike")
def cast_like(call, x, like):
    """To the dtype of the other input."""
    return convert(x, like.dtype, call.get("saturate", 1) != 0)


@onnx_op("BitCast")
def bit_cast(call, x):
    """Return the same bits as another dtype."""
    return bitcast(x, dtype=call.dtype("to"))


@onnx_op("Constant")
def constant(call):
    """Return the value that its attribute holds, as a known number."""
    for name, kind in (("value", None), ("value_float", np.float32), ("value_floats", np.float32), ("value_int", np.int64),
                       ("value_ints", np.int64)):
        if name in call.attributes:
            value = call.attributes[name]
            return value if kind is None else np.array(value, kind)
    return call.need("value")


@onnx_op("ConstantOfShape", raw=True)
def constant_of_shape(call, shape):
    """Return one value everywhere; floats are data, anything else stays a known number."""
    sizes = tuple(ints(to_host(shape)))
    value = call.get("value", np.zeros(1, np.float32)).reshape(-1)[0]
    if value.dtype.kind in "iub" and not is_symbolic(shape) and math.prod(sizes) <= 1 << 16:
        return np.full(sizes, value)
    return ing.full(sizes, value.item(), dtype=dt.from_numpy(value.dtype))


@onnx_op("Range", raw=True)
def numbers(call, *bounds):
    """From start by step up to limit, which is not reached; a tensor, so that a trace holds for other sizes."""
    host = [to_host(x) for x in bounds]
    kind = dt.int64 if any(is_symbolic(x) for x in host) else dt.from_numpy(host[0].dtype)
    if not kind.is_inexact:
        return ing.arange(*[ints(x)[0] for x in host], dtype=kind)
    start, limit, step = [float(x.reshape(-1)[0]) for x in host]
    return ing.arange(max(0, math.ceil((limit - start) / step)), dtype=kind) * step + start


@onnx_op("EyeLike")
def eye_like(call, x):
    """Ones on a diagonal."""
    dtype = call.dtype("dtype") if "dtype" in call.attributes else x.dtype
    rows, columns = x.shape
    on = np.eye(rows, columns, call.get("k", 0), dtype=bool)
    return to_tensor(on).to(dtype)


@onnx_op("Det")
def determinant(call, x):
    """Of each matrix."""
    return ing.det(x)
