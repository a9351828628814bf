"""Normalisation modules."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import BatchNorm1d as BatchNorm1d
from ingot.nn import BatchNorm2d as BatchNorm2d
from ingot.nn import BatchNorm3d as BatchNorm3d
from ingot.nn import CrossMapLRN2d as CrossMapLRN2d
from ingot.nn import GroupNorm as GroupNorm
from ingot.nn import InstanceNorm1d as InstanceNorm1d
from ingot.nn import InstanceNorm2d as InstanceNorm2d
from ingot.nn import InstanceNorm3d as InstanceNorm3d
from ingot.nn import LayerNorm as LayerNorm
from ingot.nn import LazyBatchNorm1d as LazyBatchNorm1d
from ingot.nn import LazyBatchNorm2d as LazyBatchNorm2d
from ingot.nn import LazyBatchNorm3d as LazyBatchNorm3d
from ingot.nn import LazyInstanceNorm1d as LazyInstanceNorm1d
from ingot.nn import LazyInstanceNorm2d as LazyInstanceNorm2d
from ingot.nn import LazyInstanceNorm3d as LazyInstanceNorm3d
from ingot.nn import LocalResponseNorm as LocalResponseNorm
from ingot.nn import RMSNorm as RMSNorm
