"""Gradients of convolutions as differentiable functions: `nn.grad.conv2d_weight` and others."""

from ....ir.errors import ShapeError
from ....ir.ops.nn import conv as ops
from ...api.nn.spatial_arguments import by_rank, per_dim, positive, symmetric
from ...core.tensor import shape_of

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _options(rank, name, stride, padding, dilation, groups):
    return {"stride": positive(per_dim(stride, rank, name, "stride"), name, "stride"),
            "padding": symmetric(per_dim(padding, rank, name, "padding")),
            "dilation": positive(per_dim(dilation, rank, name, "dilation"), name, "dilation"), "groups": groups}


def _check(gradient, size, name):
    if shape_of(gradient) != tuple(size):
        raise ShapeError(f"{name}: these arguments are those of a gradient of shape {list(gradient.shape)}, not {list(size)}")
    return gradient


def _input_gradient(rank):
    def gradient(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        """Return the gradient of a convolution for an input of `input_size`, from that of its result."""
        name = f"conv{rank}d_input"
        options = _options(rank, name, stride, padding, dilation, groups)
        return _check(ops.conv_input_grad(grad_output, weight, size=tuple(input_size[2:]), **options), input_size, name)
    return gradient


def _weight_gradient(rank):
    def gradient(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        """Return the gradient of a convolution for a weight of `weight_size`, from that of its result."""
        name = f"conv{rank}d_weight"
        options = _options(rank, name, stride, padding, dilation, groups)
        return _check(ops.conv_weight_grad(input, grad_output, size=tuple(weight_size[2:]), **options), weight_size, name)
    return gradient


conv1d_input, conv2d_input, conv3d_input = by_rank("conv{}d_input", _input_gradient)
conv1d_weight, conv2d_weight, conv3d_weight = by_rank("conv{}d_weight", _weight_gradient)
