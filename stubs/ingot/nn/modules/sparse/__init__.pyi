"""Embedding tables as modules."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import Embedding as Embedding
from ingot.nn import EmbeddingBag as EmbeddingBag
