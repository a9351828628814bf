"""`ingot.fx.passes`: passes over whole graphs: shape propagation, split into modules, and a manager of passes."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.fx.passes import infra as infra
from ingot.fx.passes import shape_prop as shape_prop
from ingot.fx.passes import split_module as split_module
from ingot.fx.passes import utils as utils
