from ....runtime.quantization.fused_qat_modules import *
