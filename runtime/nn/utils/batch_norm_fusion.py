"""Fusion of batch norm into the layer before it, for evaluation."""

import copy

from ....ir.errors import ArgumentError
from ...api.register.register import FUNCTIONS
from ..base.parameter import Parameter


def _fused(weight, bias, running_mean, running_var, eps, gamma, beta, shape):
    bias = FUNCTIONS["zeros_like"](running_mean) if bias is None else bias
    gamma = FUNCTIONS["ones_like"](running_mean) if gamma is None else gamma
    beta = FUNCTIONS["zeros_like"](running_mean) if beta is None else beta
    scale = gamma * (running_var + eps).rsqrt()
    new_weight = (weight * scale.reshape(shape)).to(weight.dtype)
    new_bias = ((bias - running_mean) * scale + beta).to(bias.dtype)
    return (Parameter(new_weight.detach(), weight.requires_grad), Parameter(new_bias.detach(), bias.requires_grad))


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Return (weight, bias) of the convolution with the batch norm folded in."""
    shape = (1, -1, *(1,) * (conv_w.ndim - 2)) if transpose else (-1, *(1,) * (conv_w.ndim - 1))
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Return (weight, bias) of the linear layer with the batch norm folded in."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (-1, 1))


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """Return a copy of the convolution with the batch norm folded in; both must be in evaluation mode."""
    if conv.training or bn.training:
        raise ArgumentError("fuse_conv_bn_eval takes modules in evaluation mode; call .eval() on both")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps,
                                                    bn.weight, bn.bias, transpose)
    return fused


def fuse_linear_bn_eval(linear, bn):
    """Return a copy of the linear layer with the batch norm folded in; both must be in evaluation mode."""
    if linear.training or bn.training:
        raise ArgumentError("fuse_linear_bn_eval takes modules in evaluation mode; call .eval() on both")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps,
                                                      bn.weight, bn.bias)
    return fused
