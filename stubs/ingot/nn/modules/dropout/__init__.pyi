"""Dropout modules."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import AlphaDropout as AlphaDropout
from ingot.nn import Dropout as Dropout
from ingot.nn import Dropout1d as Dropout1d
from ingot.nn import Dropout2d as Dropout2d
from ingot.nn import Dropout3d as Dropout3d
from ingot.nn import FeatureAlphaDropout as FeatureAlphaDropout
