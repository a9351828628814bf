"""The names of `ingot.nn.grad`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

from typing import Any

def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1) -> Any:
    """Return the gradient of a convolution for an input of `input_size`, from that of its result."""
def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1) -> Any:
    """Return the gradient of a convolution for a weight of `weight_size`, from that of its result."""
def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1) -> Any:
    """Return the gradient of a convolution for an input of `input_size`, from that of its result."""
def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1) -> Any:
    """Return the gradient of a convolution for a weight of `weight_size`, from that of its result."""
def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1) -> Any:
    """Return the gradient of a convolution for an input of `input_size`, from that of its result."""
def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1) -> Any:
    """Return the gradient of a convolution for a weight of `weight_size`, from that of its result."""
