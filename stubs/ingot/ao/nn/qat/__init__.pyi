"""`ingot.ao.nn.qat`: layers that train with rounded weights."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn.qat import Conv1d as Conv1d
from ingot.nn.qat import Conv2d as Conv2d
from ingot.nn.qat import Conv3d as Conv3d
from ingot.nn.qat import Embedding as Embedding
from ingot.nn.qat import EmbeddingBag as EmbeddingBag
from ingot.nn.qat import Linear as Linear
