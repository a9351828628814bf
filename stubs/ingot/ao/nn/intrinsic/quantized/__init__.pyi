"""`ingot.ao.nn.intrinsic.quantized`: int8 layers followed by a ReLU."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn.intrinsic.quantized import ConvReLU1d as ConvReLU1d
from ingot.nn.intrinsic.quantized import ConvReLU2d as ConvReLU2d
from ingot.nn.intrinsic.quantized import LinearReLU as LinearReLU
