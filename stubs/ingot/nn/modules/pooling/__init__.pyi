"""Pooling modules."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from ingot.nn import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from ingot.nn import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from ingot.nn import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from ingot.nn import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from ingot.nn import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from ingot.nn import AvgPool1d as AvgPool1d
from ingot.nn import AvgPool2d as AvgPool2d
from ingot.nn import AvgPool3d as AvgPool3d
from ingot.nn import FractionalMaxPool2d as FractionalMaxPool2d
from ingot.nn import FractionalMaxPool3d as FractionalMaxPool3d
from ingot.nn import LPPool1d as LPPool1d
from ingot.nn import LPPool2d as LPPool2d
from ingot.nn import LPPool3d as LPPool3d
from ingot.nn import MaxPool1d as MaxPool1d
from ingot.nn import MaxPool2d as MaxPool2d
from ingot.nn import MaxPool3d as MaxPool3d
from ingot.nn import MaxUnpool1d as MaxUnpool1d
from ingot.nn import MaxUnpool2d as MaxUnpool2d
from ingot.nn import MaxUnpool3d as MaxUnpool3d
