"""`ingot.ao.nn.intrinsic`: consecutive layers quantised as one, as `fuse_modules` joins them."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.ao.nn.intrinsic import qat as qat
from ingot.ao.nn.intrinsic import quantized as quantized
from ingot.nn.intrinsic import ConvBn1d as ConvBn1d
from ingot.nn.intrinsic import ConvBn2d as ConvBn2d
from ingot.nn.intrinsic import ConvBn3d as ConvBn3d
from ingot.nn.intrinsic import ConvBnReLU1d as ConvBnReLU1d
from ingot.nn.intrinsic import ConvBnReLU2d as ConvBnReLU2d
from ingot.nn.intrinsic import ConvBnReLU3d as ConvBnReLU3d
from ingot.nn.intrinsic import ConvReLU1d as ConvReLU1d
from ingot.nn.intrinsic import ConvReLU2d as ConvReLU2d
from ingot.nn.intrinsic import ConvReLU3d as ConvReLU3d
from ingot.nn.intrinsic import LinearBn1d as LinearBn1d
from ingot.nn.intrinsic import LinearReLU as LinearReLU
