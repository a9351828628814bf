"""`ingot.ao`: PyTorch's place for quantisation, `ao.quantization` and `ao.nn.quantized.dynamic`."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.ao import nn as nn
from ingot.ao import quantization as quantization
