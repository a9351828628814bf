from ...runtime.quantization.qat_modules import *
