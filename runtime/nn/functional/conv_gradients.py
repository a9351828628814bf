"""Gradients of convolutions as differentiable functions: `nn.grad.conv2d_weight` and others."""

from ....ir.errors import ShapeError
from ....ir.ops.nn import conv as ops
from ...api.nn.spatial_arguments import per_dim, positive, symmetric
from ...core.tensor import shape_of

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _options(rank, name, stride, padding, dilation, groups):
    return {"stride": positive(per_dim(stride, rank, name, "stride"), name, "stride"),
            "padding": symmetric(per_dim(padding, rank, name, "padding")),
            "dilation": positive(per_dim(dilation, rank, name, "dilation"), name, "dilation"), "groups": groups}


def _check(made, size, name):
    if shape_of(made) != tuple(size):
        raise ShapeError(f"{name}: these arguments are those of a gradient of shape {tuple(made.shape)}, not {tuple(size)}")
    return made


def _input_of(rank):
    def gradient(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        options = _options(rank, name, stride, padding, dilation, groups)
        return _check(ops.conv_input_grad(grad_output, weight, size=tuple(input_size[2:]), **options), input_size, name)

    name = gradient.__name__ = gradient.__qualname__ = f"conv{rank}d_input"
    gradient.__doc__ = f"Return the gradient of conv{rank}d for an input of `input_size`, from that of its result."
    return gradient


def _weight_of(rank):
    def gradient(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        options = _options(rank, name, stride, padding, dilation, groups)
        return _check(ops.conv_weight_grad(input, grad_output, size=tuple(weight_size[2:]), **options), weight_size, name)

    name = gradient.__name__ = gradient.__qualname__ = f"conv{rank}d_weight"
    gradient.__doc__ = f"Return the gradient of conv{rank}d for a weight of `weight_size`, from that of its result."
    return gradient


conv1d_input, conv2d_input, conv3d_input = map(_input_of, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_weight_of, (1, 2, 3))
