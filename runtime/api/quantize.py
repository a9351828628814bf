"""Values as they come back from few integer steps, for training with quantisation in mind."""

from ...ir import dtype as dt
from ...ir.aval import canonical_dim
from ...ir.errors import ArgumentError, DTypeError, ShapeError
from ...ir.ops.piecewise import fake_quantize
from ..tensor import Tensor, shape_of
from .creation import filled
from .promote import to_dtype
from .register import api
from .shape import reshape


def _limits(low, high, name):
    if not low <= high:
        raise ArgumentError(f"{name}: quant_min is at most quant_max, got {low} and {high}")
    return {"low": low, "high": high}


def _steps(input, scale, zero_point, limits, name):
    """`fake_quantize` with a scale (which counts as float32) and a zero point that lie over the input."""
    if not input.dtype.is_floating_point:
        raise DTypeError(f"{name} takes floating point numbers, got {input.aval}; cast with .to()")
    if zero_point.dtype not in (dt.int32, dt.float32, dt.float16):
        raise DTypeError(f"{name}: a zero_point is a tensor of int32, float32 or float16, got {zero_point.aval}; cast it")
    scale = to_dtype(scale, dt.float32)
    wide = dt.accumulator(input.dtype)
    x, inverse, scale, zero = [to_dtype(t, wide) for t in (input, 1.0 / scale, scale, zero_point)]
    return to_dtype(fake_quantize(x, inverse, scale, zero, **limits), input.dtype)


@api(method=False)
def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """(step - zero_point) * scale for the step from quant_min to quant_max that is nearest to input / scale + zero_point. The
    gradient is that of the input where it is between the limits, and zero beyond. `scale` and `zero_point` are numbers, or
    tensors of one element (int32, if the zero point is one)."""
    name = "fake_quantize_per_tensor_affine"
    limits = _limits(quant_min, quant_max, name)
    if not isinstance(zero_point, Tensor):
        if not quant_min <= zero_point <= quant_max:
            raise ArgumentError(f"{name}: zero_point is between quant_min and quant_max, got {zero_point}")
        zero_point = filled(input, (), zero_point, dt.int32)
    if not isinstance(scale, Tensor):
        scale = filled(input, (), scale, dt.float32)
    if scale.numel() != 1 or zero_point.numel() != 1:
        raise ShapeError(f"{name} takes one scale and one zero_point, got {scale.aval} and {zero_point.aval}; see "
                         "fake_quantize_per_channel_affine")
    ones = (1,) * input.ndim
    return _steps(input, reshape(scale, shape=ones), reshape(zero_point, shape=ones), limits, name)


@api(method=False)
def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """`fake_quantize_per_tensor_affine` with a scale and a zero point (int32 or float) for each index along `axis`."""
    name = "fake_quantize_per_channel_affine"
    limits = _limits(quant_min, quant_max, name)
    axis = canonical_dim(axis, input.ndim)
    channels = (shape_of(input)[axis],)
    if scale.shape != channels or zero_point.shape != channels:
        raise ShapeError(f"{name} of {input.aval} along {axis} takes a scale and a zero_point of shape {list(channels)}, got "
                         f"{scale.aval} and {zero_point.aval}")
    over = [channels[0] if i == axis else 1 for i in range(input.ndim)]
    return _steps(input, reshape(scale, shape=over), reshape(zero_point, shape=over), limits, name)
