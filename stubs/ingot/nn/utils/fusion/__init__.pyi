"""Fusion of batch norm into the layer before it, for evaluation."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn.utils import fuse_conv_bn_eval as fuse_conv_bn_eval
from ingot.nn.utils import fuse_conv_bn_weights as fuse_conv_bn_weights
from ingot.nn.utils import fuse_linear_bn_eval as fuse_linear_bn_eval
from ingot.nn.utils import fuse_linear_bn_weights as fuse_linear_bn_weights
