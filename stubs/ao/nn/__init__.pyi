from ...runtime.quantization.modules import *
from . import intrinsic as intrinsic
from . import qat as qat
from . import quantized as quantized
