from ....runtime.quantization.fused_quantized_modules import *
