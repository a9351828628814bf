"""Interpreter: runs a graph node by node, with methods to override."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.fx import Interpreter as Interpreter
from ingot.fx import Transformer as Transformer
