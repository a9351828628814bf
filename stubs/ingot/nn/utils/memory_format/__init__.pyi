"""Memory formats of convolution weights."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn.utils import convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format
from ingot.nn.utils import convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format
