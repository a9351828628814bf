"""Resizing modules: interpolation, and moves of elements between channels and space."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import ChannelShuffle as ChannelShuffle
from ingot.nn import PixelShuffle as PixelShuffle
from ingot.nn import PixelUnshuffle as PixelUnshuffle
from ingot.nn import Upsample as Upsample
from ingot.nn import UpsamplingBilinear2d as UpsamplingBilinear2d
from ingot.nn import UpsamplingNearest2d as UpsamplingNearest2d
