"""Linear modules."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import Bilinear as Bilinear
from ingot.nn import Flatten as Flatten
from ingot.nn import Identity as Identity
from ingot.nn import LazyLinear as LazyLinear
from ingot.nn import Linear as Linear
from ingot.nn import Unflatten as Unflatten
from ingot.nn.modules import NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear
from ingot.nn.modules.flatten import empty_parameter as empty_parameter
