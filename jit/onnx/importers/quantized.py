"""Importers of quantised ONNX operators, computed exactly in integers or in floats."""

import numpy as np

from ....ir import dtype as dt
from .conv_pool import conv_integer
from .math import convert
from .nn import matmul_integer
from .registry import ing, onnx_op, whole_axis


def _broadcastable(v, x, call):
    """Reshape a scale or zero point to broadcast with x: one number, one for each index of an axis, or one for each block."""
    if v is None or v.ndim == 0 or (v.numel() == 1 and v.ndim == 1):
        return v if v is None else v.reshape(())
    axis, block = whole_axis(call.get("axis", 1), x.ndim), call.get("block_size", 0)
    if block:
        return ing.repeat_interleave(v, block, axis).narrow(axis, 0, x.shape[axis])
    return v.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def _rounded(x, dtype):
    info = np.iinfo(dtype.np)
    return ing.clamp(ing.round(x.to(dt.float64)), float(info.min), float(info.max)).to(dtype)


@onnx_op("QuantizeLinear")
def _quantise(call, x, scale, zero=None):
    number = call.get("output_dtype", 0)
    kind = zero.dtype if zero is not None else call.dtype("output_dtype") if number else dt.uint8
    scale = _broadcastable(scale, x, call).to(dt.float32)
    scaled = (x.to(dt.float32) if x.dtype is not dt.float32 else x) / scale
    if kind in dt.FLOAT8:
        return convert(scaled, kind, call.get("saturate", 1) != 0)
    whole = ing.round(scaled)
    if zero is not None:
        whole = whole + _broadcastable(zero, x, call).to(dt.float32)
    return _rounded(whole, kind)


@onnx_op("DequantizeLinear")
def _dequantise(call, x, scale, zero=None):
    wide = x.to(dt.float32)
    if zero is not None:
        wide = wide - _broadcastable(zero, x, call).to(dt.float32)
    kind = call.dtype("output_dtype") if call.get("output_dtype", 0) else scale.dtype
    return (wide * _broadcastable(scale, x, call).to(dt.float32)).to(kind)


@onnx_op("DynamicQuantizeLinear")
def _quantise_by_range(call, x):
    low, high = ing.clamp(ing.amin(x), max=0.0), ing.clamp(ing.amax(x), min=0.0)
    scale = (high - low) / 255.0
    zero = ing.clamp(ing.round(-low / scale), 0.0, 255.0)
    return _rounded(ing.round(x / scale) + zero, dt.uint8), scale, zero.to(dt.uint8)


def _requantised(total, scale, zero):
    """Scale exact integers back to the dtype of the zero point."""
    return _rounded(ing.round(total.to(dt.float64) * scale.to(dt.float64)) + zero.to(dt.float64), zero.dtype)


@onnx_op("QLinearMatMul")
def _matmul_quantised(call, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    total = matmul_integer(call, a, b, a_zero, b_zero)
    left = a_scale.to(dt.float64)
    scale = (left.unsqueeze(-1) if left.ndim else left) * b_scale.to(dt.float64) / y_scale.to(dt.float64)
    return _requantised(total, scale, y_zero)


@onnx_op("QLinearConv")
def _conv_quantised(call, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b=None):
    total = conv_integer(call, x, w, x_zero, w_zero)
    shape = [-1] + [1] * (x.ndim - 2)
    if b is not None:
        total = total + b.reshape(shape)
    scale = w_scale.to(dt.float64)
    scale = scale.reshape(shape) if scale.numel() > 1 else scale.reshape(())
    return _requantised(total, scale * x_scale.to(dt.float64) / y_scale.to(dt.float64), y_zero)
