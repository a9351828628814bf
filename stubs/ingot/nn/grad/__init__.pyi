"""Gradients of convolutions as differentiable functions: `nn.grad.conv2d_weight` and others."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor

def conv1d_input(input_size: _b.int, weight: _Tensor, grad_output: _Tensor,
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1) -> _Tensor:
    """Return the gradient of a convolution for an input of `input_size`, from that of its result."""
def conv1d_weight(input: _Tensor, weight_size: _t.Any, grad_output: _Tensor,
                  stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                  padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                  dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1) -> _Tensor:
    """Return the gradient of a convolution for a weight of `weight_size`, from that of its result."""
def conv2d_input(input_size: _b.int, weight: _Tensor, grad_output: _Tensor,
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1) -> _Tensor:
    """Return the gradient of a convolution for an input of `input_size`, from that of its result."""
def conv2d_weight(input: _Tensor, weight_size: _t.Any, grad_output: _Tensor,
                  stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                  padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                  dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1) -> _Tensor:
    """Return the gradient of a convolution for a weight of `weight_size`, from that of its result."""
def conv3d_input(input_size: _b.int, weight: _Tensor, grad_output: _Tensor,
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1) -> _Tensor:
    """Return the gradient of a convolution for an input of `input_size`, from that of its result."""
def conv3d_weight(input: _Tensor, weight_size: _t.Any, grad_output: _Tensor,
                  stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                  padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                  dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1) -> _Tensor:
    """Return the gradient of a convolution for a weight of `weight_size`, from that of its result."""
