"""`ingot.ao.nn`: PyTorch's place for int8 modules, `quantized` and `quantized.dynamic`."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.ao.nn import intrinsic as intrinsic
from ingot.ao.nn import qat as qat
from ingot.ao.nn import quantized as quantized
