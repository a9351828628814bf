"""`ingot.ao.nn.intrinsic.qat`: a layer, its batch norm and a ReLU, trained as the one int8 layer they become."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn.intrinsic.qat import ConvBn1d as ConvBn1d
from ingot.nn.intrinsic.qat import ConvBn2d as ConvBn2d
from ingot.nn.intrinsic.qat import ConvBn3d as ConvBn3d
from ingot.nn.intrinsic.qat import ConvBnReLU1d as ConvBnReLU1d
from ingot.nn.intrinsic.qat import ConvBnReLU2d as ConvBnReLU2d
from ingot.nn.intrinsic.qat import ConvBnReLU3d as ConvBnReLU3d
from ingot.nn.intrinsic.qat import ConvReLU1d as ConvReLU1d
from ingot.nn.intrinsic.qat import ConvReLU2d as ConvReLU2d
from ingot.nn.intrinsic.qat import ConvReLU3d as ConvReLU3d
from ingot.nn.intrinsic.qat import LinearBn1d as LinearBn1d
from ingot.nn.intrinsic.qat import LinearReLU as LinearReLU
from ingot.nn.intrinsic.qat import freeze_bn_stats as freeze_bn_stats
from ingot.nn.intrinsic.qat import update_bn_stats as update_bn_stats
