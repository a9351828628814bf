"""`ingot.fx.experimental.proxy_tensor`: make_fx, the graph of a function run on example inputs, in public functions."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.fx.experimental import get_proxy_mode as get_proxy_mode
from ingot.fx.experimental import make_fx as make_fx
