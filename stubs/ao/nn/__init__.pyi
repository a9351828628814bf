from ...runtime.quantization.ao_nn import *
from . import intrinsic as intrinsic
from . import qat as qat
from . import quantized as quantized
