"""Padding modules."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import CircularPad1d as CircularPad1d
from ingot.nn import CircularPad2d as CircularPad2d
from ingot.nn import CircularPad3d as CircularPad3d
from ingot.nn import ConstantPad1d as ConstantPad1d
from ingot.nn import ConstantPad2d as ConstantPad2d
from ingot.nn import ConstantPad3d as ConstantPad3d
from ingot.nn import ReflectionPad1d as ReflectionPad1d
from ingot.nn import ReflectionPad2d as ReflectionPad2d
from ingot.nn import ReflectionPad3d as ReflectionPad3d
from ingot.nn import ReplicationPad1d as ReplicationPad1d
from ingot.nn import ReplicationPad2d as ReplicationPad2d
from ingot.nn import ReplicationPad3d as ReplicationPad3d
from ingot.nn import ZeroPad1d as ZeroPad1d
from ingot.nn import ZeroPad2d as ZeroPad2d
from ingot.nn import ZeroPad3d as ZeroPad3d
