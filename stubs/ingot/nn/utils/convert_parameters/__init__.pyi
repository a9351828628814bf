"""Parameters, and other lists of tensors, as one vector."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn.utils import parameters_to_vector as parameters_to_vector
from ingot.nn.utils import vector_to_parameters as vector_to_parameters
