from ...runtime.quantization.qconfig import *
