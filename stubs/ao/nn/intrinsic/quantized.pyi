from ....runtime.quantization.intrinsic_quantized import *
