from ...runtime.quantization.intrinsic_qat import *
