from ...runtime.quantization.qat import *
