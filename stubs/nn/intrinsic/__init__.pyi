from ...runtime.quantization.intrinsic import *
from . import qat as qat
from . import quantized as quantized
