"""GraphModule: a graph with its modules and tensors, as a module with generated `forward`."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.fx import GraphModule as GraphModule
