"""Dynamic sizes in PyTorch's terms: `Dim`, and `dynamic_shapes` for each tensor in the arguments."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.export import AdditionalInputs as AdditionalInputs
from ingot.export import Dim as Dim
from ingot.export import ShapesCollection as ShapesCollection
from ingot.export import dims as dims
