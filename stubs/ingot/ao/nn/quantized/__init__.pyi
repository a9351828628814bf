"""`ingot.ao.nn.quantized`: layers that read bytes of calibrated steps, and sum whole numbers."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.ao.nn.quantized import dynamic as dynamic
from ingot.nn.quantized import Conv1d as Conv1d
from ingot.nn.quantized import Conv2d as Conv2d
from ingot.nn.quantized import DeQuantize as DeQuantize
from ingot.nn.quantized import Embedding as Embedding
from ingot.nn.quantized import FloatFunctional as FloatFunctional
from ingot.nn.quantized import Linear as Linear
from ingot.nn.quantized import QFunctional as QFunctional
from ingot.nn.quantized import Quantize as Quantize
