from ...runtime.quantization.fused_modules import *
from . import qat as qat
from . import quantized as quantized
