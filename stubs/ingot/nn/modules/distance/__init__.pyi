"""Distance modules."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import CosineSimilarity as CosineSimilarity
from ingot.nn import PairwiseDistance as PairwiseDistance
