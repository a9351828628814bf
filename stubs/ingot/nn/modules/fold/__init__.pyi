"""Convolution modules, Unfold and Fold."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import Conv1d as Conv1d
from ingot.nn import Conv2d as Conv2d
from ingot.nn import Conv3d as Conv3d
from ingot.nn import ConvTranspose1d as ConvTranspose1d
from ingot.nn import ConvTranspose2d as ConvTranspose2d
from ingot.nn import ConvTranspose3d as ConvTranspose3d
from ingot.nn import Fold as Fold
from ingot.nn import LazyConv1d as LazyConv1d
from ingot.nn import LazyConv2d as LazyConv2d
from ingot.nn import LazyConv3d as LazyConv3d
from ingot.nn import LazyConvTranspose1d as LazyConvTranspose1d
from ingot.nn import LazyConvTranspose2d as LazyConvTranspose2d
from ingot.nn import LazyConvTranspose3d as LazyConvTranspose3d
from ingot.nn import Unfold as Unfold
