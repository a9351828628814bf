"""Graphs of fx: nodes in the order in which they run."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.fx import Graph as Graph
from ingot.fx import PythonCode as PythonCode
